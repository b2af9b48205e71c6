//! What a cluster has: its resources, and their objects page by page, for a fleet is larger than
//! what should be held at one time.

use anyhow::{Context, Result};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    discovery::{ApiResource, Discovery, Scope, verbs},
};
use serde_json::Value;

use crate::{admission::Resource, audit::Kind, policy::Versioned};

const PAGE: u32 = 500;

/// A resource that the API server serves.
#[derive(Debug, Clone)]
pub struct Served {
    /// As policies name it.
    pub resource: Resource,
    api: ApiResource,
    scope: Scope,
}

impl Served {
    /// As requests name it.
    #[must_use]
    pub fn kind(&self) -> Kind<'_> {
        let Resource { group, version, name } = &self.resource;
        Kind { group, version, resource: name, kind: &self.api.kind }
    }

    /// The same, as rules match it.
    #[must_use]
    pub fn versioned(&self) -> Versioned<'_> {
        let Resource { group, version, name } = &self.resource;
        Versioned { group, version, name }
    }

    /// Its objects in all namespaces.
    #[must_use]
    pub fn everywhere(&self, client: Client) -> Api<DynamicObject> {
        Api::all_with(client, &self.api)
    }

    /// Its objects in the namespace of one of them, which is empty for what lives in none.
    #[must_use]
    pub fn beside(&self, client: Client, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            return self.everywhere(client);
        }
        Api::namespaced_with(client, namespace, &self.api)
    }

    /// One of its objects as JSON. Items of a list do not say what they are; this does.
    #[must_use]
    pub fn json(&self, object: DynamicObject) -> Value {
        let mut object = serde_json::to_value(object).unwrap_or_default();
        object["apiVersion"] = self.api.api_version.clone().into();
        object["kind"] = self.api.kind.clone().into();
        object
    }
}

/// All resources that can be written, with their subresources.
pub async fn served(client: &Client) -> Result<Vec<Served>> {
    let discovery = Discovery::new(client.clone())
        .run_aggregated()
        .await
        .context("could not find out which resources the cluster has")?;
    let mut found = Vec::new();
    for group in discovery.groups() {
        for version in group.versions() {
            for (api, capabilities) in group.versioned_resources(version) {
                let named = |name: String| Served {
                    resource: Resource {
                        group: api.group.clone(),
                        version: api.version.clone(),
                        name,
                    },
                    api: api.clone(),
                    scope: capabilities.scope.clone(),
                };
                // What cannot be written is never admitted.
                if [verbs::CREATE, verbs::UPDATE, verbs::DELETE]
                    .iter()
                    .any(|verb| capabilities.supports_operation(verb))
                {
                    found.push(named(api.plural.clone()));
                }
                for (sub, _) in &capabilities.subresources {
                    found.push(named(format!("{}/{}", api.plural, sub.plural)));
                }
            }
        }
    }
    Ok(found)
}

/// The objects of a resource.
pub struct Pages {
    api: Option<Api<DynamicObject>>,
    served: Served,
    parameters: ListParams,
}

impl Pages {
    /// Those of all namespaces, or of one.
    #[must_use]
    pub fn new(
        client: Client,
        served: &Served,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Self {
        let api = match (namespace, &served.scope) {
            (None, _) => Some(Api::all_with(client, &served.api)),
            (Some(namespace), Scope::Namespaced) => {
                Some(Api::namespaced_with(client, namespace, &served.api))
            }
            (Some(_), Scope::Cluster) => None,
        };
        let mut parameters = ListParams::default().limit(PAGE);
        parameters.label_selector = selector.map(str::to_owned);
        Self { api, served: served.clone(), parameters }
    }

    /// The next objects, until there are no more.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(api) = &self.api else { return Ok(None) };
        let list = api
            .list(&self.parameters)
            .await
            .with_context(|| format!("could not list {}", self.served.resource.name))?;
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => self.parameters = self.parameters.clone().continue_token(&token),
            None => self.api = None,
        }
        Ok(Some(list.items.into_iter().map(|object| self.served.json(object)).collect()))
    }
}
