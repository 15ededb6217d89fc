//! Finds etcd's program and checks its version.

use crate::library;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_engine::{Error, Result};

/// The oldest supported version, the first with transactions that compare ranges: 3.3. Before 3.4
/// a server cannot leave flushes out and cannot log as it is asked to.
const OLDEST: [u64; 2] = [3, 4];

/// The programs on this machine: those that were installed for this program first, the newest
/// before the others.
pub(super) fn find_all() -> Vec<PathBuf> {
    let mut own: Vec<PathBuf> = library::engine_folders()
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .filter(|entry| {
            let name = entry.file_name();
            let version = name.to_str().and_then(|name| name.strip_prefix("etcd-"));
            version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
        })
        .map(|entry| entry.path())
        .collect();
    own.sort_by_key(|folder| Reverse(numbers(&folder.to_string_lossy())));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&path));
    let mut programs = Vec::new();
    for program in folders.filter_map(|folder| folder.join("etcd").canonicalize().ok()) {
        if program.is_file() && !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs
}

/// The numbers of a version.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|character: char| !character.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// The version that the program itself states.
///
/// # Errors
/// One line: it does not run, is another program, or is too old.
pub(super) fn version(program: &Path) -> Result<String> {
    let shown = program.display();
    let said = Command::new(program).arg("--version").output();
    let said = said.map_err(|error| Error::engine(format!("{shown} does not run: {error}")))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("etcd Version: "));
    let version = version.ok_or_else(|| Error::engine(format!("{shown} is not etcd's server")))?;
    check_version(version.trim(), &shown.to_string())
}

/// Checks that a version is new enough, and returns it.
///
/// # Errors
/// One line, if it is too old.
pub(super) fn check_version(version: &str, of: &str) -> Result<String> {
    if numbers(version).as_slice() >= OLDEST.as_slice() {
        Ok(version.to_owned())
    } else {
        Err(Error::Unsupported(format!(
            "{of} is etcd {version}; the oldest supported version is 3.4"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_version_is_refused_and_newer_numbers_are_not_letters() {
        assert_eq!(check_version("3.4.23", "it").unwrap(), "3.4.23");
        assert!(check_version("3.10.0", "it").is_ok());
        let reason = check_version("3.3.25", "it").unwrap_err().to_string();
        assert!(
            reason.contains("3.3.25") && reason.contains("3.4"),
            "{reason}"
        );
    }
}
