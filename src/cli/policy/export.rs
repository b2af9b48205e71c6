//! `ironward policy export`: the policies that the API server can run by itself.

use super::files::{self, PolicyDir, counted};
use crate::policy::export::export;
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Which policies.
#[derive(Debug, clap::Args)]
#[command(after_help = "Have the API server hold the rules even when no Ironward is up:\n  \
    ironward policy export | kubectl apply --server-side -f -\n\n\
    Kubernetes has no ratcheting, so the rules that ratchet are written out: each holds, or did not \
    hold before either. Unlike Ironward, the API server then says nothing about the old violation.")]
pub struct Args {
    #[command(flatten)]
    #[expect(missing_docs, reason = "the flag has its own")]
    pub policies: PolicyDir,
}

const NOT_IN_KUBERNETES: &str = " (Kubernetes has no such kind: its policies see one object, not whether another has the same key)";

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policies could not be read.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// The output could not be written.
    #[error("could not print the policies")]
    Print(#[source] io::Error),
}

/// Prints them.
pub fn run(args: &Args, out: impl Write) -> Result<(), Error> {
    let exported = export(args.policies.compile()?.documents());
    let mut text = String::new();
    if !exported.left_out.is_empty() {
        let count = counted(exported.left_out.len(), "document");
        let _ = writeln!(text, "# Left out, because only Ironward can run them: {count}.");
        for (kind, name) in &exported.left_out {
            let reason = if kind == "UniquePolicy" { NOT_IN_KUBERNETES } else { "" };
            let _ = writeln!(text, "# - {kind} {name}{reason}");
        }
    }
    for document in &exported.documents {
        text.push_str("---\n");
        text.push_str(&files::yaml(document));
    }
    files::print(&text, out).map_err(Error::Print)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Directory, File, PolicySet};

    #[test]
    fn what_is_exported_is_what_the_api_server_takes() {
        let mut out = Vec::new();
        run(&Args { policies: PolicyDir::default() }, &mut out).unwrap();
        let content = String::from_utf8(out).unwrap();
        assert!(
            content.contains("\n# - ValidatingAdmissionPolicy host-bmc-address\n"),
            "{content}"
        );
        let user = [File { name: "exported.yaml", content: &content }];
        let set =
            PolicySet::compile(&Directory { user: &user, ..Directory::default() }, &[]).unwrap();
        assert!(set.rules().count() > 0);
    }
}
