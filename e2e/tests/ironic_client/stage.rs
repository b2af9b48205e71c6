//! A real Ironic, and our side of the conversation with it.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use ironward::{
    adapters::ironic::{
        Client, Ironic as Provisioner, Login, Metrics, Settings, Snapshot, TlsFiles,
    },
    api::BareMetalHost,
    controllers::host::{
        hidden::Hidden,
        machine::{BmcAccess, ConfigDrive, Credentials, Identity, Machine},
        provisioner::{Error, Learnt, Operation, Outcome, Provision, Provisioner as _},
        secrets::BmcSecret,
    },
    ironic::driver::Ramdisk,
};
use ironward_e2e::ironic::{self, Ironic};
use prometheus_client::registry::Registry;
use serde_json::{Map, json};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_mins(3);
const PAUSE: Duration = Duration::from_millis(300);

/// Ironic and our side of it.
pub struct Stage {
    pub ironic: Ironic,
    pub side: Side,
}

/// Our side: nothing is read but when a test says so.
pub struct Side {
    pub runtime: Runtime,
    pub client: Arc<Client>,
    pub snapshot: Arc<Snapshot>,
    pub metrics: Metrics,
    provisioner: Provisioner,
}

/// The one of all tests that neither break it nor need another: with TLS and a password.
pub fn shared() -> Result<&'static Stage> {
    static SHARED: OnceLock<Result<Stage>> = OnceLock::new();
    let started = SHARED.get_or_init(|| {
        Stage::start(&ironic::Settings {
            machines: 16,
            discovery: Some(ironic::Driver::FakeHardware),
            credentials: Some(ironic::Credentials::new("ironward", "correct horse")),
            tls: true,
            ..ironic::Settings::default()
        })
    });
    started.as_ref().map_err(|error| anyhow!("{error:#}"))
}

impl Stage {
    pub fn start(settings: &ironic::Settings) -> Result<Self> {
        let ironic = Ironic::start(settings)?;
        let folder = tempfile::tempdir()?;
        let settings = settings_for(&ironic, folder.path())?;
        let side = Side::new(&settings, ironic.ramdisk_url())?;
        side.read();
        Ok(Self { ironic, side })
    }

    /// Another side to it, for tests that count.
    pub fn another_side(&self) -> Result<Side> {
        let folder = tempfile::tempdir()?;
        let settings = settings_for(&self.ironic, folder.path())?;
        let side = Side::new(&settings, self.ironic.ramdisk_url())?;
        side.read();
        Ok(side)
    }

    /// A host for a machine that nobody else gets, and the machine.
    pub fn host(&self) -> Result<(Machine, &ironic::Machine)> {
        let machine = self.ironic.take_machine()?;
        let mut host = host(&machine.name);
        host.boot_mac = Some(machine.boot_mac.parse()?);
        host.bmc = Some(bmc(&machine.bmc_address(), &machine.credentials)?);
        Ok((host, machine))
    }

    /// A host with a node of fake hardware, which is manageable. It has a BMC, for nothing is deployed by an interface that writes nothing to a host
    /// without one; nobody registers it, so that its node stays what it is.
    pub fn fake_host(&self, name: &str) -> Result<Machine> {
        let nobody = ironic::Credentials::new("nobody", "nothing");
        let bmc = Some(bmc("redfish://127.0.0.1/redfish/v1/Systems/fake", &nobody)?);
        let (host, api) = (Machine { bmc, ..host(name) }, self.ironic.api());
        let node = format!("default~{name}");
        api.create_node(
            &json!({"name": node, "driver": "fake-hardware", "inspect_interface": "fake"}),
        )?;
        api.provision(&node, "manage")?;
        api.wait_for(&node, "manageable")?;
        self.side.read();
        Ok(host)
    }

    /// An image of the rack, with its config drive.
    pub fn image(&self) -> Result<Operation> {
        let (url, sha256) = self.ironic.disk_image();
        let image =
            json!({"url": url, "checksum": sha256, "checksumType": "sha256", "format": "raw"});
        let mut meta_data = Map::new();
        meta_data.insert("local-hostname".into(), "worker-0".into());
        Ok(Operation::Provision(Box::new(Provision {
            image: Some(serde_json::from_value(image)?),
            custom_deploy: None,
            config_drive: ConfigDrive {
                user_data: Some(Hidden::new("#cloud-config\n".into())),
                network_data: Some(Hidden::new(json!({"links": []}))),
                meta_data: Hidden::new(meta_data),
            },
            image_pull_secret: None,
            restart: false,
        })))
    }
}

/// How an Ironic is reached; the files are in a folder.
pub fn settings_for(ironic: &Ironic, folder: &Path) -> Result<Settings> {
    let ca = folder.join("ca.crt");
    if let Some(pem) = ironic.ca_pem() {
        fs::write(&ca, pem)?;
    }
    let login = |login: &ironic::Credentials| Login {
        username: login.username.clone(),
        password: Hidden::new(login.password.clone()),
        folder: None,
    };
    Ok(Settings {
        url: ironic.url().to_owned(),
        login: ironic.credentials().map(login),
        tls: TlsFiles { ca: ironic.ca_pem().map(|_| ca), ..TlsFiles::default() },
    })
}

impl Side {
    pub fn new(settings: &Settings, ramdisk: String) -> Result<Self> {
        // A second caller keeps the first's.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let metrics = Metrics::new(&mut Registry::default());
        let client = Arc::new(Client::new(settings, metrics.clone())?);
        let snapshot = Arc::new(Snapshot::new(Arc::clone(&client), metrics.clone()));
        let ramdisk = Ramdisk { iso: Some(ramdisk), ..Ramdisk::default() };
        let provisioner = Provisioner::new(Arc::clone(&client), Arc::clone(&snapshot), ramdisk);
        let runtime = Runtime::new().context("no runtime")?;
        Ok(Self { runtime, client, snapshot, metrics, provisioner })
    }

    /// Reads all nodes once.
    pub fn read(&self) {
        self.runtime.block_on(self.snapshot.read());
    }

    pub fn perform(&self, host: &Machine, operation: &Operation) -> Result<Outcome, Error> {
        self.runtime.block_on(self.provisioner.perform(host, operation))
    }

    /// Asks until it is done, and reads all nodes in between, as the ticks do.
    pub fn done(&self, host: &mut Machine, operation: &Operation) -> Result<Learnt> {
        match self.settle(host, operation)? {
            Outcome::Done(learnt) => {
                if learnt.provisioning_id.is_some() {
                    host.provisioning_id.clone_from(&learnt.provisioning_id);
                }
                Ok(learnt)
            }
            other @ (Outcome::Moving { .. } | Outcome::Failed { .. }) => {
                bail!("{operation:?} ended with {other:?}")
            }
        }
    }

    /// The same for what is to fail: why it did.
    pub fn fails(&self, host: &Machine, operation: &Operation) -> Result<String> {
        match self.settle(host, operation)? {
            Outcome::Failed { message } => Ok(message),
            other @ (Outcome::Moving { .. } | Outcome::Done(_)) => {
                bail!("{operation:?} ended with {other:?}")
            }
        }
    }

    fn settle(&self, host: &Machine, operation: &Operation) -> Result<Outcome> {
        let start = Instant::now();
        loop {
            let seen = self.perform(host, operation);
            match seen {
                Ok(Outcome::Moving { .. }) | Err(Error::Busy | Error::Unexpected(_))
                    if start.elapsed() < PATIENCE =>
                {
                    thread::sleep(PAUSE);
                    self.read();
                }
                Ok(outcome @ (Outcome::Done(_) | Outcome::Failed { .. })) => return Ok(outcome),
                other => {
                    let name = format!("default~{}", host.identity.name);
                    let node = self.runtime.block_on(self.client.node(&name));
                    bail!("{operation:?} comes to no end: {other:?}; {node:#?}")
                }
            }
        }
    }
}

fn bmc(address: &str, credentials: &ironic::Credentials) -> Result<BmcAccess> {
    Ok(BmcAccess {
        address: address.parse()?,
        credentials: Credentials {
            username: Hidden::new(credentials.username.clone()),
            password: Hidden::new(credentials.password.clone()),
        },
        disable_certificate_verification: false,
    })
}

fn host(name: &str) -> Machine {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Machine {
        identity: Identity {
            namespace: "default".into(),
            name: name.into(),
            uid: format!("00000000-0000-4000-8000-{number:012}"),
        },
        root_device_hints: None,
        ..Machine::of(&BareMetalHost::default(), &BmcSecret::Unnamed, None)
    }
}

pub const REGISTER: Operation = Operation::Register { credentials_changed: false, retry: false };
pub const INSPECT: Operation = Operation::Inspect { refresh: false, retry: false, restart: false };
pub const PREPARE: Operation = Operation::Prepare { changed: true, retry: false };
pub const DEPROVISION: Operation = Operation::Deprovision { retry: false };
