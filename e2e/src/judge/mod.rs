//! The API server as judge: what Kubernetes' own policies say to a case, and whether our engine says the same.
//!
//! A case (`policy-cases/*.yaml`, explained in `policy-cases/README.md`) holds policies and requests and no
//! expectation. [`recorder`] puts both to a real kube-apiserver and writes down what it says; the
//! recordings are committed, so that [`engine`] can be compared with them where no API server is.

mod asking;
pub mod audit;
mod canary;
pub mod case;
mod chance;
pub mod engine;
pub mod kind;
mod layout;
pub mod recorder;
pub mod recording;
mod spelling;
mod stage;
pub mod wire;
mod written;

use anyhow::{Context, Result};
use case::Topic;
use recording::Recordings;
use std::{
    fs,
    path::{Path, PathBuf},
};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/policy-cases");

/// All topics, by the names of their files.
pub fn topics() -> Result<Vec<Topic>> {
    let mut topics = Vec::new();
    for path in files(Path::new(CASES), "yaml")? {
        if path.file_stem().is_some_and(|name| name != "kinds") {
            topics.push(Topic::read(&path)?);
        }
    }
    case::check_ids(&topics)?;
    Ok(topics)
}

/// All recordings that are committed, by the names of their files.
pub fn recordings() -> Result<Vec<Recordings>> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path)?;
        serde_json::from_str(&text).with_context(|| format!("{} is no recording", path.display()))
    };
    files(&Path::new(CASES).join("recorded"), "json")?.into_iter().map(read).collect()
}

/// Writes recordings over those that are committed; a topic that is no more loses its file.
pub fn write(recordings: &[Recordings]) -> Result<()> {
    let folder = Path::new(CASES).join("recorded");
    fs::create_dir_all(&folder)?;
    for path in files(&folder, "json")? {
        fs::remove_file(path)?;
    }
    for topic in recordings {
        let value = serde_json::to_value(topic).context("a recording is no JSON")?;
        let text = layout::lines(&value) + "\n";
        fs::write(folder.join(format!("{}.json", topic.topic)), text)?;
    }
    Ok(())
}

/// The definitions of the kinds that are not Kubernetes' own.
pub fn kinds() -> Result<Vec<serde_json::Value>> {
    let text = fs::read_to_string(Path::new(CASES).join("kinds.yaml"))?;
    serde_saphyr::from_multiple(&text).context("kinds.yaml is no YAML")
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("could not read the folder {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    paths.sort();
    Ok(paths)
}
