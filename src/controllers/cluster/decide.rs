//! What is to be done about a Metal3Cluster: a total function of what is known of it.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    conditions::{INFRASTRUCTURE_READY, PAUSED, READY, Why},
    observed::Observed,
    plan::{FINALIZER, Plan, Then},
};
use crate::{
    api::{
        cluster_api::{self, MANAGED_BY},
        metal3cluster::{ApiEndpoint, Initialization, Metal3ClusterStatus},
    },
    controllers::conditions::{self, Answer},
};

/// How soon one is looked at whose machines are still being deleted.
const MACHINES: Duration = Duration::from_secs(10);

/// Decides what is to be done next about a Metal3Cluster.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    let metadata = &seen.cluster.metadata;
    let is_guarded = metadata.finalizers.iter().flatten().any(|it| it == FINALIZER);
    let is_being_deleted = metadata.deletion_timestamp.is_some();
    let is_foreign = metadata.annotations.iter().flatten().any(|(key, _)| key == MANAGED_BY);
    let mut status = seen.cluster.status.clone().unwrap_or_default();
    if is_foreign || (is_being_deleted && !is_guarded) {
        return Plan { status: None, then: Then::Await };
    }
    if cluster_api::is_paused(metadata, seen.owner.as_ref()) {
        answer(seen, &mut status, PAUSED, &Answer::yes(Why::Paused));
        return finish(seen, status, Then::Await);
    }
    answer(seen, &mut status, PAUSED, &Answer::no(Why::NotPaused, ""));
    if is_being_deleted {
        if seen.machines == 0 {
            return Plan { status: None, then: Then::Release };
        }
        let left = match seen.machines {
            1 => "1 Machine of the Cluster is".to_owned(),
            machines => format!("{machines} Machines of the Cluster are"),
        };
        conclude(seen, &mut status, &Answer::no(Why::Deleting, format!("{left} still there")));
        return finish(seen, status, Then::After(MACHINES));
    }
    if seen.owner.is_none() {
        let waits = "no Cluster has it as its infrastructureRef yet";
        conclude(seen, &mut status, &Answer::no(Why::FailedToGetOwnerCluster, waits));
        return finish(seen, status, Then::Await);
    }
    if !is_guarded {
        return Plan { status: None, then: Then::Guard };
    }
    let missing = missing(seen.cluster.spec.control_plane_endpoint.as_ref());
    if missing.is_empty() {
        status.initialization = Some(Initialization { provisioned: Some(true) });
        status.failure_domains.clone_from(&seen.cluster.spec.failure_domains);
        conclude(seen, &mut status, &Answer::yes(Why::Ready));
    } else {
        let said = format!("missing in spec.controlPlaneEndpoint: {}", missing.join(", "));
        conclude(seen, &mut status, &Answer::no(Why::ControlPlaneEndpointFailed, said));
    }
    finish(seen, status, Then::Await)
}

fn missing(endpoint: Option<&ApiEndpoint>) -> Vec<&'static str> {
    let host = endpoint.and_then(|it| it.host.as_ref()).is_none_or(String::is_empty);
    let port = endpoint.and_then(|it| it.port).is_none_or(|port| port == 0);
    [(host, "host"), (port, "port")].iter().filter(|(it, _)| *it).map(|(_, it)| *it).collect()
}

/// Both conditions say the same: there is nothing else to it.
fn conclude(seen: &Observed, status: &mut Metal3ClusterStatus, why: &Answer<Why>) {
    answer(seen, status, INFRASTRUCTURE_READY, why);
    let reason = match (why.is_true, why.reason) {
        (true, _) => Why::Ready,
        (false, Why::Deleting) => Why::Deleting,
        (false, _) => Why::NotReady,
    };
    answer(seen, status, READY, &Answer { reason, ..why.clone() });
}

fn answer(seen: &Observed, status: &mut Metal3ClusterStatus, question: &str, answer: &Answer<Why>) {
    let now = conditions::in_seconds(seen.now);
    let generation = seen.cluster.metadata.generation;
    conditions::set(&mut status.conditions, question, answer, generation, now);
}

fn finish(seen: &Observed, mut status: Metal3ClusterStatus, then: Then) -> Plan {
    let differs = seen.cluster.status.as_ref() != Some(&status);
    if differs {
        status.last_updated = Some(Time(conditions::in_seconds(seen.now)));
    }
    Plan { status: differs.then(|| Box::new(status)), then }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Metal3Cluster, cluster_api::Cluster, metal3cluster::FailureDomain};
    use jiff::Timestamp;

    fn seen() -> Observed {
        let mut cluster = Metal3Cluster::default();
        cluster.metadata.finalizers = Some(vec![FINALIZER.into()]);
        cluster.spec.control_plane_endpoint =
            Some(ApiEndpoint { host: Some("192.0.2.1".into()), port: Some(6443) });
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        Observed { cluster, owner: Some(Cluster::default()), machines: 0, now }
    }

    fn reason(plan: &Plan, question: &str) -> (String, String) {
        let conditions = plan.status.as_ref().unwrap().conditions.clone().unwrap();
        let found = conditions.iter().find(|it| it.type_ == question).unwrap();
        (found.status.clone(), found.reason.clone())
    }

    #[test]
    fn one_with_an_endpoint_is_provisioned_and_passes_its_failure_domains_on() {
        let mut seen = seen();
        let domain =
            FailureDomain { name: "a".into(), control_plane: Some(true), attributes: None };
        seen.cluster.spec.failure_domains = Some(vec![domain.clone()]);
        let plan = decide(&seen);
        let status = plan.status.clone().unwrap();
        assert_eq!(status.initialization.and_then(|it| it.provisioned), Some(true));
        assert_eq!(status.failure_domains, Some(vec![domain]));
        assert_eq!(reason(&plan, READY), ("True".into(), READY.into()));
        assert_eq!(plan.then, Then::Await);
        // And that is all.
        seen.cluster.status = plan.status.map(|it| *it);
        assert_eq!(decide(&seen).status, None);
    }

    #[test]
    fn what_is_missing_is_said_all_at_once() {
        let mut seen = seen();
        seen.cluster.spec.control_plane_endpoint = None;
        let plan = decide(&seen);
        let told = reason(&plan, INFRASTRUCTURE_READY);
        assert_eq!(told, ("False".into(), "ControlPlaneEndpointFailed".into()));
        let conditions = plan.status.unwrap().conditions.unwrap();
        let said = conditions.iter().find(|it| it.type_ == READY).unwrap();
        assert_eq!(said.message, "missing in spec.controlPlaneEndpoint: host, port");
    }

    #[test]
    fn one_that_was_provisioned_stays_so() {
        let mut seen = seen();
        seen.cluster.status = decide(&seen).status.map(|it| *it);
        seen.cluster.spec.control_plane_endpoint = None;
        let status = decide(&seen).status.unwrap();
        assert_eq!(status.initialization.and_then(|it| it.provisioned), Some(true));
    }

    #[test]
    fn its_deletion_waits_for_machines_and_for_nothing_else() {
        let mut seen = seen();
        seen.cluster.metadata.deletion_timestamp = Some(Time(seen.now));
        seen.owner = None;
        seen.cluster.spec.control_plane_endpoint = None;
        seen.machines = 2;
        assert_eq!(decide(&seen).then, Then::After(MACHINES));
        seen.machines = 0;
        assert_eq!(decide(&seen).then, Then::Release);
        seen.cluster.metadata.finalizers = None;
        assert_eq!(decide(&seen), Plan { status: None, then: Then::Await });
    }

    #[test]
    fn one_that_is_paused_or_of_somebody_else_is_left_alone() {
        let mut seen = seen();
        let mut owner = Cluster::default();
        owner.spec.paused = Some(true);
        seen.owner = Some(owner);
        let plan = decide(&seen);
        assert_eq!(reason(&plan, PAUSED), ("True".into(), PAUSED.into()));
        assert_eq!(plan.status.unwrap().initialization, None);
        seen.cluster.metadata.annotations = Some([(MANAGED_BY.into(), String::new())].into());
        assert_eq!(decide(&seen), Plan { status: None, then: Then::Await });
    }
}
