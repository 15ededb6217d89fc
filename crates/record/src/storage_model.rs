//! The storage models that conditions name: built-in ones, and files of a user's.
//!
//! ```text
//! hdd-7200                      a built-in model, by its name
//! ./my.toml                     a file, as a plan names it
//! /home/me/my.toml@1a2b3c4d     the same in a trial: with 8 digits of its text's SHA-256
//! ```
//!
//! A file may change between two runs. So the expansion of a plan puts the hash of its text into
//! the condition ([`ModelReference::pinned`]), and a trial runs only on a file with that hash. What
//! has the same name and the same hash is the same model, in whichever folder it is
//! ([`ModelReference::label`]).

use std::path::Path;

/// The value of a condition without a storage model, on this machine's own storage. No model can
/// have this name.
pub const NO_MODEL: &str = "none";

/// The number of hexadecimal digits of a hash that tell two texts of one name apart.
const DIGEST_DIGITS: usize = 8;

/// A text that names no storage model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no storage model; write none, a name of 'trueput storage list', or the path of a \
     TOML file without commas, as in ./my.toml"
)]
pub struct ParseModelError(String);

/// A storage model by its name or file, as a condition names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelReference<'t> {
    /// The name of a built-in model, or the path of a file.
    pub source: &'t str,
    /// The first digits of the SHA-256 of the file's text; `None` before a plan is expanded, and
    /// for a built-in model.
    pub digest: Option<&'t str>,
}

impl<'t> ModelReference<'t> {
    /// Takes the value of a condition apart.
    #[must_use]
    pub fn of(text: &'t str) -> Self {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_digest =
            |digest: &str| digest.len() == DIGEST_DIGITS && digest.bytes().all(is_digit);
        match text.rsplit_once('@') {
            Some((source, digest)) if is_digest(digest) => Self {
                source,
                digest: Some(digest),
            },
            _ => Self {
                source: text,
                digest: None,
            },
        }
    }

    /// Returns the file; `None` for a built-in model, whose name has neither a slash nor the ending
    /// of a TOML file.
    #[must_use]
    pub fn file(&self) -> Option<&'t Path> {
        let path = Path::new(self.source);
        let is_toml = path.extension().is_some_and(|ending| ending == "toml");
        (is_toml || self.source.contains('/')).then_some(path)
    }

    /// Returns the name for reports, by which models are told apart: that of a built-in model, or
    /// the file's own name with its hash, without its folder.
    ///
    /// ```
    /// use trueput_record::storage_model::ModelReference;
    /// let label = |text| ModelReference::of(text).label();
    /// assert_eq!(label("hdd-7200"), "hdd-7200");
    /// assert_eq!(label("/home/me/my.toml@1a2b3c4d"), "my.toml@1a2b3c4d");
    /// ```
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.file().and_then(Path::file_name);
        let name = name.map_or(self.source.into(), |name| name.to_string_lossy());
        match self.digest {
            Some(digest) => format!("{name}@{digest}"),
            None => name.into_owned(),
        }
    }

    /// Returns the value of a trial's condition for a file: its path, and the beginning of the
    /// SHA-256 of its text, which is given in hexadecimal digits.
    #[must_use]
    pub fn pinned(path: &str, sha256: &str) -> String {
        let digest = sha256.get(..DIGEST_DIGITS).unwrap_or(sha256);
        format!("{path}@{digest}")
    }

    /// Returns whether a text with this SHA-256, in hexadecimal digits, is the one that is meant.
    #[must_use]
    pub fn admits(&self, sha256: &str) -> bool {
        self.digest.is_none_or(|digest| sha256.starts_with(digest))
    }
}

/// Reads the name or the file of a storage model, or `none`. Whether there is such a model is found
/// when a plan is expanded.
///
/// # Errors
/// [`ParseModelError`].
pub fn parse_model(text: &str) -> Result<Option<String>, ParseModelError> {
    if text == NO_MODEL {
        return Ok(None);
    }
    let is_file = ModelReference::of(text).file().is_some();
    let is_allowed = |letter: char| {
        if is_file {
            // The command line separates models by commas.
            letter != ',' && !letter.is_control()
        } else {
            letter.is_ascii_alphanumeric() || "-_.".contains(letter)
        }
    };
    if text.is_empty() || !text.chars().all(is_allowed) {
        return Err(ParseModelError(text.to_owned()));
    }
    Ok(Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_from_a_name_and_has_a_hash_in_a_trial() {
        let built_in = ModelReference::of("nvme-consumer");
        assert_eq!((built_in.file(), built_in.digest), (None, None));
        for text in ["./mine", "my.toml", "/a/b.c"] {
            let named = ModelReference::of(text);
            assert_eq!(named.file(), Some(Path::new(text)), "{text}");
            assert_eq!(named.digest, None);
        }
        let pinned = ModelReference::pinned("/a/my.toml", "1a2b3c4d5e6f");
        assert_eq!(pinned, "/a/my.toml@1a2b3c4d");
        let named = ModelReference::of(&pinned);
        assert_eq!(named.file(), Some(Path::new("/a/my.toml")));
        assert!(named.admits("1a2b3c4dffff") && !named.admits("1a2b3c4effff"));
        assert!(ModelReference::of("/a/my.toml").admits("ffff"));
        // An address in a file's name is no hash.
        for text in ["/a/my@b.toml", "/a/my.toml@1A2B3C4D", "/a/my.toml@1a2b3c4"] {
            assert_eq!(ModelReference::of(text).digest, None, "{text}");
        }
    }

    #[test]
    fn one_text_is_one_model_in_any_folder_and_another_text_is_another() {
        let label = |text| ModelReference::of(text).label();
        assert_eq!(label("/a/my.toml@00000001"), label("/b/my.toml@00000001"));
        assert_ne!(label("/a/my.toml@00000001"), label("/a/my.toml@00000002"));
        assert_ne!(
            label("/a/my.toml@00000001"),
            label("/a/other.toml@00000001")
        );
    }

    #[test]
    fn a_model_reads_as_it_is_written_and_what_is_none_is_refused() {
        assert_eq!(parse_model("none"), Ok(None));
        for text in ["hdd-7200", "./my model.toml", "/a/my.toml@1a2b3c4d"] {
            assert_eq!(parse_model(text), Ok(Some(text.to_owned())));
        }
        for text in ["", "hdd 7200", "hdd@fast", "a,b.toml", "my\n.toml"] {
            let refused = parse_model(text).unwrap_err().to_string();
            assert!(refused.contains("trueput storage list"), "{refused}");
        }
    }
}
