//! What each state is for: the operation that is done in it, and where it leads. Which state may follow which is the table in
//! [`domain::provisioning_state`](crate::domain::provisioning_state), and a test holds this file to it.

use super::{
    annotations::{self, APPROVAL, APPROVED, INSPECT, Inspect, REBOOT},
    decide::{CORRECTION, IDLE, is_inspection_disabled},
    draft::Draft,
    events::Reason,
    failure::PATIENCE_WHEN_DELETING,
    machine::{addresses, root_device_hints},
    plan::Then,
    power,
    provisioner::{Operation, Provision, RebootMode},
    registration,
};
use crate::{
    api::{
        baremetalhost::BootMode,
        image::{CustomDeploy, Image},
    },
    domain::{
        host_status::{ErrorType, OperationalStatus},
        provisioning_state::ProvisioningState as State,
    },
};

pub(super) fn go_on(draft: &mut Draft<'_>) -> Result<Then, Then> {
    match draft.state {
        State::None => begin(draft),
        State::Unmanaged => unmanaged(draft),
        State::Importing => importing(draft),
        State::Registering => registering(draft),
        State::MatchProfile => {
            to(draft, State::Preparing, Reason::PreparationStarted, "The host is prepared")
        }
        State::Inspecting => inspecting(draft),
        State::Preparing => preparing(draft),
        State::Ready | State::Available => available(draft),
        State::Provisioning => provisioning(draft),
        State::Provisioned => provisioned(draft),
        State::ExternallyProvisioned => externally_provisioned(draft),
        State::Deprovisioning => deprovisioning(draft),
        State::PoweringOffBeforeDelete => powering_off(draft),
        State::Deleting => deleting(draft),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "every state answers alike")]
fn to(draft: &mut Draft<'_>, state: State, reason: Reason, note: &str) -> Result<Then, Then> {
    draft.enter(state);
    draft.tell(reason, note);
    Ok(Then::Again)
}

fn begin(draft: &mut Draft<'_>) -> Result<Then, Then> {
    if draft.seen.has_bmc() {
        draft.enter(State::Registering);
        // In one write with what is told before it is tried.
        registration::ensure(draft)?;
        registering(draft)
    } else {
        draft.enter(State::Unmanaged);
        draft.tell(
            Reason::Discovered,
            "The host has no BMC details: it is not managed until they are added",
        );
        Ok(Then::Again)
    }
}

fn unmanaged(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let spec = &draft.seen.host.spec;
    let is_discovered = !draft.status.provisioning.id.is_empty();
    if draft.seen.has_bmc() {
        draft.enter(State::Registering);
        Ok(Then::Again)
    } else if is_discovered && spec.externally_provisioned != Some(true) && !awaits_approval(draft)
    {
        to(
            draft,
            State::Importing,
            Reason::ImportStarted,
            "What was found out when the host was discovered is looked up",
        )
    } else {
        power::refuse(draft);
        if !is_discovered && spec.boot_mac_address.is_some() {
            recognise(draft)?;
        }
        draft.be_well();
        draft.status.operational_status = OperationalStatus::Discovered;
        Ok(Then::After(IDLE))
    }
}

/// Somebody may have registered by hand what has reported to the provisioner by itself.
fn recognise(draft: &mut Draft<'_>) -> Result<(), Then> {
    match draft.perform(Operation::Import, ErrorType::Inspection) {
        Ok(_) => Err(Then::Again),
        Err(Then::After(pause)) if draft.has_failed(ErrorType::Inspection) => {
            Err(Then::After(pause))
        }
        // It has not, or not yet.
        Err(Then::After(_)) => Ok(()),
        Err(call) => Err(call),
    }
}

/// Whether nobody has looked at it yet who may say that it belongs here: any machine that reaches the network can be discovered.
fn awaits_approval(draft: &Draft<'_>) -> bool {
    annotations::awaits_approval(draft.seen.host.metadata.annotations.as_ref())
}

fn importing(draft: &mut Draft<'_>) -> Result<Then, Then> {
    if draft.seen.has_bmc() {
        draft.enter(State::Registering);
        return Ok(Then::Again);
    }
    match &draft.status.hardware {
        // Whoever discovered it has looked already.
        Some(details) => draft.hardware_data = Some(Box::new(details.clone())),
        None => {
            draft.perform(Operation::Import, ErrorType::Inspection)?;
        }
    }
    to(draft, State::MatchProfile, Reason::ImportComplete, "The hardware details are known")
}

fn registering(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let host = &draft.seen.host;
    if host.spec.externally_provisioned == Some(true) {
        draft.enter(State::ExternallyProvisioned);
        Ok(Then::Again)
    } else if is_inspection_disabled(host) {
        to(draft, State::Preparing, Reason::PreparationStarted, "The host is prepared")
    } else {
        to(draft, State::Inspecting, Reason::InspectionStarted, "The hardware is inspected")
    }
}

fn inspecting(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let refresh = annotations::inspect(&draft.annotations) == Inspect::Again;
    // Known from an annotation or from before it was moved here; or nobody is to look any more.
    let is_needless = draft.status.hardware.is_some() && !refresh && !has_been_called(draft);
    if !is_needless && !is_inspection_disabled(&draft.seen.host) {
        let operation = Operation::Inspect {
            refresh,
            retry: draft.has_failed(ErrorType::Inspection),
            restart: is_restart_wanted(draft),
        };
        draft.perform(operation, ErrorType::Inspection)?;
        // Not before: a node may have to be brought elsewhere first, or what is under way to an end.
        draft.annotations.remove(INSPECT);
        draft.annotations.remove(REBOOT);
    } else if draft.seen.hardware_data.is_none() {
        // Whoever discovered it has looked already: what was seen belongs where people look for it.
        draft.hardware_data = draft.status.hardware.clone().map(Box::new);
    }
    draft.tell(Reason::InspectionComplete, "The hardware details are known");
    to(draft, State::Preparing, Reason::PreparationStarted, "The host is prepared")
}

fn has_been_called(draft: &Draft<'_>) -> bool {
    draft.seen.done.iter().any(|(operation, _)| matches!(operation, Operation::Inspect { .. }))
}

fn preparing(draft: &mut Draft<'_>) -> Result<Then, Then> {
    if awaits_approval(draft) {
        // Its disks are touched from here on.
        draft.status.operational_status = OperationalStatus::Discovered;
        return Ok(Then::After(IDLE));
    }
    let operation = Operation::Prepare {
        changed: are_settings_changed(draft),
        retry: draft.has_failed(ErrorType::Preparation),
    };
    draft.perform(operation, ErrorType::Preparation)?;
    // Not before: while the first steps are taken nothing is built yet.
    let spec = &draft.seen.host.spec;
    draft.status.provisioning.raid.clone_from(&spec.raid);
    draft.status.provisioning.root_device_hints = root_device_hints(spec);
    to(draft, State::Available, Reason::PreparationComplete, "The host is available")
}

fn are_settings_changed(draft: &Draft<'_>) -> bool {
    let spec = &draft.seen.host.spec;
    let saved = &draft.status.provisioning;
    saved.raid != spec.raid || saved.root_device_hints != root_device_hints(spec)
}

fn available(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let spec = &draft.seen.host.spec;
    if spec.externally_provisioned == Some(true) {
        draft.enter(State::ExternallyProvisioned);
        return Ok(Then::Again);
    }
    if annotations::inspect(&draft.annotations) == Inspect::Again {
        draft.status.hardware = None;
        return to(
            draft,
            State::Inspecting,
            Reason::InspectionStarted,
            "The hardware is inspected again",
        );
    }
    if are_settings_changed(draft) {
        return to(
            draft,
            State::Preparing,
            Reason::PreparationStarted,
            "The host is prepared anew: its RAID or root device was changed",
        );
    }
    // What failed for an image is not held against another.
    if spec.image.is_none() || spec.image != draft.status.last_attempted_image {
        draft.status.provisioning_fail_count = 0;
    }
    if !is_provisioning_wanted(draft) {
        draft.recover(&[ErrorType::Provisioning]);
        return power::manage(draft);
    }
    if let Some(problem) = obstacle(draft) {
        if !draft.shows(ErrorType::Provisioning, &problem) {
            draft.tell(Reason::ProvisioningError, problem.clone());
        }
        draft.show(ErrorType::Provisioning, &problem);
        return Ok(Then::After(CORRECTION));
    }
    let what = target(spec.image.as_ref(), spec.custom_deploy.as_ref());
    draft.status.provisioning.image.clone_from(&spec.image);
    draft.status.provisioning.custom_deploy.clone_from(&spec.custom_deploy);
    draft.status.provisioning.boot_mode = Some(spec.boot_mode.unwrap_or(BootMode::Uefi));
    draft.status.last_attempted_image.clone_from(&spec.image);
    to(draft, State::Provisioning, Reason::ProvisioningStarted, &format!("{what} is written"))
}

fn target(image: Option<&Image>, custom: Option<&CustomDeploy>) -> String {
    match (image, custom) {
        (_, Some(custom)) if !custom.method.is_empty() => {
            format!("Custom deploy {}", custom.method)
        }
        (Some(image), _) => format!("Image {}", image.url),
        (None, _) => "Nothing".to_owned(),
    }
}

fn is_provisioning_wanted(draft: &Draft<'_>) -> bool {
    let spec = &draft.seen.host.spec;
    let image = spec.image.as_ref().is_some_and(|image| !image.url.is_empty());
    let custom = spec.custom_deploy.as_ref().is_some_and(|custom| !custom.method.is_empty());
    spec.online && (image || custom)
}

/// What keeps an image from being written, though it is wanted.
fn obstacle(draft: &Draft<'_>) -> Option<String> {
    if awaits_approval(draft) {
        return Some(format!(
            "the host is not approved: look at it, then remove the annotation {APPROVAL} or set it to {APPROVED}"
        ));
    }
    let limit = i64::from(draft.seen.settings.max_provisioning_retries);
    let failed = draft.status.provisioning_fail_count;
    if limit > 0 && failed >= limit {
        return Some(format!(
            "the image could not be written {failed} times: change or remove spec.image, then it is tried again"
        ));
    }
    draft
        .seen
        .config_drive
        .as_ref()
        .err()
        .map(|problem| format!("the image is not written: {problem}"))
}

/// Whether what is being written, or runs, is no longer what is wanted.
fn is_cancelled(draft: &Draft<'_>) -> bool {
    let (spec, saved) = (&draft.seen.host.spec, &draft.status.provisioning);
    let method = |custom: Option<&CustomDeploy>| {
        custom.map(|it| it.method.clone()).filter(|method| !method.is_empty())
    };
    let url = |image: Option<&Image>| image.map(|it| it.url.clone()).filter(|url| !url.is_empty());
    let (wanted, has) = (method(spec.custom_deploy.as_ref()), method(saved.custom_deploy.as_ref()));
    if wanted.is_some() {
        return wanted != has;
    }
    match (url(spec.image.as_ref()), url(saved.image.as_ref())) {
        (None, _) => true,
        (Some(_), None) => has.is_some(),
        (wanted, has) => wanted != has,
    }
}

fn provisioning(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let has_failed = draft.has_failed(ErrorType::Provisioning);
    // The error is left to be seen for as long as the pause after it.
    if is_cancelled(draft) || (has_failed && draft.held_back().is_none()) {
        let why =
            if has_failed { "Writing the image failed" } else { "The image is no longer wanted" };
        return to(
            draft,
            State::Deprovisioning,
            Reason::DeprovisioningStarted,
            &format!("{why}: it is removed"),
        );
    }
    if has_failed {
        return Ok(Then::After(draft.held_back().unwrap_or(CORRECTION)));
    }
    let spec = &draft.seen.host.spec;
    let config_drive = match &draft.seen.config_drive {
        Ok(config_drive) => config_drive.clone(),
        Err(problem) => {
            draft.tell(Reason::ProvisioningError, format!("the image is not written: {problem}"));
            return Ok(Then::After(CORRECTION));
        }
    };
    let restart = is_restart_wanted(draft);
    let operation = Operation::Provision(Box::new(Provision {
        image: spec.image.clone(),
        custom_deploy: spec.custom_deploy.clone(),
        config_drive,
        image_pull_secret: draft.seen.image_pull_secret.clone(),
        restart,
    }));
    if restart && draft.has_begun(&operation) {
        draft.annotations.remove(REBOOT);
    }
    if draft.has_begun(&operation) {
        // Known since it was decided, unless another controller decided it.
        draft.status.provisioning.image.clone_from(&spec.image);
        draft.status.provisioning.custom_deploy.clone_from(&spec.custom_deploy);
    }
    let failures = draft.status.error_count;
    let outcome = draft.perform(operation, ErrorType::Provisioning);
    if draft.status.error_count > failures {
        draft.status.provisioning_fail_count += 1;
    }
    outcome?;
    draft.annotations.remove(REBOOT);
    draft.status.provisioning_fail_count = 0;
    let what = target(spec.image.as_ref(), spec.custom_deploy.as_ref());
    to(draft, State::Provisioned, Reason::ProvisioningComplete, &format!("{what} runs"))
}

fn provisioned(draft: &mut Draft<'_>) -> Result<Then, Then> {
    if is_cancelled(draft) {
        return to(
            draft,
            State::Deprovisioning,
            Reason::DeprovisioningStarted,
            "The image is no longer wanted: it is removed",
        );
    }
    adopt(draft)?;
    power::manage(draft)
}

fn externally_provisioned(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let spec = &draft.seen.host.spec;
    if spec.externally_provisioned != Some(true) {
        draft.status.provisioning.image.clone_from(&spec.image);
        draft.status.provisioning.custom_deploy.clone_from(&spec.custom_deploy);
        draft.enter(State::Provisioned);
        return Ok(Then::Again);
    }
    adopt(draft)?;
    power::manage(draft)
}

/// Where Ironic has lost its memory, what runs is not to be touched.
fn adopt(draft: &mut Draft<'_>) -> Result<(), Then> {
    let error = ErrorType::ProvisionedRegistration;
    draft.perform(Operation::Adopt { retry: draft.has_failed(error) }, error)?;
    draft.recover(&[error]);
    Ok(())
}

fn deprovisioning(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let is_leaving = draft.seen.is_being_deleted();
    let has_failed = draft.has_failed(ErrorType::Provisioning);
    if is_leaving && has_failed && draft.status.error_count > PATIENCE_WHEN_DELETING {
        return to(
            draft,
            State::PoweringOffBeforeDelete,
            Reason::DeletionWithoutCleaning,
            "The host could not be cleaned: it is deleted as it is",
        );
    }
    draft.perform(Operation::Deprovision { retry: has_failed }, ErrorType::Provisioning)?;
    draft.annotations.remove(REBOOT);
    draft.status.provisioning.image = None;
    draft.status.provisioning.custom_deploy = None;
    let next = if is_leaving { State::PoweringOffBeforeDelete } else { State::Available };
    to(draft, next, Reason::DeprovisioningComplete, "The image is removed")
}

fn powering_off(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let error = ErrorType::PowerManagement;
    let can_be_off = draft.seen.has_bmc() && draft.seen.host.spec.disable_power_off != Some(true);
    let is_given_up = draft.has_failed(error) && draft.status.error_count > PATIENCE_WHEN_DELETING;
    if is_given_up {
        draft.tell(
            Reason::DeletionWithoutPowerOff,
            "The host could not be switched off: it is deleted as it is",
        );
    } else if can_be_off {
        draft.perform(Operation::PowerOff { mode: RebootMode::Hard, force: true }, error)?;
        draft.status.powered_on = false;
    }
    draft.enter(State::Deleting);
    Ok(Then::Again)
}

fn deleting(draft: &mut Draft<'_>) -> Result<Then, Then> {
    draft.perform(Operation::Delete, ErrorType::Registration)?;
    let host = &draft.seen.host;
    if annotations::is_to_be_forgotten(host.metadata.annotations.as_ref()) {
        draft.forget = addresses(host);
    }
    Ok(Then::Release)
}

/// Whether somebody wants what is under way to begin anew. Those who want it off for long cannot be served by that.
fn is_restart_wanted(draft: &Draft<'_>) -> bool {
    annotations::reboots(&draft.annotations).once.is_some_and(|wish| wish.force)
}
