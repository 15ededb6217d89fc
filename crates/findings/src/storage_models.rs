//! The storage models below trials, and the faults of their storage. What stood on another model or
//! had another fault did other work: it is ranked apart.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use trueput_record::storage_model::{ModelReference, NO_MODEL};
use trueput_record::{Conditions, TrialSpec};

/// The storage models below a database and its log, and the fault of its storage. `Display` gives
/// the words of a heading: `on model hdd-7200, log on model nvme-consumer, with fault fsync:eio@3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct StorageModels {
    /// That of the database: the name of a built-in model, or a file's name with the hash of its
    /// text; `none`: this machine's own storage.
    pub data: String,
    /// That of the log, likewise; absent if it is with the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The fault of the storage while the workers were measured; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl StorageModels {
    /// Returns those of a trial with these conditions. A log with a file system of its own, and
    /// without a model, is on this machine's own storage.
    #[must_use]
    pub fn of(conditions: &Conditions) -> Self {
        let label = |model: &Option<String>| match model {
            Some(text) => ModelReference::of(text).label(),
            None => NO_MODEL.to_owned(),
        };
        let data = label(&conditions.storage_model);
        let log = label(&conditions.log_storage_model);
        let is_apart =
            conditions.log_file_system.is_some() || conditions.log_storage_model.is_some();
        let is_modelled = data != NO_MODEL || log != NO_MODEL;
        Self {
            data,
            log: Some(log).filter(|_| is_apart && is_modelled),
            fault: conditions.fault.as_ref().map(ToString::to_string),
        }
    }

    /// Returns whether database or log were on a model.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.data != NO_MODEL || self.log.is_some()
    }

    /// Returns whether database and log were on this machine's own storage, without a fault.
    #[must_use]
    pub fn is_none(&self) -> bool {
        !self.has_model() && self.fault.is_none()
    }
}

impl fmt::Display for StorageModels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_on_model = self.has_model();
        if is_on_model || self.fault.is_none() {
            write!(formatter, "on {}", place(&self.data))?;
        }
        if let Some(log) = &self.log {
            write!(formatter, ", log on {}", place(log))?;
        }
        match &self.fault {
            Some(fault) if is_on_model => write!(formatter, ", with fault {fault}"),
            Some(fault) => write!(formatter, "with fault {fault}"),
            None => Ok(()),
        }
    }
}

/// Says that it is a model: nobody must take a figure for one of the device.
fn place(model: &str) -> String {
    if model == NO_MODEL {
        "this machine's storage".to_owned()
    } else {
        format!("model {model}")
    }
}

/// The models on which any of these trials are to run, each once, by name; empty if none is on one.
#[must_use]
pub fn models<'a>(specs: impl IntoIterator<Item = &'a TrialSpec>) -> Vec<String> {
    let of = |spec: &TrialSpec| {
        let found = StorageModels::of(&spec.conditions);
        [Some(found.data), found.log]
    };
    let all = specs.into_iter().flat_map(of).flatten();
    let distinct: BTreeSet<_> = all.filter(|model| model != NO_MODEL).collect();
    distinct.into_iter().collect()
}

/// The faults with which any of these trials are to run, each once, by name; empty without one.
#[must_use]
pub fn faults<'a>(specs: impl IntoIterator<Item = &'a TrialSpec>) -> Vec<String> {
    let specs = specs.into_iter();
    let all = specs.filter_map(|spec| spec.conditions.fault.as_ref());
    let distinct: BTreeSet<_> = all.map(ToString::to_string).collect();
    distinct.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(data: Option<&str>, log: Option<&str>) -> Conditions {
        Conditions {
            storage_model: data.map(str::to_owned),
            log_storage_model: log.map(str::to_owned),
            ..Conditions::default()
        }
    }

    fn words(conditions: &Conditions) -> String {
        StorageModels::of(conditions).to_string()
    }

    #[test]
    fn a_heading_names_the_model_of_the_data_and_of_a_log_elsewhere() {
        assert_eq!(words(&on(Some("hdd-7200"), None)), "on model hdd-7200");
        let file = on(Some("/home/me/my.toml@1a2b3c4d"), None);
        assert_eq!(words(&file), "on model my.toml@1a2b3c4d");
        let both = on(Some("hdd-7200"), Some("nvme-consumer"));
        assert_eq!(
            words(&both),
            "on model hdd-7200, log on model nvme-consumer"
        );
        let log = on(None, Some("hdd-7200"));
        assert_eq!(
            words(&log),
            "on this machine's storage, log on model hdd-7200"
        );
        // Two devices of one kind are not one device.
        let two = on(Some("hdd-7200"), Some("hdd-7200"));
        assert_ne!(words(&two), words(&on(Some("hdd-7200"), None)));
    }

    #[test]
    fn a_log_that_a_file_system_takes_from_the_model_is_elsewhere() {
        let mut conditions = on(Some("hdd-7200"), None);
        let together = StorageModels::of(&conditions);
        conditions.log_file_system = "ext4".parse().ok();
        let apart = StorageModels::of(&conditions);
        assert_ne!(together, apart);
        assert_eq!(
            apart.to_string(),
            "on model hdd-7200, log on this machine's storage"
        );
        // Without any model, a log's file system does not make other rankings.
        conditions.storage_model = None;
        assert_eq!(
            StorageModels::of(&conditions),
            StorageModels::of(&on(None, None))
        );
        assert!(StorageModels::of(&conditions).is_none());
    }

    #[test]
    fn a_heading_names_the_fault_behind_the_model_or_alone() {
        let mut conditions = on(None, None);
        conditions.fault = "any:stall=2s@1s".parse().ok();
        assert_eq!(words(&conditions), "with fault any:stall=2s@1s");
        let faulty = StorageModels::of(&conditions);
        assert!(!faulty.is_none() && !faulty.has_model());
        conditions.storage_model = Some("hdd-7200".to_owned());
        let both = "on model hdd-7200, with fault any:stall=2s@1s";
        assert_eq!(words(&conditions), both);
        assert_ne!(StorageModels::of(&conditions), faulty);
    }
}
