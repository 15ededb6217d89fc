//! Marks: caveats about a contender, shown wherever it is named.
//!
//! A mark has a label, in brackets after the contender's name in every table, chart and sentence
//! (`leveldb [assertions]`), and an explanation, once below the ranking. JSON has both at every
//! cell, CSV has the labels in its column `marks`.
//!
//! To add one, write a function that reads the trial's record and returns `Option<Mark>`, and name
//! it in [`marks`]; everything else follows. Nothing but the record may decide: a report is made
//! from a run folder only.

use crate::power_loss::level_on_storage;
use crate::units::{number, thousands};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::flush_evidence::FlushVerdict;
use trueput_record::host::FileSystemFacts;
use trueput_record::load_generator::LoadGenerator;
use trueput_record::storage::LevelOnStorage;
use trueput_record::value::format_seconds;
use trueput_record::{Durability, Measurement, TrialRecord, Value};

/// Why a trial whose histograms are gone is not ranked.
pub const NO_HISTOGRAMS: &str = "its histograms are missing from the run folder, so its \
    counts and latencies cannot be checked";

/// Something that a reader must know of a contender wherever it is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mark {
    /// Its kind.
    #[serde(skip)]
    pub kind: MarkKind,
    /// A word or a few, shown in brackets after the contender's name.
    pub label: Cow<'static, str>,
    /// Meaning of the label, as a clause that follows the contender's name and a colon. It is the
    /// same for every trial of a cell.
    pub explanation: Cow<'static, str>,
    /// Whether the figures may be ranked with those of unmarked contenders. If not, the cell is
    /// listed separately; see [`Mark::permits_ranking`].
    pub comparable: bool,
}

/// The kinds of marks, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// The user's audit refuted the promise of the level.
    RefutedPromise,
    /// The storage keeps nothing at lost power, so the level is not kept.
    UnsafeStorage,
    /// The histograms of a trial are missing.
    UnverifiedRecord,
    /// The engine has a known fault with these settings.
    KnownDefect,
    /// The library was compiled with its assertions.
    Assertions,
    /// A host that ran workers was busy or late, and may have limited the rate.
    LoadGenerator,
    /// The engine states the promise of the level, and a known fault breaks it at times.
    DoubtfulPromise,
    /// The schedules that test the stated isolation could not be run.
    UncheckedIsolation,
    /// The database or its log was in memory although the level promises more.
    InMemory,
    /// It is not known what the storage keeps at lost power.
    UnresolvedStorage,
    /// Writers that have a rate of their own fell short of it.
    WritersLate,
    /// A trial ran for much longer than it was to.
    Overrun,
    /// No counter shows whether commits reached storage.
    UnverifiedFlushes,
    /// The driver does extra work that users of the engine may not need.
    Workaround,
    /// The engine does not have an operation of the workload, which did it by others.
    Emulated,
}

impl Mark {
    /// Whether the figures may be ranked with others. `include_assertions` admits builds with
    /// assertions, which are slower than necessary, but no incorrect results.
    #[must_use]
    pub fn permits_ranking(&self, include_assertions: bool) -> bool {
        self.comparable || (include_assertions && self.kind == MarkKind::Assertions)
    }
}

/// The marks of a trial, the gravest first; empty for most.
#[must_use]
pub fn marks(trial: &TrialRecord) -> Vec<Mark> {
    let all = [
        refuted_promise(trial),
        lossy_storage(trial),
        unverified_record(trial),
        known_defect(trial),
        assertions(trial),
        load_generator(trial),
        doubtful_promise(trial),
        unchecked_isolation(trial),
        unresolved_storage(trial),
        writers_late(trial),
        overrun(trial),
        unverified_flushes(trial),
        workaround(trial),
        emulated(trial),
    ];
    all.into_iter().flatten().collect()
}

/// Why a trial whose promise was refuted does not compete.
pub(crate) const REFUTED: &str = "an audit refuted its promise at this level";

/// Whether an audit refuted the promise of a trial on usual storage.
pub(crate) fn is_refuted(trial: &TrialRecord) -> bool {
    trial.audit.as_ref().is_some_and(AuditStanding::is_refuted)
}

/// A promise that simulated power cuts refuted on usual storage, for this build and these knobs.
fn refuted_promise(trial: &TrialRecord) -> Option<Mark> {
    let audit = trial.audit.as_ref().filter(|audit| audit.is_refuted())?;
    Some(Mark {
        kind: MarkKind::RefutedPromise,
        label: Cow::Borrowed("REFUTED"),
        explanation: Cow::Owned(refutation(audit, trial.spec.durability)),
        comparable: false,
    })
}

fn refutation(audit: &AuditStanding, level: Durability) -> String {
    let by_model = |model: &ModelStanding| {
        let damage = model.counterexample.as_ref();
        let damage = damage.map_or_else(String::new, |it| format!(": {}", it.damage.kind));
        let (refuted, states) = (thousands(model.refuted), thousands(model.states));
        let form = model.file_system.as_ref();
        let form = form.map_or_else(String::new, |kind| format!(" on {kind}"));
        format!(
            "{refuted} of {states} states ({}{form}){damage}",
            model.model
        )
    };
    let models: Vec<_> = audit.refutations().map(by_model).collect();
    format!(
        "an audit refuted its promise at {level} in {}",
        models.join("; ")
    )
}

/// Storage below the trial that keeps nothing at lost power, at a level that promises more.
fn lossy_storage(trial: &TrialRecord) -> Option<Mark> {
    let LevelOnStorage::Lost { reason, in_memory } = stated_storage(trial)? else {
        return None;
    };
    let (kind, label) = if in_memory {
        (MarkKind::InMemory, "in memory")
    } else {
        (MarkKind::UnsafeStorage, "unsafe storage")
    };
    Some(Mark {
        kind,
        label: Cow::Borrowed(label),
        explanation: Cow::Owned(lost_storage(&reason)),
        // Those in memory have rankings of their own.
        comparable: in_memory,
    })
}

/// Says that a level is not kept, as a clause.
pub(crate) fn lost_storage(reason: &str) -> String {
    format!("nothing survives lost power, because {reason}")
}

/// Storage that could not be resolved, at a level that promises something at lost power.
fn unresolved_storage(trial: &TrialRecord) -> Option<Mark> {
    let LevelOnStorage::Unresolved(reason) = stated_storage(trial)? else {
        return None;
    };
    Some(Mark {
        kind: MarkKind::UnresolvedStorage,
        label: Cow::Borrowed("storage unknown"),
        explanation: Cow::Owned(format!(
            "what survives lost power is not known: its storage could not be resolved ({reason})"
        )),
        comparable: true,
    })
}

/// What the storage of a trial leaves of its level, as far as its own record says; older records
/// have no more than mount options.
fn stated_storage(trial: &TrialRecord) -> Option<LevelOnStorage> {
    let left = level_on_storage(trial, &FileSystemFacts::default());
    match (&trial.storage, &left) {
        (None, LevelOnStorage::Lost { in_memory, .. }) => (!in_memory).then_some(left),
        (None, _) => None,
        (Some(_), _) => Some(left),
    }
}

/// A fault that the engine is known to have with its settings, and that nothing works around.
fn known_defect(trial: &TrialRecord) -> Option<Mark> {
    let explanation = trial.engine.as_ref()?.known_defect.clone()?;
    Some(Mark {
        kind: MarkKind::KnownDefect,
        label: Cow::Borrowed("known defect"),
        explanation: Cow::Owned(format!("{explanation}: not comparable")),
        comparable: false,
    })
}

/// Marks figures whose histograms are missing, so that they cannot be checked.
fn unverified_record(trial: &TrialRecord) -> Option<Mark> {
    let lacks_them = trial.measurement.as_ref()?.lacks_histograms;
    lacks_them.then_some(Mark {
        kind: MarkKind::UnverifiedRecord,
        label: Cow::Borrowed("record not verified"),
        explanation: Cow::Borrowed(NO_HISTOGRAMS),
        comparable: false,
    })
}

/// Marks a library that was compiled with assertions, which cost speed.
fn assertions(trial: &TrialRecord) -> Option<Mark> {
    let has_them = trial.engine.as_ref()?.assertions == Some(true);
    has_them.then_some(Mark {
        kind: MarkKind::Assertions,
        label: Cow::Borrowed("assertions"),
        explanation: Cow::Borrowed(WITH_ASSERTIONS),
        comparable: false,
    })
}

/// Marks a trial that a host that ran its workers may have limited.
fn load_generator(trial: &TrialRecord) -> Option<Mark> {
    let hosts = &trial.measurement.as_ref()?.load_generators;
    hosts.iter().any(LoadGenerator::is_limit).then_some(Mark {
        kind: MarkKind::LoadGenerator,
        label: Cow::Borrowed("load generator"),
        explanation: Cow::Borrowed(LIMITED_BY_HOST),
        comparable: false,
    })
}

/// Marks a trial whose writers did not keep the rate that the settings give them: what is ranked
/// had fewer writes beside it than with other contenders.
fn writers_late(trial: &TrialRecord) -> Option<Mark> {
    let results = &trial.measurement.as_ref()?.results;
    if *results.get(Measurement::WRITERS_KEPT_RATE)? != Value::Boolean(false) {
        return None;
    }
    let asked = results.iter().find_map(|(name, value)| match value {
        Value::Float(per_s) => {
            let writes = name.strip_suffix(" per s")?;
            let is_asked = writes.contains(" to ");
            is_asked.then(|| format!(" ({} {writes} a second)", number(*per_s)))
        }
        _ => None,
    });
    Some(Mark {
        kind: MarkKind::WritersLate,
        label: Cow::Borrowed("write rate not kept"),
        explanation: Cow::Owned(format!(
            "its writers fell short of their rate{}, so its other operations had fewer writes \
             beside them",
            asked.unwrap_or_default()
        )),
        comparable: true,
    })
}

/// Marks a trial that ran for much longer than its duration: an operation was under way at its end,
/// or workers did not run.
fn overrun(trial: &TrialRecord) -> Option<Mark> {
    let elapsed_s = trial.measurement.as_ref()?.elapsed_s;
    let duration_s = trial.spec.conditions.duration_s?;
    let is_over = elapsed_s > duration_s * OVERRUN_FACTOR && elapsed_s > duration_s + OVERRUN_S;
    is_over.then(|| Mark {
        kind: MarkKind::Overrun,
        label: Cow::Borrowed("overran"),
        explanation: Cow::Owned(format!(
            "it was to run for {} (--duration); its last operation ended after {elapsed_s:.1} s",
            format_seconds(duration_s)
        )),
        comparable: true,
    })
}

/// A trial that runs for so many times as long as it was to, and for so many seconds longer, is
/// marked.
const OVERRUN_FACTOR: f64 = 1.2;
const OVERRUN_S: f64 = 1.0;

/// Marks extra work of trueput's driver that the engine's own users may not need and that changes
/// its rates.
fn workaround(trial: &TrialRecord) -> Option<Mark> {
    let explanation = trial.engine.as_ref()?.workaround.clone()?;
    Some(Mark {
        kind: MarkKind::Workaround,
        label: Cow::Borrowed("workaround"),
        explanation: Cow::Owned(explanation),
        comparable: true,
    })
}

/// Marks an operation of the workload that the engine does not have, so that others do its work.
fn emulated(trial: &TrialRecord) -> Option<Mark> {
    let results = &trial.measurement.as_ref()?.results;
    let Value::Text(explanation) = results.get(Measurement::EMULATED)? else {
        return None;
    };
    Some(Mark {
        kind: MarkKind::Emulated,
        label: Cow::Borrowed("emulated"),
        explanation: Cow::Owned(explanation.clone()),
        comparable: true,
    })
}

/// Marks a promise to survive power loss on a system that does not count completed flushes.
fn unverified_flushes(trial: &TrialRecord) -> Option<Mark> {
    let evidence = trial.measurement.as_ref()?.flush_evidence.as_ref()?;
    let reason = match evidence.verdict {
        FlushVerdict::NotCounted => evidence.reason.as_deref().unwrap_or("nothing is counted"),
        FlushVerdict::Explained | FlushVerdict::Impossible => return None,
    };
    Some(Mark {
        kind: MarkKind::UnverifiedFlushes,
        label: Cow::Borrowed("flushes not verified"),
        explanation: Cow::Owned(format!(
            "no counter shows whether its commits reached storage ({reason})"
        )),
        comparable: true,
    })
}

/// Marks a promise that the engine's documentation makes, and that a known fault breaks at times.
fn doubtful_promise(trial: &TrialRecord) -> Option<Mark> {
    let doubt = trial.engine.as_ref()?.promise.doubt.clone()?;
    Some(Mark {
        kind: MarkKind::DoubtfulPromise,
        label: Cow::Borrowed("promise in doubt"),
        explanation: Cow::Owned(doubt),
        comparable: true,
    })
}

/// Marks an isolation that is stated and could not be tested. Older records do not say it.
fn unchecked_isolation(trial: &TrialRecord) -> Option<Mark> {
    let reason = trial.isolation_check.as_ref()?.not_run.as_deref()?;
    Some(Mark {
        kind: MarkKind::UncheckedIsolation,
        label: Cow::Borrowed("isolation not checked"),
        explanation: Cow::Owned(format!(
            "the schedules that test its stated isolation could not be run ({reason})"
        )),
        comparable: true,
    })
}

/// The marks that any of these trials has, each once.
#[must_use]
pub fn marks_of<'a>(trials: impl IntoIterator<Item = &'a TrialRecord>) -> Vec<Mark> {
    let trials: Vec<_> = trials.into_iter().collect();
    let mut all: Vec<Mark> = Vec::new();
    // Of the repeats that overran, the longest explains the mark.
    let overruns = trials.iter().copied().filter(|it| overrun(it).is_some());
    let elapsed_s = |it: &TrialRecord| it.measurement.as_ref().map_or(0.0, |it| it.elapsed_s);
    let longest = overruns.max_by(|one, other| elapsed_s(one).total_cmp(&elapsed_s(other)));
    let longest = longest.and_then(overrun);
    for mark in trials.iter().copied().flat_map(marks) {
        let mark = if mark.kind == MarkKind::Overrun {
            longest.clone().unwrap_or(mark)
        } else {
            mark
        };
        if !all.iter().any(|known| known.kind == mark.kind) {
            all.push(mark);
        }
    }
    all
}

/// A contender's name with the labels of its marks in brackets: `leveldb [assertions]`.
#[must_use]
pub fn marked(name: &str, marks: &[Mark]) -> String {
    if marks.is_empty() {
        return name.to_owned();
    }
    format!("{name} [{}]", labels(marks, ", "))
}

/// A contender's name and its marks. Its `Display` is as [`marked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedName {
    /// The name.
    pub name: String,
    /// Marks of the contender, shown wherever it is named.
    pub marks: Vec<Mark>,
}

impl Display for MarkedName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&marked(&self.name, &self.marks))
    }
}

/// The labels of marks with something between them.
pub fn labels(marks: &[Mark], between: &str) -> String {
    let labels: Vec<_> = marks.iter().map(|mark| mark.label.as_ref()).collect();
    labels.join(between)
}

/// Explains the marks of these contenders, one sentence per mark, which names every contender that
/// has it.
pub fn explanations<'a>(
    contenders: impl IntoIterator<Item = (&'a str, &'a [Mark])>,
) -> Vec<String> {
    let mut found: Vec<(&Mark, Vec<&str>)> = Vec::new();
    for (name, marks) in contenders {
        for mark in marks {
            match found.iter_mut().find(|(other, _)| *other == mark) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => found.push((mark, vec![name])),
            }
        }
    }
    let sentence = |(mark, names): (&Mark, Vec<&str>)| {
        let names = names.join("; ");
        format!("{names} [{}]: {}.", mark.label, mark.explanation)
    };
    found.into_iter().map(sentence).collect()
}

/// The explanation for a host that may have limited a trial.
const LIMITED_BY_HOST: &str = "a host that ran its workers used over 80 % of its CPU, or was late \
    with its requests, and may have been the limit (see Load from several hosts): not comparable";

/// The explanation for a library that was compiled with assertions.
pub const WITH_ASSERTIONS: &str = "built with assertions: not comparable";
