//! The syntax of addresses: well-formed and malformed URLs and connection strings, and the places
//! in them that could hold a password.

use trueput_record::address::is_connection_string;
use trueput_record::suggest::nearest;

/// Words in a name that mark its value as secret.
const SECRET_WORDS: [&str; 4] = ["pwd", "passw", "secret", "token"];

/// Names of secrets that are parts of the names of other things.
const SHORT_SECRETS: [&str; 9] = [
    "pw",
    "psw",
    "pass",
    "passphrase",
    "auth",
    "apikey",
    "key",
    "credential",
    "credentials",
];

/// Returns the attributes of a connection string, `NAME=VALUE` each. A value in braces may contain
/// semicolons.
pub fn attributes(text: &str) -> impl Iterator<Item = &str> {
    parts(text, ';')
}

/// Splits a text at separators outside braces; within braces `}}` is a brace.
pub(super) fn parts(text: &str, separator: char) -> impl Iterator<Item = &str> {
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

/// The parts of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressParts {
    /// The address without its secrets.
    pub(super) redacted: String,
    /// The password of a URL, or the secret attributes of a connection string.
    pub(super) password: String,
    /// The secret options of a URL.
    pub(super) options: String,
}

/// Splits an address that has secrets; `None` without any.
pub(super) fn split(text: &str) -> Option<AddressParts> {
    match text.split_once("://") {
        // An address has a known scheme, perhaps after the name of an option and an engine.
        Some((scheme, _)) if is_scheme(scheme) => split_url(text),
        Some(_) => None,
        None if is_connection_string(text) => {
            let (redacted, password) = split_attributes(text)?;
            Some(AddressParts {
                redacted,
                password,
                options: String::new(),
            })
        }
        None => None,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_word = SECRET_WORDS.iter().any(|word| name.contains(word));
    // A misspelled name also marks a secret. The text before it may be the value of another name.
    let last = name.rsplit([' ', '%', '_', '-']).next().unwrap_or(&name);
    is_word || SHORT_SECRETS.contains(&last) || nearest(last, ["password", "passwd"]).is_some()
}

/// Returns a connection string without its secret attributes, and those attributes.
pub(super) fn split_attributes(text: &str) -> Option<(String, String)> {
    let is_secret =
        |attribute: &&str| is_secret(attribute.split_once('=').map_or("", |(name, _)| name));
    let (secret, redacted): (Vec<_>, Vec<_>) = attributes(text).partition(is_secret);
    (!secret.is_empty()).then(|| (redacted.join(";"), secret.join(";")))
}

fn split_url(text: &str) -> Option<AddressParts> {
    let (redacted, password) = match split_password(text) {
        Some((redacted, password)) => (redacted, Some(password)),
        None => (text.to_owned(), None),
    };
    let (redacted, options) = match split_options(&redacted) {
        Some((redacted, options)) => (redacted, Some(options)),
        None => (redacted, None),
    };
    let has_any = password.is_some() || options.is_some();
    has_any.then(|| AddressParts {
        redacted,
        password: password.unwrap_or_default().to_owned(),
        options: options.unwrap_or_default(),
    })
}

/// Returns whether the text after a host's colon is a port.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn split_password(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    // A password may contain an unescaped @, / or ?.
    let odd = || rest[..end].contains(':').then(|| rest.rfind('@')).flatten();
    let at = match rest[..end].rfind('@') {
        // Of several, the last one is before the host, whatever is between them.
        Some(at) if rest[..at].contains(':') => rest.rfind('@').unwrap_or(at),
        Some(at) => at,
        None => odd()?,
    };
    let (user, password) = rest[..at].split_once(':')?;
    Some((format!("{scheme}://{user}{}", &rest[at..]), password))
}

/// Returns a URL without its secret options, and those options.
fn split_options(text: &str) -> Option<(String, String)> {
    let (address, options) = text.split_once('?')?;
    let is_secret = |option: &&str| match option.split_once('=') {
        // The name under an escape is unknown.
        Some((name, _)) => name.contains('%') || is_secret(name),
        // It may be the rest of an unescaped password.
        None => true,
    };
    let (secret, redacted): (Vec<_>, Vec<_>) = options.split('&').partition(is_secret);
    let joined = if redacted.is_empty() {
        address.to_owned()
    } else {
        format!("{address}?{}", redacted.join("&"))
    };
    (!secret.is_empty()).then(|| (joined, secret.join("&")))
}

/// Whether a text is a list of hosts, each with a port.
fn names_several_hosts(text: &str) -> bool {
    let has_port = |host: &str| {
        let parts = host.rsplit_once(':');
        parts.is_some_and(|(_, port)| !port.is_empty() && port.len() <= 5 && is_port(port))
    };
    text.contains(',') && text.split(',').all(has_port)
}

/// Returns the start of an address that ends within its password, without the password; `None` for
/// any other text.
pub(super) fn truncated(text: &str) -> Option<String> {
    let (scheme, rest) = text
        .split_once("://")
        .filter(|(scheme, _)| is_scheme(scheme))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (user, password) = rest[..end].split_once(':')?;
    let is_truncated = !is_port(password)
        && !names_several_hosts(&rest[..end])
        && !rest.contains('@')
        && !rest.starts_with('[');
    is_truncated.then(|| format!("{scheme}://{user}"))
}

/// The schemes of addresses.
pub(super) const SCHEMES: [&str; 7] = [
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "odbc",
    "http",
    "https",
];

/// Returns whether the text before `://` ends with a scheme; it may begin with the name of an
/// option and an engine.
fn is_scheme(text: &str) -> bool {
    !text.contains(':') && SCHEMES.iter().any(|known| text.ends_with(known))
}

/// Returns the start of the value of a secret: after `password=`.
pub(super) fn secret_name(text: &str) -> Option<usize> {
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

/// Masks anything in a malformed address that could be a password; `None` if nothing could. It
/// masks too much rather than too little.
pub(super) fn mask(text: &str) -> Option<String> {
    match secret_name(text) {
        Some(value) => {
            let before = &text[..value];
            let before = mask_password(before).unwrap_or_else(|| before.to_owned());
            Some(format!("{before}…"))
        }
        None => mask_password(text),
    }
}

/// Removes the text between a user's colon and an @, or from the colon to the end.
fn mask_password(text: &str) -> Option<String> {
    if let Some((scheme, rest)) = text.split_once("://")
        && SCHEMES.contains(&scheme)
    {
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        // A user without a password: the rest is the name of a database.
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
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let is_place = is_port(port) || names_several_hosts(authority);
            if is_path || is_place || rest.starts_with('[') {
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
