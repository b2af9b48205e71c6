//! `ProvisioningState`: what is being done with a host, and which state may follow which, as a
//! table. The states are Metal3's, with one more from the host discovery proposal: `importing`.

use ProvisioningState as State;
use strum::{Display, EnumIter, EnumString, VariantNames};

use super::text::{UnknownWord, vocabulary};

/// `status.provisioning.state` of a BareMetalHost.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Display, EnumIter, EnumString, VariantNames,
)]
#[strum(serialize_all = "lowercase")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = ProvisioningState::unknown)]
pub enum ProvisioningState {
    /// Not looked at yet.
    #[default]
    #[strum(serialize = "")]
    None,
    /// Known, but there are no BMC details to manage it with.
    Unmanaged,
    /// Discovered: what Ironic learned about it is looked up, without inspecting it again.
    Importing,
    /// Its BMC details are being checked and given to Ironic.
    Registering,
    /// Passed on the way from an import; older Metal3 also came through here after inspecting.
    #[strum(serialize = "match profile")]
    MatchProfile,
    /// Its hardware is being looked at.
    Inspecting,
    /// RAID, BIOS and firmware are being set.
    Preparing,
    /// What older Metal3 wrote for `available`.
    Ready,
    /// Free to be provisioned.
    Available,
    /// An image is being written to it.
    Provisioning,
    /// An image runs on it.
    Provisioned,
    /// Something runs on it that Metal3 did not put there.
    #[strum(serialize = "externally provisioned")]
    ExternallyProvisioned,
    /// Its image is being removed.
    Deprovisioning,
    /// Being switched off, the last step before it is forgotten.
    #[strum(serialize = "powering off before delete")]
    PoweringOffBeforeDelete,
    /// Being forgotten.
    Deleting,
}

vocabulary!(ProvisioningState, "a provisioning state");

/// A row of the table: from any of these states to that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Where it begins; several states that share the condition share the row.
    pub from: &'static [State],
    /// Where it leads.
    pub to: State,
    /// The condition, as a sentence about the host.
    pub when: &'static str,
}

/// Every way from one state to another.
///
/// The host discovery proposal first sends a discovered host from `unmanaged` straight to `match
/// profile` once its hardware is known, then puts `importing` between them as the state in which
/// that knowledge is looked for. So the straight way is not here: whoever leaves `unmanaged` has
/// either got BMC details and is registered, or is imported. An import that gets BMC details
/// meanwhile turns into a registration; one that is deleted is not switched off first, because
/// that takes a BMC.
pub const TRANSITIONS: &[Transition] = &[
    row(&[State::None], State::Registering, "it has BMC details"),
    row(&[State::None], State::Unmanaged, "it has no BMC details"),
    row(&[State::Unmanaged, State::Importing], State::Registering, "BMC details were added"),
    row(
        &[State::Unmanaged],
        State::Importing,
        "it has no BMC details, but Ironic discovered it, it is not externally provisioned, and \
         nobody has to approve it",
    ),
    row(
        &[State::Importing],
        State::MatchProfile,
        "its hardware details are known, so that it need not be inspected",
    ),
    row(&[State::MatchProfile], State::Preparing, "always"),
    row(
        &[State::Registering],
        State::ExternallyProvisioned,
        "it is registered, and `externallyProvisioned` is set",
    ),
    row(&[State::Registering], State::Preparing, "it is registered, and inspection is disabled"),
    row(
        &[State::Registering],
        State::Inspecting,
        "it is registered, and neither of the above holds",
    ),
    row(
        &[State::Inspecting],
        State::Preparing,
        "its hardware details were obtained, or inspection turned out to be needless",
    ),
    row(&[State::Preparing], State::Available, "RAID, BIOS and firmware are as they should be"),
    row(
        &[State::Available, State::Ready],
        State::ExternallyProvisioned,
        "`externallyProvisioned` was set",
    ),
    row(
        &[State::Available, State::Ready],
        State::Inspecting,
        "the annotation `inspect.metal3.io` is there and is not `disabled`",
    ),
    row(
        &[State::Available, State::Ready],
        State::Preparing,
        "RAID, root device hints, firmware settings or firmware components were changed",
    ),
    row(
        &[State::Available, State::Ready],
        State::Provisioning,
        "it is online, has an image or custom deploy method that it does not run, and has not \
         failed too often",
    ),
    row(&[State::Provisioning], State::Provisioned, "the image is on it"),
    row(
        &[State::Provisioning],
        State::Deprovisioning,
        "that failed, or its image or custom deploy method was removed or replaced, or it is \
         being deleted",
    ),
    row(
        &[State::Provisioned],
        State::Deprovisioning,
        "its image or custom deploy method was removed or replaced, or it is being deleted",
    ),
    row(&[State::ExternallyProvisioned], State::Provisioned, "`externallyProvisioned` was cleared"),
    row(&[State::Deprovisioning], State::Available, "it is clean, and is not being deleted"),
    row(
        &[State::Deprovisioning],
        State::PoweringOffBeforeDelete,
        "it is being deleted, and it is clean or cleaning failed more than three times",
    ),
    row(
        &[
            State::MatchProfile,
            State::Inspecting,
            State::Preparing,
            State::Ready,
            State::Available,
            State::ExternallyProvisioned,
        ],
        State::PoweringOffBeforeDelete,
        "it is being deleted",
    ),
    row(
        &[State::None, State::Unmanaged, State::Importing, State::Registering],
        State::Deleting,
        "it is being deleted, and there is nothing to switch it off with",
    ),
    row(
        &[State::Deprovisioning],
        State::Deleting,
        "it is being deleted, and it is detached, or was refused registration more than three \
         times, or has neither credentials nor a node",
    ),
    row(
        &[State::PoweringOffBeforeDelete],
        State::Deleting,
        "it is off, or that failed more than three times, or it is detached, or `disablePowerOff` \
         is set",
    ),
    row(
        &[
            State::MatchProfile,
            State::Inspecting,
            State::Preparing,
            State::Ready,
            State::Available,
            State::Provisioning,
            State::Provisioned,
            State::ExternallyProvisioned,
        ],
        State::Deleting,
        "it is being deleted while detached, and the annotation does not ask for a delay",
    ),
];

const fn row(from: &'static [State], to: State, when: &'static str) -> Transition {
    Transition { from, to, when }
}

impl ProvisioningState {
    /// The states that may come next.
    pub fn successors(self) -> impl Iterator<Item = Self> {
        TRANSITIONS.iter().filter(move |row| row.from.contains(&self)).map(|row| row.to)
    }

    /// Whether it may come right after that other state. No state follows itself.
    #[must_use]
    pub fn may_follow(self, before: Self) -> bool {
        before.successors().any(|next| next == self)
    }

    /// Whether a machine may be given this host, in today's word or in Metal3's older one.
    #[must_use]
    pub fn is_available(self) -> bool {
        matches!(self, Self::Available | Self::Ready)
    }

    /// Whether Ironic is kept busy, so that it counts against the provisioning limit.
    #[must_use]
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Inspecting | Self::Provisioning | Self::Deprovisioning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::collections::HashSet;
    use strum::IntoEnumIterator;

    fn reachable_from(start: State) -> HashSet<State> {
        let mut seen = HashSet::from([start]);
        let mut unvisited = vec![start];
        while let Some(state) = unvisited.pop() {
            unvisited.extend(state.successors().filter(|next| seen.insert(*next)));
        }
        seen
    }

    #[test]
    fn the_words_are_those_of_metal3_and_importing() {
        let words = [
            "",
            "unmanaged",
            "importing",
            "registering",
            "match profile",
            "inspecting",
            "preparing",
            "ready",
            "available",
            "provisioning",
            "provisioned",
            "externally provisioned",
            "deprovisioning",
            "powering off before delete",
            "deleting",
        ];
        assert_eq!(State::VARIANTS, words);
    }

    #[test]
    fn every_state_is_read_as_it_is_written() {
        for state in State::iter() {
            assert_eq!(state.to_string().parse(), Ok(state));
            let json = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
        }
    }

    #[test]
    fn an_unknown_state_is_told_the_right_ones() {
        let error = "sleeping".parse::<State>().unwrap_err().to_string();
        assert!(error.starts_with("`sleeping` is not a provisioning state, which is ``, `unm"));
    }

    #[test]
    fn no_way_is_in_the_table_twice() {
        let mut seen = HashSet::new();
        for row in TRANSITIONS {
            for from in row.from {
                assert!(seen.insert((from, row.to)), "{from} -> {}", row.to);
            }
        }
    }

    #[test]
    fn no_state_follows_itself() {
        for state in State::iter() {
            assert!(!state.may_follow(state), "{state}");
        }
    }

    #[test]
    fn every_state_but_the_legacy_one_is_reached_from_the_start() {
        let unreachable: Vec<State> =
            State::iter().filter(|state| !reachable_from(State::None).contains(state)).collect();
        assert_eq!(unreachable, [State::Ready]);
    }

    #[test]
    fn deleting_is_the_end() {
        assert_eq!(State::Deleting.successors().count(), 0);
    }

    #[test]
    fn every_other_state_may_be_followed_by_deleting() {
        for state in State::iter().filter(|state| *state != State::Deleting) {
            assert!(State::Deleting.may_follow(state), "{state}");
        }
    }

    #[test]
    fn ready_is_followed_by_all_that_follows_available() {
        let ready: HashSet<State> = State::Ready.successors().collect();
        assert_eq!(ready, State::Available.successors().collect());
    }

    #[rstest]
    #[case::a_new_host_without_bmc(State::None, State::Unmanaged, true)]
    #[case::a_discovered_host_is_imported(State::Unmanaged, State::Importing, true)]
    #[case::an_imported_host_is_not_inspected(State::Importing, State::Inspecting, false)]
    #[case::an_imported_host_matches_its_profile(State::Importing, State::MatchProfile, true)]
    #[case::importing_is_not_skipped(State::Unmanaged, State::MatchProfile, false)]
    #[case::an_import_may_get_bmc_details(State::Importing, State::Registering, true)]
    #[case::a_provisioned_host_is_cleaned_first(
        State::Provisioned,
        State::PoweringOffBeforeDelete,
        false
    )]
    #[case::nothing_is_provisioned_while_inspected(State::Inspecting, State::Provisioning, false)]
    #[case::a_cleaned_host_is_available(State::Deprovisioning, State::Available, true)]
    #[case::nothing_comes_back_from_deletion(State::PoweringOffBeforeDelete, State::None, false)]
    fn the_table_says_what_may_follow(
        #[case] before: State,
        #[case] after: State,
        #[case] expected: bool,
    ) {
        assert_eq!(after.may_follow(before), expected);
    }

    #[test]
    fn available_hosts_are_those_that_a_machine_may_be_given() {
        let available: Vec<State> = State::iter().filter(|state| state.is_available()).collect();
        assert_eq!(available, [State::Ready, State::Available]);
    }

    #[test]
    fn busy_hosts_are_those_that_metal3_counts() {
        let busy: Vec<State> = State::iter().filter(|state| state.is_busy()).collect();
        assert_eq!(busy, [State::Inspecting, State::Provisioning, State::Deprovisioning]);
    }
}
