//! BareMetalHost: from a name and the address of a BMC to a server that runs an image, and back.

pub mod hidden;
pub mod machine;
pub mod provisioner;
