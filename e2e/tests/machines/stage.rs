//! What all tests share: a control plane in a network of its own, Cluster API's managers, kubelets, and an Ironward that can be killed.

use ironward_e2e::{
    cluster, cluster_api, control_plane,
    control_plane::ControlPlane,
    eventually::eventually,
    ironward::{self, Ironward, Options},
    kubelets::Kubelets,
    manager::Operator,
    node::apart::{self, Apart},
    watched::{Kind, Watched},
};
use rustix::process::Signal;
use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

/// Long, for all tests are on two cores at once, and Cluster API looks again after half a minute in places.
pub const PATIENCE: Duration = Duration::from_mins(10);

/// All that Metal3's operators would do.
pub const CONTROLLERS: &str = "--controllers=host,cluster,machine,machine-template,metadata";

const CORE: &str = "cluster.x-k8s.io";
/// What is watched.
pub const KINDS: [Kind; 8] = [
    ("metal3.io", "v1alpha1", "BareMetalHost"),
    ("infrastructure.cluster.x-k8s.io", "v1beta2", "Metal3Machine"),
    ("infrastructure.cluster.x-k8s.io", "v1beta2", "Metal3Cluster"),
    (CORE, "v1beta2", "Cluster"),
    (CORE, "v1beta2", "Machine"),
    (CORE, "v1beta2", "MachineDeployment"),
    ("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane"),
    ("", "v1", "Node"),
];

pub struct Stage {
    pub plane: ControlPlane,
    pub watched: Watched,
    pub kubelets: Kubelets,
    ironward: Mutex<Option<Ironward>>,
    options: Options,
    managers: Vec<Operator>,
}

impl Stage {
    /// In a network of its own, for Cluster API's webhooks listen on every address.
    pub fn start(options: Options) -> Self {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        // An API server that is busy with the first kinds may not answer in time about the next.
        eventually(PATIENCE, "the kinds are stored", || cluster_api::install_kinds(&plane))
            .unwrap();
        let stage = Self {
            watched: Watched::start(plane.admin_kubeconfig(), &KINDS).unwrap(),
            kubelets: Kubelets::start(plane.admin_kubeconfig()).unwrap(),
            ironward: Mutex::default(),
            options,
            managers: cluster_api::start(&plane).unwrap(),
            plane,
        };
        stage.start_ironward();
        stage
    }

    pub fn ironward(&self) -> MutexGuard<'_, Option<Ironward>> {
        self.ironward.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_ironward(&self) {
        let ironward = Ironward::start_with(&self.plane, &self.options).unwrap();
        ironward.wait_until_ready().unwrap();
        ironward.wait_until_in_force(&self.plane).unwrap();
        *self.ironward() = Some(ironward);
    }

    /// As the kernel does when memory runs out, and the kubelet starts it again.
    pub fn kill_and_start_ironward(&self) {
        let ironward = self.ironward().take().unwrap();
        ironward.process.signal(Signal::KILL).unwrap();
        ironward.process.wait_for_exit(PATIENCE).unwrap();
        // The one that is started does not wait until nobody awaits the one that was killed.
        let delete = ["delete", "lease", "ironward", "--ignore-not-found"];
        self.plane.kubectl().in_namespace("default").expect(&delete).unwrap();
        self.start_ironward();
    }

    /// The last words of all who work here.
    pub fn last_words(&self) -> String {
        let ironward = self.ironward();
        let own = ironward.iter().map(|it| ("ironward", it.process.log_tail()));
        let managers = self.managers.iter().map(|it| (it.user.as_str(), it.process.log_tail()));
        let said: Vec<_> =
            own.chain(managers).map(|(name, words)| format!("--- {name}\n{words}\n")).collect();
        said.concat()
    }
}

/// Runs a test on the stage that all share.
pub fn on_stage(test: impl FnOnce(&Stage) + Send) {
    static SHARED: OnceLock<(Apart, Stage)> = OnceLock::new();
    if apart::is_skipped() {
        return;
    }
    let (apart, stage) = SHARED.get_or_init(|| {
        provide();
        let apart = Apart::provide().unwrap();
        let flags = [CONTROLLERS, "--provisioner=demo", "--demo-seconds=1"];
        let flags = flags.map(str::to_owned).to_vec();
        let stage = apart.within(|| Stage::start(Options { flags, ..Options::default() })).unwrap();
        (apart, stage)
    });
    apart.within(|| test(stage)).unwrap();
}

/// Builds all that cannot be built where there is no way out.
pub fn provide() {
    control_plane::provide().unwrap();
    cluster_api::provide().unwrap();
    ironward::binary().unwrap();
}
