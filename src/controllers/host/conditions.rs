//! The conditions of a host: what its status says, for programs that wait for something. Metal3's types and reasons.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use strum::{Display, EnumIter};

use super::{observed, provisioner::Health};
use crate::{
    api::baremetalhost::BareMetalHostStatus,
    domain::{
        host_status::{ErrorType, OperationalStatus},
        provisioning_state::ProvisioningState as State,
    },
};

/// A question about a host. Others may be there, asked by others; they are left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter)]
pub enum Question {
    /// Can its BMC be worked with?
    Manageable,
    /// Can it be given an image?
    AvailableForProvisioning,
    /// Does it run an image?
    Provisioned,
    /// Does it do what it is for?
    Ready,
    /// Is something being done with it?
    Progressing,
    /// Is its hardware well?
    Healthy,
}

/// The answers: status and reason.
type Answer = (&'static str, &'static str);

const TRUE: &str = "True";
const FALSE: &str = "False";

/// Brings the conditions in line with the rest of the status. The time of one changes only with its status.
pub fn set(
    status: &mut BareMetalHostStatus,
    health: Option<Health>,
    generation: Option<i64>,
    now: Timestamp,
) {
    let Some(state) = observed::state(status) else { return };
    let mut answers = vec![
        (Question::Manageable, manageable(state, status)),
        (Question::AvailableForProvisioning, available(state, status)),
        (Question::Provisioned, provisioned(state)),
        (Question::Ready, ready(state, status)),
        (Question::Progressing, progressing(state, status)),
    ];
    // What is not known now is not unsaid.
    answers.extend(health.map(|health| (Question::Healthy, healthy(health))));
    let message = status.error_message.clone();
    let conditions = status.conditions.get_or_insert_default();
    for (question, (answer, reason)) in answers {
        let message =
            if answer == FALSE && question == Question::Ready { message.as_str() } else { "" };
        let type_ = question.to_string();
        let new = Condition {
            type_: type_.clone(),
            status: answer.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
            last_transition_time: Time(now),
        };
        match conditions.iter_mut().find(|it| it.type_ == type_) {
            Some(old) if old.status == new.status => {
                let last_transition_time = old.last_transition_time.clone();
                *old = Condition { last_transition_time, ..new };
            }
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }
}

fn manageable(state: State, status: &BareMetalHostStatus) -> Answer {
    match (state, status.error_type) {
        (_, Some(ErrorType::Registration | ErrorType::ProvisionedRegistration)) => {
            (FALSE, "RegistrationFailed")
        }
        (_, Some(ErrorType::PowerManagement)) => (FALSE, "PowerFailure"),
        (State::None | State::Unmanaged | State::Importing, _) => (FALSE, "NotManaged"),
        (State::Registering, _) => (FALSE, "Registering"),
        _ => (TRUE, "Manageable"),
    }
}

fn available(state: State, status: &BareMetalHostStatus) -> Answer {
    let is_well = status.operational_status == OperationalStatus::Ok;
    if state.is_available() && is_well { (TRUE, "Available") } else { (FALSE, "NotAvailable") }
}

fn provisioned(state: State) -> Answer {
    match state {
        State::Provisioned | State::ExternallyProvisioned => (TRUE, "Provisioned"),
        State::None
        | State::Unmanaged
        | State::Importing
        | State::Registering
        | State::MatchProfile
        | State::Inspecting
        | State::Preparing
        | State::Ready
        | State::Available
        | State::Provisioning
        | State::Deprovisioning
        | State::PoweringOffBeforeDelete
        | State::Deleting => (FALSE, "NotProvisioned"),
    }
}

fn ready(state: State, status: &BareMetalHostStatus) -> Answer {
    match (status.operational_status, provisioned(state)) {
        (OperationalStatus::Error, _) => (FALSE, "Error"),
        (OperationalStatus::Detached, _) => (FALSE, "Detached"),
        (OperationalStatus::Servicing, _) => (FALSE, "Servicing"),
        (_, answer) => answer,
    }
}

fn progressing(state: State, status: &BareMetalHostStatus) -> Answer {
    if status.operational_status == OperationalStatus::Detached {
        return (FALSE, "Detached");
    }
    match state {
        State::Registering | State::Importing => (TRUE, "Registering"),
        State::Inspecting => (TRUE, "Inspecting"),
        State::MatchProfile | State::Preparing => (TRUE, "Preparing"),
        State::Provisioning => (TRUE, "Provisioning"),
        State::Deprovisioning => (TRUE, "Deprovisioning"),
        State::PoweringOffBeforeDelete => (TRUE, "PoweringOffBeforeDelete"),
        State::Deleting => (TRUE, "Deleting"),
        State::None
        | State::Unmanaged
        | State::Ready
        | State::Available
        | State::Provisioned
        | State::ExternallyProvisioned => (FALSE, "NotProgressing"),
    }
}

fn healthy(health: Health) -> Answer {
    match health {
        Health::Ok => (TRUE, "Healthy"),
        Health::Warning => (FALSE, "Warning"),
        Health::Critical => (FALSE, "CriticalError"),
    }
}

/// The generation of the host that the status was last written for.
#[must_use]
pub fn observed_generation(status: &BareMetalHostStatus) -> Option<i64> {
    let ready = Question::Ready.to_string();
    let conditions = status.conditions.iter().flatten();
    conditions.filter(|it| it.type_ == ready).find_map(|it| it.observed_generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn said(status: &BareMetalHostStatus) -> Vec<String> {
        let conditions = status.conditions.iter().flatten();
        conditions.map(|it| format!("{}={} {}", it.type_, it.status, it.reason)).collect()
    }

    #[test]
    fn others_conditions_and_times_of_what_stays_are_kept() {
        let mut status = BareMetalHostStatus::default();
        status.conditions = Some(vec![Condition {
            type_: "Unique".into(),
            status: FALSE.into(),
            reason: "Duplicate".into(),
            message: "of worker-0".into(),
            observed_generation: None,
            last_transition_time: Time(at(1)),
        }]);
        status.provisioning.state = "registering".into();
        set(&mut status, None, Some(1), at(2));
        status.provisioning.state = "available".into();
        status.operational_status = OperationalStatus::Ok;
        set(&mut status, Some(Health::Warning), Some(2), at(3));
        assert_eq!(
            said(&status),
            [
                "Unique=False Duplicate",
                "Manageable=True Manageable",
                "AvailableForProvisioning=True Available",
                "Provisioned=False NotProvisioned",
                "Ready=False NotProvisioned",
                "Progressing=False NotProgressing",
                "Healthy=False Warning",
            ]
        );
        let times: Vec<_> =
            status.conditions.iter().flatten().map(|it| it.last_transition_time.0).collect();
        assert_eq!(times, [1, 3, 3, 2, 2, 3, 3].map(at));
        assert_eq!(observed_generation(&status), Some(2));
    }

    #[test]
    fn an_error_is_told_where_people_wait() {
        let mut status = BareMetalHostStatus::default();
        status.provisioning.state = "provisioned".into();
        status.operational_status = OperationalStatus::Error;
        status.error_type = Some(ErrorType::PowerManagement);
        status.error_message = "the fuse has blown".into();
        set(&mut status, None, None, at(0));
        assert!(said(&status).contains(&"Manageable=False PowerFailure".to_owned()));
        let ready = status.conditions.unwrap().into_iter().find(|it| it.type_ == "Ready").unwrap();
        assert_eq!(
            (ready.reason.as_str(), ready.message.as_str()),
            ("Error", "the fuse has blown")
        );
    }
}
