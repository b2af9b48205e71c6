//! What is heard of hosts: that they changed. A pass reads them anew.

use kube::{api::ApiResource, core::Object};
use serde::{Deserialize, Serialize};

use crate::api::BareMetalHost;

/// A host, as far as it is followed.
pub(super) type Followed = Object<Nothing, Nothing>;

/// Read when it is needed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Nothing {}

pub(super) fn resource() -> ApiResource {
    ApiResource::erase::<BareMetalHost>(&())
}

/// The namespace and name of an object.
pub(super) fn key(metadata: &kube::api::ObjectMeta) -> (String, String) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&metadata.namespace), text(&metadata.name))
}
