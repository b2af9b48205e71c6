//! What Ironward has to be permitted, by what it is to do. `e2e/tests/install/doctor.rs` keeps it equal to the chart's roles.

use super::{Facts, Finding, Known};

/// Something that Ironward may be told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duty {
    /// What every replica does.
    Always,
    /// Registrations of this name.
    Registering(String),
    /// Registrations that belong to this ClusterRole.
    Owned(String),
    /// A certificate in this Secret.
    SelfSigned(String),
    /// Any controller at all.
    Controlling,
    /// BareMetalHosts.
    Hosts,
    /// Clusters, machines, templates.
    Machines,
    /// Metal3Remediations.
    Remediation,
    /// BareMetalHostDiscoveries.
    Discovery,
    /// Machines of Ironic that are not to be discovered again.
    Ironic,
    /// Pools that follow their hosts.
    Autoscale,
    /// Metal3Metadata.
    Metadata,
    /// The page.
    Page,
}

/// A permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// The API group; none for Kubernetes' own.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// What is done to it.
    pub verb: &'static str,
    /// Whether in Ironward's own namespace only.
    pub is_own_namespace: bool,
    /// The one object, if not all.
    pub name: Option<String>,
}

const CAPI: &str = "cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const METAL3: &str = "metal3.io";
const REGISTRATION: &str = "admissionregistration.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const FOLLOW: &[&str] = &["list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "patch"];
const PATCH: &[&str] = &["patch"];

type Rule = (&'static str, &'static [&'static str], &'static [&'static str]);

impl Duty {
    fn rules(&self) -> &'static [Rule] {
        match self {
            Self::Always => &[
                ("apiextensions.k8s.io", &["customresourcedefinitions"], FOLLOW),
                ("", &["namespaces"], READ),
                (METAL3, &["baremetalhosts"], READ),
                (METAL3, &["baremetalhosts/status"], PATCH),
                ("events.k8s.io", &["events"], &["create", "patch"]),
                (METAL3, &["baremetalhostdiscoveries"], FOLLOW),
            ],
            Self::Registering(_) => &[(
                REGISTRATION,
                &["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
                &["get", "create", "patch"],
            )],
            Self::Owned(_) => &[("rbac.authorization.k8s.io", &["clusterroles"], &["get"])],
            Self::SelfSigned(_) => &[("", &["secrets"], &["get", "patch"])],
            Self::Controlling => &[
                (METAL3, &["baremetalhosts"], PATCH),
                ("coordination.k8s.io", &["leases"], &["list"]),
            ],
            Self::Hosts => &[
                (METAL3, &["hardwaredata"], &["get", "create", "patch"]),
                ("", &["secrets"], KEEP),
            ],
            Self::Machines => &[
                ("", &["secrets"], &["get"]),
                (INFRASTRUCTURE, &["metal3machines", "metal3clusters"], KEEP),
                (INFRASTRUCTURE, &["metal3machines/status", "metal3clusters/status"], PATCH),
                (INFRASTRUCTURE, &["metal3machinetemplates"], READ),
                (CAPI, &["clusters", "machines"], FOLLOW),
                (CAPI, &["machinedeployments"], &["get", "list"]),
                ("controlplane.cluster.x-k8s.io", &["*"], &["get"]),
            ],
            Self::Remediation => &[
                (INFRASTRUCTURE, &["metal3remediations"], KEEP),
                (INFRASTRUCTURE, &["metal3remediations"], &["delete"]),
                (INFRASTRUCTURE, &["metal3remediations/status"], PATCH),
                (INFRASTRUCTURE, &["metal3machines"], &["get"]),
                (CAPI, &["machines"], KEEP),
                (CAPI, &["machines/status"], PATCH),
                (CAPI, &["machinehealthchecks"], &["list"]),
                (CAPI, &["clusters"], &["get"]),
                ("ironward.dev", &["hosthistories"], &["get", "list", "create", "patch"]),
                ("", &["secrets"], &["get"]),
            ],
            Self::Discovery => &[
                (METAL3, &["baremetalhosts"], &["create"]),
                (METAL3, &["baremetalhostdiscoveries/status"], PATCH),
            ],
            Self::Autoscale => &[
                (CAPI, &["machinedeployments", "machinesets", "clusters"], FOLLOW),
                (INFRASTRUCTURE, &["metal3machines", "metal3machinetemplates"], FOLLOW),
                (CAPI, &["machinedeployments/scale", "machinesets/scale"], PATCH),
            ],
            Self::Metadata => &[
                (INFRASTRUCTURE, &["metal3metadata", "metal3machines"], KEEP),
                (INFRASTRUCTURE, &["metal3metadata/status"], PATCH),
                (INFRASTRUCTURE, &["metal3clusters"], &["list"]),
                ("", &["secrets"], &["list", "watch", "create", "patch", "delete"]),
                (CAPI, &["machines"], FOLLOW),
                (CAPI, &["clusters"], &["get"]),
            ],
            Self::Page => &[
                ("authentication.k8s.io", &["tokenreviews"], &["create"]),
                ("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
                ("ironward.dev", &["hosthistories"], READ),
            ],
            // Said below: all of it is in its own namespace.
            Self::Ironic => &[],
        }
    }

    fn name(&self) -> Option<&String> {
        if let Self::Registering(name) | Self::Owned(name) | Self::SelfSigned(name) = self {
            return Some(name);
        }
        None
    }
}

/// The machines that are not to be discovered again.
const FORGOTTEN: &str = "ironward-forgotten";

/// All that is needed for something, each once.
#[must_use]
pub fn needed(duties: &[Duty]) -> Vec<Need> {
    let mut all = Vec::new();
    for duty in duties {
        for (group, resources, verbs) in duty.rules() {
            for resource in *resources {
                all.extend(verbs.iter().map(|verb| Need {
                    group,
                    resource,
                    verb,
                    is_own_namespace: matches!(duty, Duty::SelfSigned(_)),
                    name: duty.name().cloned(),
                }));
            }
        }
        let own = |group, resource, verb, name: Option<&str>| Need {
            group,
            resource,
            verb,
            is_own_namespace: true,
            name: name.map(str::to_owned),
        };
        if *duty == Duty::Always {
            let verbs = ["get", "list", "watch", "create", "patch", "delete"];
            all.extend(verbs.map(|verb| own("coordination.k8s.io", "leases", verb, None)));
        }
        if *duty == Duty::Ironic {
            all.extend(["get", "patch"].map(|verb| own("", "configmaps", verb, Some(FORGOTTEN))));
            // `create` cannot be bound to a name.
            all.push(own("", "configmaps", "create", None));
        }
    }
    all.sort();
    all.dedup();
    all
}

impl Need {
    /// As `kubectl auth can-i` has it.
    fn words(&self) -> String {
        let Self { group, resource, verb, name, .. } = self;
        let group = if group.is_empty() { String::new() } else { format!(".{group}") };
        let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let sub = if sub.is_empty() { String::new() } else { format!("/{sub}") };
        let name = name.as_ref().map_or(String::new(), |it| format!(" {it}"));
        let place = if self.is_own_namespace { " in its own namespace" } else { "" };
        format!("{verb} {resource}{group}{sub}{name}{place}")
    }
}

pub(super) fn examine(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "permissions";
    let known: &Known<_> = &facts.permissions;
    vec![match known {
        Err(reason) => Finding::unknown(
            CHECK,
            reason,
            "somebody who may create SubjectAccessReviews should look; in a pod of Ironward, it may always ask for itself",
        ),
        Ok(known) if known.missing.is_empty() => Finding::ok(
            CHECK,
            format!("{} may do all {} things that are needed", known.whose, known.needed),
        ),
        Ok(known) => {
            let missing: Vec<_> = known.missing.iter().map(Need::words).collect();
            Finding::failed(
                CHECK,
                format!("{} may not: {}", known.whose, missing.join(", ")),
                "`helm upgrade` with the values of this release puts its roles right; where roles are written by hand, add these",
            )
        }
    }]
}
