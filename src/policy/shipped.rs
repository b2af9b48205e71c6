//! The policies that Ironward ships: the files of `policies/`, in the binary.

use super::directory::File;

/// The embedded files, sorted by name. A test compares the list with the folder.
#[must_use]
pub fn files() -> &'static [File<'static>] {
    FILES
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File { name: $name, content: include_str!(concat!("../../policies/", $name)) }),*]
    };
}

const FILES: &[File<'static>] = files!["host-bmc-address.yaml"];
