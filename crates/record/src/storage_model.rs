//! The storage models that conditions name: built-in ones, and files of a user's.
//!
//! ```text
//! hdd-7200                      a built-in model, by its name
//! ./my.toml                     a file, as a plan names it
//! /home/me/my.toml@1a2b3c4d     the same in a trial: with 8 digits of its text's SHA-256
//! folder:hdd-7200               a model of either kind in its folder form
//! ```
//!
//! A model has two forms. In the usual one it is below a file system in an image; with `folder:`
//! the folder of the database itself has the delays. The times differ, so it is another model to
//! whoever compares trials.
//!
//! A file may change between two runs. So the expansion of a plan puts the hash of its text into
//! the condition ([`ModelReference::pinned`]), and a trial runs only on a file with that hash. What
//! has the same name and the same hash is the same model, in whichever folder it is
//! ([`ModelReference::label`]).

use std::path::Path;

/// The value of a condition without a storage model, on this machine's own storage. No model can
/// have this name.
pub const NO_MODEL: &str = "none";

/// What the value of a condition begins with if the model is in its folder form.
const FOLDER_FORM: &str = "folder:";

/// The number of hexadecimal digits of a hash that tell two texts of one name apart.
const DIGEST_DIGITS: usize = 8;

/// A text that names no storage model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no storage model; write none, a name of 'trueput storage list', or the path of a \
     TOML file without commas, as in ./my.toml; for its folder form with folder: before it"
)]
pub struct ParseModelError(String);

/// A storage model by its name or file, as a condition names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelReference<'t> {
    /// Whether the model is in its folder form: without an image, a loop device and a file system.
    pub is_folder: bool,
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
        let (is_folder, text) = match text.strip_prefix(FOLDER_FORM) {
            Some(text) => (true, text),
            None => (false, text),
        };
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_digest =
            |digest: &str| digest.len() == DIGEST_DIGITS && digest.bytes().all(is_digit);
        match text.rsplit_once('@') {
            Some((source, digest)) if is_digest(digest) => Self {
                is_folder,
                source,
                digest: Some(digest),
            },
            _ => Self {
                is_folder,
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
    /// the file's own name with its hash, without its folder; in its folder form with `folder:`.
    ///
    /// ```
    /// use trueput_record::storage_model::ModelReference;
    /// let label = |text| ModelReference::of(text).label();
    /// assert_eq!(label("hdd-7200"), "hdd-7200");
    /// assert_eq!(label("/home/me/my.toml@1a2b3c4d"), "my.toml@1a2b3c4d");
    /// assert_eq!(label("folder:/home/me/my.toml@1a2b3c4d"), "folder:my.toml@1a2b3c4d");
    /// ```
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.file().and_then(Path::file_name);
        let name = name.map_or(self.source.into(), |name| name.to_string_lossy());
        self.in_same_form(&match self.digest {
            Some(digest) => format!("{name}@{digest}"),
            None => name.into_owned(),
        })
    }

    /// Returns the value of a condition for another name or file in the form of this one.
    #[must_use]
    pub fn in_same_form(&self, model: &str) -> String {
        let form = if self.is_folder { FOLDER_FORM } else { "" };
        format!("{form}{model}")
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
    let name = text.strip_prefix(FOLDER_FORM).unwrap_or(text);
    let is_none = name.is_empty() || name == NO_MODEL;
    if is_none || !name.chars().all(is_allowed) {
        return Err(ParseModelError(text.to_owned()));
    }
    Ok(Some(text.to_owned()))
}

/// Returns whether the value of a condition is a model in its folder form.
#[must_use]
pub fn is_in_folder(model: Option<&str>) -> bool {
    model.is_some_and(|text| ModelReference::of(text).is_folder)
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
    fn a_model_in_its_folder_form_is_another_model_by_the_same_name() {
        let folder = ModelReference::of("folder:hdd-7200");
        assert!(folder.is_folder && !ModelReference::of("hdd-7200").is_folder);
        assert_eq!((folder.source, folder.file()), ("hdd-7200", None));
        assert_eq!(folder.label(), "folder:hdd-7200");
        assert_eq!(folder.in_same_form("sd-card"), "folder:sd-card");
        let file = ModelReference::of("folder:/a/my.toml@1a2b3c4d");
        assert_eq!(file.file(), Some(Path::new("/a/my.toml")));
        assert_eq!(file.digest, Some("1a2b3c4d"));
        assert!(is_in_folder(Some("folder:my.toml")));
        // The control: a file in a folder is in the usual form.
        assert!(!is_in_folder(Some("folder/my.toml")) && !is_in_folder(None));
    }

    #[test]
    fn a_model_reads_as_it_is_written_and_what_is_none_is_refused() {
        assert_eq!(parse_model("none"), Ok(None));
        let files = ["./my model.toml", "/a/my.toml@1a2b3c4d", "folder:./my.toml"];
        for text in files.into_iter().chain(["hdd-7200", "folder:hdd-7200"]) {
            assert_eq!(parse_model(text), Ok(Some(text.to_owned())));
        }
        let folders = [
            "folder:",
            "folder:none",
            "folder:folder:hdd-7200",
            "fold:er",
        ];
        let others = ["", "hdd 7200", "hdd@fast", "a,b.toml", "my\n.toml"];
        for text in folders.into_iter().chain(others) {
            let refused = parse_model(text).unwrap_err().to_string();
            assert!(refused.contains("trueput storage list"), "{refused}");
        }
    }
}
