//! Redacts passwords in words of a command line and in messages about them.

use super::syntax::{SCHEMES, mask, parts, secret_name, split, split_attributes, truncated};
use trueput_record::storage_fault::StorageFault;

/// The word of the condition `fault` for trials without one.
const NO_FAULT: &str = "none";

/// Redacts a word that may be a malformed address.
#[must_use]
pub fn redact_word(word: &str) -> String {
    let hidden = redact(word);
    mask(&hidden).unwrap_or(hidden)
}

/// Redacts the passwords of command-line words that a message repeats.
#[must_use]
pub fn redact_message(message: &str, words: &[String]) -> String {
    let after = |text: &'_ str, sign| text.find(sign).map_or(0, |at| at + 1);
    let mut pairs = Vec::new();
    for word in words.iter().filter(|word| redact(word) != **word) {
        pairs.push((word.as_str(), redact(word)));
        // A message may contain part of the word: a list element, or the text after an equals sign
        // or an @.
        for part in split_list(word) {
            let value = &part[after(part, '=')..];
            let builds = [&part[after(part, '@')..], &value[after(value, '@')..]];
            let wholes = [part, value].into_iter().chain(builds);
            pairs.extend(wholes.map(|whole| (whole, redact_word(whole))));
        }
    }
    // The longest first, because replacing a part of a longer one would prevent a match of the
    // whole.
    pairs.sort_by_key(|(whole, _)| std::cmp::Reverse(whole.len()));
    pairs
        .iter()
        .fold(message.to_owned(), |text, (whole, safe)| {
            if whole == safe || whole.is_empty() {
                text
            } else {
                text.replace(whole, safe)
            }
        })
}

/// Redacts a word of a command line, so that it can be recorded.
#[must_use]
pub fn redact(word: &str) -> String {
    if names_storage_faults(word) {
        return word.to_owned();
    }
    // A list of engines is one word, and an address follows its engine's name.
    let redacted = |part: &str| {
        let name = part.split_once('@').map(|(name, _)| name);
        let start = match name {
            Some(name) if !name.contains([';', ':', '{']) => name.len() + 1,
            _ => 0,
        };
        let (name, address) = part.split_at(start);
        let redacted = if address.contains("://") {
            split(part)
                .map(|parts| parts.redacted)
                .or_else(|| truncated(part))
        } else {
            split_attributes(address).map(|(redacted, _)| format!("{name}{redacted}"))
        };
        let redacted = redacted.unwrap_or_else(|| part.to_owned());
        // Text before an @ or after the name of a secret suggests a malformed address.
        let (name, address) = redacted.split_at(start.min(redacted.len()));
        let looks_like_address = address.contains('@') || address.contains("://");
        let scheme = address.split_once(':').map(|(scheme, _)| scheme);
        let looks_like_address = looks_like_address
            || secret_name(address).is_some()
            || scheme.is_some_and(|scheme| SCHEMES.contains(&scheme));
        match mask(address).filter(|_| looks_like_address) {
            Some(masked) => format!("{name}{masked}"),
            None => redacted,
        }
    };
    split_list(word)
        .into_iter()
        .map(redacted)
        .collect::<Vec<_>>()
        .join(",")
}

/// Splits a list of engines, each optionally with its build. A comma in the braces of a connection
/// string does not separate.
#[must_use]
pub fn split_list(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for (index, part) in parts(text, ',').enumerate() {
        end += part.len() + usize::from(index > 0);
        // A comma within an unescaped password does not separate either.
        let is_within = truncated(&text[start..end]).is_some() && end < text.len();
        if !is_within {
            found.push(&text[start..end]);
            start = end + 1;
        }
    }
    found
}

/// Returns whether a word names storage faults, perhaps at a time that does not exist, as in
/// `fsync:eio@0`, which looks like a user, a password and a host.
fn names_storage_faults(word: &str) -> bool {
    let is_fault = |part: &str| {
        let timeless = part.split('@').next().unwrap_or_default();
        timeless.parse::<StorageFault>().is_ok()
    };
    // An option, or the selector of a run.
    let faults = word
        .rsplit_once("fault=")
        .map_or(word, |(_, faults)| faults);
    faults
        .split(',')
        .all(|part| part == NO_FAULT || is_fault(part))
}
