//! The make-believe machines: what they are, and what their BMCs and ramdisks say about them.

use super::{
    http::{Http, Method},
    settings::Credentials,
};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A machine in the rack: a BMC that speaks Redfish, two network cards and a disk.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The id of its system, a UUID.
    pub id: String,
    /// Its host name.
    pub name: String,
    /// The address of the network card it boots from.
    pub boot_mac: String,
    /// The address of its other network card.
    pub other_mac: String,
    /// What its BMC must be logged in with.
    pub credentials: Credentials,
    /// The address of its BMC, `http://127.0.0.1:<port>`. All share it: their paths differ.
    pub redfish_address: String,
    bmc: Http,
    rack: Http,
}

/// Whether a machine is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Power {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What happened to a machine since it stands in the rack: what its BMC was told, and what ramdisks did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Past {
    /// How often one was booted.
    pub boots: u32,
    /// The clean and deploy steps it was told to take, in order.
    pub steps: Vec<String>,
    /// The files on the config drive of the last deployment, by path.
    pub config_drive: Option<BTreeMap<String, String>>,
    /// The steps at which faults were met, in order.
    pub faults: Vec<String>,
    /// What its power was changed to, in order.
    pub powers: Vec<Power>,
}

impl Machine {
    pub(super) fn new(rack: u16, number: u16, redfish_address: &str, http: &Http) -> Self {
        let [high, low] = number.to_be_bytes();
        let credentials = Credentials::new("admin", format!("password-{number}"));
        Self {
            id: format!("{rack:08x}-0000-4000-8000-{number:012}"),
            name: format!("machine-{number}"),
            boot_mac: format!("52:54:00:00:{high:02x}:{low:02x}"),
            other_mac: format!("52:54:00:01:{high:02x}:{low:02x}"),
            redfish_address: redfish_address.into(),
            bmc: http.logged_in(&credentials),
            rack: http.clone(),
            credentials,
        }
    }

    /// Its description for the Python side.
    pub(super) fn description(&self) -> Value {
        let Credentials { username, password } = &self.credentials;
        json!({
            "uuid": self.id,
            "name": self.name,
            "username": username,
            "password": password,
            "cpus": 8,
            "memory_gb": 32,
            "disk_gb": 100,
            "nics": [
                {"mac": self.boot_mac, "ip": "172.22.0.10"},
                {"mac": self.other_mac, "ip": null},
            ],
        })
    }

    /// The path of its system at the BMC.
    #[must_use]
    pub fn redfish_system(&self) -> String {
        format!("/redfish/v1/Systems/{}", self.id)
    }

    /// The `spec.bmc.address` of a BareMetalHost for it.
    #[must_use]
    pub fn bmc_address(&self) -> String {
        format!("redfish-virtualmedia+{}{}", self.redfish_address, self.redfish_system())
    }

    /// Whether it is on, by its BMC.
    pub fn power(&self) -> Result<Power> {
        let system = self.ask(Method::GET, "", None)?;
        serde_json::from_value(system["PowerState"].clone())
            .with_context(|| format!("the BMC of {} does not know its power state", self.name))
    }

    /// Turns it on or off at the BMC, behind Ironic's back.
    pub fn set_power(&self, power: Power) -> Result<()> {
        let reset = match power {
            Power::On => "On",
            Power::Off => "ForceOff",
        };
        let body = json!({"ResetType": reset});
        self.ask(Method::POST, "/Actions/ComputerSystem.Reset", Some(&body)).map(drop)
    }

    /// Turns it on with the network as boot device, where it finds a ramdisk: so does a new server
    /// that somebody has plugged in.
    pub fn boot_from_network(&self) -> Result<()> {
        let body = json!({"Boot": {"BootSourceOverrideTarget": "Pxe"}});
        self.ask(Method::PATCH, "", Some(&body))?;
        self.set_power(Power::On)
    }

    /// Turns it on as somebody does who stands in front of it: what is on its disk comes before the network.
    pub fn boot_from_disk(&self) -> Result<()> {
        let body = json!({"Boot": {"BootSourceOverrideTarget": "Hdd"}});
        self.ask(Method::PATCH, "", Some(&body))?;
        self.set_power(Power::On)
    }

    /// What happened to it.
    pub fn past(&self) -> Result<Past> {
        let answer = self.rack.call(Method::GET, &format!("/machines/{}", self.id), None)?;
        serde_json::from_value(answer.body)
            .with_context(|| format!("could not read the past of {}", self.name))
    }

    fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let path = format!("{}{path}", self.redfish_system());
        let answer = self.bmc.call(method, &path, body)?;
        if !(200..300).contains(&answer.status) {
            bail!("the BMC of {} answered {} to {path}: {}", self.name, answer.status, answer.body);
        }
        Ok(answer.body)
    }
}
