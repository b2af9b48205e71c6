//! An AdmissionReview as it is on the wire, read leniently: fields that are not known are left
//! alone, for the API server may be newer than this.

mod partial;

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Serialize, Serializer, de::DeserializeSeed, ser::SerializeMap};
use thiserror::Error;

use self::partial::{Envelope, EnvelopeSeed};
use crate::policy::{
    Reads, Request, RequestError,
    json::{Json, Tree},
};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// A question of the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct Review<'b> {
    request: Tree<'b>,
}

/// Why a body is no question of the API server.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// No JSON, or none of this shape.
    #[error("the body is not an AdmissionReview: {0}")]
    Json(#[from] serde_json::Error),
    /// No text.
    #[error("the body is not an AdmissionReview: {0}")]
    Text(#[from] std::str::Utf8Error),
    /// Something else.
    #[error("the body says it is {kind:?} of {api_version:?}, not {KIND} of {API_VERSION}")]
    OtherKind {
        /// What it says it is.
        kind: String,
        /// And of which version.
        api_version: String,
    },
    /// No request in it.
    #[error("the AdmissionReview has no request with a uid")]
    NoRequest,
    /// A request that lacks what every request has.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl<'b> Review<'b> {
    /// Reads one, as far as policies do.
    pub fn from_json(body: &'b [u8], reads: &Reads) -> Result<Self, ReviewError> {
        // All at once: serde_json would look at the bytes of each text for itself.
        let body = std::str::from_utf8(body)?;
        let Envelope { api_version, kind, mut request } = envelope(body, reads)?;
        if !are_objects(&request) {
            // An error repeats what is no object of Kubernetes, and repeats all of it.
            request = envelope(body, &Reads::everything())?.request;
        }
        if (&*api_version, &*kind) != (API_VERSION, KIND) {
            let (kind, api_version) = (kind.into_owned(), api_version.into_owned());
            return Err(ReviewError::OtherKind { kind, api_version });
        }
        let review = Self { request };
        if review.uid().is_empty() {
            return Err(ReviewError::NoRequest);
        }
        review.request()?;
        Ok(review)
    }

    /// What names the question; the answer repeats it.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.request.get("uid").and_then(Tree::as_str).unwrap_or_default()
    }

    /// What is asked about.
    pub fn request(&self) -> Result<Request<'_>, ReviewError> {
        Ok(Request::from_json(Json::from(&self.request))?)
    }
}

fn envelope<'b>(body: &'b str, reads: &Reads) -> Result<Envelope<'b>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let envelope = EnvelopeSeed(reads).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(envelope)
}

/// Whether what is there says of which kind it is, as all that the API server sends does.
fn are_objects(request: &Tree<'_>) -> bool {
    let is_object = |object: &Tree<'_>| {
        let says =
            |key: &str| object.get(key).and_then(Tree::as_str).is_some_and(|it| !it.is_empty());
        *object == Tree::Null || (says("apiVersion") && says("kind"))
    };
    ["object", "oldObject"].iter().filter_map(|key| request.get(key)).all(is_object)
}

/// What the API server is answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The question's.
    pub uid: String,
    /// Whether the request may go on.
    pub allowed: bool,
    /// Why it may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// What is changed in the object.
    #[serde(flatten)]
    pub patch: Option<Patch>,
    /// For the audit log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit_annotations: BTreeMap<String, String>,
    /// What the user is told although the request goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why a request is refused, as the API server hands it to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Status {
    pub status: &'static str,
    pub message: String,
    pub reason: String,
    pub code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// What a refusal is about, and each thing that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub kind: String,
    pub causes: Vec<StatusCause>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct StatusCause {
    pub reason: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    #[serde(skip)]
    pub policy: String,
}

impl Response {
    /// Goes on as it is.
    #[must_use]
    pub fn allowed(review: &Review<'_>) -> Self {
        Self { uid: review.uid().to_owned(), allowed: true, ..Self::default() }
    }

    /// The AdmissionReview that holds it.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Envelope<'a> {
            api_version: &'static str,
            kind: &'static str,
            response: &'a Response,
        }
        serde_json::to_vec(&Envelope { api_version: API_VERSION, kind: KIND, response: self })
    }
}

/// A change, written in base64 as Kubernetes writes bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch(pub json_patch::Patch);

impl Serialize for Patch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = serde_json::to_vec(&self.0).map_err(serde::ser::Error::custom)?;
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("patchType", "JSONPatch")?;
        fields.serialize_entry("patch", &BASE64.encode(json))?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// The uid of a review.
    fn review(change: impl FnOnce(&mut Value)) -> Result<String, ReviewError> {
        let versioned =
            |name: &str| json!({"group": "metal3.io", "version": "v1alpha1", name: "x"});
        let mut body = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "request": {"uid": "u", "kind": versioned("kind"), "resource": versioned("resource"),
                "operation": "CREATE", "of-tomorrow": {}},
            "of-tomorrow": true,
        });
        change(&mut body);
        let body = body.to_string();
        let review = Review::from_json(body.as_bytes(), &Reads::everything())?;
        Ok(review.uid().to_owned())
    }

    #[test]
    fn fields_that_are_not_known_yet_are_left_alone() {
        assert_eq!(review(|_| {}).unwrap(), "u");
    }

    #[rstest]
    #[case::other_kind(|body: &mut Value| body["kind"] = json!("Pod"),
        "the body says it is \"Pod\" of \"admission.k8s.io/v1\", not AdmissionReview of admission.k8s.io/v1")]
    #[case::other_version(|body: &mut Value| body["apiVersion"] = json!("admission.k8s.io/v1beta1"),
        "the body says it is \"AdmissionReview\" of \"admission.k8s.io/v1beta1\", not AdmissionReview of admission.k8s.io/v1")]
    #[case::no_request(|body: &mut Value| body["request"] = Value::Null,
        "the AdmissionReview has no request with a uid")]
    #[case::no_kind(|body: &mut Value| body["request"]["kind"] = Value::Null,
        "request.kind is missing or not what AdmissionReview v1 says")]
    #[case::no_object(|body: &mut Value| *body = json!([]),
        "the body is not an AdmissionReview: invalid type: sequence, expected an AdmissionReview at line 1 column 0")]
    fn what_is_no_review_is_refused(#[case] change: impl FnOnce(&mut Value), #[case] text: &str) {
        assert_eq!(review(change).unwrap_err().to_string(), text);
    }

    #[test]
    fn a_patch_is_base64_and_nothing_is_said_that_is_not_so() {
        let mut response = Response { uid: "u".to_owned(), allowed: true, ..Response::default() };
        let json = |response: &Response| {
            serde_json::from_slice::<Value>(&response.to_json().unwrap()).unwrap()
        };
        assert_eq!(json(&response)["response"], json!({"uid": "u", "allowed": true}));
        response.patch = Some(Patch(json_patch::diff(&json!({}), &json!({"a": 1}))));
        let answered = json(&response);
        assert_eq!(answered["response"]["patchType"], "JSONPatch");
        let patch = BASE64.decode(answered["response"]["patch"].as_str().unwrap()).unwrap();
        assert_eq!(patch, br#"[{"op":"add","path":"/a","value":1}]"#);
    }
}
