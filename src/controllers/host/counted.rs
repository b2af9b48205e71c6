//! What of a plan is worth counting, in the terms in which baremetal-operator counts: whoever has dashboards and alerts for that keeps them.

use strum::{EnumIter, IntoStaticStr};

use super::{events::Reason, observed::Observed, plan::Plan, secrets::BmcSecret, slots::Work};
use crate::{
    api::baremetalhost::{BareMetalHostStatus, OperationHistory, OperationMetric},
    domain::{
        host_status::{ErrorType, OperationalStatus},
        provisioning_state::ProvisioningState,
    },
};

/// Something that happened to a host, once its plan is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Counted {
    /// It went from one state to another.
    StateChange {
        /// As it is written.
        from: String,
        /// As it is written.
        to: String,
    },
    /// Something that takes its time has ended.
    Ended(Timed, f64),
    /// Something failed, for the first time or again.
    Failed(ErrorType),
    /// It has to wait for its turn.
    Delayed(Work),
    /// It was switched on, or off.
    Power {
        /// Which of them.
        is_on: bool,
    },
    /// Something that happens to all alike.
    Once(Plain),
}

/// What is timed, from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Timed {
    /// Its BMC is reached.
    Register,
    /// Its hardware is looked at.
    Inspect,
    /// An image is written.
    Provision,
    /// The image is taken away.
    Deprovision,
}

/// What is counted without saying of which host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Plain {
    /// There are no credentials.
    CredentialsMissing,
    /// There are, and they cannot be used.
    CredentialsInvalid,
    /// Others are tried than before.
    CredentialsUpdated,
    /// It is to be registered.
    HostRegistrationRequired,
    /// Nothing is known to manage it with.
    HostUnmanaged,
    /// It is forgotten though its image could not be taken away.
    DeleteWithoutDeprovisioning,
    /// It is forgotten though it could not be switched off.
    DeleteWithoutPoweringOff,
}

impl Timed {
    fn of(self, history: Option<&OperationHistory>) -> Option<&OperationMetric> {
        let history = history?;
        match self {
            Self::Register => history.register.as_ref(),
            Self::Inspect => history.inspect.as_ref(),
            Self::Provision => history.provision.as_ref(),
            Self::Deprovision => history.deprovision.as_ref(),
        }
    }
}

/// All that happened by a plan.
#[must_use]
pub fn counted(seen: &Observed, plan: &Plan) -> Vec<Counted> {
    let nothing = BareMetalHostStatus::default();
    let before = seen.host.status.as_ref().unwrap_or(&nothing);
    let by_status = plan.status.iter().flat_map(|after| of_status(before, after));
    let by_events = plan.events.iter().filter_map(|event| of_event(event.reason, &seen.secret));
    by_status.chain(by_events).collect()
}

fn of_status(before: &BareMetalHostStatus, after: &BareMetalHostStatus) -> Vec<Counted> {
    let mut all = Vec::new();
    let (from, to) = (&before.provisioning.state, &after.provisioning.state);
    if from != to {
        all.push(Counted::StateChange { from: from.clone(), to: to.clone() });
        match to.parse() {
            Ok(ProvisioningState::Registering) => {
                all.push(Counted::Once(Plain::HostRegistrationRequired));
            }
            Ok(ProvisioningState::Unmanaged) => all.push(Counted::Once(Plain::HostUnmanaged)),
            _ => {}
        }
    }
    all.extend(ended(before, after));
    let failed = |it: &BareMetalHostStatus| (it.error_type, it.error_count);
    if let Some(error) = after.error_type.filter(|_| failed(before) != failed(after)) {
        all.push(Counted::Failed(error));
    }
    let is_delayed = |it: &BareMetalHostStatus| it.operational_status == OperationalStatus::Delayed;
    if is_delayed(after) && !is_delayed(before) {
        all.extend(to.parse().ok().and_then(Work::of).map(Counted::Delayed));
    }
    let tried = |it: &BareMetalHostStatus| it.tried_credentials.clone();
    if tried(before).is_some() && tried(before) != tried(after) {
        all.push(Counted::Once(Plain::CredentialsUpdated));
    }
    all
}

fn ended(
    before: &BareMetalHostStatus,
    after: &BareMetalHostStatus,
) -> impl Iterator<Item = Counted> {
    use strum::IntoEnumIterator;
    Timed::iter().filter_map(|timed| {
        let was = timed.of(before.operation_history.as_ref()).and_then(|it| it.end.clone());
        let now = timed.of(after.operation_history.as_ref())?;
        let (start, end) = (now.start.as_ref()?, now.end.as_ref()?);
        let is_new = was.as_ref() != Some(end);
        is_new.then(|| Counted::Ended(timed, end.0.duration_since(start.0).as_secs_f64()))
    })
}

fn of_event(reason: Reason, secret: &BmcSecret) -> Option<Counted> {
    Some(match (reason, secret) {
        (Reason::BmcCredentialError, BmcSecret::Malformed { .. }) => {
            Counted::Once(Plain::CredentialsInvalid)
        }
        (Reason::BmcCredentialError, _) => Counted::Once(Plain::CredentialsMissing),
        (Reason::PowerOn | Reason::Rebooted, _) => Counted::Power { is_on: true },
        (Reason::PowerOff, _) => Counted::Power { is_on: false },
        (Reason::DeletionWithoutCleaning, _) => Counted::Once(Plain::DeleteWithoutDeprovisioning),
        (Reason::DeletionWithoutPowerOff, _) => Counted::Once(Plain::DeleteWithoutPoweringOff),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn status(state: &str) -> BareMetalHostStatus {
        let mut status = BareMetalHostStatus::default();
        state.clone_into(&mut status.provisioning.state);
        status
    }

    fn inspected(from: &str, to: Option<&str>) -> OperationHistory {
        let time = |text: &str| text.parse().ok().map(Time);
        let inspect = OperationMetric { start: time(from), end: to.and_then(time) };
        OperationHistory { inspect: Some(inspect), ..OperationHistory::default() }
    }

    #[test]
    fn a_change_of_state_is_counted_with_what_ended_by_it() {
        let (start, end) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z");
        let mut before = status("inspecting");
        before.operation_history = Some(inspected(start, None));
        let mut after = status("preparing");
        after.operation_history = Some(inspected(start, Some(end)));
        let change =
            Counted::StateChange { from: "inspecting".to_owned(), to: "preparing".to_owned() };
        assert_eq!(of_status(&before, &after), [change, Counted::Ended(Timed::Inspect, 90.0)]);
        assert_eq!(of_status(&after, &after), []);
        // The same inspection once more.
        before.operation_history = Some(inspected(start, Some(start)));
        let ended = Counted::Ended(Timed::Inspect, 90.0);
        assert!(of_status(&before, &after).contains(&ended));
    }

    #[test]
    fn a_failure_is_counted_each_time_that_it_is_tried_again() {
        let before = status("inspecting");
        let mut first = before.clone();
        (first.error_type, first.error_count) = (Some(ErrorType::Inspection), 1);
        let mut second = first.clone();
        second.error_count = 2;
        let failed = [Counted::Failed(ErrorType::Inspection)];
        assert_eq!(of_status(&before, &first), failed);
        assert_eq!(of_status(&first, &second), failed);
        assert_eq!(of_status(&second, &before), []);
    }

    #[test]
    fn whoever_has_to_wait_is_counted_when_that_begins() {
        let before = status("deprovisioning");
        let mut after = before.clone();
        after.operational_status = OperationalStatus::Delayed;
        assert_eq!(of_status(&before, &after), [Counted::Delayed(Work::Deprovisioning)]);
        assert_eq!(of_status(&after, &after), []);
    }

    #[test]
    fn a_new_host_is_to_be_registered() {
        let counted = of_status(&status(""), &status("registering"));
        assert_eq!(counted[1..], [Counted::Once(Plain::HostRegistrationRequired)]);
    }

    #[test]
    fn events_are_counted_that_tell_of_power_and_credentials() {
        let is = |reason, secret| of_event(reason, &secret);
        let missing = Some(Counted::Once(Plain::CredentialsMissing));
        assert_eq!(is(Reason::BmcCredentialError, BmcSecret::Missing), missing);
        assert_eq!(is(Reason::PowerOff, BmcSecret::Missing), Some(Counted::Power { is_on: false }));
        assert_eq!(is(Reason::Registered, BmcSecret::Missing), None);
    }
}
