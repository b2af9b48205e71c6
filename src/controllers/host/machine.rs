//! `Machine`: what a provisioner is told of a host. Read from the BareMetalHost and its Secrets once,
//! in full, for every operation; a provisioner asks nobody else.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{hidden::Hidden, observed, secrets::BmcSecret};
use crate::{
    api::{
        BareMetalHost,
        baremetalhost::{BareMetalHostSpec, BootMode, InspectionMode},
        image::{CustomDeploy, Image},
        raid::{Raid, RootDeviceHints},
    },
    domain::{
        automated_cleaning::AutomatedCleaningMode, bmc::BmcAddress, mac::Mac,
        provisioning_state::ProvisioningState,
    },
};

/// Which host it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// What tells it from an earlier one of that name. It is also the id of what runs on it
    /// (Ironic's `instance_uuid`).
    pub uid: String,
}

/// All that a provisioner may know of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Which host it is.
    pub identity: Identity,
    /// `status.provisioning.ID`: the node it is known to have.
    pub provisioning_id: Option<String>,
    /// What is being done with it, as it is stored.
    pub state: ProvisioningState,
    /// When that began, as it is stored.
    pub since: Option<Timestamp>,
    /// How its BMC is reached. A discovered host has none.
    pub bmc: Option<BmcAccess>,
    /// `spec.bootMACAddress`.
    pub boot_mac: Option<Mac>,
    /// The MAC addresses that inspection found, the boot MAC among them or not.
    pub known_macs: BTreeSet<Mac>,
    /// How its firmware starts it; UEFI where nothing is said.
    pub boot_mode: BootMode,
    /// `spec.architecture`, or what inspection found.
    pub architecture: Option<String>,
    /// How its parts are found out.
    pub inspection_mode: InspectionMode,
    /// Which disk is the root device. Of `spec`, or by the hardware profile where it says nothing.
    pub root_device_hints: Option<RootDeviceHints>,
    /// The volumes to build.
    pub raid: Option<Raid>,
    /// What runs on it, or shall: of `status` while that is provisioned, else of `spec`.
    pub image: Option<Image>,
    /// The same for a deploy step of one's own.
    pub custom_deploy: Option<CustomDeploy>,
    /// What becomes of the disks when it is deprovisioned; as `spec` says now, not as it once said.
    pub automated_cleaning: AutomatedCleaningMode,
    /// Whether it is never to be powered off.
    pub disable_power_off: bool,
    /// Whether it was on when last seen.
    pub powered_on: bool,
    /// Whether something runs on it that it was not given here.
    pub externally_provisioned: bool,
    /// Network configuration of the ramdisk, for networks without DHCP: `network_data` of the node.
    pub preprovisioning_network_data: Option<Hidden<Value>>,
}

/// How a BMC is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcAccess {
    /// Where it is.
    pub address: BmcAddress,
    /// Who we are to it.
    pub credentials: Credentials,
    /// Whether any certificate of it is accepted.
    pub disable_certificate_verification: bool,
}

/// A user of a BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub username: Hidden<String>,
    /// The password.
    pub password: Hidden<String>,
}

/// What an image finds at its first boot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigDrive {
    /// For cloud-init or Ignition, as it is in the Secret.
    pub user_data: Option<Hidden<String>>,
    /// OpenStack's `network_data.json`.
    pub network_data: Option<Hidden<Value>>,
    /// OpenStack's `meta_data.json`, with what every host gets.
    pub meta_data: Hidden<Map<String, Value>>,
}

impl Machine {
    /// What a provisioner is told of a host. The network configuration of the ramdisk is a Secret of its own.
    #[must_use]
    pub fn of(
        host: &BareMetalHost,
        secret: &BmcSecret,
        preprovisioning_network_data: Option<Hidden<Value>>,
    ) -> Self {
        let spec = &host.spec;
        let status = host.status.clone().unwrap_or_default();
        let state = observed::state(&status).unwrap_or_default();
        let since = observed::since(&status);
        let saved = status.provisioning;
        // What runs is what was written, whatever is wanted by now.
        let runs = matches!(
            state,
            ProvisioningState::Provisioning
                | ProvisioningState::Provisioned
                | ProvisioningState::Deprovisioning
        );
        let image = if runs { saved.image } else { spec.image.clone() };
        let custom_deploy = if runs { saved.custom_deploy } else { spec.custom_deploy.clone() };
        let details = status.hardware.unwrap_or_default();
        let nics = details.nics.unwrap_or_default();
        let arch = details.cpu.and_then(|cpu| cpu.arch);
        Self {
            identity: Identity::of(host),
            provisioning_id: Some(saved.id).filter(|id| !id.is_empty()),
            state,
            since,
            bmc: bmc(host, secret),
            boot_mac: spec.boot_mac_address.as_ref().and_then(|mac| mac.parse().ok()),
            known_macs: nics.into_iter().filter_map(|nic| nic.mac?.parse().ok()).collect(),
            boot_mode: spec.boot_mode.unwrap_or(BootMode::Uefi),
            architecture: spec.architecture.clone().or(arch).filter(|it| !it.is_empty()),
            inspection_mode: spec.inspection_mode.unwrap_or(InspectionMode::Agent),
            root_device_hints: root_device_hints(spec),
            raid: spec.raid.clone(),
            image,
            custom_deploy,
            automated_cleaning: spec.automated_cleaning_mode.unwrap_or_default(),
            disable_power_off: spec.disable_power_off == Some(true),
            powered_on: status.powered_on,
            externally_provisioned: spec.externally_provisioned == Some(true),
            preprovisioning_network_data,
        }
    }
}

/// The addresses of all cards of a host.
#[must_use]
pub fn addresses(host: &BareMetalHost) -> BTreeSet<Mac> {
    let hardware = host.status.as_ref().and_then(|status| status.hardware.as_ref());
    let nics = hardware.and_then(|details| details.nics.as_ref()).into_iter().flatten();
    let found = nics.filter_map(|nic| nic.mac.as_ref());
    let all = host.spec.boot_mac_address.iter().chain(found);
    all.filter_map(|mac| mac.parse().ok()).collect()
}

impl Identity {
    /// Which host it is.
    #[must_use]
    pub fn of(host: &BareMetalHost) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &host.metadata;
        Self {
            namespace: text(&metadata.namespace),
            name: text(&metadata.name),
            uid: text(&metadata.uid),
        }
    }
}

fn bmc(host: &BareMetalHost, secret: &BmcSecret) -> Option<BmcAccess> {
    let bmc = host.spec.bmc.as_ref()?;
    let BmcSecret::Good { credentials, .. } = secret else { return None };
    Some(BmcAccess {
        address: bmc.address.parse().ok()?,
        credentials: credentials.clone(),
        disable_certificate_verification: bmc.disable_certificate_verification == Some(true),
    })
}

/// Which disk is the root device: what the hints say, or what Metal3 takes for it where there are none. Volumes of a RAID speak for themselves.
#[must_use]
pub fn root_device_hints(spec: &BareMetalHostSpec) -> Option<RootDeviceHints> {
    let given = spec.root_device_hints.clone().filter(|it| *it != RootDeviceHints::default());
    let has_raid = spec.raid.as_ref().is_some_and(|raid| {
        let volumes = raid.hardware_raid_volumes.as_ref().is_some_and(|it| !it.is_empty());
        volumes || raid.software_raid_volumes.as_ref().is_some_and(|it| !it.is_empty())
    });
    let device = |name: &str| RootDeviceHints {
        device_name: Some(name.to_owned()),
        ..RootDeviceHints::default()
    };
    let hctl =
        |hctl: &str| RootDeviceHints { hctl: Some(hctl.to_owned()), ..RootDeviceHints::default() };
    given.or_else(|| match spec.hardware_profile.as_deref() {
        _ if has_raid => None,
        Some("empty") => None,
        Some("libvirt") => Some(device("/dev/vda")),
        Some("openstack") => Some(device("/dev/vdb")),
        Some("dell") => Some(hctl("0:0:0:0")),
        Some("dell-raid") => Some(hctl("0:2:0:0")),
        None | Some(_) => Some(device("/dev/sda")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::raid::HardwareRaidLevel;
    use rstest::rstest;

    fn image(url: &str) -> Image {
        Image { url: url.to_owned(), ..Image::default() }
    }

    #[rstest]
    #[case::wanted("available", "new")]
    #[case::being_written("provisioning", "old")]
    #[case::running("provisioned", "old")]
    #[case::being_removed("deprovisioning", "old")]
    fn what_runs_is_what_was_written(#[case] state: &str, #[case] url: &str) {
        let mut host = BareMetalHost::default();
        host.spec.image = Some(image("new"));
        let status = host.status.get_or_insert_default();
        status.provisioning.image = Some(image("old"));
        status.provisioning.state = state.to_owned();
        assert_eq!(Machine::of(&host, &BmcSecret::Unnamed, None).image, Some(image(url)));
    }

    #[test]
    fn what_is_wanted_of_the_disks_is_what_the_spec_says_now() {
        let mut host = BareMetalHost::default();
        let of =
            |host: &BareMetalHost| Machine::of(host, &BmcSecret::Unnamed, None).automated_cleaning;
        assert_eq!(of(&host), AutomatedCleaningMode::Metadata);
        host.spec.automated_cleaning_mode = Some(AutomatedCleaningMode::Disabled);
        assert_eq!(of(&host), AutomatedCleaningMode::Disabled);
    }

    #[test]
    fn the_root_device_is_the_hinted_one_or_metal3s() {
        let device =
            |spec: &BareMetalHostSpec| root_device_hints(spec).and_then(|it| it.device_name);
        let mut spec = BareMetalHostSpec::default();
        assert_eq!(device(&spec).as_deref(), Some("/dev/sda"));
        spec.hardware_profile = Some("empty".to_owned());
        assert_eq!(root_device_hints(&spec), None);
        spec.hardware_profile = Some("libvirt".to_owned());
        assert_eq!(device(&spec).as_deref(), Some("/dev/vda"));
        spec.raid = Some(Raid {
            hardware_raid_volumes: Some(vec![crate::api::raid::HardwareRaidVolume {
                size_gibibytes: None,
                level: HardwareRaidLevel::Raid1,
                name: None,
                rotational: None,
                number_of_physical_disks: None,
                controller: None,
                physical_disks: None,
            }]),
            software_raid_volumes: None,
        });
        assert_eq!(root_device_hints(&spec), None);
        let wwn = RootDeviceHints { wwn: Some("0x1".to_owned()), ..RootDeviceHints::default() };
        spec.root_device_hints = Some(wwn.clone());
        assert_eq!(root_device_hints(&spec), Some(wwn));
    }
}
