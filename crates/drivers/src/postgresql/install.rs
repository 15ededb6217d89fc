//! Finds PostgreSQL's programs and checks their version.

use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_engine::{Error, Result};

/// The oldest supported version: its makers no longer maintain the ones before.
pub(super) const OLDEST: u32 = 12;

/// The servers on this machine, the newest first.
pub(super) fn find_all() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["/usr/lib/postgresql", "/opt/postgresql"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path().join("bin"))
        .collect();
    let versions = std::fs::read_dir("/usr").into_iter().flatten().flatten();
    let versions =
        versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("pgsql-"));
    folders.extend(versions.map(|entry| entry.path().join("bin")));
    folders.sort_by_key(|folder| std::cmp::Reverse(number_in(folder)));
    folders.push("/usr/local/pgsql/bin".into());
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(configured(&path));
    folders.extend(std::env::split_paths(&path));
    let mut servers = Vec::new();
    for folder in folders {
        let server = folder.join("postgres").canonicalize();
        let server = server.ok().filter(|server| initdb(server).is_ok());
        servers.extend(server.filter(|server| !servers.contains(server)));
    }
    servers
}

/// The version in a folder's path: 15 of `/usr/lib/postgresql/15/bin`.
fn number_in(folder: &Path) -> u32 {
    let name = folder
        .parent()
        .and_then(Path::file_name)
        .unwrap_or_default();
    let name = name.to_string_lossy();
    name.rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// Returns the folder of `pg_config`, which is in the same folder as the other programs. It is not
/// executed: the search for an engine runs nothing.
fn configured(path: &std::ffi::OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter_map(|folder| {
        let program = folder.join("pg_config").canonicalize().ok()?;
        Some(program.parent()?.to_owned())
    })
}

/// The program in the server's folder that creates instances.
///
/// # Errors
/// [`Error::Engine`], if there is none.
pub(super) fn initdb(server: &Path) -> Result<PathBuf> {
    tool(server, "initdb", "create a database")
}

/// A program in the server's folder, which `does` something that is needed.
///
/// # Errors
/// [`Error::Engine`], if there is none.
pub(super) fn tool(server: &Path, name: &str, does: &str) -> Result<PathBuf> {
    let tool = server.with_file_name(name);
    if tool.is_file() {
        Ok(tool)
    } else {
        Err(Error::engine(format!(
            "{} has no {name} in its directory, so it cannot {does}",
            server.display()
        )))
    }
}

/// The version that the program itself states.
///
/// # Errors
/// One line: it does not run, is another program, or is too old.
pub(super) fn version(server: &Path) -> Result<String> {
    let shown = server.display();
    let said = Command::new(server).arg("--version").output();
    let said = said.map_err(|error| Error::engine(format!("{shown} does not run: {error}")))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text.strip_prefix("postgres (PostgreSQL) ");
    let version = version.and_then(|rest| rest.split_whitespace().next());
    let version = version.ok_or_else(|| {
        Error::engine(format!(
            "{shown} is not a PostgreSQL server: name the program 'postgres'"
        ))
    })?;
    check_version(version, &shown.to_string())
}

/// Checks that a version is new enough, and returns it without a distribution's suffix.
///
/// # Errors
/// One line, if it is too old.
pub(super) fn check_version(version: &str, of: &str) -> Result<String> {
    check_version_from(OLDEST, version, of)
}

/// Checks that a version is not older than `oldest`, and returns it without a distribution's
/// suffix.
///
/// # Errors
/// One line, if it is.
pub(super) fn check_version_from(oldest: u32, version: &str, of: &str) -> Result<String> {
    let version = version.split_whitespace().next().unwrap_or_default();
    let digits = version.split(|c: char| !c.is_ascii_digit()).next();
    let major: u32 = digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_default();
    if major >= oldest {
        Ok(version.to_owned())
    } else {
        Err(Error::Unsupported(format!(
            "{of} is PostgreSQL {version}, which is too old; PostgreSQL {oldest} or newer is needed"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_refused_with_what_would_do() {
        assert_eq!(
            check_version("15.14 (Debian 15.14-0+deb12u1)", "it").as_deref(),
            Ok("15.14")
        );
        assert_eq!(check_version("18beta1", "it").as_deref(), Ok("18beta1"));
        let reason = check_version("9.6.24", "/old/postgres")
            .unwrap_err()
            .to_string();
        assert!(
            reason.contains("/old/postgres is PostgreSQL 9.6.24") && reason.contains("12 or newer")
        );
    }

    #[test]
    fn a_program_that_is_no_server_is_named() {
        let reason = version(Path::new("/bin/sh")).unwrap_err().to_string();
        assert!(
            reason.contains("/bin/sh is not a PostgreSQL server"),
            "{reason}"
        );
        assert!(version(Path::new("/no/such/postgres")).is_err());
        assert!(initdb(Path::new("/bin/sh")).is_err());
    }
}
