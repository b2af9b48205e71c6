//! A lab to learn in: a real control plane, Cluster API, a real Ironic with a rack of machines whose BMCs answer, and Ironward with all of its controllers. What is
//! played is what the machines would run: a ramdisk, and kubelets.
//!
//! The manifests that a person would write about such a rack are in its folder, `$LAB`, for the addresses differ from run to run.

use crate::{
    cluster, cluster_api,
    control_plane::{self, ControlPlane},
    eventually::eventually,
    ironic::{self, Driver, Ironic, Machine, Settings},
    ironward::{self, Ironward, Options},
    kubelets::Kubelets,
    machines::{Cluster, Keeper, Template},
    manager::Operator,
    tour::Stage,
};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

const CLUSTER: &str = "lab";
const CONTROLLERS: &str =
    "--controllers=host,cluster,machine,machine-template,metadata,remediation,discovery";
/// One for the control plane, two for workers and one more that could be, and one that nobody knows of yet.
const MACHINES: u16 = 5;
const PATIENCE: Duration = Duration::from_mins(2);

/// The lab. It ends with this value.
pub struct Lab {
    folder: PathBuf,
    plane: ControlPlane,
    ironward: Ironward,
    managers: Vec<Operator>,
    _ironic: Ironic,
    _kubelets: Kubelets,
}

/// Builds and downloads all there is to, for whoever starts it where neither can be done.
pub fn provide() -> Result<()> {
    control_plane::provide()?;
    cluster_api::provide()?;
    ironic::provide()?;
    ironward::binary().map(drop)
}

impl Lab {
    /// Starts it, in a network of its own: Cluster API's webhooks listen on every address.
    pub fn start() -> Result<Self> {
        let ironic = Ironic::start(&Settings {
            machines: MACHINES,
            discovery: Some(Driver::FakeHardware),
            power_sync: None,
            ..Settings::default()
        })?;
        let plane = ControlPlane::start()?;
        cluster::install_kinds(&plane)?;
        // An API server that is busy with the first kinds may not answer in time about the next.
        eventually(PATIENCE, "the kinds are stored", || cluster_api::install_kinds(&plane))?;
        let managers = cluster_api::start(&plane)?;
        let kubelets = Kubelets::start(plane.admin_kubeconfig())?;
        let folder = plane.dir().join("lab");
        fs::create_dir_all(folder.join("policies"))?;
        let flags = vec![
            CONTROLLERS.to_owned(),
            "--provisioner=ironic".to_owned(),
            format!("--ironic-url={}", ironic.url()),
            format!("--deploy-iso-url={}", ironic.ramdisk_url()),
        ];
        let policy_dir = Some(folder.join("policies"));
        let options = Options { policy_dir, flags, ..Options::default() };
        let ironward = Ironward::start_with(&plane, &options)?;
        ironward.wait_until_ready()?;
        ironward.wait_until_in_force(&plane)?;
        let kubectl = plane.kubectl().in_namespace("default");
        let made = || Cluster::create(&plane, &kubectl, CLUSTER, Keeper::Nobody);
        let cluster = eventually(PATIENCE, "the cluster is stored", made)?;
        write_manifests(&folder, &cluster, &ironic)?;
        Ok(Self { folder, plane, ironward, managers, _ironic: ironic, _kubelets: kubelets })
    }

    /// Where commands are typed.
    pub fn stage(&self) -> Result<Stage> {
        let kubeconfig = self.plane.admin_kubeconfig_in("default")?;
        let lab = Some(self.folder.clone());
        Ok(Stage { lab, ..Stage::new(kubeconfig, &self.plane.kubectl())? })
    }

    /// The last words of all who work here.
    #[must_use]
    pub fn last_words(&self) -> String {
        let own = [format!("--- ironward\n{}\n", self.ironward.process.log_tail())];
        let managers = self.managers.iter();
        let managers = managers.map(|it| format!("--- {}\n{}\n", it.user, it.process.log_tail()));
        own.into_iter().chain(managers).collect()
    }
}

fn write_manifests(folder: &Path, cluster: &Cluster, ironic: &Ironic) -> Result<()> {
    let [control_plane, first, second, third, unknown] = ironic.machines() else {
        anyhow::bail!("the rack has not {MACHINES} machines")
    };
    let mut hosts = host("cp-0", "control-plane", control_plane).to_vec();
    hosts.extend(host("worker-0", "workers", first));
    hosts.extend(host("worker-1", "workers", second));
    hosts.extend(host("worker-2", "workers", third));
    write(folder, "hosts.yaml", &hosts)?;
    let again = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "worker-0-again"},
        "spec": {"online": true, "bootMACAddress": first.boot_mac},
    });
    write(folder, "duplicate.yaml", &[again])?;

    let image = ironic.machine_image();
    let template = |name: &str| {
        cluster.template(&Template {
            name: name.to_owned(),
            automated_cleaning_mode: Some("disabled"),
            node_reuse: Some(true),
            image: Some(image.clone()),
            pool: Some("workers".to_owned()),
            ..Template::default()
        })
    };
    let mut first_machine = cluster.control_plane_machine("cp-0", Some("control-plane"));
    first_machine[0]["spec"]["image"] = image.clone();
    let mut pool = first_machine.to_vec();
    pool.extend([template("v1"), cluster.machine_deployment("workers", 2, "v1")]);
    write(folder, "pool.yaml", &pool)?;
    let upgrade = [template("v2"), cluster.machine_deployment("workers", 2, "v2")];
    write(folder, "upgrade.yaml", &upgrade)?;
    write_plug_in(&folder.join("plug-in"), unknown)
}

fn host(name: &str, pool: &str, machine: &Machine) -> [Value; 2] {
    [
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {
                "username": machine.credentials.username, "password": machine.credentials.password,
            },
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "labels": {"pool": pool}},
            "spec": {
                "online": true, "bootMACAddress": machine.boot_mac,
                "automatedCleaningMode": "disabled",
                "rootDeviceHints": {"deviceName": "/dev/sda"},
                "bmc": {"address": machine.bmc_address(), "credentialsName": name},
            },
        }),
    ]
}

fn write(folder: &Path, name: &str, objects: &[Value]) -> Result<()> {
    let texts: Result<Vec<_>, _> = objects.iter().map(serde_saphyr::to_string).collect();
    let text = texts.context("a manifest is no YAML")?.join("---\n");
    fs::write(folder.join(name), text).with_context(|| format!("could not write {name}"))
}

/// A program that does what somebody does who plugs a server in and presses its button: it boots from the network.
fn write_plug_in(path: &Path, machine: &Machine) -> Result<()> {
    let system = format!("{}{}", machine.redfish_address, machine.redfish_system());
    let (user, password) = (&machine.credentials.username, &machine.credentials.password);
    let text = format!(
        "#!/usr/bin/env python3
# Switches the fifth machine of the rack on, which boots from the network.
import base64, json, urllib.request
LOGIN = base64.b64encode(b'{user}:{password}').decode()
def ask(method, path, body):
    request = urllib.request.Request('{system}' + path, json.dumps(body).encode(), method=method)
    request.add_header('Content-Type', 'application/json')
    request.add_header('Authorization', 'Basic ' + LOGIN)
    urllib.request.urlopen(request).read()
ask('PATCH', '', {{'Boot': {{'BootSourceOverrideTarget': 'Pxe'}}}})
ask('POST', '/Actions/ComputerSystem.Reset', {{'ResetType': 'On'}})
print('it boots')
"
    );
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).context("it is no program")
}
