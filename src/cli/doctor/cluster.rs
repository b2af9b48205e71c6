//! What the cluster says: versions, kinds, permissions, Leases; and Ironic.

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    api::{
        authorization::v1::{
            ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
            SubjectAccessReview, SubjectAccessReviewSpec,
        },
        coordination::v1::Lease,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use prometheus_client::registry::Registry;

use super::target::Target;
use crate::{
    adapters::{
        ironic,
        other_operator::{BAREMETAL_OPERATOR, CLUSTER_API_PROVIDER_METAL3, holder_of},
    },
    cli::{Settings, controllers::Controller},
    doctor::{
        Ironic, Known, Operator, Permissions,
        permissions::{Need, needed},
    },
    run::LEASE,
};

/// Questions to the API server under way at one time.
const AT_ONCE: usize = 8;

pub(super) async fn server(client: &Client) -> Known<String> {
    let said = client.apiserver_version().await;
    said.map(|it| it.git_version).map_err(|error| error.to_string())
}

pub(super) async fn definitions(client: &Client) -> Known<Vec<CustomResourceDefinition>> {
    let all =
        Api::<CustomResourceDefinition>::all(client.clone()).list(&ListParams::default()).await;
    all.map(|it| it.items)
        .map_err(|error| format!("could not list the CustomResourceDefinitions: {error}"))
}

pub(super) async fn leader(client: &Client, namespace: &str) -> Known<Option<String>> {
    let lease = Api::<Lease>::namespaced(client.clone(), namespace).get_opt(LEASE).await;
    let lease =
        lease.map_err(|error| format!("could not read Lease {namespace}/{LEASE}: {error}"))?;
    Ok(lease.as_ref().and_then(holder_of).map(str::to_owned))
}

pub(super) async fn operators(client: &Client, settings: &Settings) -> Vec<Operator> {
    use Controller::{Cluster, Host, Machine, MachineTemplate, Remediation};
    let has =
        |controllers: &[Controller]| controllers.iter().any(|it| settings.controllers.has(*it));
    let both = [
        (BAREMETAL_OPERATOR, "`host`", has(&[Host])),
        (
            CLUSTER_API_PROVIDER_METAL3,
            "`cluster`, `machine`, `machine-template` and `remediation`",
            has(&[Cluster, Machine, MachineTemplate, Remediation]),
        ),
    ];
    let mut found = Vec::new();
    for (operator, ours, is_replaced) in both {
        let holder = operator.holder(client).await.map_err(|error| error.to_string());
        found.push(Operator { name: operator.name, ours, is_replaced, holder });
    }
    found
}

pub(super) async fn permissions(client: &Client, target: &Target) -> Known<Permissions> {
    let needs = needed(&target.duties());
    let whose = target.account.clone().unwrap_or_else(|| "who asks".to_owned());
    let needed = needs.len();
    let answers = stream::iter(needs).map(|need| async {
        let is_granted = is_granted(client, target, &need).await;
        is_granted.map(|is_granted| (!is_granted).then_some(need))
    });
    let missing: Result<Vec<_>, _> = answers.buffered(AT_ONCE).try_collect().await;
    let missing = missing.map_err(|error| format!("could not ask what {whose} may do: {error}"))?;
    Ok(Permissions { whose, needed, missing: missing.into_iter().flatten().collect() })
}

async fn is_granted(client: &Client, target: &Target, need: &Need) -> kube::Result<bool> {
    let (resource, subresource) = match need.resource.split_once('/') {
        Some((resource, sub)) => (resource, Some(sub.to_owned())),
        None => (need.resource, None),
    };
    let attributes = ResourceAttributes {
        group: Some(need.group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(need.verb.to_owned()),
        name: need.name.clone(),
        namespace: need.is_own_namespace.then(|| target.namespace.clone()),
        ..ResourceAttributes::default()
    };
    let resource_attributes = Some(attributes);
    let status = if let Some(account) = &target.account {
        let spec = SubjectAccessReviewSpec {
            user: Some(account.clone()),
            groups: Some(groups(account)),
            resource_attributes,
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews = Api::<SubjectAccessReview>::all(client.clone());
        reviews.create(&PostParams::default(), &review).await?.status
    } else {
        let spec = SelfSubjectAccessReviewSpec { resource_attributes, ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let reviews = Api::<SelfSubjectAccessReview>::all(client.clone());
        reviews.create(&PostParams::default(), &review).await?.status
    };
    Ok(status.is_some_and(|it| it.allowed))
}

/// Those that the API server puts a service account in.
fn groups(account: &str) -> Vec<String> {
    let namespace = account.split(':').nth(2).unwrap_or_default();
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ]
}

pub(super) async fn ironic(target: &Target) -> Option<Ironic> {
    if !target.uses_ironic() {
        return None;
    }
    let flags = &target.settings.ironic;
    let url = flags.ironic_url.clone().unwrap_or_else(|| "no --ironic-url".to_owned());
    let asked = async {
        let settings = flags.settings().map_err(|error| format!("{error:#}"))?;
        let metrics = ironic::Metrics::new(&mut Registry::default());
        let client =
            ironic::Client::new(&settings, metrics).map_err(|error| format!("{error:#}"))?;
        // Any answer to a request that needs a login shows that it is accepted.
        let version = client.version().await.map_err(|error| error.to_string())?;
        client.ports_with("00:00:00:00:00:00").await.map_err(|error| error.to_string())?;
        Ok(version.to_string())
    };
    Some(Ironic { url, version: asked.await, from_pod: target.command_in_pod() })
}
