//! Where the answers to a policy's questions come from: the cluster, through caches where Kubernetes' own
//! policies have them, and asked each time where they ask each time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use k8s_openapi::api::{
    authorization::v1::{
        NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
    },
    core::v1::Namespace,
};
use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
    core::GroupVersionKind,
    discovery::{self, ApiResource},
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use serde_json::Value;
use tokio::task::AbortHandle;

use crate::{
    adapters::listed::until_listed,
    policy::{
        KnownFacts, ParamKind, ParamQuery, Question, Request, Scope, Which,
        cel::authorizer::{Decision, Question as Authorization, Subject},
        json::Json,
        selected,
    },
};

/// Each round of questions comes from what the last one answered; no real policy needs as many.
const ROUNDS: usize = 16;

/// The cluster, as policies ask about it.
pub struct Sources {
    client: Client,
    namespaces: Store<Namespace>,
    params: Mutex<HashMap<ParamKind, Arc<Params>>>,
}

/// The objects of one kind of params, kept current while a policy wants them.
#[derive(Debug)]
struct Params {
    scope: Scope,
    store: Store<DynamicObject>,
    resource: ApiResource,
    task: AbortHandle,
}

impl Drop for Params {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sources {
    /// Starts to follow the namespaces.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let (namespaces, _) = follow(Api::<Namespace>::all(client.clone()), ());
        Self { client, namespaces, params: Mutex::default() }
    }

    /// Evaluates until nothing is asked any more.
    pub async fn settle<T>(
        &self,
        request: &Request<'_>,
        evaluate: impl Fn(&KnownFacts) -> Result<T, Vec<Question>>,
    ) -> Result<T> {
        let mut known = KnownFacts::default();
        for _ in 0..ROUNDS {
            match evaluate(&known) {
                Ok(settled) => return Ok(settled),
                Err(questions) => self.look_up(&questions, request, &mut known).await?,
            }
        }
        bail!("the policies still had questions after {ROUNDS} rounds of answers")
    }

    async fn look_up(
        &self,
        questions: &[Question],
        request: &Request<'_>,
        known: &mut KnownFacts,
    ) -> Result<()> {
        for question in questions {
            match question {
                Question::Namespace(name) => {
                    let namespace = self.namespace(name).await?;
                    known.namespaces.insert(name.clone(), namespace);
                }
                Question::ParamScope(kind) => {
                    let scope = self.params_of(kind).await?.map(|params| params.scope);
                    known.param_scopes.insert(kind.clone(), scope);
                }
                Question::Params(query) => {
                    known.params.insert((**query).clone(), self.params(query).await?);
                }
                Question::Authorization(question) => {
                    let decision = self.authorization(question, request).await;
                    known.authorizations.insert((**question).clone(), decision);
                }
            }
        }
        Ok(())
    }

    /// Stops following kinds of params that no policy has any more.
    pub fn forget_params_but<'a>(&self, kinds: impl Iterator<Item = &'a ParamKind>) {
        let kinds: Vec<_> = kinds.collect();
        self.params
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|kind, _| kinds.contains(&kind));
    }

    async fn namespace(&self, name: &str) -> Result<Option<Value>> {
        let namespace = match self.namespaces.get(&ObjectRef::new(name)) {
            Some(namespace) => Some(serde_json::to_value(&*namespace)?),
            // It may be so new that we have not heard of it.
            None => Api::<Namespace>::all(self.client.clone())
                .get_opt(name)
                .await
                .with_context(|| format!("could not look at namespace {name}"))?
                .map(serde_json::to_value)
                .transpose()?,
        };
        Ok(namespace)
    }

    async fn params_of(&self, kind: &ParamKind) -> Result<Option<Arc<Params>>> {
        let followed =
            self.params.lock().unwrap_or_else(PoisonError::into_inner).get(kind).cloned();
        if followed.is_some() {
            return Ok(followed);
        }
        let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
        let wanted = GroupVersionKind::gvk(group, version, &kind.kind);
        let (resource, capabilities) = match discovery::pinned_kind(&self.client, &wanted).await {
            Ok(found) => found,
            Err(kube::Error::Discovery(_)) => return Ok(None),
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("could not find out about {} of {}", kind.kind, kind.api_version)
                });
            }
        };
        let scope = match capabilities.scope {
            discovery::Scope::Cluster => Scope::Cluster,
            discovery::Scope::Namespaced => Scope::Namespaced,
        };
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &resource);
        let (store, task) = follow(api, resource.clone());
        let params = Arc::new(Params { scope, store, resource, task });
        // Two requests may have come here at once; the second's watch ends with its value.
        let mut followed = self.params.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(Arc::clone(followed.entry(kind.clone()).or_insert(params))))
    }

    async fn params(&self, query: &ParamQuery) -> Result<Vec<Value>> {
        let Some(params) = self.params_of(&query.kind).await? else { return Ok(Vec::new()) };
        until_listed(&params.store).await.context("params are no longer followed")?;
        let in_namespace = |object: &DynamicObject| object.metadata.namespace == query.namespace;
        match &query.which {
            Which::Named(name) => {
                let mut wanted = ObjectRef::new_with(name, params.resource.clone());
                wanted.namespace.clone_from(&query.namespace);
                let found = params.store.get(&wanted);
                found.iter().map(|object| Ok(serde_json::to_value(&**object)?)).collect()
            }
            Which::Selected(selector) => {
                let mut found: Vec<_> = params
                    .store
                    .state()
                    .into_iter()
                    .filter(|object| in_namespace(object))
                    .collect();
                found.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
                let objects = found.iter().map(|object| serde_json::to_value(&**object));
                let objects: Vec<_> = objects.collect::<Result<_, _>>()?;
                Ok(selected(selector, objects))
            }
        }
    }

    async fn authorization(&self, question: &Authorization, request: &Request<'_>) -> Decision {
        let review = SubjectAccessReview {
            spec: access_review(question, request),
            ..SubjectAccessReview::default()
        };
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        match api.create(&PostParams::default(), &review).await {
            Ok(answer) => {
                let status = answer.status.unwrap_or_default();
                Decision {
                    allowed: status.allowed,
                    denied: status.denied.unwrap_or_default(),
                    reason: status.reason.unwrap_or_default(),
                    error: status.evaluation_error,
                }
            }
            Err(error) => Decision {
                allowed: false,
                denied: false,
                reason: String::new(),
                error: Some(error.to_string()),
            },
        }
    }
}

/// Follows all objects of a kind, without what only the API server has a use for.
fn follow<K>(api: Api<K>, kind: K::DynamicType) -> (Store<K>, AbortHandle)
where
    K: kube::Resource
        + Clone
        + std::fmt::Debug
        + Send
        + Sync
        + serde::de::DeserializeOwned
        + 'static,
    K::DynamicType: std::hash::Hash + Eq + Clone + Send + Sync,
{
    let writer = reflector::store::Writer::new(kind);
    let store = writer.as_reader();
    let changes = watcher(api, watcher::Config::default())
        .default_backoff()
        .modify(|object| object.meta_mut().managed_fields = None)
        .reflect(writer)
        .for_each(|change| async move {
            if let Err(error) = change {
                tracing::warn!(%error, "what policies ask about cannot be watched");
            }
        });
    (store, tokio::spawn(changes).abort_handle())
}

fn access_review(question: &Authorization, request: &Request<'_>) -> SubjectAccessReviewSpec {
    let subject = match question {
        Authorization::Path { subject, .. } | Authorization::Resource { subject, .. } => subject,
    };
    let mut spec = match subject {
        Subject::Requester => requester(request),
        Subject::ServiceAccount { namespace, name } => SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{namespace}:{name}")),
            groups: Some(vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ]),
            ..SubjectAccessReviewSpec::default()
        },
    };
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    match question {
        Authorization::Path { path, verb, .. } => {
            spec.non_resource_attributes =
                Some(NonResourceAttributes { path: text(path), verb: text(verb) });
        }
        Authorization::Resource { resource, verb, .. } => {
            spec.resource_attributes = Some(ResourceAttributes {
                group: text(&resource.group),
                resource: text(&resource.resource),
                subresource: text(&resource.subresource),
                namespace: text(&resource.namespace),
                name: text(&resource.name),
                verb: text(verb),
                field_selector: selector::fields(&resource.field_selector),
                label_selector: selector::labels(&resource.label_selector),
                ..ResourceAttributes::default()
            });
        }
    }
    spec
}

fn requester(request: &Request<'_>) -> SubjectAccessReviewSpec {
    let info = request.user_info();
    let of = |key: &str| info.and_then(|info| info.get(key)).map_or(Value::Null, Json::to_value);
    SubjectAccessReviewSpec {
        user: serde_json::from_value(of("username")).unwrap_or_default(),
        uid: serde_json::from_value(of("uid")).unwrap_or_default(),
        groups: serde_json::from_value(of("groups")).unwrap_or_default(),
        extra: serde_json::from_value(of("extra")).unwrap_or_default(),
        ..SubjectAccessReviewSpec::default()
    }
}

/// Selectors as the review takes them: the text as it is, which the API server reads itself.
mod selector {
    use k8s_openapi::api::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes};

    pub(super) fn fields(text: &str) -> Option<FieldSelectorAttributes> {
        (!text.is_empty()).then(|| FieldSelectorAttributes {
            raw_selector: Some(text.to_owned()),
            requirements: None,
        })
    }

    pub(super) fn labels(text: &str) -> Option<LabelSelectorAttributes> {
        (!text.is_empty()).then(|| LabelSelectorAttributes {
            raw_selector: Some(text.to_owned()),
            requirements: None,
        })
    }
}
