//! The syntax of addresses: URLs and connection strings, right and wrong ones, and where in them a
//! password could stand.

use trueput_record::address::is_connection_string;
use trueput_record::suggest::nearest;

/// What of a name says that its value is secret.
const SECRET_WORDS: [&str; 4] = ["pwd", "passw", "secret", "token"];

/// The attributes of a connection string, `NAME=VALUE` each. A value in braces may hold semicolons.
pub fn attributes(text: &str) -> impl Iterator<Item = &str> {
    parts(text, ';')
}

/// A text's parts between separators that are not in braces; within those `}}` is a brace.
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
    /// The address without what is secret in it.
    pub(super) shown: String,
    /// The password of a URL, or the secret attributes of a connection string.
    pub(super) password: String,
    /// The secret options of a URL.
    pub(super) options: String,
}

/// Parts an address that has something secret in it.
pub(super) fn split(text: &str) -> Option<AddressParts> {
    match text.split_once("://") {
        // An address has a scheme that is known, perhaps behind an option's and an engine's name.
        Some((scheme, _)) if is_scheme(scheme) => split_url(text),
        Some(_) => None,
        None if is_connection_string(text) => {
            let (shown, password) = split_attributes(text)?;
            Some(AddressParts {
                shown,
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
    // A misspelled one is no less a secret. What is before it may be another's value.
    let last = name.rsplit([' ', '%', '_']).next().unwrap_or(&name);
    is_word || nearest(last, ["password", "passwd"]).is_some()
}

/// A connection string without the attributes that are secret, and those.
pub(super) fn split_attributes(text: &str) -> Option<(String, String)> {
    let is_secret =
        |attribute: &&str| is_secret(attribute.split_once('=').map_or("", |(name, _)| name));
    let (secret, shown): (Vec<_>, Vec<_>) = attributes(text).partition(is_secret);
    (!secret.is_empty()).then(|| (shown.join(";"), secret.join(";")))
}

fn split_url(text: &str) -> Option<AddressParts> {
    let (shown, password) = match split_password(text) {
        Some((shown, password)) => (shown, Some(password)),
        None => (text.to_owned(), None),
    };
    let (shown, options) = match split_options(&shown) {
        Some((shown, options)) => (shown, Some(options)),
        None => (shown, None),
    };
    let has_any = password.is_some() || options.is_some();
    has_any.then(|| AddressParts {
        shown,
        password: password.unwrap_or_default().to_owned(),
        options: options.unwrap_or_default(),
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
        // Of several, the last one is before the host, whatever is between them.
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
        // What an escape hides is unknown.
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
pub(super) fn torn(text: &str) -> Option<String> {
    let (scheme, rest) = text
        .split_once("://")
        .filter(|(scheme, _)| is_scheme(scheme))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (user, password) = rest[..end].split_once(':')?;
    let is_torn = !is_port(password) && !rest.contains('@') && !rest.starts_with('[');
    is_torn.then(|| format!("{scheme}://{user}"))
}

/// What schemes of addresses are called.
pub(super) const SCHEMES: [&str; 5] = ["postgres", "postgresql", "mysql", "mariadb", "odbc"];

/// Whether what is before `://` ends with the name of a scheme; it may begin with an option's
/// name and an engine's.
fn is_scheme(text: &str) -> bool {
    !text.contains(':') && SCHEMES.iter().any(|known| text.ends_with(known))
}

/// Where the value of a secret's name begins: behind `password=`.
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

/// A text that was to be an address, without whatever in it could be a password; `None` if
/// nothing could. It hides too much rather than too little.
pub(super) fn masked(text: &str) -> Option<String> {
    match secret_name(text) {
        Some(value) => {
            let before = &text[..value];
            let before = without_user(before).unwrap_or_else(|| before.to_owned());
            Some(format!("{before}…"))
        }
        None => without_user(text),
    }
}

/// A text without what is between a user's colon and an @, or behind the colon to the end.
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
