//! `ironward policy expr`: one expression or many, as the API server would see them.

use crate::policy::cel::{self, Bindings, CompileErrors, Environment, Outcome, Program, typed};
use clap::ValueEnum;
use serde_json::{Value as Json, json};
use std::{
    fs, io,
    io::{BufRead, Write},
    path::{Path, PathBuf},
};

/// An expression and what it may look at.
#[derive(Debug, clap::Args)]
#[command(after_help = "Ask about a host in a file:\n  \
    ironward policy expr 'object.spec.online && has(object.spec.bmc)' -f host.yaml\n\n\
    Ask many, one a line:\n  ironward policy expr - -f host.yaml < expressions.txt")]
pub struct Args {
    /// The expression, or `-` to read many from standard input, one a line.
    #[arg(value_name = "EXPRESSION")]
    pub expression: String,

    /// What `object` is: a YAML or JSON file.
    #[arg(short = 'f', long = "object", value_name = "FILE")]
    pub object: Option<PathBuf>,

    /// What `oldObject` is.
    #[arg(long, value_name = "FILE")]
    pub old: Option<PathBuf>,

    /// What `params` is; without it `params` is not declared.
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,

    /// What `request` is: the request of an AdmissionReview.
    #[arg(long, value_name = "FILE")]
    pub request: Option<PathBuf>,

    /// What `namespaceObject` is.
    #[arg(long, value_name = "FILE")]
    pub namespace: Option<PathBuf>,

    /// How to print what came out.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub output: Output,
}

/// How to print what came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs: a JSON object a line.
    Json,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("could not read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is neither YAML nor JSON.
    #[error("could not make sense of {path}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: Box<serde_saphyr::Error>,
    },
    /// Expressions could not be read, or answers not printed.
    #[error("could not read expressions or print answers")]
    Pipe(#[source] io::Error),
    /// Answers were printed, some of them failures.
    #[error("{failed} of {total} expressions failed")]
    Failed {
        /// How many.
        failed: usize,
        /// Of how many.
        total: usize,
    },
}

/// Answers the expression, or each line of `input`.
pub fn run(args: &Args, input: impl BufRead, mut out: impl Write) -> Result<(), Error> {
    let facts = Facts::read(args)?;
    let many = args.expression == "-";
    let expressions: Vec<String> = if many {
        let lines = input.lines().collect::<Result<Vec<_>, _>>().map_err(Error::Pipe)?;
        lines.into_iter().filter(|line| !line.trim().is_empty()).collect()
    } else {
        vec![args.expression.clone()]
    };
    let mut failed = 0;
    for expression in &expressions {
        let answer = facts.answer(expression);
        failed += usize::from(answer.is_failure());
        let text = match args.output {
            Output::Json => answer.as_json(expression).to_string(),
            Output::Text if many => format!("{expression}\n{}", indented(&answer.as_text())),
            Output::Text => answer.as_text(),
        };
        writeln!(out, "{text}").map_err(Error::Pipe)?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(Error::Failed { failed, total: expressions.len() }),
    }
}

/// What expressions may look at.
struct Facts {
    environment: Environment,
    object: Json,
    old: Json,
    params: Json,
    request: Json,
    namespace: Json,
}

impl Facts {
    fn read(args: &Args) -> Result<Self, Error> {
        let file = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(Json::Null), document);
        let environment = Environment::new();
        let environment =
            if args.params.is_some() { environment.with_params() } else { environment };
        let request = cel::shape::request(&document_or_empty(args.request.as_deref())?);
        let namespace = match &args.namespace {
            Some(path) => cel::shape::namespace(&document(path)?),
            None => Json::Null,
        };
        Ok(Self {
            environment,
            object: file(&args.object)?,
            old: file(&args.old)?,
            params: file(&args.params)?,
            request,
            namespace,
        })
    }

    fn answer(&self, expression: &str) -> Answer {
        let program = match cel::compile(expression, &self.environment, &[]) {
            Ok(program) => program,
            Err(errors) => return Answer::Refused(errors),
        };
        let bindings = Bindings::new()
            .object(&self.object)
            .old_object(&self.old)
            .params(&self.params)
            .request(&self.request)
            .namespace_object(&self.namespace);
        let outcome = program.evaluate(&bindings);
        Answer::evaluated(&program, &outcome)
    }
}

/// What there is to say of an expression.
enum Answer {
    /// It does not compile.
    Refused(CompileErrors),
    /// It was evaluated.
    Evaluated { static_type: String, result: Result<(String, Json), String>, cost: u64 },
}

impl Answer {
    fn evaluated(program: &Program, outcome: &Outcome<'_>) -> Self {
        let result = match &outcome.result {
            Ok(value) => Ok((cel::display(value), typed::json(value))),
            Err(error) => Err(error.to_string()),
        };
        let static_type = program.result_type().to_string();
        Self::Evaluated { static_type, result, cost: outcome.cost }
    }

    fn is_failure(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Evaluated { result: Err(_), .. })
    }

    fn as_text(&self) -> String {
        match self {
            Self::Refused(errors) => {
                let mut text = format!("error  {errors}");
                for meant in
                    errors.problems.iter().filter_map(|problem| problem.suggestion.as_ref())
                {
                    text.extend(["\nhelp   did you mean ", meant, "?"]);
                }
                text
            }
            Self::Evaluated { static_type, result, cost } => {
                let (title, result) = match result {
                    Ok((text, _)) => ("value", text),
                    Err(error) => ("error", error),
                };
                format!("type   {static_type}\n{title}  {result}\ncost   {cost}")
            }
        }
    }

    fn as_json(&self, expression: &str) -> Json {
        match self {
            Self::Refused(errors) => {
                let problems: Vec<_> = errors
                    .problems
                    .iter()
                    .map(|problem| {
                        json!({
                            "line": problem.line,
                            "column": problem.column,
                            "message": problem.message,
                            "suggestion": problem.suggestion,
                        })
                    })
                    .collect();
                let error = errors.to_string();
                json!({ "expression": expression, "compileError": error, "problems": problems })
            }
            Self::Evaluated { static_type, result, cost } => {
                let (name, result) = match result {
                    Ok((_, value)) => ("value", value.clone()),
                    Err(error) => ("error", json!(error)),
                };
                json!({ "expression": expression, "type": static_type, name: result, "cost": cost })
            }
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}

fn document_or_empty(path: Option<&Path>) -> Result<Json, Error> {
    path.map_or_else(|| Ok(json!({})), document)
}

fn document(path: &Path) -> Result<Json, Error> {
    let text =
        fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    serde_saphyr::from_str(&text)
        .map_err(|source| Error::Parse { path: path.to_owned(), source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const HOST: &str = "spec: { online: true, bmc: { address: ipmi://192.0.2.1 }, n: 3 }";

    fn ask(expression: &str, input: &str, output: Output) -> (Result<(), Error>, String) {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("host.yaml");
        fs::write(&host, HOST).unwrap();
        let args = Args {
            expression: expression.into(),
            object: Some(host),
            old: None,
            params: None,
            request: None,
            namespace: None,
            output,
        };
        let mut out = Vec::new();
        let done = run(&args, input.as_bytes(), &mut out);
        (done, String::from_utf8(out).unwrap())
    }

    #[rstest]
    #[case::a_value("object.spec.n + 1 == 4", "type   bool\nvalue  true\ncost   ")]
    #[case::what_is_not_known_before("object.spec.online", "type   dyn\nvalue  true\ncost   ")]
    #[case::a_failure("object.spec.missing == 1", "type   bool\nerror  no such key: missing\n")]
    #[case::a_refusal("objct.spec", "error  compilation failed: ERROR: <input>:1:1: undeclared")]
    fn an_expression_is_answered(#[case] expression: &str, #[case] begins: &str) {
        let (_, out) = ask(expression, "", Output::Text);
        assert!(out.starts_with(begins), "{out}");
    }

    #[test]
    fn what_was_probably_meant_is_said() {
        let (done, out) = ask("objct.spec", "", Output::Text);
        assert!(out.contains("\nhelp   "), "{out}");
        assert_eq!(done.unwrap_err().to_string(), "1 of 1 expressions failed");
    }

    #[test]
    fn many_are_read_one_a_line_and_all_are_answered() {
        let (done, out) = ask("-", "1 + 1\n\nobjct\n'a' + 'b'\n", Output::Json);
        let answers: Vec<Json> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers[0]["value"], json!({ "int": "2" }));
        assert_eq!(answers[1]["problems"][0]["column"], 1);
        assert_eq!(answers[2]["value"], json!({ "string": "ab" }));
        assert_eq!(done.unwrap_err().to_string(), "1 of 3 expressions failed");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = document(Path::new("no/host.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "could not read no/host.yaml");
    }
}
