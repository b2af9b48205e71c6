//! What is around: the API server, its kinds, the replicas, other operators, Ironic.

use super::{Facts, Finding, Outcome};
use crate::api::{self, installed};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// The oldest Kubernetes that it is seen to work on, as the guide says.
const OLDEST: (u32, u32) = (1, 33);

/// Kinds that nobody else brings.
const OWN: [&str; 3] = ["BareMetalHostDiscovery", "HostHistory", "Metal3Metadata"];

pub(super) fn server(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "kubernetes";
    let finding = match &facts.server {
        Err(reason) => Finding::failed(
            CHECK,
            format!("the API server does not answer: {reason}"),
            "see that KUBECONFIG names the right cluster, and that `kubectl version` works",
        ),
        Ok(version) if minor(version).is_some_and(|it| it < OLDEST) => Finding::warning(
            CHECK,
            format!(
                "the API server is {version}, and Ironward is seen to work from v{}.{} on",
                OLDEST.0, OLDEST.1
            ),
            "upgrade Kubernetes",
        ),
        Ok(version) => Finding::ok(CHECK, format!("the API server is {version}")),
    };
    vec![finding]
}

fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    let number = |part: &str| part.trim_end_matches(|it: char| !it.is_ascii_digit()).parse().ok();
    Some((number(parts.next()?)?, number(parts.next()?)?))
}

pub(super) fn kinds(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "kinds";
    let found = match &facts.definitions {
        Ok(found) => found,
        Err(reason) => {
            let next = "somebody who may list CustomResourceDefinitions should look";
            return vec![Finding::unknown(CHECK, reason, next)];
        }
    };
    let wanted: Vec<_> = api::definitions().collect();
    let mut said: Vec<_> = installed::missing(&wanted, found.iter())
        .into_iter()
        .map(|missing| {
            let next = "no replica becomes ready before all kinds are there";
            Finding::failed(CHECK, missing, next)
        })
        .collect();
    for definition in &wanted {
        let kind = definition.spec.names.kind.as_str();
        let stored = found.iter().find(|it| it.metadata.name == definition.metadata.name);
        let is_ours = OWN.contains(&kind) || facts.keeps_metal3_kinds;
        let Some(stored) = stored.filter(|_| is_ours) else { continue };
        if !is_alike(definition, stored) {
            said.push(Finding::but(
                if OWN.contains(&kind) { Outcome::Failed } else { Outcome::Warning },
                CHECK,
                format!("kind {kind} is not as Ironward {} has it", facts.version),
                format!("`ironward crds {kind} | kubectl apply --server-side -f -`, or `helm upgrade` where the chart brings it"),
            ));
        }
    }
    if said.is_empty() {
        said.push(Finding::ok(CHECK, format!("all {} are installed and served", wanted.len())));
    }
    said
}

/// Whether objects of a kind are checked and kept by the same schema.
fn is_alike(wanted: &CustomResourceDefinition, stored: &CustomResourceDefinition) -> bool {
    wanted.spec.versions.iter().all(|version| {
        let same = stored.spec.versions.iter().find(|it| it.name == version.name);
        same.is_none_or(|it| it.schema == version.schema)
    })
}

pub(super) fn deployment(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "replicas";
    let Some(deployment) = &facts.deployment else { return Vec::new() };
    let super::Deployment { namespace, name, image, wanted, ready } = deployment;
    let what =
        format!("{ready} of {wanted} replicas of {namespace}/{name} are ready; they run {image}");
    let next = format!(
        "`kubectl -n {namespace} get pods` and `kubectl -n {namespace} logs deployment/{name}` say why others are not"
    );
    vec![match (*ready, *wanted) {
        (0, 0) => Finding::failed(
            CHECK,
            format!("{namespace}/{name} is scaled to no replicas"),
            format!("`kubectl -n {namespace} scale deployment/{name} --replicas=2`"),
        ),
        (0, _) => Finding::failed(CHECK, what, next),
        (ready, wanted) if ready < wanted => Finding::warning(CHECK, what, next),
        _ => Finding::ok(CHECK, what),
    }]
}

/// Kinds, flags and permissions are those of the version that looks.
pub(super) fn version(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "version";
    let Some(deployment) = &facts.deployment else { return Vec::new() };
    let ours = &facts.version;
    vec![match tag(&deployment.image) {
        Some(theirs) if theirs.trim_start_matches('v') == ours => {
            Finding::ok(CHECK, format!("replicas and this program are {ours}"))
        }
        Some(theirs) if minor(theirs).is_some() => Finding::warning(
            CHECK,
            format!(
                "replicas run {theirs}, and this program is {ours}: it looks for what {ours} has and needs"
            ),
            format!(
                "look again with `ironward` {theirs}, or bring the release to {ours} with `helm upgrade`"
            ),
        ),
        _ => Finding::ok(
            CHECK,
            format!("this program is {ours}; the image of the replicas does not say its version"),
        ),
    }]
}

/// What an image is tagged with, if it is not named by what is in it.
fn tag(image: &str) -> Option<&str> {
    let name = image.rsplit('/').next().filter(|it| !it.contains('@'))?;
    name.split_once(':').map(|(_, tag)| tag)
}

pub(super) fn leader(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "leader";
    let lease = &facts.lease;
    vec![match &facts.leader {
        Ok(Some(holder)) => Finding::ok(CHECK, format!("{holder} reconciles (Lease {lease})")),
        Ok(None) => Finding::failed(
            CHECK,
            format!("no replica reconciles: nobody holds Lease {lease}"),
            "see that a replica runs, and that it may write Leases in that namespace",
        ),
        Err(reason) => Finding::unknown(CHECK, reason, "somebody who may read Leases should look"),
    }]
}

pub(super) fn operators(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "operators";
    let each = facts.operators.iter().map(|operator| {
        let super::Operator { name, ours, is_replaced, holder } = operator;
        match (holder, is_replaced) {
            (Ok(Some(holder)), true) => Finding::failed(
                CHECK,
                format!("{name} is at work, so {ours} of ours wait: {holder}"),
                format!("remove {name}, or leave {ours} out of --controllers"),
            ),
            (Ok(Some(holder)), false) => Finding::ok(CHECK, format!("{name} is at work: {holder}")),
            (Ok(None), true) => {
                Finding::ok(CHECK, format!("{name} is not at work: Ironward is, in its place"))
            }
            (Ok(None), false) => {
                Finding::ok(CHECK, format!("{name} is not at work, and neither is {ours} of ours"))
            }
            (Err(reason), _) => Finding::unknown(
                CHECK,
                format!("whether {name} is at work could not be found out: {reason}"),
                "somebody who may list Leases in all namespaces should look",
            ),
        }
    });
    each.collect()
}

pub(super) fn ironic(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "ironic";
    let Some(ironic) = &facts.ironic else { return Vec::new() };
    let url = &ironic.url;
    vec![match (&ironic.version, &ironic.from_pod) {
        (Ok(version), _) => {
            Finding::ok(CHECK, format!("{url} speaks version {version} of Ironic's API"))
        }
        (Err(reason), None) => Finding::failed(
            CHECK,
            format!("{url}: {reason}"),
            "see that --ironic-url is right, that Ironic runs, and that --ironic-auth-dir and --ironic-ca-file are those of this Ironic",
        ),
        (Err(reason), Some(command)) => Finding::unknown(
            CHECK,
            format!("from here, {url}: {reason}"),
            format!("ask from where the replicas are: `{command}`"),
        ),
    }]
}
