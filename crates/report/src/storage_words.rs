//! What reports say of the storage below trials: what it leaves of the promise of a level, the
//! models of devices that it follows, and its faults.

use crate::document::Block;
use std::collections::BTreeSet;
use trueput_findings::Run;
use trueput_findings::power_loss::{StoragePromise, is_in_memory, violates_durability};
use trueput_findings::storage_faults::FaultOccurrence;
use trueput_findings::storage_models::{StorageModels, models};
use trueput_findings::storage_servers::{LateModel, MAX_LATE_SHARE};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{counted, per_cent};
use trueput_record::storage_fault::FaultOperation;
use trueput_record::{Conditions, Durability, Survival, TrialRecord};

/// The level with what its storage makes of it: `sync not kept`, `sync (storage not resolved)`.
pub(crate) fn level(durability: Durability, storage: &StoragePromise) -> String {
    let note = if storage.is_lost() {
        " not kept (nothing survives lost power)"
    } else if storage.all_unresolved {
        " (storage not resolved)"
    } else if !storage.unresolved.is_empty() {
        " (storage of some not resolved)"
    } else {
        ""
    };
    format!("{durability}{note}")
}

/// What the storage leaves of a level, as a sentence; `None` if nothing is known against it.
pub(crate) fn sentence(durability: Durability, storage: &StoragePromise) -> Option<String> {
    if storage.is_lost() {
        let reasons = storage.lost.join("; ");
        return Some(format!(
            "The storage does not keep {durability}: nothing survives lost power, because \
             {reasons}."
        ));
    }
    let subject = if storage.all_unresolved {
        "what survives lost power is not known"
    } else {
        "what survives lost power is not known of every contender"
    };
    let reasons = storage.unresolved.join("; ");
    (!reasons.is_empty()).then(|| format!("Storage not resolved ({reasons}): {subject}."))
}

/// Says that a level's promise for lost power was made for the device of a model, as a sentence;
/// `None` without a model, and at a level that promises nothing then.
pub(crate) fn untested_promise(durability: Durability, models: &StorageModels) -> Option<String> {
    let is_promised = durability.after_lost_power() != Survival::Nothing;
    let sentence = "The storage is a model: what survives lost power on such a device was not \
                    tested.";
    (is_promised && models.has_model()).then(|| sentence.to_owned())
}

/// The storage models below a trial and the fault of its storage as a part of a heading, with a
/// comma before it: `, on model hdd-7200`; empty without both.
pub(crate) fn place(conditions: &Conditions) -> String {
    let models = StorageModels::of(conditions);
    if models.is_none() {
        String::new()
    } else {
        format!(", {models}")
    }
}

/// The storage models of a run's trials, separated by commas; `None` if no trial is on one.
pub(crate) fn models_of(report: &Run) -> Option<String> {
    let models = models(&report.manifest.trials);
    (!models.is_empty()).then(|| models.join(", "))
}

/// Warns of a model whose times the replies notably exceeded.
pub(crate) fn late(late: &LateModel) -> String {
    format!(
        "{}: the replies of {} of {} were late by more than {} of the modeled time, at most by {}: \
         these rates are below those of the model",
        late.model,
        late.late_images,
        counted(late.images as u64, "server"),
        per_cent(MAX_LATE_SHARE),
        per_cent(late.max_late_share)
    )
}

/// How often the faults of storage came, in sentences; `None` if no trial had one.
pub(crate) fn faults(found: &[FaultOccurrence]) -> Option<String> {
    let sentences: Vec<_> = found.iter().map(fault_sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Says first if a trial was not what its conditions say: its fault never came.
fn fault_sentence(found: &FaultOccurrence) -> String {
    let fault = found.fault;
    let trials = counted(found.trials as u64, "trial");
    if found.trials_without == 0 {
        let times = counted(found.injected, "time");
        return format!("The fault {fault} happened {times} in {trials}.");
    }
    let request = match fault.operation {
        FaultOperation::Read => "read",
        FaultOperation::Write => "write",
        FaultOperation::Fsync => "flush",
        FaultOperation::Any => "request",
    };
    let without = found.trials_without;
    let requests = counted(found.most_requests, request);
    format!("The fault {fault} never happened in {without} of {trials}: {requests} at most.")
}

/// Warnings of the trials whose level promises to survive power loss although their storage keeps
/// nothing; `None` if there are none.
pub(crate) fn warning(report: &Run) -> Option<Block> {
    let run_file_system = &report.manifest.host.file_system;
    let lost = |trial: &&TrialRecord| violates_durability(trial, run_file_system);
    let in_memory = |trial: &&TrialRecord| is_in_memory(trial, run_file_system);
    let (memory, other): (Vec<&TrialRecord>, Vec<_>) =
        report.trials.iter().filter(lost).partition(in_memory);
    let mut warnings = Vec::new();
    if !memory.is_empty() {
        warnings.push(format!(
            "In memory (tmpfs or ramfs), nothing survives lost power at any level: {}. These are \
             ranked separately.",
            named(report, &memory)
        ));
    }
    if !other.is_empty() {
        let storage = StoragePromise::of(other.iter().copied(), run_file_system);
        warnings.push(format!(
            "On this storage nothing survives lost power at any level: {}. These are not ranked: \
             {}.",
            named(report, &other),
            storage.lost.join("; ")
        ));
    }
    Block::Warnings(warnings).filled()
}

/// The contenders of trials with their levels.
fn named(report: &Run, trials: &[&TrialRecord]) -> String {
    let names = TrialNames::of(report);
    let all: BTreeSet<String> = trials
        .iter()
        .map(|trial| format!("{} ({})", names.contender(trial), trial.spec.durability))
        .collect();
    all.into_iter().collect::<Vec<_>>().join("; ")
}
