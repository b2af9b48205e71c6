//! Control planes, and what is put on them.

use ironward_e2e::{
    control_plane::{ControlPlane, Options},
    eventually,
    ironward::Ironward,
    kubectl::Answer,
    release::{self, Release},
};
use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

pub use ironward_e2e::alone::{alone, in_company};

pub const PATIENCE: Duration = Duration::from_mins(2);
pub const CREATE: [&str; 3] = ["create", "--filename", "-"];

/// A user's policy, which says nothing of hosts but those of one name.
pub const OWN_POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: own}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [metal3.io], apiVersions: [v1alpha1], operations: [CREATE], resources: [baremetalhosts]}]
  validations: [{expression: \"object.metadata.name != 'forbidden'\", message: that name is taken by nobody}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: own}
spec: {policyName: own, validationActions: [Deny]}
";

/// What no other release has: nothing outside of the chart is needed.
pub const SELF_SIGNED: &str = "certificate.mode=self-signed";

/// A control plane with the kinds that Metal3's operators bring.
pub fn beside_metal3() -> ControlPlane {
    let plane = ControlPlane::start_with(Options { audit: true, ..Options::default() }).unwrap();
    release::install_metal3_kinds(&plane).unwrap();
    plane
}

/// A host; those with one number are duplicates of each other.
pub fn host(name: &str, number: usize) -> String {
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  \
         online: true\n  bootMACAddress: 02:00:00:00:{:02x}:{:02x}\n",
        number / 256 % 256,
        number % 256
    )
}

/// Creates a host, and says what was answered.
pub fn create(release: &Release<'_>, name: &str, number: usize) -> Answer {
    release.plane.kubectl().run_with_input(&CREATE, &host(name, number)).unwrap()
}

/// Waits until a replica answers the API server.
pub fn wait_until_in_force(release: &Release<'_>, replica: &Ironward) {
    replica.wait_until_ready().unwrap();
    replica.wait_until_in_force(release.plane).unwrap();
}

/// Looks until it is as it should be.
pub fn until<T: Debug>(what: &str, look: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    eventually::until(PATIENCE, what, look, is_so).unwrap()
}

/// Ends what goes on in another thread: a test that fails ends that too.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
