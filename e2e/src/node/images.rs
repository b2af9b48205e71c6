//! Images without a registry: an archive with one program in it.

use crate::{ironward, kubectl};
use anyhow::{Context, Result, bail};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The image of this checkout, written by `image/build`.
pub fn ironward() -> Result<PathBuf> {
    let program = ironward::static_binary()?;
    let mut command = Command::new("image/build");
    let answer = kubectl::run(command.arg(program).current_dir(WORKSPACE), "")?;
    if !answer.success {
        bail!("image/build failed: {}", answer.err.trim());
    }
    Ok(Path::new(WORKSPACE).join("target/image/ironward.tar"))
}

/// What holds the place of a pod: a program that does nothing, for as long as the pod is there.
pub fn pause(busybox: &Path, tag: &str, dir: &Path) -> Result<PathBuf> {
    let files = dir.join("pause-image");
    fs::create_dir_all(&files)?;
    fs::copy(busybox, files.join("busybox")).context("could not copy busybox")?;
    tar(&files, "layer.tar", &["busybox"])?;
    let digest = Sha256::digest(fs::read(files.join("layer.tar"))?);
    let digest = digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": { "Entrypoint": ["/busybox", "sleep", "2147483647"] },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    });
    fs::write(files.join("config.json"), config.to_string())?;
    let manifest = json!([{ "Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"] }]);
    fs::write(files.join("manifest.json"), manifest.to_string())?;
    tar(&files, "pause.tar", &["manifest.json", "config.json", "layer.tar"])?;
    Ok(files.join("pause.tar"))
}

fn tar(folder: &Path, archive: &str, files: &[&str]) -> Result<()> {
    let mut command = Command::new("tar");
    command.current_dir(folder).args(["--create", "--file", archive]).args(files);
    let answer = kubectl::run(&mut command, "")?;
    if !answer.success {
        bail!("could not write {archive}: {}", answer.err.trim());
    }
    Ok(())
}
