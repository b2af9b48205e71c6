//! The facts about a node that its metadata may show.

use super::{
    super::{Call, Value},
    functions,
};
use crate::domain::mac::Mac;
use std::collections::BTreeMap;

/// A node: a machine of Cluster API, the Metal3Machine below it, and the host that it runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its index among the nodes of the same Metal3Metadata.
    pub index: u32,
    /// The namespace of all three.
    pub namespace: String,
    /// The name of the Cluster.
    pub cluster_name: String,
    /// The Machine; without a name if there is none.
    pub machine: Object,
    /// The Metal3Machine.
    pub metal3_machine: Object,
    /// The UID of the Metal3Machine.
    pub metal3_machine_uid: String,
    /// The BareMetalHost; without a name if none was taken yet.
    pub host: Host,
}

/// An object of Kubernetes, as far as it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The BareMetalHost.
    pub object: Object,
    /// The address of each network interface, by its name.
    pub nics: BTreeMap<String, Mac>,
    /// The address that it boots from.
    pub boot_mac: Option<Mac>,
}

impl Call for Node {
    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, String> {
        functions::call(self, name, arguments)
    }
}
