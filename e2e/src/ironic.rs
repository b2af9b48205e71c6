//! A real Ironic on loopback, with a rack of make-believe machines: BMCs that speak Redfish, and
//! ramdisks that do as ironic-python-agent does.
//!
//! Ironic is the one that everybody installs: API and conductor in one process, on SQLite. The
//! Python side is in `e2e/ironic`. Everything here blocks; call it from a thread that may wait.

mod api;
mod environment;
mod faults;
mod http;
mod machine;
mod python;
mod rack;
mod service;
mod settings;

pub use api::{API_VERSION, Api};
pub use faults::{DriverCall, Fault, Injected, Step};
pub use http::{Answer, Http, Method};
pub use machine::{Machine, Past, Power};
pub use settings::{Credentials, Driver, Settings};

use crate::{certificates::Authority, ports, process_group::ProcessGroup, progress::Progress};
use anyhow::{Result, bail};
use environment::Environment;
use faults::Faults;
use rack::{IronicAddress, Rack};
use serde_json::{Value, json};
use service::{Service, Start};
use settings::Place;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// How often a start may be lost to another process that took its port first.
const TRIES: usize = 5;

/// Installs it if it is not installed yet, for whoever starts it where nothing can be installed.
pub fn provide() -> Result<()> {
    Environment::provide().map(drop)
}

/// A running Ironic and its machines. They end with this value, or with this process.
#[derive(Debug)]
pub struct Ironic {
    url: String,
    ca_pem: Option<String>,
    credentials: Option<Credentials>,
    api: Api,
    faults: Faults,
    rack: Rack,
    service: Service,
    // Last, because a value's fields are dropped in their order and the group ends all the others.
    group: ProcessGroup,
}

impl Ironic {
    /// Starts one on free ports, with an empty database and machines that are off.
    ///
    /// The first one on a computer is installed, which takes about a minute; later it is seconds.
    pub fn start(settings: &Settings) -> Result<Self> {
        let environment = Environment::provide()?;
        let progress = Progress::start("starting Ironic");
        for _ in 0..TRIES {
            if let Some(ironic) = Self::try_start(settings, &environment)? {
                progress.done();
                return Ok(ironic);
            }
        }
        bail!(
            "Ironic lost a port of 127.0.0.1 to another process {TRIES} times in a row; try again"
        )
    }

    /// `None` when a port was lost.
    fn try_start(settings: &Settings, environment: &Environment) -> Result<Option<Self>> {
        let group = ProcessGroup::new("ironic")?;
        let dir = group.dir();
        let [port, rack_port] = ports::free()?;
        let scheme = if settings.tls { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{port}");
        let ca = settings.tls.then(|| certify(dir)).transpose()?;
        let ca_pem = ca.as_ref().map(fs::read_to_string).transpose()?;

        let faults = Faults::new(faults_file(dir))?;
        let address = IronicAddress { url: &url, ca: ca.as_deref() };
        let rack = Rack::launch(&group, environment, settings, rack_port, address)?;
        let mut http = Http::new(&url, ca_pem.as_deref())?;
        if let Some(credentials) = &settings.credentials {
            http = http.logged_in(credentials);
        }
        let api = Api::new(&http);
        let host = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = Place { dir, host: &host, url: &url, port, rack_url: &rack.url };
        let config = settings.config(&place);
        let service = Service::new(environment.clone(), host, port, api.clone());
        service.prepare(dir, &config, settings.credentials.as_ref())?;
        service.launch(&group)?;

        let starts = [rack.wait_until_ready()?, service.wait_until_ready()?];
        let credentials = settings.credentials.clone();
        let ironic = Self { url, ca_pem, credentials, api, faults, rack, service, group };
        Ok((!starts.contains(&Start::LostItsPort)).then_some(ironic))
    }

    /// Where its API is, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What its users log in with.
    #[must_use]
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The certificate of the authority that signed its own, if it is on https.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// Its API, logged in.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// All machines of the rack.
    #[must_use]
    pub fn machines(&self) -> &[Machine] {
        &self.rack.machines
    }

    /// A machine that nobody else gets this way, for tests that share an instance.
    pub fn take_machine(&self) -> Result<&Machine> {
        self.rack.take_machine()
    }

    /// Where the BMCs are, and the images: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn rack_url(&self) -> &str {
        &self.rack.url
    }

    /// The `deploy_iso` of nodes: what a BMC boots for a ramdisk.
    #[must_use]
    pub fn ramdisk_url(&self) -> String {
        self.rack.ramdisk_url()
    }

    /// The URL of a raw image to deploy, and its SHA-256 checksum.
    #[must_use]
    pub fn disk_image(&self) -> (String, &str) {
        (self.rack.disk_url(), &self.rack.disk_sha256)
    }

    /// The same as `spec.image` of a Metal3Machine has it.
    #[must_use]
    pub fn machine_image(&self) -> Value {
        let (url, sha256) = self.disk_image();
        json!({"url": url, "checksum": sha256, "checksumType": "sha256", "diskFormat": "raw"})
    }

    /// The folder whose files are at `<rack_url>/images/<name>`.
    #[must_use]
    pub fn images(&self) -> PathBuf {
        self.rack.images()
    }

    /// Lets something go wrong, until the value that comes back is dropped.
    pub fn inject(&self, fault: Fault) -> Result<Injected<'_>> {
        self.faults.inject(fault)
    }

    /// Hands in what a ramdisk would report, `{"inventory": …}`, of a machine that need not exist.
    pub fn report(&self, hardware: &Value) -> Result<Answer> {
        let anybody = Api::new(&Http::new(&self.url, self.ca_pem())?);
        anybody.call(Method::POST, "/v1/continue_inspection", Some(hardware))
    }

    /// Makes so many more nodes like the one that there is, each with a card and a report of its own, behind Ironic's back.
    pub fn multiply(&self, count: usize) -> Result<()> {
        self.service.multiply(self.group.dir(), count)
    }

    /// Makes a copy of the one node that there is, with all that belongs to it, for each list: what stands in the place of what.
    /// Behind Ironic's back, as [`Self::multiply`] does.
    pub fn copy_node(&self, copies: &[Vec<(String, String)>]) -> Result<()> {
        self.service.copy_node(self.group.dir(), copies)
    }

    /// The numbers of its processes, without the rack's.
    pub fn processes(&self) -> Result<Vec<u32>> {
        self.service.processes()
    }

    /// Ends Ironic in good order. The machines go on, and the database stays.
    pub fn stop(&self) -> Result<()> {
        self.service.stop()
    }

    /// Kills Ironic, as a power cut would. The machines go on, and the database stays.
    pub fn crash(&self) -> Result<()> {
        self.service.crash()
    }

    /// Stops Ironic where it is: it takes connections, and answers nothing.
    pub fn freeze(&self) -> Result<()> {
        self.service.freeze()
    }

    /// Lets a frozen Ironic go on.
    pub fn thaw(&self) -> Result<()> {
        self.service.thaw()
    }

    /// Starts Ironic with its database and at its address again; first ends it, if it still runs.
    pub fn restart(&self) -> Result<()> {
        let progress = Progress::start("restarting Ironic");
        self.service.stop()?;
        self.service.launch(&self.group)?;
        match self.service.wait_until_ready()? {
            Start::Ready => progress.done(),
            Start::LostItsPort => bail!("another process took the port of {} meanwhile", self.url),
        }
        Ok(())
    }

    /// All that Ironic has said.
    #[must_use]
    pub fn log(&self) -> String {
        self.service.log()
    }

    /// The last lines that Ironic and the rack have logged.
    #[must_use]
    pub fn log_tail(&self) -> String {
        format!("Ironic:\n{}\nthe rack:\n{}", self.service.log_tail(), self.rack.log_tail())
    }
}

/// Makes a certificate for the API, and gives back where that of its authority is.
fn certify(dir: &Path) -> Result<PathBuf> {
    let authority = Authority::new(dir)?;
    // `ironic.crt` and `ironic.key`, as `ironic.conf` says.
    authority.for_server("ironic", &["127.0.0.1", "localhost"])?;
    Ok(authority.certificate())
}

/// What the Python side reads about [`Fault`]s.
fn faults_file(dir: &Path) -> PathBuf {
    dir.join("faults.json")
}
