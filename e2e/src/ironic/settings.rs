//! What an Ironic of a test can be told to be.

use std::{fmt::Write, path::Path, time::Duration};

/// The differences between one instance and another; the rest is in `e2e/ironic/ironic.conf`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many machines with a BMC stand in the rack. Ironic knows none of them yet.
    pub machines: u16,
    /// What its users must log in with, by HTTP basic authentication; `None` lets in everybody.
    pub credentials: Option<Credentials>,
    /// Whether its API is on https, with a certificate of [`super::Ironic::ca_pem`].
    pub tls: bool,
    /// Whether nodes that do not say otherwise are cleaned.
    pub automated_clean: bool,
    /// The driver of nodes made for unknown machines that report in; `None` turns them away.
    pub discovery: Option<Driver>,
    /// How often Ironic looks at the power of every machine; `None` for never.
    pub power_sync: Option<Duration>,
    /// How long a machine takes to turn on or off.
    pub power_delay: Duration,
    /// Whether machines that boot from the network or a virtual CD run a ramdisk.
    pub ramdisk: bool,
    /// How long Ironic waits for a ramdisk before an inspection, cleaning or deployment fails.
    pub callback_timeout: Duration,
    /// More of Ironic's configuration, in its own format; overrides everything else.
    pub extra_config: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            machines: 8,
            credentials: None,
            tls: false,
            automated_clean: true,
            discovery: None,
            power_sync: Some(Duration::from_mins(1)),
            power_delay: Duration::ZERO,
            ramdisk: true,
            callback_timeout: Duration::from_mins(1),
            extra_config: String::new(),
        }
    }
}

/// A name and its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub username: String,
    /// The password.
    pub password: String,
}

impl Credentials {
    /// A name and its password.
    pub fn new(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self { username: username.into(), password: password.into() }
    }
}

/// The hardware types of Ironic that tests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Does everything at once and to nothing; [`super::Fault`] can make it fail.
    FakeHardware,
    /// Talks to the BMCs of the rack.
    Redfish,
}

impl Driver {
    /// Ironic's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FakeHardware => "fake-hardware",
            Self::Redfish => "redfish",
        }
    }
}

/// Where one instance is.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub dir: &'a Path,
    /// Different for every instance, so that one is never taken for another.
    pub host: &'a str,
    pub url: &'a str,
    pub port: u16,
    pub rack_url: &'a str,
}

impl Settings {
    /// The configuration file of an instance.
    pub(super) fn config(&self, place: &Place) -> String {
        let mut config = String::new();
        let mut section = |name: &str, options: &[(&str, &str)]| {
            // Writing to a string cannot fail.
            let _ = writeln!(config, "[{name}]");
            for (option, value) in options {
                let _ = writeln!(config, "{option} = {value}");
            }
        };
        let dir = place.dir.to_string_lossy();
        let auth = if self.credentials.is_some() { "http_basic" } else { "noauth" };
        let timeout = self.callback_timeout.as_secs().to_string();
        let power_sync = self.power_sync.map_or(0, |every| every.as_secs().max(1)).to_string();
        let on_off = |on: bool| if on { "True" } else { "False" };
        section("DEFAULT", &[("state_path", &dir), ("host", place.host), ("auth_strategy", auth)]);
        section("api", &[("port", &place.port.to_string()), ("enable_ssl_api", on_off(self.tls))]);
        section("service_catalog", &[("endpoint_override", place.url)]);
        section("deploy", &[("http_url", place.rack_url)]);
        section(
            "conductor",
            &[
                ("automated_clean", on_off(self.automated_clean)),
                ("sync_power_state_interval", &power_sync),
                ("deploy_callback_timeout", &timeout),
                ("clean_callback_timeout", &timeout),
                ("inspect_wait_timeout", &timeout),
            ],
        );
        section(
            "auto_discovery",
            &[
                ("enabled", on_off(self.discovery.is_some())),
                ("driver", self.discovery.unwrap_or(Driver::FakeHardware).name()),
            ],
        );
        // Without a ramdisk there is nothing to wait for before a machine is turned off.
        section("inspector", &[("power_off", on_off(self.ramdisk))]);
        config.push_str(&self.extra_config);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_configuration_comes_last_where_it_wins() {
        let settings =
            Settings { extra_config: "[fake]\ndeploy_delay = 3\n".into(), ..Settings::default() };
        let place = Place {
            dir: Path::new("/tmp/ironic"),
            host: "ironic-1",
            url: "http://127.0.0.1:1",
            port: 1,
            rack_url: "http://127.0.0.1:2",
        };
        let config = settings.config(&place);
        assert!(config.ends_with("[fake]\ndeploy_delay = 3\n"), "{config}");
        assert!(config.contains("state_path = /tmp/ironic\n"), "{config}");
    }
}
