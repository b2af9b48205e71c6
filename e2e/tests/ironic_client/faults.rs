//! What goes wrong at the machine is told to people, once, and overcome; what goes wrong on the way to
//! Ironic is not the machine's fault. No message has a secret in it.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use ironward::{
    adapters::ironic::{Login, Settings, TlsFiles},
    controllers::host::{
        hidden::Hidden,
        provisioner::{Error, Operation, RebootMode},
    },
};
use ironward_e2e::{
    certificates::{Authority, Files},
    gate::Gate,
    ironic::{DriverCall, Fault, Step},
};

use super::stage::{DEPROVISION, INSPECT, PREPARE, REGISTER, Side, Stage, settings_for, shared};

#[test]
fn a_wrong_password_is_told_and_the_right_one_is_taken() -> Result<()> {
    let stage = shared()?;
    let side = stage.another_side()?;
    let (mut host, machine) = stage.host()?;
    let set = |host: &mut ironward::controllers::host::machine::Machine, password: &str| {
        if let Some(bmc) = &mut host.bmc {
            bmc.credentials.password = Hidden::new(password.to_owned());
        }
    };
    set(&mut host, "guessed-password");
    let told = side.fails(&host, &REGISTER)?;
    ensure!(told.starts_with("the BMC could not be reached: ") && told.contains("401"), "{told}");
    ensure!(!told.contains("guessed-password"), "{told}");
    // Nothing is tried again until somebody wants it.
    let before = side.metrics.requests();
    ensure!(side.fails(&host, &REGISTER)? == told);
    ensure!(side.metrics.requests() <= before + 1);
    let retry = Operation::Register { credentials_changed: false, retry: true };
    ensure!(side.fails(&host, &retry)?.contains("401"));

    set(&mut host, &machine.credentials.password);
    let changed = Operation::Register { credentials_changed: true, retry: false };
    side.done(&mut host, &changed)?;
    Ok(())
}

#[test]
fn two_hosts_cannot_have_one_boot_mac() -> Result<()> {
    let stage = shared()?;
    let (mut first, machine) = stage.host()?;
    stage.side.done(&mut first, &REGISTER)?;
    let (mut second, _) = stage.host()?;
    second.boot_mac = Some(machine.boot_mac.parse()?);
    let told = stage.side.fails(&second, &REGISTER)?;
    ensure!(told.contains(&machine.boot_mac) && told.contains(&machine.name), "{told}");
    Ok(())
}

#[test]
fn a_deployment_that_fails_says_why_though_ironic_forgets_it() -> Result<()> {
    let stage = shared()?;
    let (side, image) = (&stage.side, stage.image()?);
    let (mut host, machine) = stage.host()?;
    side.done(&mut host, &REGISTER)?;
    side.done(&mut host, &PREPARE)?;
    let fault = Fault::ramdisk_fails(Step::WriteImage, "the disk is on fire").of(&machine.id);
    let fault = stage.ironic.inject(fault)?;
    let told = side.fails(&host, &image)?;
    ensure!(told.starts_with("writing the image failed: ") && told.contains("on fire"), "{told}");
    fault.clear()?;
    side.done(&mut host, &DEPROVISION)?;
    side.done(&mut host, &image)?;
    Ok(())
}

#[test]
fn cleaning_that_fails_is_tried_again_when_somebody_wants_it() -> Result<()> {
    let stage = shared()?;
    let (side, name) = (&stage.side, "unclean");
    let mut host = stage.fake_host(name)?;
    let node = format!("default~{name}");
    let fault = Fault::driver_fails(DriverCall::CleanStep, "the brush is lost").of(&node);
    let fault = stage.ironic.inject(fault)?;
    let told = side.fails(&host, &PREPARE)?;
    ensure!(told.starts_with("preparing the disks failed: ") && told.contains("brush"), "{told}");
    let retry = Operation::Prepare { changed: true, retry: true };
    ensure!(side.fails(&host, &retry)?.contains("brush"));
    fault.clear()?;
    side.done(&mut host, &retry)?;
    ensure!(stage.ironic.api().node(&node)?["maintenance"] == false);

    let fault = Fault::driver_fails(DriverCall::TearDown, "it clings").of(&node);
    let fault = stage.ironic.inject(fault)?;
    side.done(&mut host, &stage.image()?)?;
    let told = side.fails(&host, &DEPROVISION)?;
    ensure!(told.starts_with("deprovisioning failed: ") && told.contains("clings"), "{told}");
    fault.clear()?;
    side.done(&mut host, &Operation::Deprovision { retry: true })?;
    Ok(())
}

#[test]
fn an_inspection_that_fails_is_told_and_tried_again() -> Result<()> {
    let stage = shared()?;
    let (mut host, machine) = stage.host()?;
    stage.side.done(&mut host, &REGISTER)?;
    let fault = Fault::ramdisk_fails(Step::Inspection, "no light in here").of(&machine.id);
    let fault = stage.ironic.inject(fault)?;
    let told = stage.side.fails(&host, &INSPECT)?;
    ensure!(told.starts_with("inspection failed: ") && told.contains("no light"), "{told}");
    fault.clear()?;
    let retry = Operation::Inspect { refresh: false, retry: true, restart: false };
    let learnt = stage.side.done(&mut host, &retry)?;
    ensure!(learnt.hardware.is_some());
    Ok(())
}

#[test]
fn a_bmc_that_does_not_switch_is_told_and_asked_again() -> Result<()> {
    let stage = shared()?;
    let (mut host, machine) = stage.host()?;
    stage.side.done(&mut host, &REGISTER)?;
    let fault = Fault::bmc_answers("POST", "ComputerSystem.Reset", 503).of(&machine.id);
    let fault = stage.ironic.inject(fault)?;
    let on = Operation::PowerOn { force: false };
    let told = stage.side.fails(&host, &on)?;
    ensure!(
        told.starts_with("the host could not be powered on: ") && told.contains("503"),
        "{told}"
    );
    fault.clear()?;
    stage.side.done(&mut host, &on)?;
    stage.side.done(&mut host, &Operation::Reboot { mode: RebootMode::Hard })?;
    Ok(())
}

#[test]
fn a_node_that_is_locked_is_busy_and_ironics_own_mistakes_are_not_the_machines() -> Result<()> {
    let stage = shared()?;
    let (side, name) = (&stage.side, "locked");
    let mut host = stage.fake_host(name)?;
    let node = format!("default~{name}");
    side.done(&mut host, &PREPARE)?;
    let slow = Fault::driver_is_slow(DriverCall::SetPowerState, Duration::from_secs(8)).of(&node);
    let slow = stage.ironic.inject(slow)?;
    let target = serde_json::json!({"target": "power on"});
    let path = format!("/v1/nodes/{node}/states/power");
    stage.ironic.api().ask(&ironward_e2e::ironic::Method::PUT, &path, Some(&target))?;
    // The snapshot is from before; Ironic itself is asked, and says no.
    let locked = side.runtime.block_on(side.client.clear_maintenance(&node));
    ensure!(locked.as_ref().is_err_and(ironward::ironic::error::Error::is_busy), "{locked:?}");
    slow.clear()?;

    let fault = Fault::driver_fails(DriverCall::ValidateDeploy, "an odd driver").of(&node);
    let fault = stage.ironic.inject(fault)?;
    let image = stage.image()?;
    let told = ironward_e2e::eventually::eventually(Duration::from_mins(1), "it is said", || {
        side.read();
        match side.perform(&host, &image) {
            Err(Error::Unexpected(told)) if told.contains("an odd driver") => Ok(told),
            other => Err(format!("{other:?}")),
        }
    })?;
    ensure!(told.contains("Ironic failed (500)"), "{told}");
    fault.clear()?;
    side.done(&mut host, &image)?;
    Ok(())
}

/// Somebody stands before Ironic who lets in nobody without a certificate.
fn is_asked_for_a_certificate(
    stage: &Stage,
    right: &Settings,
    trouble: &impl Fn(Settings) -> Result<String>,
) -> Result<()> {
    let [known, unknown] = [tempfile::tempdir()?, tempfile::tempdir()?];
    let (authority, stranger) = (Authority::new(known.path())?, Authority::new(unknown.path())?);
    let ca_pem = stage.ironic.ca_pem().context("no authority")?;
    let gate = Gate::open_to_certified(stage.ironic.url(), ca_pem, &authority)?;
    let with = |identity: Option<Files>| {
        let identity = identity.map(|files| (files.certificate, files.key));
        let tls = TlsFiles { ca: Some(authority.certificate()), identity, insecure: false };
        Settings { url: gate.url(), tls, ..right.clone() }
    };
    for identity in [None, Some(stranger.for_user("ironward", &[])?)] {
        let told = trouble(with(identity))?;
        ensure!(told.starts_with("Ironic "), "{told}");
    }
    let identity = authority.for_user("ironward", &[])?;
    let side = Side::new(&with(Some(identity)), stage.ironic.ramdisk_url())?;
    side.read();
    ensure!(side.snapshot.failures() == 0);
    Ok(())
}

#[test]
fn whoever_is_not_let_in_is_told_so_without_the_password() -> Result<()> {
    let stage = shared()?;
    let folder = tempfile::tempdir()?;
    let right = settings_for(&stage.ironic, folder.path())?;
    let (host, _) = stage.host()?;
    let trouble = |settings| -> Result<String> {
        let side = Side::new(&settings, stage.ironic.ramdisk_url())?;
        side.read();
        match side.perform(&host, &REGISTER) {
            Err(Error::Unreachable(trouble)) => Ok(trouble),
            other => anyhow::bail!("{other:?}"),
        }
    };
    let mut wrong = right.clone();
    let password = Hidden::new("battery staple".to_owned());
    wrong.login = Some(Login { username: "ironward".into(), password, folder: None });
    let told = trouble(wrong)?;
    ensure!(told.contains("user name and password") && !told.contains("staple"), "{told}");

    let mut stranger = right.clone();
    stranger.login = None;
    ensure!(trouble(stranger)?.contains("user name and password"));

    // A password that is changed in its Secret is taken without a restart.
    let secret = folder.path().join("secret");
    fs::create_dir(&secret)?;
    fs::write(secret.join("username"), "ironward")?;
    fs::write(secret.join("password"), "battery staple")?;
    let mut mounted = right.clone();
    mounted.login = Some(Login::read(&secret)?);
    let side = Side::new(&mounted, stage.ironic.ramdisk_url())?;
    side.read();
    ensure!(side.snapshot.failures() == 1);
    fs::write(secret.join("password"), "correct horse")?;
    side.read();
    ensure!(side.snapshot.failures() == 0);

    let other = folder.path().join("other");
    fs::create_dir(&other)?;
    let mut misled = right.clone();
    misled.tls =
        TlsFiles { ca: Some(Authority::new(&other)?.certificate()), ..TlsFiles::default() };
    let told = trouble(misled)?;
    ensure!(told.contains("cannot be reached") && told.contains("certificate"), "{told}");

    is_asked_for_a_certificate(stage, &right, &trouble)?;

    let mut elsewhere = right;
    elsewhere.url = stage.ironic.rack_url().to_owned();
    let told = trouble(elsewhere)?;
    ensure!(told.contains("Ironic"), "{told}");
    Ok(())
}
