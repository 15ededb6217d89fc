//! What a report says, from top to bottom: the run, the machine, a ranking each, what is missing.

use crate::answer::words;
use crate::charts::Charts;
use crate::document::Block;
use crate::ranking_title::{only_harness, ranking_heading};
use crate::sections::sections;
use crate::{
    ablation, columns, fixed_rate, in_memory, isolation, log_flush, over_time, published,
    significance, steadiness, tpcc,
};
use trueput_findings::ablation::lost;
use trueput_findings::answer::{Answer, RankingAnswer, RankingVerdict};
use trueput_findings::builds::EngineBuild;
use trueput_findings::cells::Cell;
use trueput_findings::marks::explanations;
use trueput_findings::rankings::{Ranking, Unranked, rankings};
use trueput_findings::shell::quoted;
use trueput_findings::statistics::FEWEST_REPEATS;
use trueput_findings::units::{bytes, number, per_cent, plural, separate};
use trueput_findings::{Run, disturbance};
use trueput_record::folder::DamagedLine;
use trueput_record::host::FileSystemFacts;
use trueput_record::trial::Settings;
use trueput_record::{Durability, HostFacts, Promise, Value, VerifyLevel};

/// A cell whose repeats lie further apart than this part of their median is named.
const NOTABLE_SPREAD: f64 = 0.25;

const NOTHING_ENDED: &str = "No trial of this run has finished. There is nothing to rank.";

const HOW_TO_READ: &str = "Contenders are ranked by their median rate, and only against \
    contenders with the same settings, workers and durability level.";

const CLOSED_LOOP: &str = "Latencies are service times of a closed loop. They do not show how \
    long users wait at a fixed request rate.";

const OPEN_LOOP: &str = "Requests arrived at a fixed rate (open loop). Latencies in rankings are \
    service times, measured from when a worker starts a request. 'At a fixed rate' lists \
    response times, which include the time in the queue. If all contenders of a ranking had the \
    same rate, response time decides the order.";

const BOTH_LOOPS: &str = "Some trials had a fixed request rate (open loop), others did not \
    (closed loop). Latencies in rankings are service times. For open loops, 'At a fixed rate' \
    lists response times, which include the time in the queue. If all contenders of a ranking \
    had the same rate, response time decides the order.";

const NOT_COMPARABLE: &str = "Measured but not ranked, for the reason in brackets. To rank builds \
    with assertions, use trueput report --include-assertions.";

/// A workload's result that is a sentence about it, and no answer.
const NOTICE: &str = "notice";

/// The whole report.
pub fn document(report: &Run, charts: Charts) -> Vec<Block> {
    let mut blocks = body_with(report, charts, Single::Folded);
    blocks.push(Block::Text("Command of this run:".to_owned()));
    let command = &report.manifest.host.program.command;
    blocks.push(Block::Command(
        command.iter().map(|word| quoted(word)).collect(),
    ));
    blocks
}

/// The ledger, and what belongs to it.
pub(crate) fn ledger_document(report: &Run) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(
        1,
        format!("trueput: {}", report.manifest.name),
    )];
    blocks.push(Block::List(host_lines(report)));
    blocks.extend(tpcc::blocks(&report.trials));
    blocks.extend(ablation::blocks(report));
    blocks.extend(over_time::blocks(report));
    blocks.extend(published::blocks(report));
    blocks.extend(unfinished(report));
    blocks
}

/// The report without its last words and without charts of characters.
pub(crate) fn body(report: &Run) -> Vec<Block> {
    body_with(report, Charts::Off, Single::Table)
}

/// How a ranking of a single contender is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Single {
    /// In one line.
    Folded,
    /// In a table, which the page folds by itself.
    Table,
}

fn body_with(report: &Run, charts: Charts, single: Single) -> Vec<Block> {
    let manifest = &report.manifest;
    let mut blocks = vec![Block::Heading(1, format!("trueput: {}", manifest.name))];
    if !manifest.about.is_empty() {
        blocks.push(Block::Text(manifest.about.clone()));
    }
    blocks.push(Block::List(host_lines(report)));
    blocks.extend(damage(report));
    blocks.push(Block::Text(how_to_read(report)));
    blocks.extend(in_memory::warning(report));
    let rankings = rankings(manifest, &report.trials);
    let noise = disturbance::of_run(report);
    let answer = Answer::from_rankings(report, &rankings, noise.as_ref());
    let disturbed = words::disturbed(&answer);
    blocks.extend(disturbed.map(|text| Block::Warnings(vec![text])));
    for (index, ranking) in rankings.iter().enumerate() {
        let told = answer.ranking(index);
        blocks.extend(ranking_blocks(ranking, told, charts, single));
    }
    blocks.extend(steadiness::section(report, charts));
    blocks.extend(log_flush::blocks(&report.trials));
    blocks.extend(tpcc::blocks(&report.trials));
    blocks.extend(ablation::blocks(report));
    blocks.extend(over_time::blocks(report));
    blocks.extend(sections(report, &rankings));
    blocks.extend(published::blocks(report));
    if !manifest.left_out.is_empty() {
        blocks.push(Block::Heading(2, "Skipped".to_owned()));
        blocks.push(Block::List(manifest.left_out.clone()));
    }
    blocks.extend(enough(report));
    blocks.extend(more_repeats(&answer));
    blocks.extend(unfinished(report));
    blocks
}

/// What would tell contenders apart that are not.
fn more_repeats(answer: &Answer) -> Vec<Block> {
    let Some((option, command)) = answer.more_repeats() else {
        return Vec::new();
    };
    let text = format!("Some contenders are not told apart. To tell them apart: {option}.");
    vec![
        Block::Heading(2, "More repeats".to_owned()),
        Block::Text(text),
        Block::Command(command.to_vec()),
    ]
}

/// How contenders are ranked, and what their latencies are.
fn how_to_read(report: &Run) -> String {
    if report.trials.is_empty() {
        return NOTHING_ENDED.to_owned();
    }
    let measured = report
        .trials
        .iter()
        .filter_map(|it| it.measurement.as_ref());
    let (open, closed): (Vec<_>, Vec<_>) = measured.partition(|it| it.open_loop.is_some());
    let latencies = match (open.is_empty(), closed.is_empty()) {
        (true, _) => CLOSED_LOOP,
        (false, true) => OPEN_LOOP,
        (false, false) => BOTH_LOOPS,
    };
    format!("{HOW_TO_READ} {latencies}")
}

/// The machine and the program, a line each.
pub(crate) fn host_lines(report: &Run) -> Vec<String> {
    let host = &report.manifest.host;
    let mut processor = format!(
        "{}, {} cores, {} of memory; {}",
        known(&host.cpu_model),
        host.cores,
        bytes(host.memory_bytes as f64),
        virtualisation(host)
    );
    if let Some(governor) = &host.governor {
        processor += &format!("; governor {governor}");
    }
    let load = |load: [f64; 3]| load.map(|average| format!("{average:.2}")).join(" ");
    let mut loads = format!("load {} at the start", load(host.load_at_start));
    if let Some(end) = &report.end {
        loads += &format!(", {} at the end", load(end.load_at_end));
    }
    let program = &host.program;
    vec![
        processor,
        file_system(&host.file_system),
        format!("{}; {}", known(&host.operating_system), known(&host.kernel)),
        format!("{loads}; latencies from {}", known(&host.clock)),
        format!(
            "trueput {} (commit {}, {} build), started {}",
            known(&program.version),
            known(&program.commit),
            known(&program.profile),
            report.manifest.started_at
        ),
    ]
}

fn known(fact: &str) -> &str {
    if fact.is_empty() { "unknown" } else { fact }
}

fn virtualisation(host: &HostFacts) -> String {
    match host.virtualisation.as_str() {
        "" => "virtualization unknown".to_owned(),
        "none" => "no virtualization detected".to_owned(),
        other => format!("virtualized ({other})"),
    }
}

fn file_system(facts: &FileSystemFacts) -> String {
    format!(
        "databases on {} ({}, {}; {}), {} free of {}",
        known(&facts.kind),
        known(&facts.source),
        known(&facts.mount_point),
        known(&facts.options),
        bytes(facts.free_bytes as f64),
        bytes(facts.size_bytes as f64)
    )
}

fn damage(report: &Run) -> Option<Block> {
    let line = |damaged: &DamagedLine| {
        let (line, message) = (damaged.line, &damaged.message);
        format!("trials.jsonl, line {line}: unreadable, skipped: {message}")
    };
    let unchecked = report.unchecked.iter().cloned();
    let lines: Vec<_> = report.damaged.iter().map(line).chain(unchecked).collect();
    (!lines.is_empty()).then_some(Block::Warnings(lines))
}

fn ranking_blocks(
    ranking: &Ranking,
    answer: Option<&RankingAnswer>,
    charts: Charts,
    single: Single,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let only_harness = only_harness(ranking);
    blocks.push(Block::Heading(2, ranking_heading(ranking)));
    blocks.push(Block::Text(settings(&ranking.settings)));
    blocks.extend(
        ranking
            .notes
            .iter()
            .map(|note| Block::Text(format!("Note: {note}"))),
    );
    if !only_harness {
        blocks.push(Block::Text(survival(ranking)));
    }
    if !ranking.cells.is_empty() {
        let in_order = answer.is_none_or(|answer| answer.verdict != RankingVerdict::NoOrder);
        blocks.extend(verdicts(ranking, answer).into_iter().map(Block::Text));
        let folded = columns::only_contender(ranking).filter(|_| single == Single::Folded);
        blocks.push(match folded {
            Some(line) => Block::Text(line),
            None => Block::Table(columns::ranked(ranking, in_order, charts)),
        });
        blocks.push(Block::List(footnotes(ranking, in_order)));
    } else if !only_harness && ranking.not_comparable.is_empty() {
        blocks.push(Block::Warnings(vec!["No valid trials.".to_owned()]));
    }
    if !ranking.harness.is_empty() {
        let text = "The null engine stores nothing. Its figures show the cost of the harness and \
            are not ranked.";
        blocks.push(Block::Text(text.to_owned()));
        blocks.push(Block::Table(columns::harness(ranking)));
    }
    blocks.extend(not_comparable(ranking));
    blocks.extend(explained(ranking));
    blocks.extend(unranked(ranking));
    blocks
}

/// The contenders that have figures and no place.
fn not_comparable(ranking: &Ranking) -> Vec<Block> {
    if ranking.not_comparable.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::Heading(3, "Not comparable".to_owned()),
        Block::Text(NOT_COMPARABLE.to_owned()),
        Block::Table(columns::not_comparable(ranking)),
    ];
    let cells = &ranking.not_comparable;
    let mut notes = promises(cells);
    if ranking.cells.is_empty() {
        notes.extend(libraries(&ranking.builds));
    }
    notes.extend(verification(cells));
    notes.extend(repeats(cells));
    blocks.push(Block::List(notes));
    blocks
}

/// What the labels in brackets after contenders' names mean.
fn explained(ranking: &Ranking) -> Option<Block> {
    let cells = ranking.contenders();
    let cells = cells.map(|cell| (cell.contender.as_str(), cell.marks.as_slice()));
    let unranked = ranking.unranked.iter();
    let unranked = unranked.map(|trial| (trial.contender.as_str(), trial.marks.as_slice()));
    let lines = explanations(cells.chain(unranked));
    (!lines.is_empty()).then_some(Block::Warnings(lines))
}

/// The libraries that were loaded, each with its file and the beginning of its hash; CSV and JSON
/// have the whole of it.
fn libraries(builds: &[EngineBuild]) -> impl Iterator<Item = String> {
    let loaded = builds.iter().filter(|build| build.origin.starts_with('/'));
    loaded.map(|build| {
        let EngineBuild {
            contender,
            version,
            origin,
            sha256,
            ..
        } = build;
        let hash: String = sha256.chars().take(16).collect();
        format!("{contender}: version {version}, {origin}, SHA-256 {hash}…")
    })
}

fn settings(settings: &Settings) -> String {
    // Plain digits, for they are typed back behind --set, where a comma separates values.
    let one = |(name, value): (&String, &Value)| format!("{name}={value}");
    let all: Vec<_> = settings.iter().map(one).collect();
    if all.is_empty() {
        "no settings".to_owned()
    } else {
        all.join(", ")
    }
}

/// What the commits of a ranking survive, in a sentence.
fn survival(ranking: &Ranking) -> String {
    let durability = ranking.durability;
    match ranking.in_memory {
        false => survival_of(durability),
        true => format!(
            "{durability}, but in memory (tmpfs or ramfs): after killed processes, {}; after lost \
             power, nothing.",
            durability.after_killed_processes()
        ),
    }
}

/// What a level survives, in a sentence.
fn survival_of(durability: Durability) -> String {
    let (killed, power) = (
        durability.after_killed_processes(),
        durability.after_lost_power(),
    );
    if durability == Durability::None {
        return "none: nothing is promised.".to_owned();
    }
    if killed == power {
        return format!("{durability}: {killed} survives killed processes and lost power.");
    }
    format!("{durability}: after killed processes, {killed}; after lost power, {power}.")
}

/// How sure the order is: what is read before the table, and never folded away.
fn verdicts(ranking: &Ranking, answer: Option<&RankingAnswer>) -> Vec<String> {
    let mut said = fixed_rate::sentences(ranking);
    said.extend(answer.into_iter().flat_map(words::findings));
    said.extend(isolation::caution(ranking));
    said
}

fn footnotes(ranking: &Ranking, in_order: bool) -> Vec<String> {
    let compared = ranking.cells.iter();
    let compared = compared.filter_map(|cell| cell.against_best.as_ref());
    let levels = significance::levels(compared).filter(|_| in_order);
    let of_best = |level: String| {
        format!(
            "\"Of best\" is a ratio of medians. \"From–to\" is the confidence interval ({level}) \
             of the ratio of geometric means, so \"of best\" can lie outside it."
        )
    };
    let mut notes: Vec<_> = levels.map(of_best).into_iter().collect();
    notes.extend(columns::times_headline_only(ranking).then(|| {
        let kind = &ranking.headline;
        format!("Latencies are those of {kind}. CSV and JSON list the other kinds of operation.")
    }));
    notes.extend(promises(&ranking.cells));
    notes.extend(isolation::common(&ranking.cells));
    notes.extend(isolation::of_sql(ranking));
    notes.extend(libraries(&ranking.builds));
    notes.extend(answers(&ranking.cells));
    notes.extend(verification(&ranking.cells));
    notes.extend(repeats(&ranking.cells));
    notes
}

/// How each contender keeps the level; those that keep it alike are told together.
fn promises(cells: &[Cell]) -> Vec<String> {
    let mut told = Vec::<(String, Vec<String>)>::new();
    for cell in cells {
        let Some(how) = promise(cell) else {
            continue;
        };
        let name = format!("{} ({})", cell.name(), cell.version);
        match told.iter_mut().find(|(other, _)| *other == how) {
            Some((_, names)) => names.push(name),
            None => told.push((how, vec![name])),
        }
    }
    let sentence = |(how, names): (String, Vec<String>)| format!("{}: {how}", names.join("; "));
    told.into_iter().map(sentence).collect()
}

fn promise(cell: &Cell) -> Option<String> {
    let Promise {
        mapped_to, window, ..
    } = cell.promise.as_ref()?;
    let mut text = mapped_to.clone();
    if let Some(window) = window {
        text += &format!("; can be lost: {}", lost(window));
    }
    Some(text)
}

/// The results that every ranked trial came to; what is to be known of all is told elsewhere.
fn answers(cells: &[Cell]) -> Option<String> {
    let (first, others) = cells.split_first()?;
    let everywhere = |name: &String, value: &Value| {
        others
            .iter()
            .all(|cell| cell.figures.results.get(name) == Some(value))
    };
    let results = first
        .figures
        .results
        .iter()
        .filter(|(name, value)| *name != NOTICE && everywhere(name, value));
    let results: Vec<_> = results
        .map(|(name, value)| format!("{name} {}", separate(&value.to_string())))
        .collect();
    let said = match others.is_empty() {
        true => "Results",
        false => "All engines returned identical results",
    };
    (!results.is_empty()).then(|| format!("{said}: {}.", results.join(", ")))
}

fn verification(cells: &[Cell]) -> Option<String> {
    let named = |level| names(cells, |cell| cell.verified == Some(level));
    let (full, sample) = (named(VerifyLevel::Full), named(VerifyLevel::Sample));
    match (full.is_empty(), sample.is_empty()) {
        (false, true) => Some("Verified: every stored record of every trial.".to_owned()),
        (true, false) => {
            Some("Verified: all totals and a sample of the stored records.".to_owned())
        }
        (false, false) => Some(format!(
            "Verified: every stored record; only a sample of {}.",
            sample.join("; ")
        )),
        (true, true) => None,
    }
}

fn repeats(cells: &[Cell]) -> Vec<String> {
    let mut notes = Vec::new();
    let few = names(cells, |cell| cell.repeats < FEWEST_REPEATS);
    if !few.is_empty() {
        notes.push(format!(
            "Spread unknown, fewer than {FEWEST_REPEATS} valid repeats: {}.",
            few.join("; ")
        ));
    }
    let wide = cells.iter().filter_map(|cell| {
        let spread = cell.figures.headline_per_s.spread;
        (cell.repeats >= FEWEST_REPEATS && spread > NOTABLE_SPREAD).then_some((cell, spread))
    });
    let wide: Vec<_> = wide
        .map(|(cell, spread)| format!("{} of the median for {}", per_cent(spread), cell.name()))
        .collect();
    notes.extend((!wide.is_empty()).then(|| format!("Spread of repeats: {}.", wide.join("; "))));
    notes
}

fn names(cells: &[Cell], chosen: impl Fn(&Cell) -> bool) -> Vec<String> {
    cells
        .iter()
        .filter(|cell| chosen(cell))
        .map(Cell::name)
        .collect()
}

/// The trials that do not count. Those with one reason in common share a line.
fn unranked(ranking: &Ranking) -> Vec<Block> {
    let mut reasons: Vec<(&Unranked, Vec<String>)> = Vec::new();
    for trial in &ranking.unranked {
        let mut name = trial.id.clone();
        if let Some(rate) = trial.headline_per_s {
            name += &format!(" ({} {}/s)", number(rate), plural(&ranking.headline));
        }
        let same = |(other, _): &&mut (&Unranked, Vec<String>)| {
            other.status == trial.status && other.reason == trial.reason
        };
        match reasons.iter_mut().find(same) {
            Some((_, names)) => names.push(name),
            None => reasons.push((trial, vec![name])),
        }
    }
    let line = |(trial, names): &(&Unranked, Vec<String>)| {
        format!("{} {}: {}", trial.status, names.join(", "), trial.reason)
    };
    let (bad, left_out): (Vec<_>, Vec<_>) = reasons.iter().partition(|(trial, _)| trial.is_bad());
    let (bad, left_out): (Vec<_>, Vec<_>) = (
        bad.into_iter().map(line).collect(),
        left_out.into_iter().map(line).collect(),
    );
    let mut blocks = Vec::new();
    if !ranking.unranked.is_empty() {
        blocks.push(Block::Heading(3, "Not ranked".to_owned()));
    }
    blocks.extend((!bad.is_empty()).then_some(Block::Warnings(bad)));
    blocks.extend((!left_out.is_empty()).then_some(Block::List(left_out)));
    blocks
}

/// Why a run that was to go on until it knew enough stopped.
fn enough(report: &Run) -> Option<Block> {
    let enough = report.end.as_ref()?.enough?;
    let repeats = report.trials.iter().map(|trial| trial.spec.repeat).max()?;
    let times = if repeats == 1 { "time" } else { "times" };
    Some(Block::Text(format!(
        "Each cell was run up to {repeats} {times}: {}.",
        enough.words()
    )))
}

fn unfinished(report: &Run) -> Vec<Block> {
    let missing = report.missing().len();
    if report.end.as_ref().is_some_and(|end| end.complete) && missing == 0 {
        return Vec::new();
    }
    let of = report.manifest.trials.len();
    let state = match &report.end {
        None => "The run has not finished (it is running or was interrupted)".to_owned(),
        Some(end) => format!("The run was stopped at {}", end.ended_at),
    };
    let interrupted = report.tally().interrupted;
    let mut text = format!(
        "{state}: {} of its {of} trials are missing",
        missing.saturating_sub(interrupted)
    );
    text += &match interrupted {
        0 => ".".to_owned(),
        1 => " and 1 is interrupted.".to_owned(),
        several => format!(" and {several} are interrupted."),
    };
    // A bundle is a copy: the run goes on in its own folder.
    if report.shown_as != report.folder {
        return vec![Block::Warnings(vec![text])];
    }
    text += " To continue it:";
    let folder = quoted(&report.shown_as.to_string_lossy());
    let command = ["trueput", "run", "--resume"]
        .map(str::to_owned)
        .into_iter()
        .chain([folder]);
    vec![
        Block::Warnings(vec![text]),
        Block::Command(command.collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_level_survives_is_one_sentence() {
        let sync = "sync: every acknowledged commit survives killed processes and lost power.";
        assert_eq!(survival_of(Durability::Sync), sync);
        assert!(survival_of(Durability::Async).contains("after lost power, a consistent prefix"));
        assert!(survival_of(Durability::Process).contains("after lost power, nothing is promised"));
    }
}
