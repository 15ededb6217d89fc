//! Differences between our trials and a published experiment.

use super::scale::ScaleMatch;
use super::trial::Trials;
use crate::Run;
use crate::storage_models::{faults, models};
use crate::text::serialize_as_text;
use crate::units::bytes;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::published::{Column, PublishedTable, Setting};

/// A difference between our trials and a published experiment. `Display` is the sentence in JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Difference {
    /// The machine.
    #[error(
        "machine: here {cpu_model}, {cores} cores, {} of memory, {kernel}; there {published}",
        bytes(*.memory_bytes as f64)
    )]
    Machine {
        /// Our processor.
        cpu_model: String,
        /// Number of its cores.
        cores: u32,
        /// Our memory.
        memory_bytes: u64,
        /// Our kernel.
        kernel: String,
        /// The document's machine, in its words.
        published: String,
    },
    /// The version of the engine.
    #[error(
        "version: here {}; there {there}",
        if here.is_empty() { "unknown".to_owned() } else { here.join(", ") }
    )]
    Version {
        /// Our versions; empty if no engine reported one.
        here: Vec<String>,
        /// The document's.
        there: String,
    },
    /// The size of the problem, at one scale.
    #[error(transparent)]
    Scale(ScaleMatch),
    /// A setting.
    #[error("{name}: here {}; there {}", here.join("; "), there.join("; "))]
    Setting {
        /// Its name.
        name: String,
        /// Our values.
        here: Vec<String>,
        /// The document's.
        there: Vec<String>,
    },
    /// File systems of ours that were made for their trials.
    #[error("file systems: here each in an image file on a loop device, made for its trial")]
    ImageFiles,
    /// Storage of ours that delays requests as named devices would.
    #[error(
        "storage: here modeled, which delays requests as such a device would: {} \
         (docs/STORAGE_MODELS.md)",
        models.join(", ")
    )]
    StorageModels {
        /// The models.
        models: Vec<String>,
    },
    /// Faults of our storage.
    #[error("storage: here with faults: {} (docs/FAULTS.md)", faults.join(", "))]
    StorageFaults {
        /// The faults.
        faults: Vec<String>,
    },
    /// A difference that the published table itself states.
    #[error("{0}")]
    Stated(String),
}

serialize_as_text!(Difference);

/// Returns the differences: the machine, the versions, and the settings of the published experiment
/// that ours do not match. For the dimensions in `scaled` it gives the scale of the comparison.
pub(super) fn differs(
    published: &PublishedTable,
    report: &Run,
    trials: &Trials<'_>,
    scaled: &BTreeMap<String, ScaleMatch>,
) -> Vec<Difference> {
    let host = &report.manifest.host;
    let mut differences = vec![
        Difference::Machine {
            cpu_model: host.cpu_model.clone(),
            cores: host.cores,
            memory_bytes: host.memory_bytes,
            kernel: host.kernel.clone(),
            published: published.machine.clone(),
        },
        Difference::Version {
            here: versions(trials),
            there: published.version.clone(),
        },
    ];
    // Knobs that have a column in the table are listed in each row.
    let in_rows = |setting: &&Setting| {
        let of_it = |column: &Column| column.ours.as_ref() == Some(&setting.name);
        setting.name.starts_with("knobs.") && published.columns.iter().any(of_it)
    };
    let settings = published.experiment.settings.iter();
    let settings = settings.filter(|setting| !in_rows(setting));
    differences.extend(settings.filter_map(|setting| {
        let scale = scaled.get(&setting.name).cloned();
        scale
            .map(Difference::Scale)
            .or_else(|| missing_in_publication(setting, trials))
    }));
    let made = |trial: &&TrialRecord| {
        let on = trial.file_system.as_ref();
        on.is_some_and(|on| on.image_bytes.is_some())
    };
    differences.extend(
        trials
            .all
            .iter()
            .any(made)
            .then_some(Difference::ImageFiles),
    );
    let models = models(trials.all.iter().map(|trial| &trial.spec));
    if !models.is_empty() {
        differences.push(Difference::StorageModels { models });
    }
    let faults = faults(trials.all.iter().map(|trial| &trial.spec));
    if !faults.is_empty() {
        differences.push(Difference::StorageFaults { faults });
    }
    let stated = published.experiment.differs.trim();
    if !stated.is_empty() {
        differences.push(Difference::Stated(stated.to_owned()));
    }
    differences
}

fn versions(trials: &Trials<'_>) -> Vec<String> {
    let mut versions = Vec::new();
    for engine in trials.all.iter().filter_map(|trial| trial.engine.as_ref()) {
        if !versions.contains(&engine.version) {
            versions.push(engine.version.clone());
        }
    }
    versions
}

/// A dimension in which our value does not occur in the published experiment.
fn missing_in_publication(setting: &Setting, trials: &Trials<'_>) -> Option<Difference> {
    let here = trials.values(&setting.name);
    let there: Vec<_> = setting.values.iter().map(ToString::to_string).collect();
    if setting.name == "filesystem" || here.iter().all(|value| there.contains(value)) {
        return None;
    }
    let name = setting.name.rsplit('.').next().unwrap_or(&setting.name);
    Some(Difference::Setting {
        name: name.to_owned(),
        here,
        there,
    })
}
