//! What Ironic has to be told of a machine: its driver and interfaces, its BMC, its properties.

use serde_json::{Map, Value, json};

use super::{
    capabilities, instance,
    node::{Node, node_name},
    patch::{Field, Patch},
    provision_state::ProvisionState,
    raid,
    version::{DISABLE_POWER_OFF, Version},
};
use crate::{
    api::baremetalhost::{BootMode, InspectionMode},
    controllers::host::machine::{BmcAccess, Machine},
    domain::bmc::Protocol,
};

/// What holds for every machine of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ramdisk {
    /// The URL of the ramdisk's kernel.
    pub kernel: Option<String>,
    /// The URL of the ramdisk itself.
    pub ramdisk: Option<String>,
    /// The URL of both in one image, for BMCs that boot from virtual media.
    pub iso: Option<String>,
    /// Parameters of its kernel, beside Ironic's.
    pub kernel_parameters: Option<String>,
}

/// What a machine is taken for until somebody says or finds out otherwise: of the same kind as the one that this runs on, as in Metal3.
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };

/// Prefixes of the fields in `driver_info` that are about the BMC.
const BMC_PREFIXES: [&str; 2] = ["ipmi_", "redfish_"];

/// Why a machine cannot be registered, in words for people.
#[must_use]
pub fn problem(machine: &Machine, bmc: &BmcAccess, version: Version) -> Option<String> {
    let (driver, scheme) = (bmc.address.driver(), bmc.address.scheme());
    if machine.boot_mode == BootMode::UefiSecureBoot && !driver.has_secure_boot {
        return Some(format!("a BMC of the kind {scheme} cannot switch on secure boot"));
    }
    if driver.needs_boot_mac && machine.boot_mac.is_none() {
        return Some(format!("a BMC of the kind {scheme} needs bootMACAddress"));
    }
    if machine.disable_power_off && version < DISABLE_POWER_OFF {
        return Some(format!(
            "disablePowerOff needs Ironic with API version {DISABLE_POWER_OFF}, and this one speaks \
             {version}: the host is not managed, so that it is not powered off by accident"
        ));
    }
    raid::problem(machine.raid.as_ref(), driver.raid_interface)
}

/// The body of `POST /v1/nodes`.
#[must_use]
pub fn new_node(machine: &Machine, bmc: &BmcAccess, ramdisk: &Ramdisk, version: Version) -> Value {
    let mut properties = Map::new();
    let boot = capabilities::of_node("", machine.boot_mode);
    properties.insert("capabilities".into(), boot.into());
    let architecture = machine.architecture.as_deref().unwrap_or(ARCHITECTURE);
    properties.insert("cpu_arch".into(), architecture.into());
    let mut driver_info = bmc_fields(bmc);
    driver_info.extend(ramdisk_fields(bmc, ramdisk));
    let mut node = Map::new();
    node.insert("name".into(), name(machine).into());
    node.insert("driver".into(), bmc.address.driver().name.into());
    node.insert("driver_info".into(), driver_info.into());
    node.insert("properties".into(), properties.into());
    node.insert("automated_clean".into(), machine.automated_cleaning.automated_clean().into());
    for (interface, value) in interfaces(machine, bmc) {
        node.insert(interface.into(), value.into());
    }
    if version >= DISABLE_POWER_OFF {
        node.insert("disable_power_off".into(), machine.disable_power_off.into());
    }
    if let Some(data) = &machine.preprovisioning_network_data {
        node.insert("network_data".into(), data.reveal().clone());
    }
    Value::Object(node)
}

/// What is to be changed of a node so that it is as the machine is described, as far as its state
/// lets Ironic take it. Ironic shows no password, so that only who knows that it changed can say so.
#[must_use]
pub fn changes(
    node: &Node,
    machine: &Machine,
    ramdisk: &Ramdisk,
    version: Version,
    credentials_changed: bool,
) -> Patch {
    let mut patch = Patch::default();
    if !node.provision_state.takes_changes() {
        return patch;
    }
    let current = serde_json::to_value(node).unwrap_or_default();
    patch.set(&current, Field::Own("name"), name(machine));
    // Without a BMC, that of the node stays what it is: a discovered one has none, and who leaves may have lost the Secret.
    if let Some(bmc) = &machine.bmc {
        if takes_another_driver(node.provision_state) {
            patch.set(&current, Field::Own("driver"), bmc.address.driver().name);
            for (interface, value) in interfaces(machine, bmc) {
                patch.set(&current, Field::Own(interface), value);
            }
        }
        bmc_changes(&mut patch, node, &current, bmc, credentials_changed);
        for (name, value) in ramdisk_fields(bmc, ramdisk) {
            patch.set(&current, Field::In("driver_info", &name), value);
        }
    } else if is_written_by_agent(node) {
        patch.set(&current, Field::Own("management_interface"), "noop");
    }
    property_changes(&mut patch, node, &current, machine);
    let clean = machine.automated_cleaning.automated_clean();
    patch.set(&current, Field::Own("automated_clean"), clean);
    if version >= DISABLE_POWER_OFF {
        patch.set(&current, Field::Own("disable_power_off"), machine.disable_power_off);
    }
    if let Some(data) = &machine.preprovisioning_network_data {
        patch.set(&current, Field::Own("network_data"), data.reveal().clone());
    }
    patch
}

/// Whether the driver changes, so that interfaces that nobody names must not stay either.
#[must_use]
pub fn resets_interfaces(patch: &Patch) -> bool {
    patch.changes(Field::Own("driver"))
}

/// Whether an image is to be written by the agent that reported a machine without a BMC. The management interface that Ironic takes by itself refuses to
/// boot from a disk then; that it does is up to the machine's own settings.
fn is_written_by_agent(node: &Node) -> bool {
    let is = |interface: &Option<String>| interface.as_deref() == Some("fake");
    let interfaces = &node.interfaces;
    takes_another_driver(node.provision_state)
        && is(&interfaces.management_interface)
        && !is(&interfaces.deploy_interface)
}

fn takes_another_driver(state: ProvisionState) -> bool {
    matches!(state, ProvisionState::Enroll | ProvisionState::Manageable | ProvisionState::Available)
}

fn name(machine: &Machine) -> String {
    node_name(&machine.identity.namespace, &machine.identity.name)
}

fn bmc_changes(
    patch: &mut Patch,
    node: &Node,
    current: &Value,
    bmc: &BmcAccess,
    credentials_changed: bool,
) {
    let wanted = bmc_fields(bmc);
    let is_hidden = |name: &str| name.ends_with("_password");
    let shown_differs = wanted
        .iter()
        .any(|(name, value)| !is_hidden(name) && node.driver_info.get(name) != Some(value));
    for (name, value) in &wanted {
        let field = Field::In("driver_info", name);
        if !is_hidden(name) {
            patch.set(current, field, value.clone());
        } else if credentials_changed || shown_differs || !node.driver_info.contains_key(name) {
            // Another BMC has another password, whatever the mask of the old one looks like.
            patch.write(field, value.clone());
        }
    }
    let ours = |name: &&String| BMC_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    for name in node.driver_info.keys().filter(ours).filter(|name| !wanted.contains_key(*name)) {
        patch.remove(current, Field::In("driver_info", name));
    }
}

fn property_changes(patch: &mut Patch, node: &Node, current: &Value, machine: &Machine) {
    let said = node.properties.get("capabilities").and_then(Value::as_str).unwrap_or_default();
    if !capabilities::says(said, machine.boot_mode) {
        let boot = capabilities::of_node(said, machine.boot_mode);
        patch.set(current, Field::In("properties", "capabilities"), boot);
    }
    // What nobody has said or found out is left to whoever did.
    let is_open = !node.properties.contains_key("cpu_arch");
    let unsaid = is_open.then_some(ARCHITECTURE);
    if let Some(architecture) = machine.architecture.as_deref().or(unsaid) {
        patch.set(current, Field::In("properties", "cpu_arch"), architecture);
    }
}

/// The interfaces that are not left to Ironic.
fn interfaces(machine: &Machine, bmc: &BmcAccess) -> Vec<(&'static str, &'static str)> {
    let driver = bmc.address.driver();
    let inspect = match machine.inspection_mode {
        InspectionMode::Fast => driver.inspect_interface.unwrap_or("agent"),
        InspectionMode::Agent | InspectionMode::Disabled => "agent",
    };
    let deploy = instance::deploy_interface(machine.image.as_ref(), machine.custom_deploy.as_ref());
    let all = [
        ("bios_interface", driver.bios_interface),
        ("boot_interface", Some(driver.boot_interface)),
        // Named also where it is Ironic's default: it must not stay what the last image needed.
        ("deploy_interface", Some(deploy.unwrap_or(instance::DEFAULT_DEPLOY_INTERFACE))),
        ("firmware_interface", driver.firmware_interface),
        ("inspect_interface", Some(inspect)),
        ("management_interface", driver.management_interface),
        ("power_interface", driver.power_interface),
        ("raid_interface", Some(raid::interface(machine.raid.as_ref(), driver.raid_interface))),
        ("vendor_interface", driver.vendor_interface),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn bmc_fields(bmc: &BmcAccess) -> Map<String, Value> {
    let address = &bmc.address;
    let protocol = address.driver().protocol;
    let (username, password) =
        (bmc.credentials.username.reveal(), bmc.credentials.password.reveal());
    let mut fields = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(format!("{protocol}_{name}"), value);
        }
    };
    match protocol {
        Protocol::Ipmi => {
            // Ironic hands it to ipmitool, which takes no brackets around an IPv6 address.
            let host = address.host().to_string();
            put("address", Some(host.trim_matches(['[', ']']).into()));
            put("port", Some(address.port().into()));
            put("priv_level", address.privilege_level().map(|level| json!(level.to_string())));
        }
        Protocol::Redfish => {
            put("address", address.redfish_address().map(Value::from));
            put("system_id", address.redfish_system_id().map(Value::from));
        }
    }
    put("username", Some(username.as_str().into()));
    put("password", Some(password.as_str().into()));
    put("verify_ca", bmc.disable_certificate_verification.then(|| false.into()));
    fields
}

fn ramdisk_fields(bmc: &BmcAccess, ramdisk: &Ramdisk) -> Map<String, Value> {
    let iso = ramdisk.iso.as_ref().filter(|_| bmc.address.driver().boots_iso);
    let parts = |part: &Option<String>| part.clone().filter(|_| iso.is_none());
    let parameters = ramdisk.kernel_parameters.as_ref();
    let fields = [
        ("deploy_iso", iso.cloned()),
        ("deploy_kernel", parts(&ramdisk.kernel)),
        ("deploy_ramdisk", parts(&ramdisk.ramdisk)),
        ("kernel_append_params", parameters.map(|parameters| format!("%default% {parameters}"))),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{
        controllers::host::hidden::Hidden,
        ironic::{
            node::tests::node,
            redact::MASK,
            testing::{PASSWORD, access, machine},
            version::{NEWEST, OLDEST},
        },
    };

    fn ramdisk() -> Ramdisk {
        Ramdisk { iso: Some("http://images/ipa.iso".into()), ..Ramdisk::default() }
    }

    fn created(machine: &Machine) -> Value {
        new_node(machine, machine.bmc.as_ref().unwrap(), &ramdisk(), NEWEST)
    }

    /// The node that Ironic makes of what it was sent.
    fn stored(machine: &Machine) -> Node {
        let mut sent = created(machine);
        sent["uuid"] = "u".into();
        sent["provision_state"] = "manageable".into();
        serde_json::from_value(sent).unwrap()
    }

    fn patched(node: &Node, machine: &Machine, credentials_changed: bool) -> Value {
        serde_json::to_value(changes(node, machine, &ramdisk(), NEWEST, credentials_changed))
            .unwrap()
    }

    #[test]
    fn a_new_node_is_told_all_at_once() {
        assert_eq!(
            created(&machine()),
            json!({
                "name": "default~worker-0", "driver": "redfish", "automated_clean": true,
                "boot_interface": "redfish-virtual-media", "deploy_interface": "direct",
                "firmware_interface": "redfish", "inspect_interface": "agent", "raid_interface": "redfish",
                "disable_power_off": false,
                "driver_info": {
                    "redfish_address": "https://10.0.0.7", "redfish_system_id": "/redfish/v1/Systems/1",
                    "redfish_username": "admin", "redfish_password": PASSWORD,
                    "deploy_iso": "http://images/ipa.iso",
                },
                "properties": {"capabilities": "boot_mode:uefi", "cpu_arch": ARCHITECTURE},
            })
        );
    }

    #[test]
    fn ipmi_has_its_own_words_and_no_iso() {
        let mut machine = machine();
        machine.bmc = Some(access("ipmi://[fe80::7]:6230?privilegelevel=OPERATOR"));
        assert_eq!(
            created(&machine)["driver_info"],
            json!({
                "ipmi_address": "fe80::7", "ipmi_port": 6230, "ipmi_priv_level": "OPERATOR",
                "ipmi_username": "admin", "ipmi_password": PASSWORD,
            })
        );
    }

    #[test]
    fn a_node_that_is_right_is_left_alone() {
        assert_eq!(patched(&stored(&machine()), &machine(), false), json!([]));
    }

    #[test]
    fn new_credentials_are_sent_when_somebody_knows_that_they_are_new() {
        assert_eq!(
            patched(&stored(&machine()), &machine(), true),
            json!([{"op": "add", "path": "/driver_info/redfish_password", "value": PASSWORD}])
        );
        // Another user, or another BMC, has another password.
        let mut other = machine();
        other.bmc.as_mut().unwrap().credentials.username = Hidden::new("root".into());
        assert_eq!(
            patched(&stored(&machine()), &other, false),
            json!([
                {"op": "add", "path": "/driver_info/redfish_password", "value": PASSWORD},
                {"op": "add", "path": "/driver_info/redfish_username", "value": "root"},
            ])
        );
    }

    #[rstest]
    #[case::active("active")]
    #[case::deploy_failed("deploy failed")]
    fn the_driver_stays_where_ironic_would_not_take_another(#[case] state: &str) {
        let mut node = stored(&machine());
        node.provision_state = state.parse().unwrap();
        let mut other = machine();
        other.bmc = Some(access("ipmi://10.0.0.8"));
        let patch = changes(&node, &other, &ramdisk(), NEWEST, false);
        assert!(!resets_interfaces(&patch));
        assert!(!patch.changes(Field::Own("boot_interface")));
        assert!(patch.changes(Field::In("driver_info", "ipmi_address")));
    }

    #[test]
    fn a_discovered_node_is_given_its_driver_and_its_bmc() {
        let mut discovered = node(ProvisionState::Enroll);
        (discovered.driver, discovered.name) = ("fake-hardware".into(), None);
        let patch = changes(&discovered, &machine(), &ramdisk(), NEWEST, false);
        assert!(resets_interfaces(&patch));
        for name in ["redfish_address", "redfish_password", "redfish_system_id"] {
            assert!(patch.changes(Field::In("driver_info", name)), "{name}");
        }
        assert!(patch.changes(Field::Own("name")));
    }

    #[test]
    fn an_architecture_is_told_where_it_is_known_and_else_left_to_whoever_finds_it_out() {
        let mut known = machine();
        known.architecture = Some("riscv64".into());
        assert_eq!(created(&known)["properties"]["cpu_arch"], "riscv64");
        let mut node = stored(&machine());
        let arch = |patch: &Value| patch[0]["path"] == "/properties/cpu_arch";
        assert!(arch(&patched(&node, &known, false)));
        node.properties.insert("cpu_arch".into(), "ppc64le".into());
        assert_eq!(patched(&node, &machine(), false), json!([]));
        node.properties.remove("cpu_arch");
        assert!(arch(&patched(&node, &machine(), false)));
    }

    #[test]
    fn without_a_bmc_the_rest_is_kept_right_and_the_driver_stays() {
        let mut discovered = node(ProvisionState::Enroll);
        (discovered.driver, discovered.name) = ("fake-hardware".into(), None);
        discovered.automated_clean = None;
        let mut bare = machine();
        bare.bmc = None;
        let patch = changes(&discovered, &bare, &ramdisk(), NEWEST, false);
        for name in ["name", "automated_clean"] {
            assert!(patch.changes(Field::Own(name)), "{name}");
        }
        for name in ["driver", "boot_interface", "management_interface"] {
            assert!(!patch.changes(Field::Own(name)), "{name}");
        }
        discovered.interfaces.management_interface = Some("fake".into());
        for (deploy, is_switched) in [("fake", false), ("direct", true)] {
            discovered.interfaces.deploy_interface = Some(deploy.into());
            let patch = changes(&discovered, &bare, &ramdisk(), NEWEST, false);
            assert_eq!(patch.changes(Field::Own("management_interface")), is_switched, "{deploy}");
        }
    }

    #[test]
    fn what_was_about_another_kind_of_bmc_goes() {
        let mut node = stored(&machine());
        node.driver_info.insert("ipmi_password".into(), MASK.into());
        node.driver_info.insert("force_persistent_boot_device".into(), "Default".into());
        assert_eq!(
            patched(&node, &machine(), false),
            json!([{"op": "remove", "path": "/driver_info/ipmi_password"}])
        );
    }

    #[test]
    fn a_node_that_is_worked_on_is_not_changed() {
        let mut node = stored(&machine());
        (node.provision_state, node.automated_clean) = (ProvisionState::Cleaning, Some(false));
        assert_eq!(patched(&node, &machine(), true), json!([]));
    }

    #[test]
    fn what_cannot_work_is_said_before_it_is_tried() {
        let mut machine = machine();
        let said = |machine: &Machine, version| {
            problem(machine, machine.bmc.as_ref().unwrap(), version).unwrap_or_default()
        };
        assert_eq!(said(&machine, OLDEST), "");
        machine.disable_power_off = true;
        assert!(said(&machine, OLDEST).contains("1.95"), "{}", said(&machine, OLDEST));
        assert_eq!(said(&machine, NEWEST), "");
        machine.bmc = Some(access("ipmi://10.0.0.7"));
        machine.boot_mode = BootMode::UefiSecureBoot;
        assert!(said(&machine, NEWEST).contains("secure boot"));
        machine.bmc = Some(access("libvirt://10.0.0.7"));
        (machine.boot_mode, machine.boot_mac) = (BootMode::Uefi, None);
        assert!(said(&machine, NEWEST).contains("bootMACAddress"));
    }

    #[test]
    fn an_old_ironic_is_not_told_what_it_does_not_know() {
        let machine = machine();
        let sent = new_node(&machine, machine.bmc.as_ref().unwrap(), &ramdisk(), OLDEST);
        assert_eq!(sent.get("disable_power_off"), None);
    }
}
