//! Things that take minutes to make, made once: kept per version outside the checkout, shared by all of them.

use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

/// Written last, so that a folder without it is what an interrupted build left behind.
const COMPLETE: &str = ".complete";

/// The folder of everything cached: `IRONWARD_CACHE`, or `ironward` in the user's cache folder.
pub fn root() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    root_from(set("IRONWARD_CACHE"), set("XDG_CACHE_HOME"), set("HOME"))
}

fn root_from(
    own: Option<OsString>,
    xdg: Option<OsString>,
    home: Option<OsString>,
) -> Result<PathBuf> {
    match (own, xdg, home) {
        (Some(own), _, _) => Ok(own.into()),
        (None, Some(xdg), _) => Ok(Path::new(&xdg).join("ironward")),
        (None, None, Some(home)) => Ok(Path::new(&home).join(".cache/ironward")),
        (None, None, None) => bail!(
            "there is no folder to keep built programs in: neither IRONWARD_CACHE nor HOME is set"
        ),
    }
}

/// The folder `<name>-<hash of what goes into it>`, made by `build` if it is not there yet.
///
/// Several processes may ask at once: one builds, the others wait. A build that failed or was
/// interrupted leaves nothing that a later one would take for finished. The folder does not move
/// after it was built, because a Python environment has its own path inside.
pub fn provide(
    name: &str,
    ingredients: &[&str],
    build: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    provide_in(&root()?, name, ingredients, build)
}

fn provide_in(
    root: &Path,
    name: &str,
    ingredients: &[&str],
    build: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let entry = format!("{name}-{}", fingerprint(ingredients));
    let dir = root.join(&entry);
    let complete = dir.join(COMPLETE);
    if complete.exists() {
        return Ok(dir);
    }
    fs::create_dir_all(root).with_context(|| format!("could not make {}", root.display()))?;
    let _turn = wait_for_turn(&root.join(format!("{entry}.lock")), name)?;
    if complete.exists() {
        return Ok(dir);
    }
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("could not clear {}", dir.display()))?;
    }
    fs::create_dir_all(&dir).with_context(|| format!("could not make {}", dir.display()))?;
    build(&dir)?;
    File::create(&complete).with_context(|| format!("could not write {}", complete.display()))?;
    Ok(dir)
}

/// The lock is the kernel's, so that it ends with its holder.
fn wait_for_turn(path: &Path, name: &str) -> Result<File> {
    let lock = File::create(path).with_context(|| format!("could not make {}", path.display()))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let _waiting = Progress::start(&format!("{name}: another run is building it"));
            lock.lock().with_context(|| format!("could not lock {}", path.display()))?;
        }
        Err(TryLockError::Error(source)) => {
            return Err(source).with_context(|| format!("could not lock {}", path.display()));
        }
    }
    Ok(lock)
}

fn fingerprint(ingredients: &[&str]) -> String {
    let mut hash = Sha256::new();
    for ingredient in ingredients {
        hash.update(ingredient.len().to_le_bytes());
        hash.update(ingredient);
    }
    let digest = hash.finalize();
    let short = digest.iter().take(6).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{short:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_users_choice_comes_before_the_conventions() {
        let path = |text: &str| Some(OsString::from(text));
        assert_eq!(root_from(path("/a"), path("/b"), path("/c")).unwrap(), Path::new("/a"));
        assert_eq!(root_from(None, path("/b"), path("/c")).unwrap(), Path::new("/b/ironward"));
        assert_eq!(root_from(None, None, path("/c")).unwrap(), Path::new("/c/.cache/ironward"));
        assert!(root_from(None, None, None).unwrap_err().to_string().contains("IRONWARD_CACHE"));
    }

    #[test]
    fn a_thing_is_built_once_however_many_ask() {
        let root = tempfile::tempdir().unwrap();
        let builds = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let build = |dir: &Path| {
                        builds.fetch_add(1, Ordering::SeqCst);
                        Ok(fs::write(dir.join("thing"), "built")?)
                    };
                    let dir = provide_in(root.path(), "thing", &["v1"], build).unwrap();
                    assert_eq!(fs::read_to_string(dir.join("thing")).unwrap(), "built");
                });
            }
        });
        assert_eq!(builds.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_an_interrupted_build_left_is_cleared_and_built_again() {
        let root = tempfile::tempdir().unwrap();
        let failing = provide_in(root.path(), "thing", &["v1"], |dir| {
            fs::write(dir.join("half"), "done")?;
            bail!("power cut")
        });
        assert_eq!(failing.unwrap_err().to_string(), "power cut");
        let dir = provide_in(root.path(), "thing", &["v1"], |_| Ok(())).unwrap();
        assert!(!dir.join("half").exists());
    }

    #[test]
    fn another_version_gets_another_folder() {
        assert_ne!(fingerprint(&["1.36.3"]), fingerprint(&["1.36.4"]));
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
    }
}
