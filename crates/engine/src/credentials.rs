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
use trueput_record::suggest::nearest;

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
pub fn register(build: &Path) -> PathBuf {
    let Some(text) = build.to_str() else {
        return build.to_owned();
    };
    let Some((shown, secret)) = split(text) else {
        let hidden = match build.exists() {
            true => None,
            false => torn(text).or_else(|| masked(text)),
        };
        return hidden.map_or_else(|| build.to_owned(), PathBuf::from);
    };
    // What was taken for an option or a user may itself hold a part of a password.
    let shown = masked(&shown).unwrap_or(shown);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(shown.clone(), secret);
    PathBuf::from(shown)
}

/// The password of an address that was given without it, as its address had it: with `%` escapes,
/// or with the names of its attributes.
#[must_use]
pub fn password_of(address: &str) -> Option<String> {
    let password = known(address)?.password;
    (!password.is_empty()).then_some(password)
}

/// The secret options of a URL that was given without them, `NAME=VALUE` each, with `&` between
/// them and with `%` escapes; `None` where it had none.
#[must_use]
pub fn secret_options_of(address: &str) -> Option<String> {
    let options = known(address)?.options;
    (!options.is_empty()).then_some(options)
}

fn known(address: &str) -> Option<Secret> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(address).cloned()
}

/// Remembers what [`export`] gave in another process.
pub fn import(handed: &str) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(handed.lines().map(read_line));
}

/// What worker processes are to [`import`]: a line for each address, a tab, its password as the
/// address had it and, where there are any, a tab and its options that are secret. `None` where
/// there is nothing to know.
#[must_use]
pub fn export() -> Option<String> {
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

/// A word that may be a wrong address, as it may be shown.
#[must_use]
pub fn redact_word(word: &str) -> String {
    let hidden = redact(word);
    masked(&hidden).unwrap_or(hidden)
}

/// A message without the passwords that words of the command line hold, should it repeat one.
#[must_use]
pub fn redact_message(message: &str, words: &[String]) -> String {
    let behind = |text: &'_ str, sign| text.find(sign).map_or(0, |at| at + 1);
    let mut pairs = Vec::new();
    for word in words.iter().filter(|word| redact(word) != **word) {
        pairs.push((word.as_str(), redact(word)));
        // A message may have a part of the word: that between commas, behind an equals sign or an
        // @.
        for part in split_list(word) {
            let value = &part[behind(part, '=')..];
            let builds = [&part[behind(part, '@')..], &value[behind(value, '@')..]];
            let wholes = [part, value].into_iter().chain(builds);
            pairs.extend(wholes.map(|whole| (whole, redact_word(whole))));
        }
    }
    // The longest first: what is replaced within a longer one would no longer be found as that.
    pairs.sort_by_key(|(whole, _)| std::cmp::Reverse(whole.len()));
    pairs
        .iter()
        .fold(message.to_owned(), |text, (whole, safe)| {
            match whole == safe || whole.is_empty() {
                true => text,
                false => text.replace(whole, safe),
            }
        })
}

/// A word of a command line as it may be recorded.
#[must_use]
pub fn redact(word: &str) -> String {
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
        let shown = shown.unwrap_or_else(|| part.to_owned());
        // What is no address, but has something before an @ or behind a secret's name, was to be
        // one.
        let (name, address) = shown.split_at(start.min(shown.len()));
        let was_meant = address.contains('@') || address.contains("://");
        let scheme = address.split_once(':').map(|(scheme, _)| scheme);
        let was_meant = was_meant
            || secret_name(address).is_some()
            || scheme.is_some_and(|scheme| SCHEMES.contains(&scheme));
        match masked(address).filter(|_| was_meant) {
            Some(masked) => format!("{name}{masked}"),
            None => shown,
        }
    };
    split_list(word)
        .into_iter()
        .map(shown)
        .collect::<Vec<_>>()
        .join(",")
}

/// A list of engines, each perhaps with its build; a comma in the braces of a connection string
/// separates nothing.
#[must_use]
pub fn split_list(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for (index, part) in parts(text, ',').enumerate() {
        end += part.len() + usize::from(index > 0);
        // A comma within a password that was not escaped separates nothing either.
        let is_within = torn(&text[start..end]).is_some() && end < text.len();
        if !is_within {
            found.push(&text[start..end]);
            start = end + 1;
        }
    }
    found
}

/// An address without what is secret in it, and that.
fn split(text: &str) -> Option<(String, Secret)> {
    match text.split_once("://") {
        // An address has a scheme that is known, perhaps behind an option's and an engine's name.
        Some((scheme, _)) if is_scheme(scheme) => split_url(text),
        Some(_) => None,
        None if is_connection_string(text) => {
            let (shown, password) = split_attributes(text)?;
            let options = String::new();
            Some((shown, Secret { password, options }))
        }
        None => None,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_word = SECRET_WORDS.iter().any(|word| name.contains(word));
    // A misspelled one is no less a secret. What stands before it may be another's value.
    let last = name.rsplit([' ', '%', '_']).next().unwrap_or(&name);
    is_word || nearest(last, ["password", "passwd"]).is_some()
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
    // A password may hold an @, a / or a ? that was not escaped.
    let odd = || rest[..end].contains(':').then(|| rest.rfind('@')).flatten();
    let at = match rest[..end].rfind('@') {
        // Of several, the last one stands before the host, whatever stands between them.
        Some(at) if rest[..at].contains(':') => rest.rfind('@').unwrap_or(at),
        Some(at) => at,
        None => odd()?,
    };
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
    let (scheme, rest) = text
        .split_once("://")
        .filter(|(scheme, _)| is_scheme(scheme))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (user, password) = rest[..end].split_once(':')?;
    let is_torn = !is_port(password) && !rest.contains('@') && !rest.starts_with('[');
    is_torn.then(|| format!("{scheme}://{user}"))
}

/// What schemes of addresses are called.
const SCHEMES: [&str; 5] = ["postgres", "postgresql", "mysql", "mariadb", "odbc"];

/// Whether what stands before `://` ends with the name of a scheme; it may begin with an option's
/// name and an engine's.
fn is_scheme(text: &str) -> bool {
    !text.contains(':') && SCHEMES.iter().any(|known| text.ends_with(known))
}

/// Where the value of a secret's name begins: behind `password=`.
fn secret_name(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find('=') {
        let at = from + at;
        let letters = |letter: char| letter.is_ascii_alphanumeric() || "_ %".contains(letter);
        let name = text[..at]
            .trim_end()
            .rsplit(|letter| !letters(letter))
            .next();
        if name.is_some_and(is_secret) {
            return Some(at + 1);
        }
        from = at + 1;
    }
    None
}

/// A text that was to be an address, without whatever in it could be a password; `None` where
/// nothing could. It hides too much rather than too little.
fn masked(text: &str) -> Option<String> {
    match secret_name(text) {
        Some(value) => {
            let before = &text[..value];
            let before = without_user(before).unwrap_or_else(|| before.to_owned());
            Some(format!("{before}…"))
        }
        None => without_user(text),
    }
}

/// A text without what stands between a user's colon and an @, or behind the colon to the end.
fn without_user(text: &str) -> Option<String> {
    if let Some((scheme, rest)) = text.split_once("://")
        && SCHEMES.contains(&scheme)
    {
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        // A user without a password: what follows is a database's name.
        if authority.contains('@') && !authority.contains(':') {
            return None;
        }
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = scheme.is_some_and(|scheme| SCHEMES.contains(&scheme));
    let start = match scheme {
        Some(scheme) if is_scheme => {
            let rest = &text[scheme.len() + 1..];
            text.len() - rest.trim_start_matches('/').len()
        }
        _ => 0,
    };
    let rest = &text[start..];
    let at = rest.rfind('@');
    let colon = rest[..at.unwrap_or(rest.len())].find(':');
    let (from, to) = match (colon, at) {
        (Some(colon), Some(at)) => (colon + 1, at),
        // `mysql:PASSWORD@host` has no user.
        (None, Some(at)) if is_scheme && !text[..start].ends_with('/') => (0, at),
        (Some(colon), None) => {
            let value = &rest[colon + 1..];
            let port = value.split(['/', '?']).next().unwrap_or_default();
            let is_path = start == 0 && rest[..colon].contains(['/', '\\']);
            if is_path || is_port(port) || rest.starts_with('[') {
                return None;
            }
            (colon + 1, rest.len())
        }
        _ => return None,
    };
    let hidden = &rest[from..to];
    let is_hidden = hidden == "…" || hidden.is_empty();
    (!is_hidden).then(|| format!("{}{}…{}", &text[..start], &rest[..from], &rest[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_kept_and_not_shown() {
        let given = Path::new("postgres://me:p%40ss@host:7/db");
        let shown = register(given);
        assert_eq!(shown, Path::new("postgres://me@host:7/db"));
        assert_eq!(
            password_of("postgres://me@host:7/db").as_deref(),
            Some("p%40ss")
        );
        assert_eq!(password_of("postgres://you@host:7/db"), None);
        let handed = export().unwrap();
        assert!(
            handed
                .lines()
                .any(|line| line == "postgres://me@host:7/db\tp%40ss")
        );
    }

    #[test]
    fn a_password_behind_a_misspelled_name_is_not_shown() {
        for name in ["pasword", "passwrod", "pssword", "passord", "Paswd", "PWDD"] {
            for text in [
                format!("postgresql@host=127.0.0.1 port=1 {name}=SECRET"),
                format!("odbc@Driver={{PG}};Server=db;{name}=SECRET"),
            ] {
                assert!(
                    !redact(&text).contains("SECRET"),
                    "{text}: {}",
                    redact(&text)
                );
            }
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for text in [
            "/usr/lib/librocksdb.so",
            "postgres://host/db",
            "postgres://me@host/a:b@c",
        ] {
            assert_eq!(register(Path::new(text)), Path::new(text));
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_command_line_is_recorded_without_passwords() {
        let word = "lmdb,postgresql@postgres://me:secret@host/db";
        assert_eq!(redact(word), "lmdb,postgresql@postgres://me@host/db");
        assert_eq!(redact("--engine"), "--engine");
        assert_eq!(redact("mysql://me:a/b@host/db"), "mysql://me@host/db");
        assert_eq!(
            redact("--engine=postgresql@postgres://me:se@cret@host"),
            "--engine=postgresql@postgres://me@host"
        );
    }

    #[test]
    fn options_that_are_secret_are_kept_and_not_shown() {
        let given = "mysql://me@host/trueput_q?Password=hush&socket=/run/s&api_token=t&passwd=a&b";
        let shown = "mysql://me@host/trueput_q?socket=/run/s";
        assert_eq!(register(Path::new(given)), Path::new(shown));
        assert_eq!(password_of(shown), None);
        let kept = "Password=hush&api_token=t&passwd=a&b";
        assert_eq!(secret_options_of(shown).as_deref(), Some(kept));
        let line = format!("{shown}\t\t{kept}");
        assert!(export().unwrap().lines().any(|one| one == line));
        assert_eq!(
            redact(&format!("--engine=mariadb@{given}")),
            format!("--engine=mariadb@{shown}")
        );
        assert_eq!(redact("mysql://me:a@h/d?sslpassword=b"), "mysql://me@h/d");
        let plain = "postgres://me@host/db?sslmode=disable";
        assert_eq!(register(Path::new(plain)), Path::new(plain));
    }

    #[test]
    fn a_password_of_any_letters_is_kept_and_not_shown() {
        let given = "postgres://me:two words\tand \\n\n@odd/db";
        let shown = "postgres://me@odd/db";
        assert_eq!(register(Path::new(given)), Path::new(shown));
        assert_eq!(redact(given), shown);
        let password = "two words\tand \\n\n";
        assert_eq!(password_of(shown).as_deref(), Some(password));
        let handed = export().unwrap();
        let mut lines = handed.lines().map(read_line);
        let (_, secret) = lines.find(|(known, _)| known == shown).unwrap();
        assert_eq!(secret.password, password);
    }

    #[test]
    fn what_was_handed_over_is_known_and_nothing_else() {
        import("postgres://me@there/db\tp%40ss\npostgres://me@else/db\t\tpassword=b\n");
        assert_eq!(
            password_of("postgres://me@there/db").as_deref(),
            Some("p%40ss")
        );
        let option = secret_options_of("postgres://me@else/db");
        assert_eq!(option.as_deref(), Some("password=b"));
        assert_eq!(password_of("postgres://me@nowhere/db"), None);
    }

    #[test]
    fn an_address_that_is_torn_within_its_password_is_not_shown_whole() {
        assert_eq!(redact("postgres://me:hush"), "postgres://me");
        assert_eq!(
            redact("postgresql@postgres://me:hush/x"),
            "postgresql@postgres://me"
        );
        for whole in [
            "postgres://host:5432/db",
            "postgres://[::1]:5432",
            "postgres://host",
        ] {
            assert_eq!(redact(whole), whole);
        }
    }

    #[test]
    fn what_was_to_be_an_address_is_shown_without_what_could_be_a_password() {
        for (given, expected) in [
            ("postgres:/u:hush@host/db", "postgres:/u:…@host/db"),
            ("mysql:u:hush@host", "mysql:u:…@host"),
            ("mysql:hush@host", "mysql:…@host"),
            ("user:hush@host/db", "user:…@host/db"),
            ("host=h user=u password=hush x", "host=h user=u password=…"),
            ("postgres://u:hu@sh@host/db", "postgres://u@host/db"),
            ("postgres://u:12/hu@host/db", "postgres://u@host/db"),
            ("postgres://u:hu/a@b@host/db", "postgres://u@host/db"),
            ("postgres://u:hush", "postgres://u"),
            ("u:hush", "u:…"),
        ] {
            assert_eq!(register(Path::new(given)), Path::new(expected), "{given}");
            assert_eq!(redact_word(given), expected);
        }
        for plain in ["/opt/a:b/librocksdb.so", "libs/a:b.so", "ext4", "host:5432"] {
            assert_eq!(register(Path::new(plain)), Path::new(plain));
        }
        for recorded in ["--filesystem=ext4:mkfs=-O", "folder:/mnt/x", "--set=a:b"] {
            assert_eq!(redact(recorded), recorded);
        }
        let words = ["postgresql@postgres:/u:hush@h".to_owned()];
        let message = "cannot read postgres:/u:hush@h or postgresql@postgres:/u:hush@h";
        assert!(!redact_message(message, &words).contains("hush"));
    }

    #[test]
    fn a_list_may_begin_with_commas() {
        assert_eq!(split_list(",,lmdb,"), ["", "", "lmdb", ""]);
        assert_eq!(split_list(""), [""]);
    }

    #[test]
    fn a_comma_in_a_password_does_not_part_an_address() {
        let given = "lmdb,postgresql@postgres://u:hu,sh@host/db,sqlite";
        let expected = ["lmdb", "postgresql@postgres://u:hu,sh@host/db", "sqlite"];
        assert_eq!(split_list(given), expected);
        assert_eq!(split_list("lmdb,p@postgres://u:hu,sh").len(), 2);
    }

    #[test]
    fn a_connection_string_is_shown_without_what_is_secret_in_it() {
        let given = "Driver={My Driver};Server=h;PWD={a;b=c,d}};e};SSLKeyPassword=x;Database=d";
        let shown = "Driver={My Driver};Server=h;Database=d";
        assert_eq!(register(Path::new(given)), Path::new(shown));
        let kept = password_of(shown).unwrap();
        assert_eq!(kept, "PWD={a;b=c,d}};e};SSLKeyPassword=x");
        assert_eq!(attributes(&kept).count(), 2);
        let handed = export().unwrap();
        assert!(
            handed
                .lines()
                .any(|line| line == format!("{shown}\t{kept}"))
        );
        let word = format!("--engine=lmdb,odbc@{given},odbc@DSN=x;password=y");
        let expected = format!("--engine=lmdb,odbc@{shown},odbc@DSN=x");
        assert_eq!(redact(&word), expected);
        assert_eq!(
            split_list(&format!("lmdb,odbc@{given}"))[1],
            format!("odbc@{given}")
        );
        for plain in ["DSN=mine", "finish=1000", "lmdb.map_size=1GiB"] {
            assert_eq!(redact(plain), plain);
        }
    }

    /// Forms of addresses, right and wrong, with `{}` for the password.
    const FORMS: [&str; 16] = [
        "postgres://me:{}@host/db",
        "postgres:/me:{}@host/db",
        "postgres:me:{}@host",
        "postgresql://me:{}@host:5432/db?sslmode=disable",
        "postgres://me:{}",
        "postgres://host/db?password={}",
        "postgres://host/db&password={}",
        "mysql:me:{}@host",
        "mysql:/me:{}@host/trueput",
        "mysql://me:{}@host:many/trueput",
        "me:{}@host/db",
        "host=h user=me password={}",
        "password={} host=h",
        "Server=h;UID=me;PWD={}",
        "Server=h;password = {}",
        "me@home:{}@host",
    ];

    /// Whether a text has four letters of the password in a row.
    fn tells(text: &str, password: &str) -> bool {
        let letters: Vec<char> = password.chars().collect();
        letters
            .windows(4)
            .any(|part| text.contains(&part.iter().collect::<String>()))
    }

    proptest::proptest! {
        #[test]
        fn no_form_of_an_address_shows_its_password(
            form in 0..FORMS.len(),
            // No part of it stands in a form; digits alone would be a port.
            password in "[XYZ@:/?#&%+!*]{0,6}[XYZ]{4,8}[XYZ0-9@:/?#&%+!*]{0,6}",
        ) {
            // Without a host, what follows an @ could be one, and what begins with / a database.
            let is_torn = FORMS[form].ends_with("://me:{}");
            proptest::prop_assume!(!is_torn || (!password.contains('@') && password.starts_with(['X', 'Y', 'Z'])));
            let address = FORMS[form].replace("{}", &password);
            let kept = register(Path::new(&address)).display().to_string();
            proptest::prop_assert!(!tells(&kept, &password), "{address}: keep: {kept}");
            let said = redact_word(&address);
            proptest::prop_assert!(!tells(&said, &password), "{address}: shown: {said}");
            let word = format!("--engine=lmdb,postgresql@{address}");
            let message = format!("cannot read {address}, of {word}");
            let said = redact_message(&message, &[word]);
            proptest::prop_assert!(!tells(&said, &password), "{address}: {said}");
        }
    }
}
