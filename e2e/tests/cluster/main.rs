//! Tests on a real API server. They share one control plane and have a namespace each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod control_plane;
mod explain;
mod metal3_samples;
mod metal3_schema;
mod readiness;
mod refusals;
mod sandbox;

/// What is needed of Metal3's own sources: their definitions and their samples.
mod metal3 {
    use ironward_e2e::go;
    use std::path::PathBuf;

    pub fn baremetal_operator() -> PathBuf {
        let sum = "h1:XSkyBv4l1OvCL66b7T0FEUaGeS0zOjQKhot9V8zeZQc=";
        go::sources("github.com/metal3-io/baremetal-operator", "v0.13.2", sum).unwrap()
    }

    pub fn cluster_api_provider_metal3() -> PathBuf {
        let sum = "h1:qYIXaHZp3Tcn2Taf+LZZ7rjATyKLVjguMS39pC640pw=";
        go::sources("github.com/metal3-io/cluster-api-provider-metal3", "v1.13.2", sum).unwrap()
    }
}
