//! One control plane with Ironward in front of it, for all tests of this process; and a namespace each.

use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    ironward::{Ironward, NOTHING_IS_UNIQUE, Options},
    kubectl::Kubectl,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub const PATIENCE: Duration = Duration::from_mins(1);

/// A host that every rule lets in.
pub const HOST: &str = "\
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: worker-0}
spec:
  online: true
  bootMACAddress: 00:5c:52:31:3a:9c
  bmc: {address: redfish://192.168.111.1/redfish/v1/Systems/1, credentialsName: worker-0-bmc}
";

/// A cluster whose API server asks Ironward.
pub struct Stage {
    pub plane: ControlPlane,
    pub ironward: Ironward,
    pub policies: PathBuf,
}

impl Stage {
    /// Starts one, and returns when the webhooks are in force.
    pub fn start() -> Self {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        let policies = plane.dir().join("policies");
        fs::create_dir(&policies).unwrap();
        // Each test has the same host in a namespace of its own.
        write(&policies, "unique.yaml", NOTHING_IS_UNIQUE);
        let options = Options { policy_dir: Some(policies.clone()), ..Options::default() };
        let ironward = Ironward::start_with(&plane, &options).unwrap();
        ironward.wait_until_ready().unwrap();
        let stage = Self { plane, ironward, policies };
        stage.wait_until_in_force();
        stage
    }

    /// Waits until the API server sends us what it should.
    pub fn wait_until_in_force(&self) {
        self.ironward.wait_until_in_force(&self.plane).unwrap();
    }

    /// A namespace that nobody else uses, and `kubectl` in it.
    pub fn namespace(&self) -> Kubectl {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let name = format!("admission-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let kubectl = self.plane.kubectl();
        kubectl.expect(&["create", "namespace", &name]).unwrap();
        kubectl.in_namespace(&name)
    }

    /// `kubectl` as Ironward itself, whose writes are not judged: for what was stored before there were rules.
    pub fn unjudged(&self, kubectl: &Kubectl) -> Kubectl {
        let name = "system:serviceaccount:ironward-system:ironward";
        kubectl.with_kubeconfig(&self.plane.kubeconfig_for(name, &["system:masters"]).unwrap())
    }
}

/// The stage that all tests of this process share.
pub fn shared() -> &'static Stage {
    static SHARED: OnceLock<Stage> = OnceLock::new();
    SHARED.get_or_init(Stage::start)
}

pub fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}
