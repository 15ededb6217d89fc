//! Passwords in the addresses of users' servers: kept in memory, handed to worker processes through
//! the pipe that they are ordered by, and never written or shown: not in their environment either,
//! which others can read and which is handed on to whatever they start.
//!
//! An address is `SCHEME://USER:PASSWORD@HOST…?OPTION=VALUE…`, or a connection string of ODBC's:
//! `Driver={NAME};Server=HOST;UID=USER;PWD=PASSWORD`. What the rest of the program sees is the
//! address without its password, and without options whose names say that they are secret.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use trueput_record::address::is_connection_string;

pub use trueput_record::address::is_address;

/// What of a name says that its value is secret.
const SECRET_WORDS: [&str; 4] = ["pwd", "passw", "secret", "token"];

static KNOWN: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

/// What was taken out of an address; empty where there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    /// The password, or the attributes of a connection string.
    password: String,
    /// The options of a URL, `NAME=VALUE` each, with `&` between them.
    options: String,
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
    let Some((shown, secret)) = build.to_str().and_then(split) else {
        return build.to_owned();
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(shown.clone(), secret);
    PathBuf::from(shown)
}

/// The password of an address that was given without it, as its address had it: with `%` escapes, or
/// with the names of its attributes.
#[must_use]
pub fn of(address: &str) -> Option<String> {
    let password = known(address)?.password;
    (!password.is_empty()).then_some(password)
}

/// The secret options of a URL that was given without them, `NAME=VALUE` each, with `&` between them
/// and with `%` escapes; `None` where it had none.
#[must_use]
pub fn options_of(address: &str) -> Option<String> {
    let options = known(address)?.options;
    (!options.is_empty()).then_some(options)
}

fn known(address: &str) -> Option<Secret> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(address).cloned()
}

/// Remembers what [`for_workers`] gave in another process.
pub fn learn(handed: &str) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(handed.lines().map(read_line));
}

/// What worker processes are to [`learn`]: a line for each address, a tab, its password as the address
/// had it and, where there are any, a tab and its options that are secret. `None` where there is
/// nothing to know.
#[must_use]
pub fn for_workers() -> Option<String> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = known.iter().map(|(address, secret)| {
        let Secret { password, options } = secret;
        let parts = match options.is_empty() {
            true => vec![address, password],
            false => vec![address, password, options],
        };
        parts
            .into_iter()
            .map(|part| escaped(part))
            .collect::<Vec<_>>()
            .join("\t")
            + "\n"
    });
    (!known.is_empty()).then(|| lines.collect())
}

fn read_line(line: &str) -> (String, Secret) {
    let mut parts = line.split('\t').map(unescaped);
    let address = parts.next().unwrap_or_default();
    let password = parts.next().unwrap_or_default();
    let options = parts.next().unwrap_or_default();
    (address, Secret { password, options })
}

/// A part of a line, which may hold what separates parts and lines.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\t', "\\t");
    text.replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            letter => letter,
        });
    }
    plain
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
            true => split(part).map(|(shown, _)| shown).or_else(|| torn(part)),
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

/// An address without what is secret in it, and that.
fn split(text: &str) -> Option<(String, Secret)> {
    match text.contains("://") {
        true => split_url(text),
        false if is_connection_string(text) => {
            let (shown, password) = split_attributes(text)?;
            let options = String::new();
            Some((shown, Secret { password, options }))
        }
        false => None,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// A connection string without the attributes that are secret, and those.
fn split_attributes(text: &str) -> Option<(String, String)> {
    let is_secret =
        |attribute: &&str| is_secret(attribute.split_once('=').map_or("", |(name, _)| name));
    let (secret, shown): (Vec<_>, Vec<_>) = attributes(text).partition(is_secret);
    (!secret.is_empty()).then(|| (shown.join(";"), secret.join(";")))
}

fn split_url(text: &str) -> Option<(String, Secret)> {
    let (shown, password) = match split_password(text) {
        Some((shown, password)) => (shown, Some(password)),
        None => (text.to_owned(), None),
    };
    let (shown, options) = match split_options(&shown) {
        Some((shown, options)) => (shown, Some(options)),
        None => (shown, None),
    };
    let has_any = password.is_some() || options.is_some();
    has_any.then(|| {
        let secret = Secret {
            password: password.unwrap_or_default().to_owned(),
            options: options.unwrap_or_default(),
        };
        (shown, secret)
    })
}

/// Whether what follows a host's colon is its port.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn split_password(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    // A password may hold an @ or a / that was not escaped; of a port neither can come.
    let odd = || match rest[..end].split_once(':') {
        Some((_, port)) if !is_port(port) => rest.rfind('@'),
        _ => None,
    };
    let at = rest[..end].rfind('@').or_else(odd)?;
    let (user, password) = rest[..at].split_once(':')?;
    Some((format!("{scheme}://{user}{}", &rest[at..]), password))
}

/// A URL without the options that are secret, and those.
fn split_options(text: &str) -> Option<(String, String)> {
    let (address, options) = text.split_once('?')?;
    let is_secret = |option: &&str| match option.split_once('=') {
        // What an escape hides cannot be told.
        Some((name, _)) => name.contains('%') || is_secret(name),
        // It may be the rest of a password that was not escaped.
        None => true,
    };
    let (secret, shown): (Vec<_>, Vec<_>) = options.split('&').partition(is_secret);
    let joined = match shown.is_empty() {
        true => address.to_owned(),
        false => format!("{address}?{}", shown.join("&")),
    };
    (!secret.is_empty()).then(|| (joined, secret.join("&")))
}

/// The beginning of an address that ends within its password, without that.
fn torn(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (user, password) = rest[..end].split_once(':')?;
    let is_torn = !is_port(password) && !rest.contains('@') && !rest.starts_with('[');
    is_torn.then(|| format!("{scheme}://{user}"))
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
    fn options_that_are_secret_are_kept_and_not_shown() {
        let given = "mysql://me@host/trueput_q?Password=hush&socket=/run/s&api_token=t&passwd=a&b";
        let shown = "mysql://me@host/trueput_q?socket=/run/s";
        assert_eq!(keep(Path::new(given)), Path::new(shown));
        assert_eq!(of(shown), None);
        let kept = "Password=hush&api_token=t&passwd=a&b";
        assert_eq!(options_of(shown).as_deref(), Some(kept));
        let line = format!("{shown}\t\t{kept}");
        assert!(for_workers().unwrap().lines().any(|one| one == line));
        assert_eq!(
            hidden(&format!("--engine=mariadb@{given}")),
            format!("--engine=mariadb@{shown}")
        );
        assert_eq!(hidden("p://me:a@h/d?sslpassword=b"), "p://me@h/d");
        let plain = "postgres://me@host/db?sslmode=disable";
        assert_eq!(keep(Path::new(plain)), Path::new(plain));
    }

    #[test]
    fn a_password_of_any_letters_is_kept_and_not_shown() {
        let given = "postgres://me:two words\tand \\n\n@odd/db";
        let shown = "postgres://me@odd/db";
        assert_eq!(keep(Path::new(given)), Path::new(shown));
        assert_eq!(hidden(given), shown);
        let password = "two words\tand \\n\n";
        assert_eq!(of(shown).as_deref(), Some(password));
        let handed = for_workers().unwrap();
        let mut lines = handed.lines().map(read_line);
        let (_, secret) = lines.find(|(known, _)| known == shown).unwrap();
        assert_eq!(secret.password, password);
    }

    #[test]
    fn what_was_handed_over_is_known_and_nothing_else() {
        learn("postgres://me@there/db\tp%40ss\npostgres://me@else/db\t\tpassword=b\n");
        assert_eq!(of("postgres://me@there/db").as_deref(), Some("p%40ss"));
        let option = options_of("postgres://me@else/db");
        assert_eq!(option.as_deref(), Some("password=b"));
        assert_eq!(of("postgres://me@nowhere/db"), None);
    }

    #[test]
    fn an_address_that_is_torn_within_its_password_is_not_shown_whole() {
        assert_eq!(hidden("postgres://me:hush"), "postgres://me");
        assert_eq!(
            hidden("postgresql@postgres://me:hush/x"),
            "postgresql@postgres://me"
        );
        for whole in [
            "postgres://host:5432/db",
            "postgres://[::1]:5432",
            "postgres://host",
        ] {
            assert_eq!(hidden(whole), whole);
        }
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
}
