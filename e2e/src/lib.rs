//! A real control plane and a real Ironic on loopback: what the sandbox runs on, and the tests.
//!
//! Nothing here is a mock. The programs are built once from public packages (`e2e/go`, `e2e/ironic`) into a
//! cache outside the checkout; a run takes free ports of 127.0.0.1 and a directory of its own, and both are
//! gone when it ends, however it ends.

pub mod alone;
pub mod at_once;
pub mod balancer;
pub mod browser;
pub mod cache;
pub mod cel_fuzz;
pub mod cert_manager;
pub mod certificates;
pub mod cluster;
pub mod cluster_api;
pub mod control_plane;
pub mod documentation;
pub mod eventually;
pub mod fleet;
pub mod gate;
pub mod go;
pub mod haunt;
pub mod helm;
pub mod http;
pub mod ironic;
pub mod ironward;
pub mod judge;
pub mod kubectl;
pub mod kubelets;
pub mod lab;
pub mod load;
pub mod machines;
pub mod manager;
pub mod metal3;
pub mod node;
pub mod operators;
pub mod oracle;
pub mod packages;
pub mod peers;
pub mod played_hosts;
pub mod ports;
pub mod process_group;
pub mod progress;
pub mod prometheus_operator;
pub mod promql;
pub mod release;
pub mod requests;
pub mod template_fuzz;
pub mod tour;
pub mod watched;
