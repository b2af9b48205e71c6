//! Proposal 2, automated cleaning: whether Ironic wipes a host's disks when it is deprovisioned and
//! before it is provisioned. A Metal3MachineTemplate sets the mode for its Metal3Machines, each of
//! them sets it on its BareMetalHost, and there it becomes `automated_clean` of the Ironic node.
//! The fields are in `api::{metal3machinetemplate, metal3machine, baremetalhost}`; the controllers
//! of the same names carry the value on.

mod mode;

pub use mode::AutomatedCleaningMode;
