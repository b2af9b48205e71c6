//! The conditions of a host: what its status says, for programs that wait for something. Metal3's types and reasons.

use jiff::Timestamp;
use strum::{Display, EnumIter};

pub use super::reasons::Why;
use super::{observed, provisioner::Health};
use crate::{
    api::baremetalhost::BareMetalHostStatus,
    controllers::conditions,
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

/// The answers: yes or no, and why.
type Answer = (bool, Why);

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
    for (question, (is_true, reason)) in answers {
        let is_told = !is_true && question == Question::Ready;
        let message = if is_told { message.clone() } else { String::new() };
        let answer = conditions::Answer { is_true, reason, message };
        let question = question.to_string();
        conditions::set(&mut status.conditions, &question, &answer, generation, now);
    }
}

fn manageable(state: State, status: &BareMetalHostStatus) -> Answer {
    match (state, status.error_type) {
        (_, Some(ErrorType::Registration | ErrorType::ProvisionedRegistration)) => {
            (false, Why::RegistrationFailed)
        }
        (_, Some(ErrorType::PowerManagement)) => (false, Why::PowerFailure),
        (State::None | State::Unmanaged | State::Importing, _) => (false, Why::NotManaged),
        (State::Registering, _) => (false, Why::Registering),
        _ => (true, Why::Manageable),
    }
}

fn available(state: State, status: &BareMetalHostStatus) -> Answer {
    let is_well = status.operational_status == OperationalStatus::Ok;
    if state.is_available() && is_well {
        (true, Why::Available)
    } else {
        (false, Why::NotAvailable)
    }
}

fn provisioned(state: State) -> Answer {
    match state {
        State::Provisioned | State::ExternallyProvisioned => (true, Why::Provisioned),
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
        | State::Deleting => (false, Why::NotProvisioned),
    }
}

fn ready(state: State, status: &BareMetalHostStatus) -> Answer {
    match (status.operational_status, provisioned(state)) {
        (OperationalStatus::Error, _) => (false, Why::Error),
        (OperationalStatus::Detached, _) => (false, Why::Detached),
        (OperationalStatus::Servicing, _) => (false, Why::Servicing),
        (_, answer) => answer,
    }
}

fn progressing(state: State, status: &BareMetalHostStatus) -> Answer {
    if status.operational_status == OperationalStatus::Detached {
        return (false, Why::Detached);
    }
    match state {
        State::Registering | State::Importing => (true, Why::Registering),
        State::Inspecting => (true, Why::Inspecting),
        State::MatchProfile | State::Preparing => (true, Why::Preparing),
        State::Provisioning => (true, Why::Provisioning),
        State::Deprovisioning => (true, Why::Deprovisioning),
        State::PoweringOffBeforeDelete => (true, Why::PoweringOffBeforeDelete),
        State::Deleting => (true, Why::Deleting),
        State::None
        | State::Unmanaged
        | State::Ready
        | State::Available
        | State::Provisioned
        | State::ExternallyProvisioned => (false, Why::NotProgressing),
    }
}

fn healthy(health: Health) -> Answer {
    match health {
        Health::Ok => (true, Why::Healthy),
        Health::Warning => (false, Why::Warning),
        Health::Critical => (false, Why::CriticalError),
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
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

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
            status: "False".into(),
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
