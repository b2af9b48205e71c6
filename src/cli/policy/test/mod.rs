//! `ironward policy test`: the tests beside policies, run.

mod junit;
mod report;

use super::files::{self, Content, counted};
use crate::policy::{
    Kind, PolicySet, Problem, Schemas, is_policy_file, shipped,
    suite::{self, Policies, Ran, Suite},
    trial,
};
use std::{
    collections::BTreeMap,
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// What to test.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A test file is named for the policy file beside it: host.test.yaml tests the \
    policies of host.yaml, or all of the folder and the shipped ones if it says `policies: all`.\n\n\
    \x20 given:                       # what all cases begin with\n\
    \x20   object: {apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, ...}\n\
    \x20 cases:\n\
    \x20 - name: a host without a BMC is fine\n\
    \x20   object: {spec: {bmc: null}}  # merged into the given object\n\
    \x20   expect: Allow\n\
    \x20 - name: a mistyped scheme is refused\n\
    \x20   object: {spec: {bmc: {address: redfsh://192.0.2.1}}}\n\
    \x20   expect:\n\
    \x20     messages: [\"/^spec.bmc.address: `redfsh` is not a kind of BMC/\"]"
)]
pub struct Args {
    /// Folders of policies with their tests, test files, or policy files that have one beside them.
    #[arg(value_name = "DIR|FILE", required = true)]
    pub paths: Vec<PathBuf>,

    /// Also write the results as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Fail when no case makes a policy deny, warn or change something.
    #[arg(long)]
    pub require_coverage: bool,
}

/// Why tests could not be run, or did not pass.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files could not be read, or policies do not compile.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// There is nothing to run.
    #[error("no test files (*.test.yaml) in {0}")]
    Nothing(String),
    /// A test file has no policy file.
    #[error(
        "{test} tests the policies of {policy}, which is not there; name it so, or say `policies: all`"
    )]
    NoPolicies {
        /// The test file.
        test: String,
        /// The policy file.
        policy: String,
    },
    /// The results could not be written.
    #[error("could not write the results")]
    Write(#[source] io::Error),
    /// Not everything was as expected; what was not was printed.
    #[error("{0}")]
    Failed(String),
}

/// What came of a test file.
pub(super) struct Tested {
    pub file: String,
    /// The name and line of each case, and what came of it.
    pub cases: Vec<(String, usize, Ran)>,
    /// The policies that it tests.
    pub policies: Vec<String>,
}

/// Runs the tests and prints what is not as expected.
pub fn run(args: &Args, mut out: impl Write) -> Result<(), Error> {
    let (suites, untested) = find(&args.paths)?;
    if suites.is_empty() {
        let paths: Vec<_> = args.paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::Nothing(paths.join(", ")));
    }
    let schemas = trial::schemas();
    let tested =
        suites.iter().map(|path| test(path, &schemas)).collect::<Result<Vec<_>, Error>>()?;
    let mut coverage = coverage(&tested);
    for path in untested {
        let file = files::content(&path)?;
        let name = file.0.clone();
        let set = files::compile(shipped::files(), &[file])?;
        for policy in policies(&set, &[name]) {
            coverage.entry(policy).or_default();
        }
    }
    report::print(&tested, &coverage, &mut out).map_err(Error::Write)?;
    if let Some(path) = &args.junit {
        fs::write(path, junit::document(&tested)).map_err(Error::Write)?;
    }
    verdict(&tested, &coverage, args.require_coverage)
}

/// How often each policy acted in how many cases.
pub(super) type Coverage = BTreeMap<String, Covered>;

/// Of a policy: the cases that tried it, and those in which it acted.
#[derive(Debug, Default)]
pub(super) struct Covered {
    pub cases: usize,
    pub acted: usize,
}

fn verdict(tested: &[Tested], coverage: &Coverage, is_required: bool) -> Result<(), Error> {
    let failed = tested
        .iter()
        .flat_map(|file| &file.cases)
        .filter(|(_, _, ran)| !ran.failures.is_empty())
        .count();
    let uncovered = coverage.values().filter(|covered| covered.acted == 0).count();
    let mut what = Vec::new();
    if failed > 0 {
        what.push(format!("{} failed", counted(failed, "case")));
    }
    if is_required && uncovered > 0 {
        let which = if uncovered == 1 { "policy is" } else { "policies are" };
        what.push(format!("{uncovered} {which} never seen to act"));
    }
    if what.is_empty() { Ok(()) } else { Err(Error::Failed(what.join(", "))) }
}

/// The test files, and the policy files that have none.
fn find(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Error> {
    let (mut suites, mut untested) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            suites.extend(files::of_folder(path, suite::is_suite_file)?);
            let alone = files::of_folder(path, is_policy_file)?;
            untested.extend(alone.into_iter().filter(|policy| beside(policy).is_none()));
        } else if path.file_name().is_some_and(|name| suite::is_suite_file(&name.to_string_lossy()))
        {
            suites.push(path.clone());
        } else {
            match beside(path) {
                Some(test) => suites.push(test),
                None => untested.push(path.clone()),
            }
        }
    }
    Ok((suites, untested))
}

/// The test file of a policy file.
fn beside(policy: &Path) -> Option<PathBuf> {
    ["test.yaml", "test.yml", "test.json"]
        .into_iter()
        .map(|ending| policy.with_extension(ending))
        .find(|test| test.is_file())
}

/// The policy file of a test file.
fn policy_file(test: &Path) -> Option<PathBuf> {
    let name = test.file_name()?.to_string_lossy();
    let stem = suite::policy_file(&name)?;
    ["yaml", "yml", "json"]
        .into_iter()
        .map(|ending| test.with_file_name(format!("{stem}.{ending}")))
        .find(|policy| policy.is_file())
}

fn test(path: &Path, schemas: &Schemas) -> Result<Tested, Error> {
    let (file, content) = files::content(path)?;
    let suite = suite::read(&file, &content).map_err(|it| Error::Files(problems(it)))?;
    let (set, own) = policies_of(path, &suite)?;
    let cases = suite
        .cases
        .iter()
        .map(|case| (case.name.clone(), case.line, case.run(&set, schemas)))
        .collect();
    Ok(Tested { file, cases, policies: policies(&set, &own) })
}

fn problems(problems: Vec<Problem>) -> files::Error {
    files::Error::Problems(problems)
}

/// The policies to try, and the names of the files whose policies are tested thereby.
fn policies_of(path: &Path, suite: &Suite) -> Result<(PolicySet, Vec<String>), Error> {
    match suite.policies {
        Policies::All => {
            let folder = path.parent().unwrap_or_else(|| Path::new("."));
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let paths = files::of_folder(folder, is_policy_file)?;
            let beside: Vec<Content> =
                paths.iter().map(|path| files::content(path)).collect::<Result<_, _>>()?;
            let names = beside.iter().map(|(name, _)| name.clone()).collect();
            Ok((files::compile(shipped::files(), &beside)?, names))
        }
        Policies::Own => {
            let policy = policy_file(path).ok_or_else(|| Error::NoPolicies {
                test: path.display().to_string(),
                policy: path.display().to_string().replacen(".test.", ".", 1),
            })?;
            let file = files::content(&policy)?;
            let name = file.0.clone();
            // A file that binds shipped policies anew has its policies elsewhere.
            let alone = files::compile(&[], std::slice::from_ref(&file));
            let set = alone.or_else(|error| {
                files::compile(shipped::files(), std::slice::from_ref(&file)).map_err(|_| error)
            })?;
            Ok((set, vec![name]))
        }
    }
}

/// The policies of a set that come from these files.
fn policies(set: &PolicySet, files: &[String]) -> Vec<String> {
    set.documents()
        .iter()
        .filter(|document| {
            matches!(
                document.kind(),
                Kind::ValidatingAdmissionPolicy
                    | Kind::MutatingAdmissionPolicy
                    | Kind::UniquePolicy
            )
        })
        .filter(|document| files.contains(&document.file))
        .map(|document| document.metadata.name.clone())
        .collect()
}

/// A policy counts where it is tested; the shipped ones that are tried along do not.
fn coverage(tested: &[Tested]) -> Coverage {
    let mut coverage = Coverage::new();
    for file in tested {
        for policy in &file.policies {
            let acted = |ran: &Ran| ran.acted.contains(policy);
            let covered = coverage.entry(policy.clone()).or_default();
            covered.cases += file.cases.len();
            covered.acted += file.cases.iter().filter(|(_, _, ran)| acted(ran)).count();
        }
    }
    coverage
}

#[cfg(test)]
mod tests;
