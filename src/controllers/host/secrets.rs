//! What is read from Secrets: who we are to a BMC, and what an image finds at its first boot. What is wrong with a Secret is said with its
//! name, never with its content.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    hidden::Hidden,
    machine::{ConfigDrive, Credentials, Identity},
};
use crate::domain::metadata::{META_DATA_KEY, NETWORK_DATA_KEY, USER_DATA_KEY, VALUE_KEY};

/// What a Secret holds, by key.
pub type Data = BTreeMap<String, Vec<u8>>;

/// The Secret that `bmc.credentialsName` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BmcSecret {
    /// The host has no BMC, or names no Secret.
    Unnamed,
    /// There is none of that name.
    Missing,
    /// It lacks what it should hold.
    Malformed {
        /// What is wrong with it.
        problem: String,
        /// Its version.
        version: String,
    },
    /// As it should be.
    Good {
        /// What it says.
        credentials: Credentials,
        /// Its version.
        version: String,
    },
}

impl BmcSecret {
    /// Reads one that is there. As in Metal3, blanks around the values do not count.
    #[must_use]
    pub fn read(data: &Data, version: String) -> Self {
        let text = |key: &str| {
            let bytes = data.get(key).ok_or_else(|| format!("has no {key}"))?;
            let text =
                std::str::from_utf8(bytes).map_err(|_| format!("has a {key} that is no text"))?;
            match text.trim() {
                "" => Err(format!("has an empty {key}")),
                text => Ok(Hidden::new(text.to_owned())),
            }
        };
        match (text("username"), text("password")) {
            (Ok(username), Ok(password)) => {
                Self::Good { credentials: Credentials { username, password }, version }
            }
            (Err(one), Err(other)) => {
                Self::Malformed { problem: format!("{one} and {other}"), version }
            }
            (Err(problem), Ok(_)) | (Ok(_), Err(problem)) => Self::Malformed { problem, version },
        }
    }

    /// Which version of it was seen.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Unnamed | Self::Missing => None,
            Self::Malformed { version, .. } | Self::Good { version, .. } => Some(version),
        }
    }
}

/// A Secret that a host names for its first boot.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it holds; none if there is no such Secret.
    pub data: Option<&'a Data>,
}

/// The Secrets of a first boot; none are those that the host does not name.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstBoot<'a> {
    /// `spec.userData`.
    pub user_data: Option<Named<'a>>,
    /// `spec.networkData`, or else `spec.preprovisioningNetworkDataName`.
    pub network_data: Option<Named<'a>>,
    /// `spec.metaData`.
    pub meta_data: Option<Named<'a>>,
}

/// What goes on the config drive, or why it cannot be made.
pub fn config_drive(identity: &Identity, secrets: &FirstBoot<'_>) -> Result<ConfigDrive, String> {
    let user_data =
        secrets.user_data.map(|it| text(it, USER_DATA_KEY)).transpose()?.map(Hidden::new);
    let network_data = secrets.network_data.map(network_data).transpose()?;
    let Identity { namespace, name, uid } = identity;
    let given = [
        ("uuid", uid),
        ("metal3-namespace", namespace),
        ("metal3-name", name),
        ("name", name),
        ("local-hostname", name),
        ("local_hostname", name),
    ];
    let mut meta_data: Map<String, Value> =
        given.into_iter().map(|(key, value)| (key.to_owned(), value.clone().into())).collect();
    if let Some(named) = secrets.meta_data {
        meta_data.extend(yaml::<Map<String, Value>>(named, META_DATA_KEY, "a map")?);
    }
    Ok(ConfigDrive { user_data, network_data, meta_data: Hidden::new(meta_data) })
}

/// OpenStack's `network_data.json` from a Secret.
pub fn network_data(named: Named<'_>) -> Result<Hidden<Value>, String> {
    yaml(named, NETWORK_DATA_KEY, "YAML").map(Hidden::new)
}

fn yaml<T: serde::de::DeserializeOwned>(
    named: Named<'_>,
    key: &str,
    what: &str,
) -> Result<T, String> {
    // The parser quotes what it cannot read, which is nobody's business.
    serde_saphyr::from_str(&text(named, key)?)
        .map_err(|_| format!("the {key} of Secret {} is not {what}", named.name))
}

fn text(named: Named<'_>, key: &str) -> Result<String, String> {
    let Named { name, data } = named;
    let data = data.ok_or_else(|| format!("there is no Secret {name}"))?;
    let bytes = data.get(key).or_else(|| data.get(VALUE_KEY));
    let bytes = bytes.ok_or_else(|| format!("Secret {name} has neither {key} nor {VALUE_KEY}"))?;
    String::from_utf8(bytes.clone()).map_err(|_| format!("the {key} of Secret {name} is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn data(pairs: &[(&str, &str)]) -> Data {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    fn identity() -> Identity {
        Identity { namespace: "lab".into(), name: "worker-0".into(), uid: "u-1".into() }
    }

    #[rstest]
    #[case::nothing(&[], "has no username and has no password")]
    #[case::no_password(&[("username", "root")], "has no password")]
    #[case::empty(&[("username", " \n"), ("password", "calvin")], "has an empty username")]
    fn what_is_wrong_with_credentials_is_said(#[case] pairs: &[(&str, &str)], #[case] said: &str) {
        let expected = BmcSecret::Malformed { problem: said.into(), version: "7".into() };
        assert_eq!(BmcSecret::read(&data(pairs), "7".into()), expected);
    }

    #[test]
    fn blanks_around_credentials_do_not_count() {
        let read =
            BmcSecret::read(&data(&[("username", "root\n"), ("password", " calvin")]), "7".into());
        let BmcSecret::Good { credentials, .. } = &read else { panic!("{read:?}") };
        assert_eq!(credentials.username.reveal(), "root");
        assert_eq!(credentials.password.reveal(), "calvin");
        assert!(!format!("{read:?}").contains("calvin"));
    }

    #[test]
    fn every_host_gets_metadata_and_what_it_names_wins() {
        let meta = data(&[("metaData", "local-hostname: mine\nrack: 7\n")]);
        let secrets = FirstBoot {
            meta_data: Some(Named { name: "meta", data: Some(&meta) }),
            ..FirstBoot::default()
        };
        let drive = config_drive(&identity(), &secrets).unwrap();
        let expected = json!({
            "uuid": "u-1", "metal3-namespace": "lab", "metal3-name": "worker-0", "name": "worker-0",
            "local-hostname": "mine", "local_hostname": "worker-0", "rack": 7,
        });
        assert_eq!(Value::Object(drive.meta_data.reveal().clone()), expected);
        assert_eq!(drive.user_data, None);
    }

    #[test]
    fn the_other_key_is_read_too() {
        let user = data(&[("value", "#cloud-config")]);
        let secrets = FirstBoot {
            user_data: Some(Named { name: "user", data: Some(&user) }),
            ..FirstBoot::default()
        };
        let drive = config_drive(&identity(), &secrets).unwrap();
        assert_eq!(drive.user_data.unwrap().reveal(), "#cloud-config");
    }

    #[rstest]
    #[case::missing(None, "there is no Secret net")]
    #[case::other_keys(Some(data(&[("x", "")])), "Secret net has neither networkData nor value")]
    #[case::no_yaml(Some(data(&[("networkData", "a: [password")])), "the networkData of Secret net is not YAML")]
    fn what_is_wrong_is_said_without_its_content(#[case] data: Option<Data>, #[case] said: &str) {
        let named = Named { name: "net", data: data.as_ref() };
        let secrets = FirstBoot { network_data: Some(named), ..FirstBoot::default() };
        assert_eq!(config_drive(&identity(), &secrets), Err(said.to_owned()));
    }
}
