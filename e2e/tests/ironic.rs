//! The real Ironic of the tests does what later tests rely on: the life of a machine, discovery,
//! faults, crashes, authentication. Those that can share one instance, with a machine each.

use anyhow::{Context, Result, anyhow, ensure};
use ironward_e2e::{
    certificates::Authority,
    eventually::eventually,
    ironic::{
        Api, Credentials, Driver, DriverCall, Fault, Http, Ironic, Machine, Method, Power,
        Settings, Step,
    },
};
use serde_json::{Value, json};
use std::{fs, sync::OnceLock, thread, time::Duration};

const PATIENCE: Duration = Duration::from_mins(1);

/// The instance of all tests that neither break it nor need another.
fn shared() -> Result<&'static Ironic> {
    static SHARED: OnceLock<Result<Ironic>> = OnceLock::new();
    let started = SHARED.get_or_init(|| {
        let discovery = Some(Driver::FakeHardware);
        Ironic::start(&Settings { discovery, ..Settings::default() })
    });
    started.as_ref().map_err(|error| anyhow!("{error:#}"))
}

/// A node of the redfish driver for a machine, with the port that its ramdisk is known by.
fn enrol(ironic: &Ironic, machine: &Machine) -> Result<String> {
    let node = ironic.api().create_node(&json!({
        "name": machine.name,
        "driver": "redfish",
        "driver_info": {
            "redfish_address": machine.redfish_address,
            "redfish_system_id": machine.redfish_system(),
            "redfish_username": machine.credentials.username,
            "redfish_password": machine.credentials.password,
            "deploy_iso": ironic.ramdisk_url(),
        },
    }))?;
    let port = json!({"node_uuid": node["uuid"], "address": machine.boot_mac});
    ironic.api().ask(&Method::POST, "/v1/ports", Some(&port))?;
    Ok(machine.name.clone())
}

/// A node that only exists in Ironic, available for deployment.
fn fake_node(api: &Api, name: &str) -> Result<()> {
    api.create_node(&json!({"name": name, "driver": "fake-hardware", "automated_clean": false}))?;
    goes(api, name, "manage", "manageable")?;
    goes(api, name, "provide", "available").map(drop)
}

fn goes(api: &Api, node: &str, target: &str, state: &str) -> Result<Value> {
    api.provision(node, target)?;
    api.wait_for(node, state)
}

/// Enrols a machine and makes it available, without cleaning it.
fn available(ironic: &Ironic, machine: &Machine) -> Result<String> {
    let (api, node) = (ironic.api(), enrol(ironic, machine)?);
    api.set(&node, "/automated_clean", &json!(false))?;
    goes(api, &node, "manage", "manageable")?;
    goes(api, &node, "provide", "available")?;
    Ok(node)
}

fn image(ironic: &Ironic, sha256: &str) -> Value {
    let (url, _) = ironic.disk_image();
    json!({"image_source": url, "image_checksum": sha256, "image_disk_format": "raw"})
}

/// Not `last_error`, which is gone as soon as Ironic has next looked at the machine's power.
fn history_says(api: &Api, node: &str, words: &str) -> Result<()> {
    eventually(PATIENCE, &format!("the history of {node} says \"{words}\""), || {
        let history = api.history(node).map_err(|error| format!("{error:#}"))?;
        let said = history.iter().any(|event| event.contains(words));
        if said { Ok(()) } else { Err(format!("{history:#?}")) }
    })
}

#[test]
fn the_api_versions_that_ironward_needs_are_offered() -> Result<()> {
    let root = shared()?.api().get("/v1")?;
    let minor = |field: &str| -> Result<u32> {
        let version = root["version"][field].as_str().context("no version")?;
        Ok(version.strip_prefix("1.").context("not version 1")?.parse()?)
    };
    let offered = minor("min_version")?..=minor("version")?;
    ensure!(offered.contains(&89), "{offered:?}");
    Ok(())
}

#[test]
fn a_redfish_machine_goes_through_its_whole_life() -> Result<()> {
    let ironic = shared()?;
    let (api, machine) = (ironic.api(), ironic.take_machine()?);
    let node = &enrol(ironic, machine)?;

    let managed = goes(api, node, "manage", "manageable")?;
    ensure!(managed["power_state"] == "power off", "{managed}");

    let inspected = goes(api, node, "inspect", "manageable")?;
    ensure!(inspected["properties"]["memory_mb"] == 32 << 10, "{inspected}");
    let inventory = api.get(&format!("/v1/nodes/{node}/inventory"))?;
    ensure!(inventory["inventory"]["interfaces"][1]["mac_address"] == *machine.other_mac);
    ensure!(machine.past()?.boots == 1);

    goes(api, node, "provide", "available")?;
    ensure!(machine.past()?.steps == ["erase_devices_metadata"], "{:?}", machine.past()?);
    history_says(api, node, "Automated Cleaning completed successfully")?;

    api.set(node, "/instance_info", &image(ironic, ironic.disk_image().1))?;
    let config_drive = json!({
        "meta_data": {"local-hostname": "worker-0"},
        "user_data": "#cloud-config\n",
    });
    api.provision_with(node, &json!({"target": "active", "configdrive": config_drive}))?;
    api.wait_for(node, "active")?;
    ensure!(machine.power()? == Power::On);
    let past = machine.past()?;
    ensure!(past.steps == ["erase_devices_metadata", "write_image"], "{past:?}");
    let files = past.config_drive.context("no config drive")?;
    ensure!(files["/openstack/latest/user_data"] == "#cloud-config\n", "{files:?}");
    let meta_data: Value = serde_json::from_str(&files["/openstack/latest/meta_data.json"])?;
    ensure!(meta_data["local-hostname"] == "worker-0", "{meta_data}");

    goes(api, node, "deleted", "available")?;
    ensure!(machine.power()? == Power::Off);
    ensure!(machine.past()?.boots == 4, "{:?}", machine.past()?);

    api.delete_node(node)?;
    let gone = api.call(Method::GET, &format!("/v1/nodes/{node}"), None)?;
    ensure!(gone.status == 404, "{gone:?}");
    Ok(())
}

#[test]
fn a_node_without_automated_clean_boots_no_ramdisk() -> Result<()> {
    let ironic = shared()?;
    let machine = ironic.take_machine()?;
    let node = available(ironic, machine)?;
    ensure!(machine.past()?.boots == 0, "{:?}", machine.past()?);
    let history = ironic.api().history(&node)?;
    ensure!(!history.iter().any(|event| event.contains("Cleaning")), "{history:?}");
    Ok(())
}

#[test]
fn an_unknown_machine_that_boots_is_enrolled_with_its_inventory() -> Result<()> {
    let ironic = shared()?;
    let (api, machine) = (ironic.api(), ironic.take_machine()?);
    machine.boot_from_network()?;
    let ports = format!("/v1/ports?address={}&fields=node_uuid,pxe_enabled", machine.boot_mac);
    let node = eventually(PATIENCE, "the machine has a node", || {
        let ports = api.get(&ports).map_err(|error| error.to_string())?;
        ports["ports"][0]["node_uuid"].as_str().map(str::to_owned).ok_or(ports.to_string())
    })?;
    let inventory = eventually(PATIENCE, "its inventory is there", || {
        api.get(&format!("/v1/nodes/{node}/inventory"))
    })?;
    ensure!(inventory["plugin_data"]["auto_discovered"] == true, "{inventory}");
    ensure!(inventory["inventory"]["hostname"] == *machine.name, "{inventory}");
    let found = api.node(&node)?;
    ensure!(found["provision_state"] == "enroll" && found["driver"] == "fake-hardware", "{found}");
    ensure!(found["properties"]["cpus"] == 8, "{found}");
    Ok(())
}

#[test]
fn a_report_of_a_machine_that_does_not_exist_is_taken_at_its_word() -> Result<()> {
    let ironic = shared()?;
    let mac = "52:54:00:ff:00:01";
    let hardware = json!({"inventory": {
        "interfaces": [{"name": "eth0", "mac_address": mac, "ipv4_address": "172.22.0.9",
                        "has_carrier": true}],
        "cpu": {"count": 4, "architecture": "x86_64", "flags": []},
        "memory": {"physical_mb": 8192},
        "disks": [],
        "boot": {"current_boot_mode": "uefi"},
    }});
    let answer = ironic.report(&hardware)?;
    ensure!(answer.status == 202, "{answer:?}");
    eventually(PATIENCE, "it has a port", || {
        let ports = ironic.api().get(&format!("/v1/ports?address={mac}"));
        match ports.map_err(|error| error.to_string())? {
            ports if ports["ports"][0]["address"] == mac => Ok(()),
            ports => Err(ports.to_string()),
        }
    })?;
    let nothing = ironic.report(&json!({"inventory": {"interfaces": []}}))?;
    ensure!(nothing.status == 400, "{nothing:?}");
    Ok(())
}

#[test]
fn a_driver_fails_as_long_as_it_is_told_to() -> Result<()> {
    let ironic = shared()?;
    let (api, node) = (ironic.api(), "driver-fault");
    fake_node(api, node)?;
    let fault = ironic.inject(Fault::driver_fails(DriverCall::Deploy, "no space left").of(node))?;
    api.provision(node, "active")?;
    api.wait_for(node, "deploy failed")?;
    history_says(api, node, "no space left")?;
    fault.clear()?;
    goes(api, node, "active", "active")?;

    let other = "driver-no-fault";
    let _fault = ironic.inject(Fault::driver_fails(DriverCall::Deploy, "not this one").of(node))?;
    fake_node(api, other)?;
    goes(api, other, "active", "active")?;
    Ok(())
}

#[test]
fn a_bmc_refuses_as_often_as_it_is_told_to() -> Result<()> {
    let ironic = shared()?;
    let (api, machine) = (ironic.api(), ironic.take_machine()?);
    let node = enrol(ironic, machine)?;
    goes(api, &node, "manage", "manageable")?;

    let refusal = Fault::bmc_answers("POST", "ComputerSystem.Reset", 503).of(&machine.id).times(1);
    let _fault = ironic.inject(refusal)?;
    let power_on = || {
        let path = format!("/v1/nodes/{node}/states/power");
        api.ask(&Method::PUT, &path, Some(&json!({"target": "power on"})))
    };
    power_on()?;
    history_says(api, &node, "503")?;
    ensure!(machine.power()? == Power::Off);
    power_on()?;
    eventually(PATIENCE, "the machine is on", || match machine.power() {
        Ok(Power::On) => Ok(()),
        seen => Err(format!("{seen:?}")),
    })?;

    let hang_up = ironic.inject(Fault::bmc_hangs_up().of(&machine.id))?;
    ensure!(machine.power().is_err(), "{:?}", machine.power());
    hang_up.clear()?;
    ensure!(machine.power()? == Power::On);
    Ok(())
}

#[test]
fn a_bmc_turns_a_wrong_password_away() -> Result<()> {
    let ironic = shared()?;
    let machine = ironic.take_machine()?;
    let stranger = Credentials::new(&*machine.credentials.username, "guessed");
    let neighbour = ironic.machines().iter().find(|other| other.id != machine.id);
    let neighbour = &neighbour.context("no other machine")?.credentials;
    let bmc = Http::new(&machine.redfish_address, None)?;
    for bmc in [&bmc, &bmc.logged_in(&stranger), &bmc.logged_in(neighbour)] {
        let answer = bmc.call(Method::GET, &machine.redfish_system(), None)?;
        ensure!(answer.status == 401, "{answer:?}");
    }
    let owner = bmc.logged_in(&machine.credentials);
    ensure!(owner.call(Method::GET, &machine.redfish_system(), None)?.status == 200);
    Ok(())
}

#[test]
fn a_deployment_fails_with_its_ramdisk() -> Result<()> {
    let ironic = shared()?;
    let (api, machine) = (ironic.api(), ironic.take_machine()?);
    let node = &available(ironic, machine)?;
    api.set(node, "/instance_info", &image(ironic, ironic.disk_image().1))?;

    let fault = Fault::ramdisk_fails(Step::WriteImage, "the disk is on fire").of(&machine.id);
    let fault = ironic.inject(fault)?;
    api.provision(node, "active")?;
    api.wait_for(node, "deploy failed")?;
    history_says(api, node, "the disk is on fire")?;
    fault.clear()?;

    let wrong = "0".repeat(64);
    api.set(node, "/instance_info", &image(ironic, &wrong))?;
    api.provision(node, "active")?;
    api.wait_for(node, "deploy failed")?;
    history_says(api, node, "checksum mismatch")?;

    api.set(node, "/instance_info", &image(ironic, ironic.disk_image().1))?;
    goes(api, node, "active", "active")?;
    Ok(())
}

#[test]
fn a_crash_keeps_the_nodes_and_fails_what_was_under_way() -> Result<()> {
    let ironic = Ironic::start(&Settings { machines: 1, ramdisk: false, ..Settings::default() })?;
    let api = ironic.api();
    fake_node(api, "deployed")?;
    goes(api, "deployed", "active", "active")?;
    fake_node(api, "under-way")?;
    let forever = Fault::driver_is_slow(DriverCall::Deploy, Duration::from_hours(1));
    let slow = ironic.inject(forever.of("under-way"))?;
    api.provision("under-way", "active")?;
    api.wait_for("under-way", "deploying")?;

    ironic.crash()?;
    ensure!(api.call(Method::GET, "/v1", None).is_err());
    slow.clear()?;
    ironic.restart()?;
    api.wait_for("deployed", "active")?;
    api.wait_for("under-way", "deploy failed")?;
    history_says(api, "under-way", "can't be resumed by conductor")?;

    // Also after an orderly end.
    ironic.restart()?;
    goes(api, "under-way", "active", "active")?;
    ironic.stop()?;
    ensure!(api.call(Method::GET, "/v1", None).is_err());

    // The machines do not care; and these find nothing on the network.
    let machine = ironic.take_machine()?;
    machine.boot_from_network()?;
    ensure!(machine.power()? == Power::On);
    ensure!(machine.past()?.boots == 0);
    Ok(())
}

#[test]
fn strangers_are_kept_out_and_ramdisks_let_in_over_tls() -> Result<()> {
    let credentials = Some(Credentials::new("ironward", "correct horse"));
    let ironic =
        Ironic::start(&Settings { machines: 1, credentials, tls: true, ..Settings::default() })?;
    ensure!(ironic.url().starts_with("https://"));
    let ca = ironic.ca_pem().context("no authority")?;
    let http = Http::new(ironic.url(), Some(ca))?;
    let wrong = Credentials::new("ironward", "battery staple");
    for stranger in [http.clone(), http.logged_in(&wrong)] {
        let answer = Api::new(&stranger).call(Method::GET, "/v1/nodes", None)?;
        ensure!(answer.status == 401, "{answer:?}");
    }
    ensure!(ironic.api().call(Method::GET, "/v1/nodes", None)?.status == 200);
    let other = tempfile::tempdir()?;
    let other_ca = fs::read_to_string(Authority::new(other.path())?.certificate())?;
    let misled = Http::new(ironic.url(), Some(&other_ca))?.call(Method::GET, "/v1", None);
    let refusal = format!("{:?}", misled.err().context("any certificate would do")?);
    ensure!(refusal.contains("certificate"), "{refusal}");

    let node = enrol(&ironic, ironic.take_machine()?)?;
    goes(ironic.api(), &node, "manage", "manageable")?;
    goes(ironic.api(), &node, "inspect", "manageable")?;
    ensure!(ironic.take_machine().is_err());
    Ok(())
}

#[test]
fn instances_side_by_side_know_nothing_of_each_other() -> Result<()> {
    let patient = Settings {
        machines: 1,
        power_delay: Duration::from_hours(1),
        automated_clean: false,
        ..Settings::default()
    };
    let hasty = Settings {
        machines: 1,
        power_sync: Some(Duration::from_secs(1)),
        callback_timeout: Duration::from_secs(2),
        extra_config: "[conductor]\nallow_deleting_available_nodes = False\n".into(),
        ..Settings::default()
    };
    let (patient, hasty) = thread::scope(|scope| {
        let hasty = scope.spawn(|| Ironic::start(&hasty));
        (Ironic::start(&patient), hasty.join())
    });
    let hasty = hasty.map_err(|_| anyhow!("a panic"))??;
    let patient = patient?;
    let [slow, quick] = [patient.take_machine()?, hasty.take_machine()?];
    let node = enrol(&hasty, quick)?;
    ensure!(patient.api().get("/v1/nodes")?["nodes"] == json!([]));

    // Each has its own settings: how long power takes, how soon a change of it is noticed, …
    slow.set_power(Power::On)?;
    ensure!(slow.power()? == Power::Off);
    goes(hasty.api(), &node, "manage", "manageable")?;
    quick.set_power(Power::On)?;
    ensure!(quick.power()? == Power::On);
    eventually(PATIENCE, "Ironic has noticed", || {
        let found = hasty.api().node(&node).map_err(|error| error.to_string())?;
        if found["power_state"] == "power on" {
            Ok(())
        } else {
            Err(found["power_state"].to_string())
        }
    })?;

    // … how long a ramdisk is waited for, whether it is let in unasked, …
    let _fault = hasty.inject(Fault::ramdisk_fails(Step::Boot, "no signal").of(&quick.id))?;
    hasty.api().provision(&node, "inspect")?;
    hasty.api().wait_for(&node, "inspect failed")?;
    history_says(hasty.api(), &node, "Timeout reached while inspecting")?;
    let stranger = json!({"inventory": {
        "interfaces": [{"name": "eth0", "mac_address": "52:54:00:ff:00:02", "has_carrier": true}],
    }});
    ensure!(patient.report(&stranger)?.status == 404);

    // … and whatever else a test writes into its configuration.
    fake_node(hasty.api(), "extra")?;
    let kept = hasty.api().call(Method::DELETE, "/v1/nodes/extra", None)?;
    ensure!(kept.status == 409, "{kept:?}");
    fake_node(patient.api(), "extra")?;
    patient.api().delete_node("extra")
}
