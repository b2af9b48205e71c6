//! Where Ironic is: the flags that become the settings of its client.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    adapters::ironic::{Login, Settings, TlsFiles},
    ironic::driver::Ramdisk,
};

/// How Ironic is reached, and what its ramdisk is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Ironic")]
#[group(id = "ironic")]
pub struct Ironic {
    /// The address of Ironic's API, such as https://ironic.baremetal.svc:6385.
    #[arg(long, value_name = "URL", env = "IRONWARD_IRONIC_URL")]
    pub ironic_url: Option<String>,

    /// A folder with the files `username` and `password` for Ironic's HTTP basic authentication: a mounted
    /// Secret. Without it, Ironic is asked without a login.
    #[arg(long, value_name = "DIR", env = "IRONWARD_IRONIC_AUTH_DIR")]
    pub ironic_auth_dir: Option<PathBuf>,

    /// The authorities that may have signed Ironic's certificate, in PEM, instead of those of the system.
    #[arg(long, value_name = "FILE", env = "IRONWARD_IRONIC_CA_FILE")]
    pub ironic_ca_file: Option<PathBuf>,

    /// The certificate to show to Ironic, in PEM.
    #[arg(
        long,
        value_name = "FILE",
        requires = "ironic_client_key_file",
        env = "IRONWARD_IRONIC_CLIENT_CERT_FILE"
    )]
    pub ironic_client_cert_file: Option<PathBuf>,

    /// Its key, in PEM.
    #[arg(
        long,
        value_name = "FILE",
        requires = "ironic_client_cert_file",
        env = "IRONWARD_IRONIC_CLIENT_KEY_FILE"
    )]
    pub ironic_client_key_file: Option<PathBuf>,

    /// Accept any certificate from Ironic. Who is between can then read the passwords of all BMCs.
    #[arg(long, env = "IRONWARD_IRONIC_INSECURE", conflicts_with = "ironic_ca_file")]
    pub ironic_insecure: bool,

    /// The ramdisk that inspects, cleans and writes images, as one ISO image, for BMCs that boot from
    /// virtual media. Without it and the next two, Ironic's own settings count.
    #[arg(long, value_name = "URL", env = "IRONWARD_DEPLOY_ISO_URL")]
    pub deploy_iso_url: Option<String>,

    /// The kernel of the ramdisk, for hosts that boot over the network.
    #[arg(
        long,
        value_name = "URL",
        requires = "deploy_ramdisk_url",
        env = "IRONWARD_DEPLOY_KERNEL_URL"
    )]
    pub deploy_kernel_url: Option<String>,

    /// The ramdisk, for hosts that boot over the network.
    #[arg(
        long,
        value_name = "URL",
        requires = "deploy_kernel_url",
        env = "IRONWARD_DEPLOY_RAMDISK_URL"
    )]
    pub deploy_ramdisk_url: Option<String>,

    /// Parameters for the kernel of the ramdisk, beside Ironic's own.
    #[arg(long, value_name = "TEXT", env = "IRONWARD_DEPLOY_KERNEL_PARAMS")]
    pub deploy_kernel_params: Option<String>,
}

impl Ironic {
    /// How Ironic is reached. Reads the login.
    pub fn settings(&self) -> Result<Settings> {
        let url = self.ironic_url.clone().context("--ironic-url is missing: where is Ironic?")?;
        let login = self.ironic_auth_dir.as_deref().map(Login::read).transpose();
        let pair = self.ironic_client_cert_file.clone().zip(self.ironic_client_key_file.clone());
        Ok(Settings {
            url,
            login: login.context("could not read the login for Ironic (--ironic-auth-dir)")?,
            tls: TlsFiles {
                ca: self.ironic_ca_file.clone(),
                identity: pair,
                insecure: self.ironic_insecure,
            },
        })
    }

    /// What its ramdisk is.
    #[must_use]
    pub fn ramdisk(&self) -> Ramdisk {
        Ramdisk {
            kernel: self.deploy_kernel_url.clone(),
            ramdisk: self.deploy_ramdisk_url.clone(),
            iso: self.deploy_iso_url.clone(),
            kernel_parameters: self.deploy_kernel_params.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parsed(flags: &[&str]) -> Result<Ironic, clap::Error> {
        let command = Ironic::augment_args(Command::new("run"));
        let given = ["run"].iter().chain(flags);
        Ironic::from_arg_matches(&command.try_get_matches_from(given)?)
    }

    #[test]
    fn what_belongs_together_is_given_together() {
        assert!(parsed(&["--ironic-client-cert-file", "c"]).is_err());
        assert!(parsed(&["--deploy-kernel-url", "http://k"]).is_err());
        assert!(parsed(&["--ironic-insecure", "--ironic-ca-file", "f"]).is_err());
        let both = parsed(&["--deploy-kernel-url", "http://k", "--deploy-ramdisk-url", "http://r"]);
        assert_eq!(both.unwrap().ramdisk().ramdisk.as_deref(), Some("http://r"));
    }

    #[test]
    fn where_ironic_is_must_be_said() {
        let said = parsed(&[]).unwrap().settings().unwrap_err().to_string();
        assert!(said.contains("--ironic-url"), "{said}");
        let none = ["--ironic-url", "http://ironic:6385", "--ironic-auth-dir", "/nowhere"];
        let said = parsed(&none).unwrap().settings().unwrap_err();
        assert!(format!("{said:#}").contains("/nowhere/username"), "{said:#}");
    }
}
