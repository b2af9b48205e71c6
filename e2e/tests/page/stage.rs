//! A control plane, an Ironward that shows the page, and people with tokens.

use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    http,
    ironward::{Ironward, NOTHING_IS_UNIQUE, Options},
    kubectl::Kubectl,
    ports,
};
use reqwest::{StatusCode, blocking::Client};
use serde_json::{Value, json};
use std::{
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub const PATIENCE: Duration = Duration::from_mins(1);
pub const CREATE: [&str; 3] = ["create", "--filename", "-"];

pub struct Stage {
    _plane: ControlPlane,
    _ironward: Ironward,
    pub kubectl: Kubectl,
    /// Where the page is.
    pub url: String,
    /// Of somebody who may look.
    pub token: String,
    pub client: Client,
}

/// The stage of those that do not mind the hosts of others, and a namespace of it for one of them. It ends with the process.
pub fn shared() -> (&'static Stage, Corner) {
    static SHARED: OnceLock<Stage> = OnceLock::new();
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    let stage = SHARED.get_or_init(|| Stage::start(|_| {}));
    let namespace = format!("test-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    stage.kubectl.expect(&["create", "namespace", &namespace]).unwrap();
    (stage, Corner { kubectl: stage.kubectl.in_namespace(&namespace), namespace })
}

impl Stage {
    /// Starts all of it; hosts can be put there before Ironward is.
    pub fn start(before: impl FnOnce(&ControlPlane)) -> Self {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        before(&plane);
        let policies = plane.dir().join("policies");
        fs::create_dir(&policies).unwrap();
        fs::write(policies.join("unique.yaml"), NOTHING_IS_UNIQUE).unwrap();
        let [port] = ports::free::<1>().unwrap();
        let flags = vec![format!("--page-address=127.0.0.1:{port}")];
        let options = Options { policy_dir: Some(policies), flags, ..Options::default() };
        let ironward = Ironward::start_with(&plane, &options).unwrap();
        ironward.wait_until_ready().unwrap();
        ironward.wait_until_in_force(&plane).unwrap();
        let kubectl = plane.kubectl();
        let verb = ["--verb=list", "--resource=baremetalhosts.metal3.io"];
        kubectl.expect(&[&["create", "clusterrole", "looker"], &verb[..]].concat()).unwrap();
        let corner =
            Corner { kubectl: kubectl.in_namespace("default"), namespace: "default".to_owned() };
        let token = corner.token("looker");
        corner.permit("looker");
        let client = http::builder().danger_accept_invalid_certs(true).build().unwrap();
        let url = format!("https://127.0.0.1:{port}");
        Self { _plane: plane, _ironward: ironward, kubectl, url, token, client }
    }

    /// The namespace of a stage that nobody shares.
    pub fn corner(&self) -> Corner {
        Corner { kubectl: self.kubectl.in_namespace("default"), namespace: "default".to_owned() }
    }

    /// What a request is answered.
    pub fn get(&self, path: &str, token: Option<&str>) -> (StatusCode, String) {
        let mut request = self.client.get(format!("{}{path}", self.url));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().unwrap();
        (answer.status(), answer.text().unwrap())
    }

    /// What who may look is answered.
    pub fn read(&self, path: &str) -> Value {
        let (status, text) = self.get(path, Some(&self.token));
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// A namespace in which a test is at home.
pub struct Corner {
    pub kubectl: Kubectl,
    pub namespace: String,
}

impl Corner {
    pub fn create(&self, object: &Value) {
        self.kubectl.expect_with_input(&CREATE, &object.to_string()).unwrap();
    }

    /// Writes what a controller would.
    pub fn set_status(&self, name: &str, status: &Value) {
        let patch = json!({ "status": status }).to_string();
        let arguments =
            ["patch", "bmh", name, "--subresource=status", "--type=merge", "--patch", &patch];
        self.kubectl.expect(&arguments).unwrap();
    }

    /// Has a host changed to what no policy lets in.
    pub fn be_refused(&self, name: &str, number: usize, address: &str) {
        let mut mistaken = host(name, number);
        mistaken["spec"]["bmc"]["address"] = json!(address);
        let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
        assert!(self.kubectl.expect_with_input(&apply, &mistaken.to_string()).is_err());
    }

    /// A token of a ServiceAccount that is made for it.
    pub fn token(&self, account: &str) -> String {
        self.kubectl.expect(&["create", "serviceaccount", account]).unwrap();
        self.kubectl.expect(&["create", "token", account]).unwrap().trim().to_owned()
    }

    /// Lets a ServiceAccount list all hosts; says what can be deleted to end that.
    pub fn permit(&self, account: &str) -> String {
        let Self { kubectl, namespace } = self;
        let name = format!("{namespace}-{account}");
        let subject = format!("--serviceaccount={namespace}:{account}");
        let bind = ["create", "clusterrolebinding", &name, "--clusterrole=looker", &subject];
        kubectl.expect(&bind).unwrap();
        name
    }
}

pub fn host(name: &str, number: usize) -> Value {
    let [.., a, b] = number.to_be_bytes();
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": name},
        "spec": {
            "online": true, "bootMACAddress": format!("52:54:00:00:{a:02x}:{b:02x}"),
            "bmc": {"address": format!("redfish://10.0.{a}.{b}/redfish/v1/Systems/1"), "credentialsName": format!("{name}-bmc")},
        },
    })
}

pub fn status(state: &str) -> Value {
    json!({
        "operationalStatus": "OK", "errorMessage": "", "poweredOn": true, "errorCount": 0,
        "provisioning": {"state": state, "ID": ""},
    })
}

pub fn history(name: &str, records: &Value) -> Value {
    json!({
        "apiVersion": "ironward.dev/v1alpha1", "kind": "HostHistory",
        "metadata": {"name": name}, "hostRef": {"name": name}, "records": records,
    })
}
