//! Splits a text into statements: drivers commonly take one at a time.

/// The statements of a text, at the semicolons outside of quotes; `$tag$` quotes too, as in
/// PostgreSQL.
pub(super) fn statements(text: &str) -> Vec<&str> {
    let (mut found, mut first, mut at) = (Vec::new(), 0, 0);
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        at += match letter {
            '\'' | '"' | '`' => quoted(rest, letter.len_utf8(), &rest[..letter.len_utf8()]),
            '$' => match dollar(rest) {
                Some(tag) => quoted(rest, tag.len(), tag),
                None => 1,
            },
            ';' => {
                found.push(&text[first..at]);
                first = at + 1;
                1
            }
            other => other.len_utf8(),
        };
    }
    found.push(&text[first..]);
    let trimmed = found.into_iter().map(str::trim);
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

/// The length of the quotation that starts `text` with an opening of `begin` bytes and ends with
/// `end`.
fn quoted(text: &str, begin: usize, end: &str) -> usize {
    let inner = &text[begin..];
    inner
        .find(end)
        .map_or(text.len(), |at| begin + at + end.len())
}

/// The tag of a dollar quotation, both dollars with it.
fn dollar(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    tag[1..end - 1].chars().all(is_word).then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes() {
        assert_eq!(statements(" a ; b;; "), ["a", "b"]);
        assert_eq!(statements("a';'b; \"c;\" `;`"), ["a';'b", "\"c;\" `;`"]);
        assert_eq!(statements("f $$ a; $$; g"), ["f $$ a; $$", "g"]);
        assert_eq!(statements("f $x$ $$;$$ $x$; g"), ["f $x$ $$;$$ $x$", "g"]);
        assert_eq!(statements("x = $1; ä"), ["x = $1", "ä"]);
        assert_eq!(statements("'it''s;'; b"), ["'it''s;'", "b"]);
        assert_eq!(statements("'open; "), ["'open;"]);
        assert!(statements("").is_empty());
    }
}
