//! Hands the versions of the engines that are Cargo packages to the drivers.
//!
//! redb and fjall report no version when they run, so what they are is what Cargo locked: the
//! version is read from the workspace's `Cargo.lock`, never written by hand.

use std::path::{Path, PathBuf};

/// Each engine's package, and the variable that its driver reads at compile time.
const PACKAGES: [(&str, &str); 2] = [
    ("redb", "TRUEPUT_REDB_VERSION"),
    ("fjall", "TRUEPUT_FJALL_VERSION"),
];

fn main() -> Result<(), String> {
    let lock = lock_file()?;
    println!("cargo::rerun-if-changed={}", lock.display());
    println!("cargo::rerun-if-changed=build.rs");
    let text = std::fs::read_to_string(&lock)
        .map_err(|error| format!("{} cannot be read: {error}", lock.display()))?;
    for (package, variable) in PACKAGES {
        println!(
            "cargo::rustc-env={variable}={}",
            locked_version(&text, package)?
        );
    }
    Ok(())
}

/// The lock file of the workspace that this package is built in.
fn lock_file() -> Result<PathBuf, String> {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
    let found = Path::new(&manifest)
        .ancestors()
        .map(|folder| folder.join("Cargo.lock"));
    found
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!("no Cargo.lock in {manifest} or above it: the engines' versions are unknown")
        })
}

/// The one version of `package` in the text of a lock file.
fn locked_version(lock: &str, package: &str) -> Result<String, String> {
    let name = format!("name = \"{package}\"");
    let versions: Vec<&str> = lock
        .split("[[package]]")
        .filter(|entry| entry.lines().any(|line| line == name))
        .filter_map(|entry| {
            entry
                .lines()
                .find_map(|line| line.strip_prefix("version = "))
        })
        .collect();
    match versions[..] {
        [version] => Ok(version.trim_matches('"').to_owned()),
        [] => Err(format!("Cargo.lock names no package {package}")),
        _ => Err(format!(
            "Cargo.lock names several versions of {package}: {versions:?}"
        )),
    }
}
