//! How a machine comes to have a node: its own, one that Ironic made when it was discovered, or a new
//! one; and the ports that its ramdisk is known by.

use std::{sync::Arc, time::Instant};

use super::{
    answers::{moving, no_bmc, shown},
    provisioner::Ironic,
    snapshot::POLL,
};
use crate::{
    controllers::host::{
        machine::{BmcAccess, Machine},
        provisioner::{Error, Outcome},
    },
    ironic::{
        driver, error,
        next::Ask,
        node::{Node, Port},
        version::Version,
    },
};

impl Ironic {
    /// A node that is there: its port, then the rest.
    pub(super) async fn register(
        &self,
        node: Arc<Node>,
        fresh: bool,
        ask: Ask<'_>,
    ) -> Result<Outcome, Error> {
        let Ask { machine, version, .. } = ask;
        let problem = machine.bmc.as_ref().and_then(|bmc| driver::problem(machine, bmc, version));
        if let Some(message) = problem {
            return Ok(Outcome::Failed { message });
        }
        if node.provision_state.takes_changes()
            && let Some(message) = self.boot_port(machine, &node.uuid).await?
        {
            return Ok(Outcome::Failed { message });
        }
        self.advance(node, fresh, ask).await
    }

    /// There is no node: one that was discovered is taken over, else one is made.
    pub(super) async fn enrol(&self, ask: Ask<'_>) -> Result<Outcome, Error> {
        let Ask { machine, version, .. } = ask;
        let Some(bmc) = &machine.bmc else { return Ok(no_bmc()) };
        if let Some(message) = driver::problem(machine, bmc, version) {
            return Ok(Outcome::Failed { message });
        }
        match self.discovered(machine).await? {
            Some(Ok(node)) => return self.register(node, true, ask).await,
            Some(Err(message)) => return Ok(Outcome::Failed { message }),
            None => {}
        }
        match self.create(machine, bmc, version).await {
            Ok(node) => self.register(node, true, ask).await,
            // Somebody else has just made it: it is found when this is asked again.
            Err(error) if error.kind() == Some(error::Kind::Conflict) => Err(Error::Busy),
            Err(error) => moving(Err(error)),
        }
    }

    async fn create(
        &self,
        machine: &Machine,
        bmc: &BmcAccess,
        version: Version,
    ) -> Result<Arc<Node>, error::Error> {
        let read = Instant::now();
        let body = driver::new_node(machine, bmc, &self.ramdisk, version);
        let node = Arc::new(self.client.create_node(body).await?);
        tracing::info!(host = %shown(&machine.identity), node = node.uuid, "registered a node");
        self.snapshot.keep(&machine.identity, &node, read);
        for mac in machine.known_macs.iter().filter(|mac| Some(*mac) != machine.boot_mac.as_ref()) {
            self.port(&node.uuid, &mac.to_string(), false).await?;
        }
        Ok(node)
    }

    /// Sees to it that the card that the machine boots from is a port of its node. An error is a
    /// message for people.
    async fn boot_port(&self, machine: &Machine, uuid: &str) -> Result<Option<String>, Error> {
        let Some(mac) = machine.boot_mac.map(|mac| mac.to_string()) else { return Ok(None) };
        let owner = match self.snapshot.owner(&mac) {
            Some(owner) if owner == uuid => return Ok(None),
            // Who had it may have lost it since.
            Some(_) | None => self.port(uuid, &mac, true).await?,
        };
        Ok((owner != uuid).then(|| {
            format!("bootMACAddress {mac} is the address of another node in Ironic, {owner}")
        }))
    }

    /// The node that has a MAC address: this one, unless another has it already.
    async fn port(&self, uuid: &str, mac: &str, boots: bool) -> Result<String, error::Error> {
        if let Some(port) = self.client.ports_with(mac).await?.into_iter().next() {
            self.snapshot.keep_port(&port);
            return Ok(port.node_uuid);
        }
        self.client.create_port(uuid, mac, boots).await?;
        let (uuid, address) = (uuid.to_owned(), mac.to_owned());
        let port = Port { uuid: String::new(), address, node_uuid: uuid, pxe_enabled: boots };
        self.snapshot.keep_port(&port);
        Ok(port.node_uuid)
    }

    /// The node that Ironic made for this machine when it reported in: it has its MAC address, and no
    /// name. One with a name is another host's.
    async fn discovered(
        &self,
        machine: &Machine,
    ) -> Result<Option<Result<Arc<Node>, String>>, Error> {
        let Some(mac) = machine.boot_mac.map(|mac| mac.to_string()) else { return Ok(None) };
        let ports = self.client.ports_with(&mac).await?;
        let Some(port) = ports.into_iter().next() else { return Ok(None) };
        self.snapshot.keep_port(&port);
        let found = self.client.node(&port.node_uuid).await?.map(Arc::new);
        Ok(found.map(|node| match &node.name {
            None => Ok(node),
            Some(name) => Err(format!(
                "bootMACAddress {mac} is the address of another node in Ironic, {name} ({})",
                node.uuid
            )),
        }))
    }

    pub(super) async fn import(&self, ask: Ask<'_>) -> Result<Outcome, Error> {
        let Ask { machine, operation, .. } = ask;
        let mac = machine.boot_mac.map(|mac| mac.to_string());
        if mac.is_none_or(|mac| self.snapshot.owner(&mac).is_none()) {
            return Ok(Outcome::Moving { poll: POLL });
        }
        match self.discovered(machine).await? {
            Some(Ok(node)) => self.learnt(&node, operation).await,
            Some(Err(message)) => Ok(Outcome::Failed { message }),
            None => Ok(Outcome::Moving { poll: POLL }),
        }
    }
}
