//! The storage models that trials name: whether there are such models, and whether this machine can
//! put a database on them, or have its storage fail.

use crate::Error;
use trueput_faultfs::named_model::{NamedModelError, find_model, pin_model};
use trueput_host::trial_file_system::{FileSystemError, check_conditions};
use trueput_record::storage_model::ModelReference;
use trueput_record::{Conditions, TrialSpec};

/// The keys of the conditions that name models, in a plan.
const KEYS: [&str; 2] = ["storage_model", "log_storage_model"];

/// A condition that names no usable model, whatever the machine.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {reason}")]
pub(crate) struct ModelMistake {
    /// The condition's key in a plan.
    pub key: &'static str,
    /// There is no such model, or its file is not the one that was planned.
    reason: NamedModelError,
}

/// Finds the models of conditions, and gives those in files the hash of their text, by which a
/// trial knows them again. What has a hash must still be as it was.
///
/// # Errors
/// [`ModelMistake`].
pub(crate) fn pin_models(conditions: &mut Conditions) -> Result<(), ModelMistake> {
    let models = [
        &mut conditions.storage_model,
        &mut conditions.log_storage_model,
    ];
    for (key, model) in KEYS.into_iter().zip(models) {
        if let Some(model) = model {
            *model = pin_model(model).map_err(|reason| ModelMistake { key, reason })?;
        }
    }
    Ok(())
}

/// Checks that the models of a trial are those that it was planned for.
///
/// # Errors
/// [`ModelMistake`].
pub(crate) fn check_models(conditions: &Conditions) -> Result<(), ModelMistake> {
    let models = [&conditions.storage_model, &conditions.log_storage_model];
    for (key, model) in KEYS.into_iter().zip(models) {
        if let Some(model) = model {
            find_model(model).map_err(|reason| ModelMistake { key, reason })?;
        }
    }
    Ok(())
}

/// Checks the models of trials that were planned earlier, and that they can be had still.
///
/// # Errors
/// [`Error::Trial`] for the first one whose model has changed, or cannot be had.
pub(crate) fn check_again(trials: &[&TrialSpec]) -> Result<(), Error> {
    for spec in trials {
        let refuse = |message: String| Error::Trial {
            id: spec.id.clone(),
            message,
        };
        check_models(&spec.conditions).map_err(|mistake| refuse(mistake.to_string()))?;
        check_available(&spec.conditions).map_err(|reason| refuse(reason.to_string()))?;
    }
    Ok(())
}

/// Returns whether conditions differ at most in the folders of their models' files: one text of one
/// name is one model.
pub(crate) fn are_on_same_models(one: &Conditions, other: &Conditions) -> bool {
    let labeled = |conditions: &Conditions| {
        let label = |model: &Option<String>| {
            let model = model.as_deref();
            model.map(|text| ModelReference::of(text).label())
        };
        Conditions {
            storage_model: label(&conditions.storage_model),
            log_storage_model: label(&conditions.log_storage_model),
            ..conditions.clone()
        }
    };
    labeled(one) == labeled(other)
}

/// Returns the key in a plan of the first storage model among conditions; `None` if they name none.
pub(crate) fn first_key(conditions: &Conditions) -> Option<&'static str> {
    let models = [&conditions.storage_model, &conditions.log_storage_model];
    let mut named = KEYS.into_iter().zip(models);
    named.find_map(|(key, model)| model.as_ref().map(|_| key))
}

/// Checks that this machine and this user can put a database with these conditions on its storage
/// models, and give that its fault, if it has any.
///
/// # Errors
/// [`FileSystemError`], one sentence.
pub(crate) fn check_available(conditions: &Conditions) -> Result<(), FileSystemError> {
    if first_key(conditions).is_some() || conditions.fault.is_some() {
        check_conditions(conditions)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use trueput_record::{Durability, testing};

    fn on(model: &str) -> Conditions {
        Conditions {
            storage_model: Some(model.to_owned()),
            ..Conditions::default()
        }
    }

    #[test]
    fn a_model_that_is_not_there_is_refused_with_the_known_ones() {
        let said = pin_models(&mut on("hdd-720")).unwrap_err().to_string();
        for part in [
            "storage_model: ",
            "did you mean 'hdd-7200'",
            "nvme-consumer",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains('\n'), "{said}");
        let mut log = Conditions {
            log_storage_model: Some("nvme".to_owned()),
            ..Conditions::default()
        };
        let said = pin_models(&mut log).unwrap_err().to_string();
        assert!(said.starts_with("log_storage_model: "), "{said}");
        let (mut known, mut none) = (on("hdd-7200"), Conditions::default());
        assert!(pin_models(&mut known).is_ok() && pin_models(&mut none).is_ok());
        assert_eq!((known, none), (on("hdd-7200"), Conditions::default()));
    }

    #[test]
    fn a_file_is_pinned_and_a_trial_is_not_run_on_another_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../devices/hdd-7200.toml");
        std::fs::copy(original, &path).unwrap();
        let mut conditions = on(path.to_str().unwrap());
        pin_models(&mut conditions).unwrap();
        let pinned = conditions.storage_model.clone().unwrap();
        assert!(pinned.starts_with(path.to_str().unwrap()), "{pinned}");
        assert!(pinned.contains("my.toml@"), "{pinned}");
        assert!(check_models(&conditions).is_ok());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}# a remark\n")).unwrap();
        let said = check_models(&conditions).unwrap_err().to_string();
        assert!(said.contains("has changed"), "{said}");
        // So is the resumption of a run that has such a trial left, by the trial's name.
        let mut spec = testing::spec(0, "lmdb", Durability::Sync, 1);
        assert!(check_again(&[&spec]).is_ok());
        spec.conditions = conditions;
        let said = check_again(&[&spec]).unwrap_err().to_string();
        assert!(
            said.contains(&spec.id) && said.contains("has changed"),
            "{said}"
        );
    }

    #[test]
    fn one_text_of_one_name_is_one_model_in_any_folder() {
        let is_same = |one: &str, other: &str| are_on_same_models(&on(one), &on(other));
        assert!(is_same("/a/my.toml@1a2b3c4d", "/b/my.toml@1a2b3c4d"));
        assert!(!is_same("/a/my.toml@1a2b3c4d", "/a/my.toml@00000000"));
        assert!(!is_same("hdd-7200", "nvme-consumer"));
        let longer = Conditions {
            duration_s: Some(9.0),
            ..on("hdd-7200")
        };
        assert!(!are_on_same_models(&on("hdd-7200"), &longer));
    }

    #[test]
    fn a_trial_without_a_model_needs_nothing_of_the_machine() {
        assert_eq!(check_available(&Conditions::default()), Ok(()));
        assert_eq!(first_key(&Conditions::default()), None);
        assert_eq!(first_key(&on("hdd-7200")), Some("storage_model"));
        let mut on_memory = on("hdd-7200");
        on_memory.file_system = "tmpfs".parse().ok();
        let refused = check_available(&on_memory).unwrap_err();
        assert!(refused.is_invalid(), "{refused}");
    }
}
