//! The storage model that a condition names: a built-in one, or a file of a user's with the text
//! that it had when the plan was expanded.

use crate::storage_model::{StorageModel, StorageModelError};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use trueput_record::storage_model::{ModelReference, ParseModelError, parse_model};

/// The reason why a condition names no usable model.
#[derive(Debug, thiserror::Error)]
pub enum NamedModelError {
    /// There is no such model, or its file is none.
    #[error(transparent)]
    Model(#[from] StorageModelError),
    /// No condition can hold the path of the file.
    #[error(transparent)]
    Name(#[from] ParseModelError),
    /// The file is not as it was when the plan was expanded.
    #[error(
        "{} has changed: the trial is for the text whose SHA-256 begins with {planned}, and that \
         of the file begins with {found}; restore it, or run the plan anew",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The first digits of the hash that the trial has.
        planned: String,
        /// Those of the file.
        found: String,
    },
}

/// Returns the model that the value of a condition names, in whichever form.
///
/// # Errors
/// [`NamedModelError`]: there is no such model, or the file has another text than the trial was
/// planned for.
pub fn find_model(text: &str) -> Result<StorageModel, NamedModelError> {
    let reference = ModelReference::of(text);
    match reference.file() {
        Some(path) => Ok(read_planned(&reference, path)?.0),
        None => built_in(&reference),
    }
}

/// Returns a built-in model. It has no hash: one after its name belongs to no model.
fn built_in(reference: &ModelReference<'_>) -> Result<StorageModel, NamedModelError> {
    let name = match reference.digest {
        Some(digest) => ModelReference::pinned(reference.source, digest),
        None => reference.source.to_owned(),
    };
    Ok(StorageModel::built_in(&name)?)
}

/// Returns the value that a trial's condition has for this value of a plan's: a file by its full
/// path and the hash of its text, and a built-in model as it is.
///
/// # Errors
/// As [`find_model`].
pub fn pin_model(text: &str) -> Result<String, NamedModelError> {
    let reference = ModelReference::of(text);
    let Some(path) = reference.file() else {
        built_in(&reference)?;
        return Ok(text.to_owned());
    };
    // A plan's folder may have a name that no condition can hold.
    parse_model(reference.source)?;
    let (_, sha256) = read_planned(&reference, path)?;
    let full = std::path::absolute(path).ok();
    let full = full.and_then(|full| full.into_os_string().into_string().ok());
    // So may the current folder: then the path stays relative to it.
    let full = full.filter(|full| parse_model(full).is_ok());
    let full = full.unwrap_or_else(|| reference.source.to_owned());
    Ok(reference.in_same_form(&ModelReference::pinned(&full, &sha256)))
}

/// Reads the model in a file, with the SHA-256 of its text in hexadecimal digits.
fn read_planned(
    reference: &ModelReference<'_>,
    path: &Path,
) -> Result<(StorageModel, String), NamedModelError> {
    // The text is read once: the model and the hash are of the same text.
    let text = StorageModel::read_text(path)?;
    let model = StorageModel::parse(path, &text)?;
    let hash = Sha256::digest(&text);
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    match reference.digest {
        Some(planned) if !reference.admits(&digits) => Err(NamedModelError::Changed {
            path: path.to_owned(),
            planned: planned.to_owned(),
            found: digits.chars().take(planned.len()).collect(),
        }),
        _ => Ok((model, digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a model, in a folder of its own.
    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        let model = StorageModel::built_in("nvme-consumer").unwrap();
        std::fs::write(&path, toml::to_string(&model).unwrap()).unwrap();
        (folder, path)
    }

    #[test]
    fn a_built_in_model_is_found_by_its_name_and_a_misspelled_one_with_the_known_ones() {
        assert_eq!(pin_model("hdd-7200").unwrap(), "hdd-7200");
        assert_eq!(find_model("hdd-7200").unwrap().name, "hdd-7200");
        assert!(find_model("hdd-7200@1a2b3c4d").is_err());
        for found in [
            find_model("hdd-720").map(drop),
            pin_model("hdd-720").map(drop),
        ] {
            let said = found.unwrap_err().to_string();
            for part in [
                "'hdd-720'",
                "did you mean 'hdd-7200'",
                "nvme-consumer",
                "sd-card",
            ] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }

    #[test]
    fn a_file_that_changed_after_its_plan_was_expanded_is_refused() {
        let (_folder, path) = file();
        let pinned = pin_model(path.to_str().unwrap()).unwrap();
        let reference = ModelReference::of(&pinned);
        assert_eq!(reference.file(), Some(path.as_path()));
        assert_eq!(reference.digest.map(str::len), Some(8));
        let model = find_model(&pinned).unwrap();
        assert_eq!(model, StorageModel::read(&path).unwrap());
        // It is pinned once: a second expansion changes nothing.
        assert_eq!(pin_model(&pinned).unwrap(), pinned);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("# a remark\n");
        std::fs::write(&path, text).unwrap();
        let said = find_model(&pinned).unwrap_err().to_string();
        assert!(said.contains("has changed"), "{said}");
        assert_ne!(pin_model(path.to_str().unwrap()).unwrap(), pinned);
    }

    #[test]
    fn a_model_in_its_folder_form_is_the_same_model_and_stays_in_this_form() {
        assert_eq!(pin_model("folder:hdd-7200").unwrap(), "folder:hdd-7200");
        assert_eq!(
            find_model("folder:hdd-7200").unwrap(),
            find_model("hdd-7200").unwrap()
        );
        let said = find_model("folder:hdd-720").unwrap_err().to_string();
        assert!(said.contains("'hdd-720'"), "{said}");
        let (_folder, path) = file();
        let usual = pin_model(path.to_str().unwrap()).unwrap();
        let pinned = pin_model(&format!("folder:{}", path.display())).unwrap();
        assert_eq!(pinned, format!("folder:{usual}"));
        assert_eq!(pin_model(&pinned).unwrap(), pinned);
        assert_eq!(find_model(&pinned).unwrap(), find_model(&usual).unwrap());
    }

    #[test]
    fn a_file_that_is_not_there_or_no_model_is_refused_by_its_name() {
        let (folder, path) = file();
        let absent = folder.path().join("absent.toml");
        let said = find_model(absent.to_str().unwrap())
            .unwrap_err()
            .to_string();
        assert!(said.contains("absent.toml"), "{said}");
        std::fs::write(&path, "nmae = \"x\"\n").unwrap();
        let said = pin_model(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(said.contains("my.toml") && said.contains("nmae"), "{said}");
    }
}
