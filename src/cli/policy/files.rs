//! Where policies come from: the files that people name, in front of those that Ironward ships.

use crate::policy::{Directory, File, PolicySet, Problem, extensions, is_policy_file, shipped};
use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// The flag of every command that works with the whole set.
#[derive(Debug, Default, clap::Args)]
pub struct PolicyDir {
    /// Folders of policy files, or single files, that replace shipped policies and bindings of the
    /// same name and come beside the others.
    #[arg(long = "policy-dir", value_name = "DIR")]
    pub policy_dir: Vec<PathBuf>,
}

/// Why policies could not be read, or should not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder or file could not be read.
    #[error("could not read {path}")]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing to check.
    #[error("no policy files (.yaml, .yml or .json) in {0}")]
    Nothing(String),
    /// The files have problems.
    #[error("{}", listed(.0))]
    Problems(Vec<Problem>),
}

/// A file that was read: the name under which a person asked for it, and what is in it.
pub type Content = (String, String);

impl PolicyDir {
    /// The set that admission would have with these folders.
    pub fn compile(&self) -> Result<PolicySet, Error> {
        let files = if self.policy_dir.is_empty() { Vec::new() } else { read(&self.policy_dir)? };
        compile(shipped::files(), &files)
    }
}

/// Compiles files in front of others.
pub fn compile(embedded: &[File<'_>], files: &[Content]) -> Result<PolicySet, Error> {
    let user = borrowed(files);
    PolicySet::compile(&Directory { embedded, user: &user }, &extensions()).map_err(Error::Problems)
}

/// The files as the engine takes them.
#[must_use]
pub fn borrowed(files: &[Content]) -> Vec<File<'_>> {
    files.iter().map(|(name, content)| File { name, content }).collect()
}

/// The policy files of folders, and single files.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Content>, Error> {
    let mut files = Vec::new();
    for path in paths {
        let found =
            if path.is_dir() { of_folder(path, is_policy_file)? } else { vec![path.clone()] };
        for file in found {
            files.push(content(&file)?);
        }
    }
    if files.is_empty() {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::Nothing(paths.join(", ")));
    }
    Ok(files)
}

/// One file.
pub fn content(path: &Path) -> Result<Content, Error> {
    let content = fs::read_to_string(path).map_err(at(path))?;
    Ok((path.display().to_string(), content))
}

/// The files of a folder, none of its subfolders, whose names are of the wanted kind, sorted.
pub fn of_folder(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let is_wanted = path.file_name().is_some_and(|name| wanted(&name.to_string_lossy()));
        if path.is_file() && is_wanted {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// `1 file`, `2 files`.
#[must_use]
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn listed(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("{}\n\n{}", texts.join("\n\n"), counted(problems.len(), "problem"))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Read { path: path.to_owned(), source }
}

/// Prints a text; whoever reads it may stop early, as `head` does.
pub fn print(text: &str, mut out: impl Write) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A document as YAML.
#[must_use]
pub fn yaml(value: &serde_json::Value) -> String {
    // What is no YAML for some reason is still JSON, which YAML includes.
    let text = serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string());
    // Blank lines of a block of text come indented, which no editor leaves alone.
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}
