//! The map of the code, enforced: a pure folder that gains I/O, or an arrow that turns round, fails here.

use std::{fs, path::Path};

/// A part of `src`, and what no line of it may say.
struct Layer {
    folder: &'static str,
    forbidden: &'static [(&'static str, &'static str)],
}

const IO: [(&str, &str); 9] = [
    ("async ", "a decision is made at once, from facts"),
    (".await", "a decision is made at once, from facts"),
    ("tokio", "a decision is made at once, from facts"),
    ("kube::Client", "talking to the API server is for src/adapters"),
    ("kube::Api", "talking to the API server is for src/adapters"),
    ("reqwest", "talking to Ironic is for src/adapters"),
    ("std::fs", "files are for src/adapters and src/cli"),
    ("::now()", "time is a fact that a decision is given"),
    ("std::env", "settings come from src/cli"),
];

const LAYERS: [Layer; 12] = [
    Layer {
        folder: "src/domain",
        forbidden: &[
            ("kube::", "what is true of bare metal is true without Kubernetes"),
            ("k8s_openapi", "what is true of bare metal is true without Kubernetes"),
            ("crate::api", "api uses domain, not the other way round"),
            ("crate::adapters", "adapters use domain, not the other way round"),
        ],
    },
    Layer {
        folder: "src/api",
        forbidden: &[("crate::adapters", "adapters use api, not the other way round")],
    },
    Layer {
        folder: "src/policy",
        forbidden: &[
            ("crate::adapters", "adapters use policy, not the other way round"),
            ("crate::admission", "admission uses policy, not the other way round"),
        ],
    },
    Layer {
        folder: "src/admission",
        forbidden: &[("crate::adapters", "adapters use admission, not the other way round")],
    },
    Layer {
        folder: "src/controllers",
        forbidden: &[
            (
                "crate::policy",
                "what is admitted and what is done about it share domain and api only",
            ),
            (
                "crate::admission",
                "what is admitted and what is done about it share domain and api only",
            ),
            ("crate::adapters", "adapters use controllers, not the other way round"),
        ],
    },
    Layer {
        folder: "src/uniqueness",
        forbidden: &[
            ("crate::policy", "policies say what is unique, claims do not ask why"),
            ("crate::admission", "admission uses claims, not the other way round"),
            ("crate::adapters", "adapters use claims, not the other way round"),
        ],
    },
    Layer {
        folder: "src/certificates",
        forbidden: &[
            ("crate::admission", "certificates do not ask what they are for"),
            ("crate::adapters", "adapters use certificates, not the other way round"),
        ],
    },
    Layer {
        folder: "src/fleet",
        forbidden: &[("crate::adapters", "adapters use the overview, not the other way round")],
    },
    Layer {
        folder: "src/page",
        forbidden: &[(
            "crate::adapters",
            "adapters show what is to be shown, not the other way round",
        )],
    },
    Layer {
        folder: "src/doctor",
        forbidden: &[("crate::adapters", "adapters gather facts, findings do not ask for more")],
    },
    Layer {
        folder: "src/ironic",
        forbidden: &[
            ("kube::", "Ironic knows nothing of Kubernetes"),
            (
                "crate::policy",
                "what is admitted and what is done about it share domain and api only",
            ),
            ("crate::adapters", "adapters use what Ironic is asked, not the other way round"),
        ],
    },
    Layer {
        folder: "src/template",
        forbidden: &[
            ("kube::", "templates know text and values, not Kubernetes"),
            ("crate::api", "what a template shows of an object is its caller's choice"),
            ("crate::policy", "templates and policies do not use each other"),
            ("crate::adapters", "adapters use templates, not the other way round"),
        ],
    },
];

#[test]
fn pure_folders_stay_pure() {
    let mut found = Vec::new();
    for layer in LAYERS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(layer.folder);
        let files = rust_files(&root);
        assert!(!files.is_empty(), "{} holds no code: is the map out of date?", layer.folder);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            found.extend(
                violations(&layer, &text)
                    .into_iter()
                    .map(|violation| format!("{}:{violation}", file.display())),
            );
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_pure_file_that_gains_io_is_found() {
    let [domain, ..] = &LAYERS;
    let text = "//! No async here.\n/// Not tokio either.\npub async fn decide() {\n    kube::Client::try_default().await\n}\n";
    let lines: Vec<_> = violations(domain, text);
    assert!(lines[0].starts_with("3: `async `"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("4: `kube::Client`")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with('1') || line.starts_with('2')), "{lines:?}");
}

fn violations(layer: &Layer, text: &str) -> Vec<String> {
    let forbidden = || IO.iter().chain(layer.forbidden);
    let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(|(number, line)| {
        forbidden()
            .filter(move |(word, _)| line.contains(word))
            .map(move |(word, reason)| format!("{}: `{word}`: {reason}", number + 1))
    })
    .collect()
}

fn rust_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .chain(folders.iter().flat_map(|folder| rust_files(folder)))
        .collect()
}
