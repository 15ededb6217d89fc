//! Passwords in the addresses of users' servers: kept in memory, handed to worker processes, and
//! never written or shown.
//!
//! An address is `SCHEME://USER:PASSWORD@HOST…`. What the rest of the program sees is the address
//! without its password.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The environment variable in which worker processes are handed what they must know: a line for
/// each address, a blank, and its password as the address had it.
pub const VARIABLE: &str = "TRUEPUT_SECRETS";

static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Whether a build is the address of a server, and no file.
#[must_use]
pub fn is_address(build: &Path) -> bool {
    build.to_str().is_some_and(|text| text.contains("://"))
}

/// The build as it may be shown: of an address the password is taken out and remembered.
#[must_use]
pub fn keep(build: &Path) -> PathBuf {
    let Some((shown, password)) = build.to_str().and_then(split) else {
        return build.to_owned();
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(shown.clone(), password.to_owned());
    PathBuf::from(shown)
}

/// The password of an address that was given without it, as its address had it: with `%` escapes.
#[must_use]
pub fn of(address: &str) -> Option<String> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(address).cloned().or_else(|| {
        let handed = std::env::var(VARIABLE).ok()?;
        let mut lines = handed.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(known, _)| *known == address)
            .map(|(_, password)| password.to_owned())
    })
}

/// What worker processes are to find in [`VARIABLE`]; `None` where there is nothing to know.
#[must_use]
pub fn for_workers() -> Option<String> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = known
        .iter()
        .map(|(address, password)| format!("{address} {password}\n"));
    (!known.is_empty()).then(|| lines.collect())
}

/// A word of a command line as it may be recorded.
#[must_use]
pub fn hidden(word: &str) -> String {
    // A list of engines is one word.
    let shown = |part: &str| split(part).map_or_else(|| part.to_owned(), |(shown, _)| shown);
    word.split(',').map(shown).collect::<Vec<_>>().join(",")
}

/// An address without its password, and that.
fn split(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    // A password may hold an @ or a / that was not escaped; of a port neither can come.
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let odd = || match rest[..end].split_once(':') {
        Some((_, port)) if !is_port(port) => rest.rfind('@'),
        _ => None,
    };
    let at = rest[..end].rfind('@').or_else(odd)?;
    let (user, password) = rest[..at].split_once(':')?;
    let whole = !password.contains([' ', '\n']);
    whole.then(|| (format!("{scheme}://{user}{}", &rest[at..]), password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_kept_and_not_shown() {
        let given = Path::new("postgres://me:p%40ss@host:7/db");
        let shown = keep(given);
        assert_eq!(shown, Path::new("postgres://me@host:7/db"));
        assert_eq!(of("postgres://me@host:7/db").as_deref(), Some("p%40ss"));
        assert_eq!(of("postgres://you@host:7/db"), None);
        let handed = for_workers().unwrap();
        assert!(
            handed
                .lines()
                .any(|line| line == "postgres://me@host:7/db p%40ss")
        );
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for text in [
            "/usr/lib/librocksdb.so",
            "postgres://host/db",
            "postgres://me@host/a:b@c",
        ] {
            assert_eq!(keep(Path::new(text)), Path::new(text));
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn a_command_line_is_recorded_without_passwords() {
        let word = "lmdb,postgresql@postgres://me:secret@host/db";
        assert_eq!(hidden(word), "lmdb,postgresql@postgres://me@host/db");
        assert_eq!(hidden("--engine"), "--engine");
        assert_eq!(hidden("p://me:a/b@host/db"), "p://me@host/db");
        assert_eq!(
            hidden("--engine=postgresql@postgres://me:se@cret@host"),
            "--engine=postgresql@postgres://me@host"
        );
    }

    #[test]
    fn an_address_is_told_from_a_file() {
        assert!(is_address(Path::new("postgres://host/db")));
        assert!(!is_address(Path::new(
            "/usr/lib/postgresql/15/bin/postgres"
        )));
    }
}
