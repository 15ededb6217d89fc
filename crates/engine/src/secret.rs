//! Passwords in the addresses of users' servers: kept in memory, handed to worker processes, and
//! never written or shown.
//!
//! An address is `SCHEME://USER:PASSWORD@HOST…`, or a connection string of ODBC's:
//! `Driver={NAME};Server=HOST;UID=USER;PWD=PASSWORD`. What the rest of the program sees is the address
//! without its password.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The environment variable in which worker processes are handed what they must know: a line for
/// each address, a tab, and its password as the address had it.
pub const VARIABLE: &str = "TRUEPUT_SECRETS";

static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Whether a build is the address of a server, and no file.
#[must_use]
pub fn is_address(build: &Path) -> bool {
    let is_one = |text: &str| text.contains("://") || is_connection_string(text);
    build.to_str().is_some_and(is_one)
}

/// Whether a text begins as a connection string does: with the name of an attribute and `=`.
fn is_connection_string(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '_');
    text.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && name.chars().all(plain)
    })
}

/// The attributes of a connection string, `NAME=VALUE` each. A value in braces may hold semicolons.
pub fn attributes(text: &str) -> impl Iterator<Item = &str> {
    parts(text, ';')
}

/// A text's parts between separators that do not stand in braces; within those `}}` is a brace.
fn parts(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let whole = rest?;
        let (mut is_inside, mut is_escaped, mut end) = (false, false, None);
        for (at, letter) in whole.char_indices() {
            match letter {
                '}' if is_escaped => is_escaped = false,
                '}' if is_inside && whole[at + 1..].starts_with('}') => is_escaped = true,
                '{' => is_inside = true,
                '}' => is_inside = false,
                _ if letter == separator && !is_inside => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let (part, after) = match end {
            Some(end) => (&whole[..end], Some(&whole[end + separator.len_utf8()..])),
            None => (whole, None),
        };
        rest = after;
        Some(part)
    })
}

/// The build as it may be shown: of an address the password is taken out and remembered.
#[must_use]
pub fn keep(build: &Path) -> PathBuf {
    let Some((shown, password)) = build.to_str().and_then(split) else {
        return build.to_owned();
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(shown.clone(), password);
    PathBuf::from(shown)
}

/// The password of an address that was given without it, as its address had it: with `%` escapes, or
/// with the names of its attributes.
#[must_use]
pub fn of(address: &str) -> Option<String> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(address).cloned().or_else(|| {
        let handed = std::env::var(VARIABLE).ok()?;
        let mut lines = handed.lines().filter_map(|line| line.split_once('\t'));
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
        .map(|(address, password)| format!("{address}\t{password}\n"));
    (!known.is_empty()).then(|| lines.collect())
}

/// A word of a command line as it may be recorded.
#[must_use]
pub fn hidden(word: &str) -> String {
    // A list of engines is one word, and an address stands behind its engine's name.
    let shown = |part: &str| {
        let name = part.split_once('@').map(|(name, _)| name);
        let start = match name {
            Some(name) if !name.contains([';', ':', '{']) => name.len() + 1,
            _ => 0,
        };
        let (name, address) = part.split_at(start);
        let shown = match address.contains("://") {
            true => split(part).map(|(shown, _)| shown),
            false => split_attributes(address).map(|(shown, _)| format!("{name}{shown}")),
        };
        shown.unwrap_or_else(|| part.to_owned())
    };
    parts(word, ',').map(shown).collect::<Vec<_>>().join(",")
}

/// A list of engines, each perhaps with its build; a comma in the braces of a connection string
/// separates nothing.
#[must_use]
pub fn list(text: &str) -> Vec<&str> {
    parts(text, ',').collect()
}

/// An address without its password, and that.
fn split(text: &str) -> Option<(String, String)> {
    match text.contains("://") {
        true => split_url(text).map(|(shown, password)| (shown, password.to_owned())),
        false if is_connection_string(text) => split_attributes(text),
        false => None,
    }
}

/// A connection string without the attributes that are secret, and those.
fn split_attributes(text: &str) -> Option<(String, String)> {
    let is_secret = |attribute: &&str| {
        let name = attribute.split_once('=').map_or("", |(name, _)| name);
        let name = name.to_ascii_lowercase();
        ["pwd", "passw", "secret", "token"]
            .iter()
            .any(|word| name.contains(word))
    };
    let (secret, shown): (Vec<_>, Vec<_>) = attributes(text).partition(is_secret);
    (!secret.is_empty()).then(|| (shown.join(";"), secret.join(";")))
}

fn split_url(text: &str) -> Option<(String, &str)> {
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
                .any(|line| line == "postgres://me@host:7/db\tp%40ss")
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
    fn a_connection_string_is_shown_without_what_is_secret_in_it() {
        let given = "Driver={My Driver};Server=h;PWD={a;b=c,d}};e};SSLKeyPassword=x;Database=d";
        let shown = "Driver={My Driver};Server=h;Database=d";
        assert_eq!(keep(Path::new(given)), Path::new(shown));
        let kept = of(shown).unwrap();
        assert_eq!(kept, "PWD={a;b=c,d}};e};SSLKeyPassword=x");
        assert_eq!(attributes(&kept).count(), 2);
        let handed = for_workers().unwrap();
        assert!(
            handed
                .lines()
                .any(|line| line == format!("{shown}\t{kept}"))
        );
        let word = format!("--engine=lmdb,odbc@{given},odbc@DSN=x;password=y");
        let expected = format!("--engine=lmdb,odbc@{shown},odbc@DSN=x");
        assert_eq!(hidden(&word), expected);
        assert_eq!(
            list(&format!("lmdb,odbc@{given}"))[1],
            format!("odbc@{given}")
        );
        for plain in ["DSN=mine", "finish=1000", "lmdb.map_size=1GiB"] {
            assert_eq!(hidden(plain), plain);
        }
    }

    #[test]
    fn an_address_is_told_from_a_file() {
        assert!(is_address(Path::new("postgres://host/db")));
        assert!(is_address(Path::new("DSN=mine")));
        assert!(!is_address(Path::new("/opt/a=b/librocksdb.so")));
        assert!(!is_address(Path::new(
            "/usr/lib/postgresql/15/bin/postgres"
        )));
    }
}
