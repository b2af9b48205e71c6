//! Hosts on a real API server and a real Ironic, with a BMC, a ramdisk and a disk image: all of it together.

mod deployments;
mod killed;
mod life;
mod stage;
