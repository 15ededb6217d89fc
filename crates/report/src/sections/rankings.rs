//! The section of a ranking: its verdict, table, charts and notes.

mod columns;
mod latencies;
mod other_figures;
mod rates;
mod resources;
mod storage_timeline;
mod timeline;

use super::{Part, Section, SectionInput};
use crate::answer::table::rank_text;
use crate::answer::words;
use crate::chart::Chart;
use crate::document::Block;
use crate::ranking_title::{labels, only_harness, ranking_heading};
use crate::{fixed_rate, isolation, objective, significance, storage_words};
use trueput_findings::Run;
use trueput_findings::ablation::describe_window;
use trueput_findings::answer::{RankingAnswer, RankingVerdict};
use trueput_findings::builds::EngineBuild;
use trueput_findings::cells::{RankedCell, common_results};
use trueput_findings::marks::explanations;
use trueput_findings::rankings::{Ranking, UnrankedTrial};
use trueput_findings::representative::representatives;
use trueput_findings::statistics::MIN_REPEATS;
use trueput_findings::text::capitalized;
use trueput_findings::units::{number, per_cent, plural, setting_value};
use trueput_record::{Durability, Promise, Value, VerifyLevel};

/// The rankings, a part each.
pub(crate) struct Rankings;

impl Section for Rankings {
    fn parts(&self, input: &SectionInput<'_>) -> Vec<Part> {
        let labels = if input.is_page {
            labels(&input.rankings)
        } else {
            input.rankings.iter().map(ranking_heading).collect()
        };
        let rankings = input.rankings.iter().zip(labels).enumerate();
        let part = |(index, (ranking, title))| {
            let answer = input.answer.ranking(index);
            let in_order = answer.is_none_or(|it| it.verdict != RankingVerdict::NoOrder);
            let rates = || rates::ranking_chart(input.run, ranking, in_order);
            Part {
                title,
                blocks: blocks(input, ranking, answer),
                charts: input.page_charts(|| rates().into_iter().collect()),
                more_charts: input.page_charts(|| trial_charts(input.run, ranking, answer)),
                folded_charts: input.page_charts(|| other_latencies(input.run, ranking)),
                ranking: Some(index),
                folded: single_result(ranking),
                ..Part::default()
            }
        };
        rankings.map(part).collect()
    }
}

/// The latencies over time of the kinds of operation and percentiles that the first chart omits.
fn other_latencies(run: &Run, ranking: &Ranking) -> Vec<Chart> {
    timeline::more_latencies(ranking, &representatives(run, ranking))
}

/// Describes the trial that represents a contender in every chart except that of the rates.
const MEDIAN_REPEAT: &str = "Each contender's repeat with the median rate.";

const NOT_COMPARABLE: &str = "Measured but not ranked, for the reason in brackets. To rank builds \
    with assertions, use trueput report --include-assertions.";

/// The most kinds of operation of a ranking that get a latency chart.
const MAX_KINDS: usize = 2;

fn blocks(
    input: &SectionInput<'_>,
    ranking: &Ranking,
    answer: Option<&RankingAnswer>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let only_harness = only_harness(ranking);
    blocks.push(Block::Text(settings(ranking)));
    blocks.extend(
        ranking
            .notes
            .iter()
            .map(|note| Block::Text(format!("Note: {note}"))),
    );
    if !only_harness {
        let models = ranking.storage_models.as_ref();
        let models = models.filter(|_| !ranking.storage.is_lost());
        let untested =
            models.and_then(|it| storage_words::untested_promise(ranking.durability, it));
        let survival = [Some(survival(ranking)), untested, audited(ranking)];
        let survival: Vec<_> = survival.into_iter().flatten().collect();
        blocks.push(Block::Text(survival.join(" ")));
    }
    if !ranking.cells.is_empty() {
        let ranks = ranks(ranking, answer);
        let in_order = ranks.is_some();
        blocks.extend(verdicts(ranking, answer).into_iter().map(Block::Text));
        let folded = columns::only_contender(ranking).filter(|_| !input.is_page);
        blocks.push(match folded {
            Some(line) => Block::Text(line),
            None => Block::Table(columns::ranked(ranking, ranks, input.charts)),
        });
        let mut notes = objective::missed(ranking, input.run.manifest.objective.as_ref());
        notes.extend(footnotes(ranking, in_order));
        blocks.push(Block::List(notes));
    } else if !only_harness && ranking.not_comparable.is_empty() {
        blocks.push(Block::Warnings(vec!["No valid trials.".to_owned()]));
    }
    if !ranking.harness.is_empty() {
        let text = "The null engine stores nothing. Its figures show the cost of the harness and \
            are not ranked.";
        blocks.push(Block::Text(text.to_owned()));
        let caption = if only_harness { "" } else { "Null engine" };
        let table = columns::harness(ranking).captioned(caption);
        blocks.push(Block::Table(table));
    }
    blocks.extend(not_comparable(ranking));
    blocks.extend(other_figures::blocks(ranking));
    blocks.extend(explain_marks(ranking));
    blocks.extend(unranked(ranking));
    blocks
}

/// The charts of a ranking's representative trials: rates over time, latencies of the headline and
/// of the frequent kinds of operation and those that decide, resources, bottlenecks.
fn trial_charts(run: &Run, ranking: &Ranking, answer: Option<&RankingAnswer>) -> Vec<Chart> {
    let trials = representatives(run, ranking);
    let cores = f64::from(run.manifest.host.cores);
    let mut charts: Vec<_> = timeline::over_time(ranking, &trials).into_iter().collect();
    let mut kinds = ranking.frequent_kinds();
    kinds.truncate(MAX_KINDS);
    // What the first screen shows, or the order stands on, is drawn as well.
    let shown = answer.into_iter().flat_map(|it| &it.rows);
    let shown = shown.filter_map(|row| row.latency.as_ref());
    for latency in shown.filter(|latency| !latency.is_response) {
        if !kinds.contains(&latency.kind.as_str()) {
            kinds.push(&latency.kind);
        }
    }
    let kinds = kinds.into_iter();
    charts.extend(kinds.filter_map(|kind| latencies::service(kind, &trials)));
    charts.extend(timeline::latencies(ranking, &trials));
    charts.extend(timeline::heat_map(ranking, &trials));
    charts.extend(storage_timeline::charts(&trials));
    let objective = run.manifest.objective.as_ref();
    charts.extend(latencies::responses(&trials, MAX_KINDS, objective));
    charts.extend(resources::resources(&trials));
    charts.extend(resources::bottlenecks(&trials, cores));
    charts
}

/// The result of a ranking that has a single contender, or only the harness, in a line; `None` for
/// any other.
fn single_result(ranking: &Ranking) -> Option<String> {
    let mut contenders = ranking.contenders();
    let (subject, one) = match (contenders.next(), contenders.next()) {
        (Some(one), None) => ("only contender", one),
        (None, _) => ("cost of the harness", ranking.harness.first()?),
        _ => return None,
    };
    Some(format!(
        "{subject}: {}, {} {}/s",
        one.name(),
        number(one.figures.headline_per_s.median),
        plural(&ranking.headline)
    ))
}

/// The contenders that have figures and no place.
fn not_comparable(ranking: &Ranking) -> Vec<Block> {
    if ranking.not_comparable.is_empty() {
        return Vec::new();
    }
    let title = "Not comparable";
    let mut blocks = vec![
        Block::Heading(3, title.to_owned()),
        Block::Text(NOT_COMPARABLE.to_owned()),
        Block::Table(columns::not_comparable(ranking).captioned(title)),
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

/// Explains the labels in brackets after contenders' names.
fn explain_marks(ranking: &Ranking) -> Option<Block> {
    let cells = ranking.contenders();
    let cells = cells.map(|cell| (cell.contender.as_str(), cell.marks.as_slice()));
    let unranked = ranking.unranked.iter();
    let unranked = unranked.map(|trial| (trial.contender.as_str(), trial.marks.as_slice()));
    let lines = explanations(cells.chain(unranked));
    Block::Warnings(lines).filled()
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

fn settings(ranking: &Ranking) -> String {
    // The user copies them to `--set`, so digits have no separators: a comma separates values.
    let one = |(name, value): (&String, &Value)| match (name.as_str(), ranking.loaded_records) {
        ("records", Some(loaded)) => format!("records={loaded} (by size)"),
        _ => format!("{name}={}", setting_value(name, &value.to_string())),
    };
    let all: Vec<_> = ranking.settings.iter().map(one).collect();
    if all.is_empty() {
        "no settings".to_owned()
    } else {
        all.join(", ")
    }
}

/// Describes the events that the commits of a ranking survive, in a sentence.
fn survival(ranking: &Ranking) -> String {
    let durability = ranking.durability;
    let killed = durability.after_killed_processes();
    let storage = &ranking.storage;
    if ranking.in_memory {
        return format!(
            "{durability}, but in memory (tmpfs or ramfs): after killed processes, {killed}; after \
             lost power, nothing."
        );
    }
    let Some(sentence) = storage_words::sentence(durability, storage) else {
        return survival_of(durability);
    };
    // Of contenders whose storage is known, the level says what survives.
    if storage.is_lost() || storage.all_unresolved {
        return format!("{durability}: after killed processes, {killed}. {sentence}");
    }
    format!("{} {sentence}", survival_of(durability))
}

/// Says whether the promises were audited; `None` if nothing is promised.
fn audited(ranking: &Ranking) -> Option<String> {
    let audit = ranking.audit_coverage()?;
    let mut sentence = format!("{} on this machine.", capitalized(&audit.to_string()));
    if let Some(states) = audit.states() {
        sentence += &format!(" {states}");
    }
    Some(sentence)
}

/// Describes the events that commits of a level survive, in a sentence.
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

/// The verdict on the order, above the table and never folded.
fn verdicts(ranking: &Ranking, answer: Option<&RankingAnswer>) -> Vec<String> {
    let mut said = fixed_rate::sentences(ranking);
    said.extend(answer.into_iter().flat_map(words::findings));
    let has_order = answer.is_none_or(|it| it.verdict != RankingVerdict::NoOrder);
    said.extend(isolation::isolation_warning(ranking, has_order));
    said
}

fn footnotes(ranking: &Ranking, in_order: bool) -> Vec<String> {
    let compared = ranking.cells.iter();
    let compared = compared.filter_map(|cell| cell.against_best.as_ref());
    let levels = significance::levels(compared).filter(|_| in_order);
    let of_best = |level: String| {
        format!(
            "\"Of best\" is the mean ratio of the repeats in pairs, \"from–to\" its confidence \
             interval ({level}). Rates are medians of their own repeats."
        )
    };
    let mut notes: Vec<_> = levels.map(of_best).into_iter().collect();
    notes.extend(columns::times_headline_only(ranking).then(|| {
        let kind = &ranking.headline;
        format!("Latencies are those of {kind}; \"Other operations\" has those of the other kinds.")
    }));
    notes.extend(promises(&ranking.cells));
    notes.extend(isolation::common(&ranking.cells));
    notes.extend(isolation::sql_note(ranking));
    notes.extend(libraries(&ranking.builds));
    notes.extend(answers(&ranking.cells));
    notes.extend(verification(&ranking.cells));
    notes.extend(repeats(&ranking.cells));
    notes
}

/// Describes how each contender keeps the level; contenders with the same promise share a sentence.
fn promises(cells: &[RankedCell]) -> Vec<String> {
    let mut found = Vec::<(String, Vec<String>)>::new();
    for cell in cells {
        let Some(how) = promise(cell) else {
            continue;
        };
        let name = format!("{} ({})", cell.name(), cell.version);
        match found.iter_mut().find(|(other, _)| *other == how) {
            Some((_, names)) => names.push(name),
            None => found.push((how, vec![name])),
        }
    }
    let sentence = |(how, names): (String, Vec<String>)| format!("{}: {how}", names.join("; "));
    found.into_iter().map(sentence).collect()
}

fn promise(cell: &RankedCell) -> Option<String> {
    let Promise {
        mapped_to, window, ..
    } = cell.promise.as_ref()?;
    let mut text = mapped_to.clone();
    if let Some(window) = window {
        text += &format!("; can be lost: {}", describe_window(window));
    }
    Some(text)
}

/// The results that all ranked trials returned, apart from notices.
fn answers(cells: &[RankedCell]) -> Option<String> {
    let results = common_results(cells.iter().map(|cell| &cell.figures.results));
    let results = results.into_iter();
    let results = results.filter(|(name, _)| !other_figures::is_sentence(name));
    let results: Vec<_> = results.collect();
    // Trials that end by their time have different answers, and what is left is a setting.
    if results.iter().all(|(name, _)| name == "block") {
        return None;
    }
    let results: Vec<_> = results
        .into_iter()
        .map(|(name, value)| format!("{name} {}", other_figures::result_text(&value)))
        .collect();
    let said = match cells.len() {
        1 => "Results",
        _ => "All engines returned identical results",
    };
    (!results.is_empty()).then(|| format!("{said}: {}.", results.join(", ")))
}

/// The ranks of the cells; `None` if they have no order.
fn ranks(ranking: &Ranking, answer: Option<&RankingAnswer>) -> Option<Vec<String>> {
    match answer {
        Some(answer) if answer.verdict == RankingVerdict::NoOrder => None,
        Some(answer) => Some(answer.rows.iter().map(rank_text).collect()),
        None => Some(
            (1..=ranking.cells.len())
                .map(|rank| rank.to_string())
                .collect(),
        ),
    }
}

fn verification(cells: &[RankedCell]) -> Option<String> {
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

fn repeats(cells: &[RankedCell]) -> Vec<String> {
    let mut notes = Vec::new();
    let few = names(cells, |cell| cell.repeats < MIN_REPEATS);
    if !few.is_empty() {
        notes.push(format!(
            "Spread unknown, fewer than {MIN_REPEATS} valid repeats: {}.",
            few.join("; ")
        ));
    }
    let wide = cells.iter().filter_map(|cell| {
        let spread = per_cent(cell.notable_spread()?);
        Some(format!("{spread} of the median for {}", cell.name()))
    });
    let wide: Vec<_> = wide.collect();
    notes.extend((!wide.is_empty()).then(|| format!("Spread of repeats: {}.", wide.join("; "))));
    notes
}

fn names(cells: &[RankedCell], condition: impl Fn(&RankedCell) -> bool) -> Vec<String> {
    cells
        .iter()
        .filter(|cell| condition(cell))
        .map(RankedCell::name)
        .collect()
}

/// The trials that do not count, one line for each reason.
fn unranked(ranking: &Ranking) -> Vec<Block> {
    let mut reasons: Vec<(&UnrankedTrial, Vec<String>)> = Vec::new();
    for trial in &ranking.unranked {
        let mut name = trial.id.clone();
        if let Some(rate) = trial.headline_per_s {
            name += &format!(" ({} {}/s)", number(rate), plural(&ranking.headline));
        }
        let same = |(other, _): &&mut (&UnrankedTrial, Vec<String>)| {
            other.status == trial.status && other.reason == trial.reason
        };
        match reasons.iter_mut().find(same) {
            Some((_, names)) => names.push(name),
            None => reasons.push((trial, vec![name])),
        }
    }
    let line = |(trial, names): &(&UnrankedTrial, Vec<String>)| {
        format!("{} {}: {}", trial.status, names.join(", "), trial.reason)
    };
    let (bad, left_out): (Vec<_>, Vec<_>) =
        reasons.iter().partition(|(trial, _)| trial.status.is_bad());
    let bad = bad.into_iter().map(line).collect();
    let left_out = left_out.into_iter().map(line).collect();
    let mut blocks = Vec::new();
    if !ranking.unranked.is_empty() {
        blocks.push(Block::Heading(3, "Not ranked".to_owned()));
    }
    blocks.extend(Block::Warnings(bad).filled());
    blocks.extend(Block::List(left_out).filled());
    blocks
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
