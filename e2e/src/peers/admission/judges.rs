//! Those who judge: each is started for the hosts with its label, and all of them are there at one time.

use super::Contender;
use crate::{
    control_plane::ControlPlane,
    ironward::{Ironward, Options},
    load::Process,
    manager, operators,
    peers::{
        accepting::{self, Accepting},
        engine::{self, Engine, Probe, Rules, narrow},
        gatekeeper, kyverno,
    },
    process_group,
};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Whoever judges now.
pub(super) struct Judge {
    pub contender: Contender,
    rules: Rules,
    ready_after: Option<Duration>,
    who: Who,
}

/// Where it is found.
enum Who {
    /// Nobody judges, or the API server itself.
    NoProcess,
    /// Here: it ends with the value.
    Here {
        _webhook: Accepting,
    },
    Engine(Engine),
}

impl Judge {
    /// Its process, and where it is asked directly.
    pub(super) fn engine(&self) -> Option<(Process, &str)> {
        match &self.who {
            Who::Engine(engine) => Some((Process::of(engine.process.id()), &engine.url)),
            Who::NoProcess | Who::Here { .. } => None,
        }
    }

    /// From its start until it refused something, in seconds.
    pub(super) fn ready(&self) -> Option<f64> {
        self.ready_after.map(|it| it.as_secs_f64())
    }
}

/// Where they are started.
pub(super) struct Bench {
    pub plane: ControlPlane,
    probe: Probe,
    profile: String,
    kubeconfig: PathBuf,
}

impl Bench {
    pub(super) fn new(plane: ControlPlane, profile: &str) -> Result<Self> {
        let (probe, kubeconfig) = (Probe::new(&plane)?, plane.own_kubeconfig()?);
        Ok(Self { plane, probe, profile: profile.to_owned(), kubeconfig })
    }

    /// Starts one, and waits until it judges.
    pub(super) fn start(&self, contender: Contender) -> Result<Judge> {
        let rules = Rules::of(contender.label())?;
        let engine = match contender {
            Contender::Nothing => {
                return Ok(Judge { contender, rules, ready_after: None, who: Who::NoProcess });
            }
            Contender::Accepting => {
                let who = Who::Here { _webhook: accepting::start(&self.plane, &rules)? };
                return Ok(Judge { contender, rules, ready_after: None, who });
            }
            Contender::InTree => {
                let begun = Instant::now();
                let apply = ["apply", "--server-side", "--filename", "-"];
                self.plane.kubectl().expect_with_input(&apply, &rules.text())?;
                self.until_refused(&rules, None)?;
                let (ready_after, who) = (Some(begun.elapsed()), Who::NoProcess);
                return Ok(Judge { contender, rules, ready_after, who });
            }
            Contender::Ironward | Contender::Shipped => self.start_ironward(contender, &rules)?,
            Contender::Kyverno => kyverno::start(&self.plane, &rules)?,
            Contender::Gatekeeper => gatekeeper::start(&self.plane, &rules)?,
            Contender::BaremetalOperator => {
                let begun = Instant::now();
                let operator = operators::baremetal_operator(&self.plane)?;
                self.narrow_baremetal_operator()?;
                self.judging(&rules, operator.process, operators::host_webhook(), begun)?
            }
        };
        let ready_after = Some(engine.ready_after);
        Ok(Judge { contender, rules, ready_after, who: Who::Engine(engine) })
    }

    fn start_ironward(&self, contender: Contender, rules: &Rules) -> Result<Engine> {
        let folder = self.plane.dir().join(contender.label());
        if !folder.exists() {
            fs::create_dir(&folder)?;
            fs::write(folder.join("rules.yaml"), rules.text())?;
            replace_shipped(&folder, contender)?;
        }
        let options = Options {
            policy_dir: Some(folder),
            profile: Some(self.profile.clone()),
            kubeconfig: Some(self.kubeconfig.clone()),
            // There are two of them.
            flags: vec![format!("--registration-name={}", contender.label())],
            ..Options::default()
        };
        let begun = Instant::now();
        let ironward = Ironward::start_with(&self.plane, &options)?;
        let url = format!("{}/validate", ironward.webhook);
        self.judging(rules, ironward.process, url, begun)
    }

    /// Has baremetal-operator asked about the hosts alone that it is to judge.
    fn narrow_baremetal_operator(&self) -> Result<()> {
        let mut narrowed = Vec::new();
        for mut object in self.webhook_configurations()? {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if !name.starts_with("baremetal-operator") {
                continue;
            }
            object["metadata"] = json!({"name": name});
            for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                webhook["objectSelector"] = engine::selector(Contender::BaremetalOperator.label());
            }
            narrowed.push(object);
        }
        ensure!(!narrowed.is_empty(), "baremetal-operator has told the API server of nothing");
        manager::apply(&self.plane, &narrowed)
    }

    /// Whoever has just been started, once it judges.
    fn judging(
        &self,
        rules: &Rules,
        process: process_group::Process,
        url: String,
        begun: Instant,
    ) -> Result<Engine> {
        let refused = self.until_refused(rules, Some(&process));
        let engine = Engine { process, url, ready_after: begun.elapsed() };
        if let Err(error) = refused {
            let words = engine.process.log_tail();
            engine.end()?;
            return Err(error.context(words));
        }
        Ok(engine)
    }

    /// Waits until a bad host is refused by whoever judges, and not because nobody was reached.
    fn until_refused(&self, rules: &Rules, process: Option<&process_group::Process>) -> Result<()> {
        let end = Instant::now() + Duration::from_mins(2);
        loop {
            let refusal = self.probe.refusal(rules.bad_host())?;
            if refusal.is_some_and(|it| !it.contains("calling webhook")) {
                return Ok(());
            }
            if let Some(status) = process.and_then(process_group::Process::exit_status) {
                bail!("it ended: {status}");
            }
            if Instant::now() > end {
                bail!("bad hosts are not refused");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn webhook_configurations(&self) -> Result<Vec<Value>> {
        let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        let found = self.plane.kubectl().expect(&["get", kinds, "--output", "json"])?;
        let found: Value = serde_json::from_str(&found)?;
        Ok(found["items"].as_array().cloned().unwrap_or_default())
    }

    /// Makes sure that nobody is asked about the hosts of others, who would pay for that.
    pub(super) fn ensure_apart(&self, judges: &[Judge]) -> Result<()> {
        let selectors: Vec<_> = judges.iter().map(|it| it.rules.selector()).collect();
        let found = self.webhook_configurations()?;
        let webhooks = found.iter().filter_map(|it| it["webhooks"].as_array()).flatten();
        for webhook in webhooks.filter(|it| it["rules"].to_string().contains("baremetalhosts")) {
            ensure!(
                selectors.contains(&&webhook["objectSelector"]),
                "{} is asked about the hosts of others: {}",
                webhook["name"],
                webhook["objectSelector"]
            );
        }
        Ok(())
    }

    /// Ends all of them, and leaves nobody who judges.
    pub(super) fn end(&self, judges: Vec<Judge>) -> Result<()> {
        let mut rules = Vec::new();
        for judge in judges {
            match (judge.contender, judge.who) {
                (Contender::Kyverno, Who::Engine(engine)) => {
                    kyverno::remove(&self.plane, &judge.rules, engine)?;
                }
                (Contender::Gatekeeper, Who::Engine(engine)) => {
                    gatekeeper::remove(&self.plane, &judge.rules, engine)?;
                }
                (_, Who::Engine(engine)) => engine.end()?,
                (_, Who::NoProcess | Who::Here { .. }) => {}
            }
            rules.push(judge.rules);
        }
        let kubectl = self.plane.kubectl();
        for kind in [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ] {
            kubectl.expect(&["delete", kind, "--all"])?;
        }
        rules.iter().try_for_each(|rules| self.probe.wait_until_accepted(rules))
    }
}

/// Puts policies of the same names in the place of the shipped ones: about the hosts alone that Ironward is to judge with all that it
/// ships, or about nothing there is, for whoever is to judge by the rules and no others.
fn replace_shipped(folder: &Path, contender: Contender) -> Result<()> {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../policies"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".test.yaml") {
            continue;
        }
        let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(&path)?)?;
        for (number, mut document) in documents.into_iter().enumerate() {
            if document.pointer("/spec/matchConstraints").is_none() {
                continue;
            }
            if contender == Contender::Shipped {
                narrow(&mut document, contender.label());
            } else if document["kind"] == "UniquePolicy" {
                // Nothing is unique.
                narrow(&mut document, contender.label());
                document["spec"]["key"] = "''".into();
            } else {
                document["spec"]["matchConstraints"] = json!({"resourceRules": [{
                    "apiGroups": ["nothing.ironward.dev"], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": ["nothings"],
                }]});
            }
            let file = folder.join(format!("{name}-{number}.json"));
            fs::write(&file, document.to_string())
                .with_context(|| format!("could not write {}", file.display()))?;
        }
    }
    Ok(())
}
