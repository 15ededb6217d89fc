//! Words of a command line and messages about them, without the passwords in them.

use super::syntax::{SCHEMES, masked, parts, secret_name, split, split_attributes, torn};

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
    // A list of engines is one word, and an address follows its engine's name.
    let shown = |part: &str| {
        let name = part.split_once('@').map(|(name, _)| name);
        let start = match name {
            Some(name) if !name.contains([';', ':', '{']) => name.len() + 1,
            _ => 0,
        };
        let (name, address) = part.split_at(start);
        let shown = match address.contains("://") {
            true => split(part).map(|parts| parts.shown).or_else(|| torn(part)),
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
