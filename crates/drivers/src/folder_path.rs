//! Paths of folders that an engine cannot work with.

use std::path::Path;

/// Returns why an engine cannot work in a folder whose path has one of the characters `refused`, or
/// one that controls a terminal; `reason` is why it cannot. `None` if it has none.
pub(crate) fn objection(folder: &Path, refused: &str, reason: &str) -> Option<String> {
    let text = folder.to_string_lossy();
    let is_refused = |letter: &char| letter.is_control() || refused.contains(*letter);
    let found = text.chars().find(is_refused)?;
    Some(format!("{reason}, and its path has {found:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_an_engine_cannot_have_is_named() {
        let said = |path: &str| objection(Path::new(path), " \"\\", "it splits paths");
        assert_eq!(said("/var/lib/a-b_c.d#;%'\u{e9}"), None);
        let reason = said("/var/my data").unwrap();
        assert_eq!(reason, "it splits paths, and its path has ' '");
        for other in ["/a\"b", "/a\\b", "/a\nb"] {
            assert!(said(other).is_some(), "{other}");
        }
    }
}
