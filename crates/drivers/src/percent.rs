//! The `%` escapes of URLs.

use percent_encoding::percent_decode_str;

/// Decodes the `%` escapes of a part of a URL; `None` if one is malformed, which the crate would
/// leave unchanged.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let is_whole = |escape: &str| {
        let code = escape.as_bytes().get(..2);
        code.is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_whole) {
        return None;
    }
    let plain = percent_decode_str(text).decode_utf8().ok()?;
    Some(plain.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_broken_ones_refused() {
        assert_eq!(unescape("hu%20sh%C3%BC").as_deref(), Some("hu shü"));
        assert_eq!(unescape("a+b").as_deref(), Some("a+b"));
        for broken in ["%", "%2", "%zz", "a%+1", "%ü1", "%ff"] {
            assert_eq!(unescape(broken), None, "{broken}");
        }
    }
}
