//! `ironward policy check`: every problem of every file at once, each with its place.

use super::files::{self, counted};
use crate::policy::{Directory, PolicySet, extensions};
use std::{io, io::Write, path::PathBuf};

/// What to check.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The rules are those of the API server: what it would refuse to store is refused \
    here, in its words. A folder is read as Kubernetes reads static manifests: its .yaml, .yml and \
    .json files, sorted by name, none of its subfolders."
)]
pub struct Args {
    /// Folders of policy files, or single files.
    #[arg(value_name = "DIR", required = true)]
    pub paths: Vec<PathBuf>,
}

/// Why policies could not be checked, or should not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files could not be read.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// The files have problems, which were printed.
    #[error("{0}")]
    Problems(String),
    /// The findings could not be printed.
    #[error("could not print the findings")]
    Print(#[source] io::Error),
}

/// Checks the files and prints what is wrong with them.
pub fn run(args: &Args, mut out: impl Write) -> Result<(), Error> {
    let files = files::read(&args.paths)?;
    match PolicySet::compile(
        &Directory { embedded: &[], user: &files::borrowed(&files) },
        &extensions(),
    ) {
        Ok(set) => {
            writeln!(out, "{} in {}: no problems", documents(&set), counted(files.len(), "file"))
                .map_err(Error::Print)
        }
        Err(problems) => {
            for problem in &problems {
                writeln!(out, "{problem}\n").map_err(Error::Print)?;
            }
            let (problems, files) = (problems.len(), files.len());
            let summary = format!("{} in {}", counted(problems, "problem"), counted(files, "file"));
            Err(Error::Problems(summary))
        }
    }
}

fn documents(set: &PolicySet) -> String {
    counted(set.documents().len(), "document")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const GOOD: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: online }
spec:
  matchConstraints:
    resourceRules:
    - { apiGroups: [metal3.io], apiVersions: [v1alpha1], operations: [CREATE], resources: [baremetalhosts] }
  validations:
  - expression: object.spec.online == true
";

    fn checked(files: &[(&str, &str)]) -> (Result<(), Error>, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let mut out = Vec::new();
        let done = run(&Args { paths: vec![folder.path().to_owned()] }, &mut out);
        (done, String::from_utf8(out).unwrap())
    }

    #[test]
    fn good_files_are_counted() {
        let (done, out) = checked(&[("online.yaml", GOOD), ("notes.txt", "not a policy")]);
        assert!(done.is_ok());
        assert_eq!(out, "1 document in 1 file: no problems\n");
    }

    #[test]
    fn all_problems_of_all_files_are_said_with_their_place() {
        let misspelt = GOOD.replace("object.spec.online == true", "objct.spec.online == true");
        let unknown = GOOD.replace("validations:", "validatoins:");
        let (done, out) = checked(&[("a.yaml", &misspelt), ("b.yaml", &unknown)]);
        assert!(done.unwrap_err().to_string().ends_with(" in 2 files"));
        assert!(out.contains("a.yaml:10:17: spec.validations[0].expression: "), "{out}");
        assert!(out.contains("undeclared reference to 'objct'"), "{out}");
        assert!(out.contains("validatoins"), "{out}");
    }

    #[test]
    fn a_folder_without_policies_is_an_error() {
        let (done, _) = checked(&[]);
        assert!(done.unwrap_err().to_string().starts_with("no policy files"));
    }
}
