//! What is deployed to a node: the image, how it is checked, and what it finds at its first boot.

use serde_json::{Map, Value, json};

use super::{
    capabilities,
    node::Node,
    patch::{Field, Patch},
    provision_state::ProvisionState,
    root_device,
};
use crate::{
    api::image::{ChecksumType, CustomDeploy, DiskFormat, Image},
    controllers::host::{
        machine::{ConfigDrive, Machine},
        provisioner::Provision,
    },
};

/// What is to be changed of a node before an image is deployed to it.
#[must_use]
pub fn deployed(node: &Node, machine: &Machine, provision: &Provision) -> Patch {
    let mut patch = instance_patch(node, machine);
    let current = shown(node);
    for (name, value) in instance_info(machine, provision) {
        change(&mut patch, &current, name, value);
    }
    if node.provision_state == ProvisionState::Available {
        let custom_deploy = provision.custom_deploy.as_ref();
        let interface = deploy_interface(provision.image.as_ref(), custom_deploy);
        // Where it is Ironic's own default, it stays what it is, unless another image needed another.
        let set = node.interfaces.deploy_interface.as_deref();
        let is_special = matches!(set, Some("custom-agent" | "ramdisk"));
        if interface.is_some() || is_special {
            let interface = interface.unwrap_or(DEFAULT_DEPLOY_INTERFACE);
            patch.set(&current, Field::Own("deploy_interface"), interface);
        }
    }
    patch
}

/// What is to be changed of a node before Ironic takes over what runs on it.
#[must_use]
pub fn adopted(node: &Node, machine: &Machine) -> Patch {
    let mut patch = instance_patch(node, machine);
    let current = shown(node);
    for (name, value) in image_fields(machine.image.as_ref()) {
        change(&mut patch, &current, name, value);
    }
    let boot = capabilities::of_instance(machine.boot_mode);
    change(&mut patch, &current, "capabilities", Some(boot));
    patch
}

/// Whose instance it is. Ironic lets nobody write over another's.
fn instance_patch(node: &Node, machine: &Machine) -> Patch {
    let mut patch = Patch::default();
    let uid = machine.identity.uid.as_str();
    if node.instance_uuid.as_deref().is_some_and(|other| other != uid) {
        patch.remove(&shown(node), Field::Own("instance_uuid"));
    } else {
        patch.set(&shown(node), Field::Own("instance_uuid"), uid);
    }
    patch
}

fn shown(node: &Node) -> Value {
    serde_json::to_value(node).unwrap_or_default()
}

fn change(patch: &mut Patch, current: &Value, name: &str, value: Option<Value>) {
    let field = Field::In("instance_info", name);
    match value {
        // It is shown masked, so that it would seem to differ for ever.
        Some(_)
            if name == "image_pull_secret"
                && current.pointer("/instance_info/image_pull_secret").is_some() => {}
        Some(value) => patch.set(current, field, value),
        None => patch.remove(current, field),
    }
}

/// Ironic's priority for a deploy step of one's own: where it writes images otherwise.
const CUSTOM_STEP_PRIORITY: u8 = 80;
/// What writes images.
pub const DEFAULT_DEPLOY_INTERFACE: &str = "direct";

/// Ironic's `deploy_interface` for what is to be deployed; `None` for its default, which writes images.
#[must_use]
pub fn deploy_interface(
    image: Option<&Image>,
    custom_deploy: Option<&CustomDeploy>,
) -> Option<&'static str> {
    match (image, custom_deploy) {
        (_, Some(_)) => Some("custom-agent"),
        (Some(image), None) if is_live_iso(image) => Some("ramdisk"),
        (_, None) => None,
    }
}

fn is_live_iso(image: &Image) -> bool {
    image.format == Some(DiskFormat::LiveIso)
}

/// Every field of `instance_info` that is ours; `None` takes it away.
#[must_use]
pub fn instance_info(
    machine: &Machine,
    provision: &Provision,
) -> Vec<(&'static str, Option<Value>)> {
    let mut info = image_fields(provision.image.as_ref());
    let pull_secret = provision.image_pull_secret.as_ref().map(|hidden| hidden.reveal().clone());
    let root_device = machine.root_device_hints.as_ref().and_then(root_device::hints);
    info.push(("image_pull_secret", pull_secret.map(Value::from)));
    info.push(("root_device", root_device.map(Value::Object)));
    info.push(("capabilities", Some(capabilities::of_instance(machine.boot_mode))));
    info
}

fn image_fields(image: Option<&Image>) -> Vec<(&'static str, Option<Value>)> {
    let written = image.filter(|image| !is_live_iso(image));
    let checksum = written.and_then(|image| image.checksum.as_deref().map(str::trim));
    let checksum = checksum.filter(|checksum| !checksum.is_empty());
    // Ironic tells the algorithm of `image_checksum` by its length, and fetches it if it is a URL.
    let algorithm = written.and_then(|image| match image.checksum_type {
        Some(ChecksumType::Sha256) => Some("sha256"),
        Some(ChecksumType::Sha512) => Some("sha512"),
        Some(ChecksumType::Md5 | ChecksumType::Auto) | None => None,
    });
    let hash = algorithm.and(checksum);
    let plain = if algorithm.is_some() { None } else { checksum };
    vec![
        ("boot_iso", image.filter(|image| is_live_iso(image)).map(|image| json!(image.url))),
        ("image_source", written.map(|image| json!(image.url))),
        ("image_disk_format", written.and_then(|image| image.format).map(|format| json!(format))),
        ("image_checksum", plain.map(Value::from)),
        ("image_os_hash_algo", hash.and(algorithm).map(Value::from)),
        ("image_os_hash_value", hash.map(Value::from)),
    ]
}

/// Whether a node was told to deploy this image, by the fields that tell images apart.
#[must_use]
pub fn has_image(info: &Map<String, Value>, image: Option<&Image>) -> bool {
    let told = |name: &str| info.get(name).filter(|value| !value.is_null());
    image_fields(image)
        .iter()
        .filter(|(name, _)| *name != "image_disk_format")
        .all(|(name, wanted)| told(name) == wanted.as_ref())
}

/// The steps of a deployment beside Ironic's own.
#[must_use]
pub fn deploy_steps(custom_deploy: Option<&CustomDeploy>) -> Option<Value> {
    let method = &custom_deploy?.method;
    Some(json!([{
        "interface": "deploy", "step": method, "args": {}, "priority": CUSTOM_STEP_PRIORITY,
    }]))
}

/// The config drive; none for a live ISO, which has no disk to put it on.
#[must_use]
pub fn config_drive(provision: &Provision) -> Option<Value> {
    if provision.image.as_ref().is_some_and(is_live_iso) {
        return None;
    }
    let ConfigDrive { user_data, network_data, meta_data } = &provision.config_drive;
    let mut drive = Map::new();
    drive.insert("meta_data".into(), Value::Object(meta_data.reveal().clone()));
    if let Some(data) = network_data {
        drive.insert("network_data".into(), data.reveal().clone());
    }
    if let Some(data) = user_data {
        drive.insert("user_data".into(), data.reveal().as_str().into());
    }
    Some(Value::Object(drive))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::controllers::host::hidden::Hidden;

    fn image(text: Value) -> Image {
        serde_json::from_value(text).unwrap()
    }

    fn told(fields: Vec<(&'static str, Option<Value>)>) -> Value {
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    #[rstest]
    #[case::sha256(
        json!({"url": "http://i/a.raw", "checksum": "abc", "checksumType": "sha256", "format": "raw"}),
        json!({"image_source": "http://i/a.raw", "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": "abc"})
    )]
    #[case::auto(
        json!({"url": "http://i/a", "checksum": "http://i/a.sums", "checksumType": "auto"}),
        json!({"image_source": "http://i/a", "image_checksum": "http://i/a.sums"})
    )]
    #[case::md5_is_what_no_type_means(
        json!({"url": "http://i/a", "checksum": "abc"}),
        json!({"image_source": "http://i/a", "image_checksum": "abc"})
    )]
    #[case::live_iso(
        json!({"url": "http://i/live.iso", "format": "live-iso"}),
        json!({"boot_iso": "http://i/live.iso"})
    )]
    #[case::oci(json!({"url": "oci://r/a"}), json!({"image_source": "oci://r/a"}))]
    fn an_image_is_told_in_ironics_fields(#[case] given: Value, #[case] expected: Value) {
        let given = image(given);
        assert_eq!(told(image_fields(Some(&given))), expected);
        let Value::Object(info) = expected else { panic!("no map") };
        assert!(has_image(&info, Some(&given)));
        assert!(!has_image(&info, Some(&image(json!({"url": "http://another"})))));
        assert!(!has_image(&info, None));
    }

    #[test]
    fn what_another_image_had_is_taken_away() {
        let gone: Vec<_> =
            image_fields(None).into_iter().filter(|(_, value)| value.is_none()).collect();
        assert_eq!(gone.len(), 6);
    }

    #[test]
    fn a_step_of_ones_own_comes_where_images_are_written() {
        let custom = CustomDeploy { method: "install_coreos".into() };
        assert_eq!(deploy_interface(None, Some(&custom)), Some("custom-agent"));
        assert_eq!(
            deploy_steps(Some(&custom)),
            Some(
                json!([{"interface": "deploy", "step": "install_coreos", "args": {}, "priority": 80}])
            )
        );
        let live = image(json!({"url": "http://i/live.iso", "format": "live-iso"}));
        assert_eq!(deploy_interface(Some(&live), None), Some("ramdisk"));
        assert_eq!(deploy_interface(Some(&image(json!({"url": "http://i"}))), None), None);
    }

    #[test]
    fn a_config_drive_has_all_parts_and_a_live_iso_has_none() {
        let config_drive = ConfigDrive {
            user_data: Some(Hidden::new("#cloud-config\n".into())),
            network_data: Some(Hidden::new(json!({"links": []}))),
            meta_data: Hidden::new(Map::from_iter([("uuid".to_owned(), json!("u"))])),
        };
        let mut provision = Provision {
            image: None,
            custom_deploy: None,
            config_drive,
            image_pull_secret: None,
            restart: false,
        };
        assert_eq!(
            super::config_drive(&provision),
            Some(
                json!({"meta_data": {"uuid": "u"}, "network_data": {"links": []}, "user_data": "#cloud-config\n"})
            )
        );
        provision.image = Some(image(json!({"url": "http://i/live.iso", "format": "live-iso"})));
        assert_eq!(super::config_drive(&provision), None);
    }
}
