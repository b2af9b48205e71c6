//! Power: on or off as `online` and the reboot annotations say, where there is a BMC to say it to.

use super::{
    annotations::{self, REBOOT},
    decide::IDLE,
    draft::Draft,
    events::Reason,
    plan::Then,
    provisioner::{Operation, RebootMode},
};
use crate::domain::{host_status::ErrorType, provisioning_state::ProvisioningState as State};

const ERROR: ErrorType = ErrorType::PowerManagement;

pub(super) fn manage(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let reboots = annotations::reboots(&draft.annotations);
    if !draft.seen.has_bmc() {
        refuse(draft);
        draft.be_well();
        return Ok(Then::After(IDLE));
    }
    let only_forced = !matches!(draft.state, State::Provisioned | State::ExternallyProvisioned);
    let once = reboots.once.filter(|wish| wish.force || !only_forced);
    let wish = reboots.wish(only_forced);
    let spec = &draft.seen.host.spec;
    let has_failed = draft.has_failed(ERROR);

    draft.perform(Operation::Observe, ERROR)?;
    let is_on = draft.status.powered_on;
    if spec.disable_power_off == Some(true) {
        return never_off(draft, once.map(|wish| wish.mode));
    }
    if once.is_some() && !is_on {
        // The first half of the reboot.
        draft.annotations.remove(REBOOT);
        return Ok(Then::Again);
    }
    match (is_on, spec.online && wish.is_none()) {
        (true, false) => {
            for key in reboots.unreadable {
                draft.tell(
                    Reason::InvalidAnnotationValue,
                    format!("The value of {key} is not understood: it is taken for a soft reboot"),
                );
            }
            let wish = wish.unwrap_or_default();
            // Whoever did not listen is not asked again.
            let mode = if has_failed { RebootMode::Hard } else { wish.mode };
            draft.perform(Operation::PowerOff { mode, force: wish.force }, ERROR)?;
            draft.status.powered_on = false;
            draft.recover(&[ERROR]);
            draft.tell(Reason::PowerOff, "The host is off");
            Ok(Then::Again)
        }
        (false, true) => switch_on(draft),
        (true, true) | (false, false) => {
            draft.be_well();
            Ok(Then::After(IDLE))
        }
    }
}

/// Says of a host without a BMC that it is not rebooted, if somebody wants that.
pub(super) fn refuse(draft: &mut Draft<'_>) {
    if annotations::reboots(&draft.annotations).wish(false).is_some() {
        draft.annotations.remove(REBOOT);
        draft.tell(
            Reason::PowerManagementImpossible,
            "A reboot was asked for, but the host has no BMC: add spec.bmc to have its power managed",
        );
    }
}

/// With annotations that want it to stay off nothing can be done.
fn never_off(draft: &mut Draft<'_>, reboot: Option<RebootMode>) -> Result<Then, Then> {
    if !draft.status.powered_on {
        return switch_on(draft);
    }
    if let Some(mode) = reboot {
        draft.perform(Operation::Reboot { mode }, ERROR)?;
        draft.annotations.remove(REBOOT);
        draft.tell(Reason::Rebooted, "The host is rebooted");
    }
    draft.be_well();
    Ok(Then::After(IDLE))
}

fn switch_on(draft: &mut Draft<'_>) -> Result<Then, Then> {
    draft.perform(Operation::PowerOn { force: false }, ERROR)?;
    draft.status.powered_on = true;
    draft.be_well();
    draft.tell(Reason::PowerOn, "The host is on");
    Ok(Then::After(IDLE))
}
