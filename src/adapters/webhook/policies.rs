//! The policies in force: those that we ship, with the user's in their place. The directory is read
//! again on a timer; a set with a mistake in it is refused as a whole, and the last good one stays.

use std::{collections::BTreeMap, fs, io, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use tokio::sync::watch;

use crate::policy::{File, PolicySet, is_policy_file, shipped};

const EVERY: Duration = Duration::from_secs(5);

/// What is in force, and what is wrong with what should be.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The last set without a mistake.
    pub policies: Arc<PolicySet>,
    /// Why the files are not in force as they are now.
    pub refused: Option<String>,
    /// How often the policies have changed.
    pub generation: u64,
}

type Texts = BTreeMap<String, String>;

/// A directory of policies, and what is in force of it.
#[derive(Debug)]
pub struct Policies {
    directory: Option<PathBuf>,
    seen: Result<Texts, String>,
    publish: watch::Sender<InForce>,
}

impl Policies {
    /// Reads them for the first time, when a mistake can still be said to whoever starts us.
    pub fn load(directory: Option<PathBuf>) -> Result<Self> {
        let texts = match &directory {
            None => Texts::new(),
            Some(path) => read(path).with_context(|| {
                format!("could not read the policies in {} (--policy-dir)", path.display())
            })?,
        };
        let policies = match compile(&texts) {
            Ok(policies) => Arc::new(policies),
            Err(problems) => bail!("the policies cannot be used\n{problems}"),
        };
        let in_force = InForce { policies, refused: None, generation: 1 };
        Ok(Self { directory, seen: Ok(texts), publish: watch::Sender::new(in_force) })
    }

    /// What is in force, now and later.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<InForce> {
        self.publish.subscribe()
    }

    /// Keeps them current for as long as it runs.
    pub async fn keep_current(mut self) {
        let Some(directory) = self.directory.clone() else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(EVERY).await;
            let found = read(&directory)
                .map_err(|error| format!("could not read {}: {error}", directory.display()));
            if found != self.seen {
                self.take(&found);
                self.seen = found;
            }
        }
    }

    fn take(&self, found: &Result<Texts, String>) {
        let compiled = found.as_ref().map_err(Clone::clone).and_then(compile);
        self.publish.send_modify(|in_force| match compiled {
            Ok(policies) => {
                *in_force = InForce {
                    policies: Arc::new(policies),
                    refused: None,
                    generation: in_force.generation + 1,
                };
                tracing::info!(generation = in_force.generation, "new policies are in force");
            }
            Err(problems) => {
                tracing::error!(
                    "the new policies are not used; the last good ones stay\n{problems}"
                );
                in_force.refused = Some(problems);
            }
        });
    }
}

fn read(directory: &std::path::Path) -> io::Result<Texts> {
    let mut texts = Texts::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // A mounted ConfigMap has folders and links of the kubelet's, whose names begin with a dot.
        if !name.starts_with('.') && is_policy_file(&name) && entry.path().is_file() {
            texts.insert(name, fs::read_to_string(entry.path())?);
        }
    }
    Ok(texts)
}

fn compile(texts: &Texts) -> Result<PolicySet, String> {
    let user: Vec<_> = texts.iter().map(|(name, content)| File { name, content }).collect();
    shipped::with(&user).map_err(|problems| {
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        texts.join("\n")
    })
}
