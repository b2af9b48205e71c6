//! `cargo metadata-load`: what a pool of nodes with metadata costs: first all of them, then one edit of the templates, then one machine that is replaced.

use anyhow::{Result, ensure};
use clap::Parser;
use ironward_e2e::{
    at_once::at_once,
    cluster,
    control_plane::ControlPlane,
    fleet,
    ironward::{Ironward, Options},
    kubectl::Kubectl,
    load::Process,
    progress::{Progress, say},
};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Measures the controller of metadata.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many nodes the pool has.
    #[arg(long, default_value_t = 2000)]
    nodes: usize,
    /// How many keys the metadata has.
    #[arg(long, default_value_t = 10)]
    keys: usize,
    /// How long to wait until all is done, in minutes.
    #[arg(long, default_value_t = 30)]
    patience: u64,
    /// Which of cargo's profiles Ironward is built with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// What cargo tells every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Objects that one kubectl is given.
const PORTION: usize = 250;
const LOOK: Duration = Duration::from_secs(1);
const KINDS: [&str; 6] =
    ["Metadata", "Status", "SecretCreated", "SecretChanged", "SecretDeleted", "Machine"];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let plane = ControlPlane::start()?;
    cluster::install_kinds(&plane)?;
    let kubectl = plane.kubectl().in_namespace("default");
    let options = Options {
        profile: Some(arguments.profile.clone()),
        flags: vec!["--controllers=metadata".to_owned()],
        ..Options::default()
    };
    let ironward = Ironward::start_with(&plane, &options)?;
    ironward.wait_until_ready()?;
    ironward.wait_until_in_force(&plane)?;
    let scene = Scene { process: Process::of(ironward.process.id()), arguments, kubectl, ironward };

    let templates = (0..scene.arguments.keys)
        .map(|key| (format!("key-{key}"), json!("worker-np1-{{ getIndex }}")));
    let templates: Value = Value::Object(templates.collect());
    let begun = scene.begin()?;
    let progress = Progress::start(&format!("creating {} machines", scene.arguments.nodes));
    scene.create(&[json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Metadata",
        "metadata": {"name": "pool"}, "spec": {"metaData": templates},
    })])?;
    let machines: Vec<_> =
        (0..scene.arguments.nodes).map(|it| machine(&format!("m-{it}"))).collect();
    let portions: Vec<_> = machines.chunks(PORTION).collect();
    at_once(&portions, |portion| scene.create(portion))?;
    progress.done();
    let created = begun.at.elapsed();
    scene.until_settled(1)?;
    say(&format!("created in {:.0} s", created.as_secs_f64()));
    scene.report("all have metadata", &begun)?;

    let begun = scene.begin()?;
    let patch = r#"{"spec": {"metaData": {"rack": "r{{ getIndexWithOffset 7 }}"}}}"#;
    let edit = ["patch", "metal3metadata", "pool", "--type=merge", "--patch", patch];
    scene.kubectl.expect(&edit)?;
    scene.until_settled(2)?;
    scene.report("one edit of the templates", &begun)?;

    let begun = scene.begin()?;
    scene.kubectl.expect(&["delete", "metal3machine", "m-0"])?;
    scene.create(&[machine("m-new")])?;
    scene.until_settled(2)?;
    scene.report("one machine replaced", &begun)
}

struct Scene {
    arguments: Arguments,
    kubectl: Kubectl,
    ironward: Ironward,
    process: Process,
}

/// What was there when something began.
struct Begun {
    at: Instant,
    writes: Vec<f64>,
    cpu: Duration,
}

impl Scene {
    fn create(&self, objects: &[Value]) -> Result<()> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        self.kubectl.expect_with_input(&["create", "--filename", "-"], &list).map(drop)
    }

    fn begin(&self) -> Result<Begun> {
        Ok(Begun { at: Instant::now(), writes: self.writes()?, cpu: self.process.cpu()? })
    }

    fn writes(&self) -> Result<Vec<f64>> {
        let count = |kind: &&str| {
            let metric = format!("ironward_metadata_writes_total{{what=\"{kind}\"}}");
            fleet::counted(&self.ironward, &metric)
        };
        KINDS.iter().map(count).collect()
    }

    /// Until every machine has a Secret by the templates of a generation.
    fn until_settled(&self, generation: u64) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(self.arguments.patience * 60);
        let path = "jsonpath={.status.observedGeneration} {.status.conditions[0].message}";
        let expected =
            format!("{generation} {} Secrets are as the templates say", self.arguments.nodes);
        loop {
            let seen = self.kubectl.expect(&["get", "metal3metadata", "pool", "--output", path])?;
            let given = "jsonpath={.items[*].spec.metaData.dataSecret.name}";
            if seen == expected {
                let given = self.kubectl.expect(&["get", "metal3machines", "--output", given])?;
                if given.split_whitespace().count() == self.arguments.nodes {
                    return Ok(());
                }
            }
            ensure!(Instant::now() < end, "it has not come about: {seen}");
            thread::sleep(LOOK);
        }
    }

    fn report(&self, what: &str, begun: &Begun) -> Result<()> {
        let took = begun.at.elapsed();
        let writes = self.writes()?;
        let writes = KINDS.iter().zip(writes.iter().zip(&begun.writes));
        let writes: Vec<_> = writes
            .map(|(kind, (after, before))| (kind, after - before))
            .filter(|it| it.1 > 0.0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        say(&format!(
            "{what}: {:.1} s, {:.1} s of CPU, {:.1} MiB of memory at most; writes: {}",
            took.as_secs_f64(),
            self.process.cpu()?.saturating_sub(begun.cpu).as_secs_f64(),
            self.process.peak_memory()?,
            writes.join(", "),
        ));
        Ok(())
    }
}

fn machine(name: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
        "metadata": {"name": name},
        "spec": {
            "image": {"url": "http://192.0.2.200/image.qcow2", "checksum": "http://192.0.2.200/SUMS"},
            "metaData": {"configRef": {"name": "pool"}},
        },
    })
}
