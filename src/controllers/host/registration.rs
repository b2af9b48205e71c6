//! Whether the provisioner knows the host, and its BMC lets us in: seen to at the beginning of every pass, because either may change at any time.

use super::{
    decide::CORRECTION, draft::Draft, events::Reason, failure::PATIENCE_WHEN_DELETING, plan::Then,
    provisioner::Operation, secrets::BmcSecret,
};
use crate::domain::{
    bmc::BmcAddress, host_status::ErrorType, provisioning_state::ProvisioningState as State,
};

const ERRORS: [ErrorType; 2] = [ErrorType::Registration, ErrorType::ProvisionedRegistration];

pub(super) fn ensure(draft: &mut Draft<'_>) -> Result<(), Then> {
    let error = match draft.state {
        // Nothing to register with yet, or any more.
        State::None
        | State::Unmanaged
        | State::Importing
        | State::MatchProfile
        | State::Deleting => return Ok(()),
        State::Provisioned | State::ExternallyProvisioned => ErrorType::ProvisionedRegistration,
        State::Registering
        | State::Inspecting
        | State::Preparing
        | State::Ready
        | State::Available
        | State::Provisioning
        | State::Deprovisioning
        | State::PoweringOffBeforeDelete => ErrorType::Registration,
    };
    let is_leaving = draft.seen.is_being_deleted();
    let problem = problem(draft);
    if is_leaving && is_given_up(draft, problem.is_some()) {
        draft.tell(
            Reason::DeletionWithoutCleaning,
            "The host is forgotten without being cleaned or switched off: its BMC cannot be reached",
        );
        draft.enter(State::Deleting);
        return Err(Then::Again);
    }
    // Who leaves may do so with what the provisioner knows already.
    if let Some(problem) = problem.filter(|_| !is_leaving) {
        if !draft.shows(error, &problem) {
            let reason = match draft.seen.secret {
                BmcSecret::Good { .. } => Reason::RegistrationError,
                BmcSecret::Unnamed | BmcSecret::Missing | BmcSecret::Malformed { .. } => {
                    Reason::BmcCredentialError
                }
            };
            draft.tell(reason, problem.clone());
        }
        draft.show(error, &problem);
        return Err(Then::After(CORRECTION));
    }
    register(draft, error)
}

fn register(draft: &mut Draft<'_>, error: ErrorType) -> Result<(), Then> {
    let found = draft.credentials();
    let credentials_changed = found.is_some() && draft.status.good_credentials != found;
    let retry = draft.status.error_type.is_some_and(|it| ERRORS.contains(&it));
    let operation = Operation::Register { credentials_changed, retry };
    let (had_id, counted) = (!draft.status.provisioning.id.is_empty(), draft.status.error_count);
    let learnt = draft.perform(operation, error);
    if draft.status.error_count > counted {
        name_the_secret(draft);
    }
    // What is tried is told before it is tried.
    if matches!(learnt, Err(Then::Call(_))) && found.is_some() {
        draft.status.tried_credentials = found;
        return learnt.map(drop);
    }
    learnt?;
    draft.recover(&[ErrorType::Registration]);
    // Where something runs, that it can be taken over is part of it.
    if error != ErrorType::ProvisionedRegistration {
        draft.recover(&ERRORS);
    }
    if credentials_changed {
        draft.status.good_credentials = found;
        draft.tell(Reason::BmcAccessValidated, "The BMC lets us in");
    }
    if !had_id && !draft.status.provisioning.id.is_empty() {
        draft.tell(Reason::Registered, "The host is registered");
    }
    Ok(())
}

/// What stands in the way of asking the BMC at all.
fn problem(draft: &Draft<'_>) -> Option<String> {
    let bmc = draft.seen.host.spec.bmc.as_ref().filter(|_| draft.seen.has_bmc())?;
    if let Err(error) = bmc.address.parse::<BmcAddress>() {
        return Some(format!("spec.bmc.address cannot be used: {error}"));
    }
    let name = &bmc.credentials_name;
    match &draft.seen.secret {
        BmcSecret::Good { .. } => {
            let problem = draft.seen.ramdisk_network.as_ref().err()?;
            // No ramdisk is booted where something runs.
            let runs = matches!(draft.state, State::Provisioned | State::ExternallyProvisioned);
            (!runs)
                .then(|| format!("spec.preprovisioningNetworkDataName cannot be used: {problem}"))
        }
        BmcSecret::Unnamed => Some(
            "spec.bmc.credentialsName is empty: name a Secret with username and password"
                .to_owned(),
        ),
        BmcSecret::Missing => Some(format!(
            "there is no Secret {name} in the namespace of the host: create it with the username and password of the BMC"
        )),
        BmcSecret::Malformed { problem, .. } => Some(format!("Secret {name} {problem}")),
    }
}

/// Whether a deletion goes on without what it cannot have.
fn is_given_up(draft: &Draft<'_>, has_problem: bool) -> bool {
    let may_be = matches!(draft.state, State::Deprovisioning | State::PoweringOffBeforeDelete);
    let has_node = !draft.status.provisioning.id.is_empty();
    let is_refused = draft.status.error_type.is_some_and(|it| ERRORS.contains(&it))
        && draft.status.error_count > PATIENCE_WHEN_DELETING;
    may_be && (is_refused || (has_problem && !has_node))
}

/// Whoever reads that a password is wrong wants to know where it is.
fn name_the_secret(draft: &mut Draft<'_>) {
    let Some(bmc) = &draft.seen.host.spec.bmc else { return };
    let told = format!(" (the credentials are those of Secret {})", bmc.credentials_name);
    draft.status.error_message.push_str(&told);
    if let Some(event) = draft.events.last_mut() {
        event.note.push_str(&told);
    }
}
