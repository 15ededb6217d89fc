//! The report of an audit: its answer first, then every promise with its counterexamples.

use crate::document::Block;
use crate::formats::html;
use crate::sections::audits::{LEGEND, blocks};
use std::collections::BTreeSet;
use std::path::Path;
use trueput_findings::audits::AuditedPromise;
use trueput_findings::units::{counted, thousands};
use trueput_record::HostFacts;
use trueput_record::audit::{AuditRecord, AuditResult, AuditVerdict, CONTROLS, StorageModel};
use trueput_record::audit_standing::AuditStanding;
use trueput_record::value::saturating_sum;

/// The report of an audit whose record lies in `folder`, as blocks.
#[must_use]
pub fn document(record: &AuditRecord, folder: &Path) -> Vec<Block> {
    let mut all = answer(record);
    let promises: Vec<_> = promises(&record.results, folder).collect();
    if !promises.is_empty() {
        all.push(Block::Text(LEGEND.to_owned()));
        all.extend(blocks(&promises));
    }
    all.extend(remarks(record));
    all
}

/// The report of an audit as one page that needs nothing else.
#[must_use]
pub fn page(record: &AuditRecord, folder: &Path) -> String {
    let promises: Vec<_> = promises(&record.results, folder).collect();
    let mut audits = vec![Block::Text(LEGEND.to_owned())];
    audits.extend(blocks(&promises));
    html::page_of_blocks(
        "audit of durability",
        &[
            ("In short", answer(record)),
            ("Audits", audits),
            ("Controls", remarks(record)),
            ("Run it again", vec![Block::Text(record.command.clone())]),
        ],
    )
}

/// Describes the subject of an audit: `sqlite sync (journal_mode=delete)`.
#[must_use]
pub fn subject(result: &AuditResult) -> String {
    let level = match result.claim {
        Some(claim) => format!("{} as {claim}", result.durability),
        None => result.durability.to_string(),
    };
    format!("{} {level}", contender(result))
}

/// The contender with its knobs, and with the file system of the block form.
fn contender(result: &AuditResult) -> String {
    let file_system = result.file_system.iter();
    with_remarks(result, file_system.map(|kind| format!("on {kind}")))
}

fn with_remarks(result: &AuditResult, remarks: impl Iterator<Item = String>) -> String {
    let knobs = result.given_knobs.iter();
    let knobs = knobs.map(|(name, value)| format!("{name}={value}"));
    let knobs: Vec<_> = knobs.chain(remarks).collect();
    if knobs.is_empty() {
        result.contender.clone()
    } else {
        format!("{} ({})", result.contender, knobs.join(", "))
    }
}

fn promises<'a>(
    results: &'a [AuditResult],
    folder: &'a Path,
) -> impl Iterator<Item = AuditedPromise> + 'a {
    results.iter().filter_map(move |result| {
        let claim = result
            .claim
            .map(|_| format!(" opened at {}", result.durability));
        Some(AuditedPromise {
            contender: with_remarks(result, std::iter::empty()) + &claim.unwrap_or_default(),
            durability: result.tested_level(),
            standing: AuditStanding::of(result, folder)?,
        })
    })
}

/// The answer in a sentence or two, with warnings of what makes it doubtful.
fn answer(record: &AuditRecord) -> Vec<Block> {
    let (refuted, weaker): (Vec<_>, Vec<_>) = record
        .results
        .iter()
        .filter(|result| result.verdict_on_tried_models() == AuditVerdict::Refuted)
        .partition(|result| result.is_refuted_on_usual_storage());
    let is_decided = |result: &&AuditResult| {
        matches!(
            result.verdict_on_tried_models(),
            AuditVerdict::NotRefuted | AuditVerdict::Refuted
        )
    };
    let decided = || record.results.iter().filter(is_decided);
    let ended = decided().count();
    let states = decided().map(AuditResult::states).sum();
    let undecided = undecided(record);
    let promises = counted(ended as u64, "promise");
    let was_tried = |result: &&AuditResult| {
        let mut models = result.models.iter();
        models.any(|model| model.model.is_usual())
    };
    let is_usual_tried = weaker.iter().all(was_tried);
    let tried = format!("{promises} audited in {} states", thousands(states));
    let text = match refuted.len() {
        _ if record.interrupted && record.results.is_empty() => "Nothing was audited.".to_owned(),
        _ if !record.is_valid() => {
            "This audit is invalid: its controls did not come out as they must.".to_owned()
        }
        _ if record.blames_storage() => storage_fault(record, &tried),
        0 if !undecided.is_empty() && ended == 0 => "No promise was decided.".to_owned(),
        0 if ended == 0 => nothing_audited(record),
        0 if weaker.is_empty() => format!("{tried}: none is refuted."),
        0 if is_usual_tried => format!("{tried}: none is refuted on usual storage."),
        0 => format!("{tried}. Usual storage was not tried."),
        count => format!("{tried}: {count} refuted: {}.", names(&refuted)),
    };
    let weaker = (!weaker.is_empty()).then(|| {
        let weaker = names(&weaker);
        Block::Text(format!(
            "Refuted only on storage weaker than usual: {weaker}."
        ))
    });
    let mut warnings = Vec::new();
    if record.interrupted {
        warnings.push("The user stopped this audit.".to_owned());
    }
    warnings.extend(unmountable(record));
    warnings.extend(few_states(record));
    let controls = record.controls.iter().chain(&record.storage_controls);
    let failed = controls.chain(&record.results);
    warnings.extend(failed.filter_map(|result| {
        let failure = result.failure.as_ref()?;
        Some(format!("{}: {failure}", subject(result)))
    }));
    let warnings = Block::Warnings(warnings).filled();
    let text = std::iter::once(Block::Text(text));
    text.chain(weaker)
        .chain(undecided)
        .chain(warnings)
        .collect()
}

/// The kills, and the states of another model of usual storage, below which an audit says little.
const FEW_KILLS: u64 = 20;
const FEW_CUTS: u64 = 100;

/// Names the promises that are not refuted in so few states that it says little.
fn few_states(record: &AuditRecord) -> Option<String> {
    let states = |result: &AuditResult| {
        let usual = result.models.iter().filter(|model| model.model.is_usual());
        usual.fold((0_u64, 0_u64), |(tried, wanted), model| {
            let few = match model.model {
                StorageModel::Kill => FEW_KILLS,
                _ => FEW_CUTS,
            };
            (tried.saturating_add(model.states), wanted + few)
        })
    };
    let few = record.results.iter().filter_map(|result| {
        let (tried, wanted) = states(result);
        let is_few = result.verdict_on_tried_models() == AuditVerdict::NotRefuted && tried < wanted;
        is_few.then(|| format!("{} ({})", subject(result), thousands(tried)))
    });
    let few: Vec<_> = few.collect();
    (!few.is_empty()).then(|| {
        format!(
            "few states of usual storage, which say little: {}; a longer --budget tries more",
            few.join(", ")
        )
    })
}

/// Says that no audit came to an end that means something, and why if they share the reason.
fn nothing_audited(record: &AuditRecord) -> String {
    let failures = record.results.iter().map(|result| result.failure.as_ref());
    let failures: BTreeSet<_> = failures.flatten().collect();
    match failures.first() {
        Some(failure) if failures.len() == 1 => format!("Nothing was audited: {failure}."),
        _ => "Nothing was audited.".to_owned(),
    }
}

/// Names the promises that could not be decided, with the flushes on which they depend.
fn undecided(record: &AuditRecord) -> Vec<Block> {
    let is_open =
        |result: &&AuditResult| result.verdict_on_tried_models() == AuditVerdict::Undecided;
    let of_result = |result: &AuditResult| {
        let mut open = result.models.iter();
        let open = open.find_map(|model| Some((model.model, model.undecided.as_ref()?)));
        let Some((model, open)) = open else {
            return Vec::new();
        };
        let seen = result.seen_flushes.as_ref();
        let reason = match seen {
            Some(seen) if seen.io_uring => {
                "it flushes by io_uring, whose flushes can have a range that nobody sees"
            }
            Some(seen) if !seen.watched => "its calls could not be watched here",
            _ => "some flushes came from threads whose calls could not be seen",
        };
        let found = match &open.damage {
            Some(damage) => format!("If the flushes below covered nothing: {damage}."),
            None => format!(
                "Whether this matters was to be tried, but the time was over after {} states: give \
                 a longer --budget.",
                thousands(open.states)
            ),
        };
        let text = format!(
            "{}: UNDECIDED ({model}): {reason}. {found} The block form sees what is flushed: add \
             --form block.",
            subject(result),
        );
        let lines = open.words.iter().chain(&open.flushes).cloned();
        let lines = Block::List(lines.collect());
        let lines = Some(lines).filter(|_| open.damage.is_some());
        std::iter::once(Block::Text(text)).chain(lines).collect()
    };
    let results = record.results.iter().filter(is_open);
    results.flat_map(of_result).collect()
}

/// Says that the file system loses what was flushed, so that no engine is to blame.
fn storage_fault(record: &AuditRecord, tried: &str) -> String {
    let flushing = record.storage_controls.first();
    let on = flushing.and_then(|result| result.file_system.as_deref());
    let (refuted, states) = flushing.map_or((0, 0), counts);
    format!(
        "The storage is at fault: on {}, a log engine that flushes every commit is refuted in {} \
         of {} states. A refutation on it says nothing of an engine. {tried}.",
        on.unwrap_or("this file system"),
        thousands(refuted),
        thousands(states)
    )
}

/// Returns the states of a result that showed damage, and all of them.
fn counts(result: &AuditResult) -> (u64, u64) {
    let refuted = saturating_sum(result.models.iter().map(|model| model.refuted));
    (refuted, result.states())
}

/// Says in how many states the file system itself could not be mounted.
fn unmountable(record: &AuditRecord) -> Vec<String> {
    let of_result = |result: &AuditResult| {
        let lost = result.models.iter().filter(|model| model.unmountable > 0);
        let lost = lost.map(|model| {
            let (lost, states) = (thousands(model.unmountable), thousands(model.states));
            format!("in {lost} of {states} states ({})", model.model)
        });
        let lost: Vec<_> = lost.collect();
        (!lost.is_empty()).then(|| {
            format!(
                "{}: the file system itself could not be mounted {}. That is no fault of the \
                 engine.",
                subject(result),
                lost.join(", ")
            )
        })
    };
    record.results.iter().filter_map(of_result).collect()
}

fn names(results: &[&AuditResult]) -> String {
    let names: Vec<_> = results.iter().map(|result| subject(result)).collect();
    names.join("; ")
}

/// When and on which machine something was made.
pub(crate) fn origin(started_at: &str, host: &HostFacts) -> Block {
    Block::Text(format!(
        "Made at {started_at} on {}: {} processors ({}), {}, {}.",
        host.host_name, host.cores, host.cpu_model, host.operating_system, host.kernel
    ))
}

/// The controls, and what could not be audited.
fn remarks(record: &AuditRecord) -> Vec<Block> {
    let control = |(result, subject): (&AuditResult, &str)| {
        let (refuted, states) = counts(result);
        let on = result.file_system.as_ref();
        let on = on.map_or_else(String::new, |kind| format!(" on {kind}"));
        format!(
            "the log engine that {subject}{on}: refuted in {} of {} states",
            thousands(refuted),
            thousands(states)
        )
    };
    let all = [&record.controls, &record.storage_controls];
    let does = CONTROLS.map(|control| control.does);
    let controls = all.iter().flat_map(|some| some.iter().zip(does));
    let controls: Vec<_> = controls.map(control).collect();
    let text =
        (!controls.is_empty()).then(|| Block::Text(format!("Controls: {}.", controls.join("; "))));
    let builds = record.results.iter();
    let builds = builds.filter(|result| !result.version.is_empty());
    let builds: BTreeSet<_> = builds
        .map(|result| format!("{} {}", result.contender, result.version))
        .collect();
    let builds: Vec<_> = builds.into_iter().collect();
    let builds =
        (!builds.is_empty()).then(|| Block::Text(format!("Builds: {}.", builds.join(", "))));
    let made = record.host.as_ref();
    let made = made.map(|host| origin(&record.started_at, host));
    let skipped = record.skipped.iter();
    let skipped = skipped.map(|(name, reason)| format!("Skipped: {name} {reason}"));
    let skipped = Block::List(skipped.collect()).filled();
    let parts = text.into_iter().chain(builds).chain(made);
    parts.chain(skipped).collect()
}
