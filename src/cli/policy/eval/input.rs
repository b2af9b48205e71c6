//! The manifests that a person names, read as kubectl does with `-R`.

use super::Error;
use crate::{
    cli::policy::files,
    policy::manifest::{self, Manifest},
};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// An object, and where it was read.
#[derive(Debug)]
pub(super) struct Source {
    pub file: String,
    pub line: usize,
    pub object: Value,
}

impl Source {
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    pub(super) fn is_the_same(&self, other: &Self, namespace: &str) -> bool {
        let of = |source: &Self| {
            let metadata = &source.object["metadata"];
            let text = |value: &Value| value.as_str().map(str::to_owned);
            // The version may have changed in between.
            let api_version = text(&source.object["apiVersion"]).unwrap_or_default();
            let group = api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
            let placed = text(&metadata["namespace"]).unwrap_or_else(|| namespace.to_owned());
            (group, text(&source.object["kind"]), placed, text(&metadata["name"]))
        };
        of(self) == of(other)
    }
}

/// The objects, and the places of what is none.
pub(super) fn read(
    paths: &[PathBuf],
    stdin: &mut impl Read,
) -> Result<(Vec<Source>, Vec<String>), Error> {
    let (mut sources, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        let contents = if path.as_os_str() == "-" {
            let mut content = String::new();
            stdin.read_to_string(&mut content).map_err(Error::Input)?;
            vec![("-".to_owned(), content)]
        } else {
            let mut found = Vec::new();
            collect(path, true, &mut found)?;
            found.iter().map(|path| files::content(path)).collect::<Result<_, _>>()?
        };
        for (file, content) in contents {
            let read = manifest::read(&file, &content).map_err(files::Error::Problems)?;
            for manifest in read {
                match manifest {
                    Manifest::Object { place, value } => {
                        sources.push(Source {
                            file: file.clone(),
                            line: place.line,
                            object: value,
                        });
                    }
                    Manifest::Other { place } => others.push(format!("{file}:{}", place.line)),
                }
            }
        }
    }
    Ok((sources, others))
}

/// A file that was named is taken as it is; of a folder, what kubectl takes.
fn collect(path: &Path, is_named: bool, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| files::Error::Read { path: path.to_owned(), source };
    if path.is_dir() {
        let mut entries = fs::read_dir(path)
            .and_then(|entries| {
                entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>()
            })
            .map_err(failed)?;
        entries.sort();
        for entry in entries {
            collect(&entry, false, found)?;
        }
    } else if is_named || is_manifest(path) {
        found.push(path.to_owned());
    }
    Ok(())
}

fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    ending.is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json")
}
