//! Contenders on several storage models: who leads where and why, with a table and a chart, and
//! what the servers of the models cost themselves.

use super::{Part, Section, SectionInput};
use crate::answer::name_list::all_listed;
use crate::answer::{subject, words};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit, Word};
use crate::document::{Block, Column, ColumnRole, Table};
use crate::storage_words;
use std::collections::BTreeSet;
use trueput_findings::answer::Answer;
use trueput_findings::storage_comparison::{
    LeadVerdict, OrderReason, ReasonKind, StorageComparison, StorageFigures, StorageRanking,
    storage_comparisons,
};
use trueput_findings::storage_models::StorageModels;
use trueput_findings::storage_servers::{
    DepthCost, ModelServers, RequestCost, RequestKind, model_servers,
};
use trueput_findings::text::capitalized;
use trueput_findings::units::{bytes, nanoseconds, number, per_cent, whole};
use trueput_record::storage_model::NO_MODEL;
use trueput_record::value::format_bytes;

/// Rankings that differ in nothing but the storage, a part for each workload and level.
pub(crate) struct StorageComparisons;

/// The cost of modeled storage itself.
pub(crate) struct StorageServers;

/// What a cell of a contender without figures has.
const NOTHING: &str = "–";

/// Marks the contenders that no other is shown to be faster than, as rankings number them.
const FIRST: &str = "#1";

const LATENESS: &str = "A server answers each request when the modeled device would. How late its \
    replies were, by kind; medians over the images of a model. Requests of the load are included.";

const OWN_COST: &str = "The time of a request without any delay, from a client's call to its \
    return, measured before each trial";

impl Section for StorageComparisons {
    fn parts(&self, input: &SectionInput<'_>) -> Vec<Part> {
        let all = storage_comparisons(input.findings);
        let part = |found: &StorageComparison| Part {
            title: format!("Engines by storage: {}", subject::short(&found.subject)),
            blocks: blocks(found, &input.findings.answer),
            charts: input.page_charts(|| chart(found).into_iter().collect()),
            is_text_first: true,
            ..Part::default()
        };
        all.iter().map(part).collect()
    }
}

impl Section for StorageServers {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let models = model_servers(input.run);
        let late = &input.findings.answer.late_models;
        let warnings = Block::Warnings(late.iter().map(storage_words::late).collect());
        let lateness = Block::Table(lateness(&models).captioned("Lateness of replies"));
        let cost = Block::Table(own_cost(&models).captioned("Requests without delay"));
        let mut blocks: Vec<Block> = warnings.filled().into_iter().collect();
        for (text, table) in [
            (LATENESS.to_owned(), lateness),
            (own_cost_text(&models), cost),
        ] {
            let filled = table.filled().into_iter();
            blocks.extend(filled.flat_map(|table| [Block::Text(text.clone()), table]));
        }
        Part::unless_empty("Cost of modeled storage", blocks)
    }
}

/// The name of a storage: a model's, with that of a log elsewhere.
fn label(storage: &StorageModels) -> String {
    let name = |model: &str| match model {
        NO_MODEL => "this machine's storage".to_owned(),
        model => model.to_owned(),
    };
    let data = name(&storage.data);
    match &storage.log {
        Some(log) => format!("{data}, log on {}", name(log)),
        None => data,
    }
}

fn labels<'a>(rankings: impl IntoIterator<Item = &'a StorageRanking>) -> String {
    let labels = rankings.into_iter().map(|ranking| label(&ranking.storage));
    let labels: Vec<_> = labels.collect();
    all_listed(&labels.iter().map(String::as_str).collect::<Vec<_>>())
}

fn listed(names: &[String]) -> String {
    all_listed(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn blocks(found: &StorageComparison, answer: &Answer) -> Vec<Block> {
    let mut sentences = leaders(found);
    sentences.extend(without_leader(found, answer));
    let reasons = Block::List(found.reasons.iter().map(reason).collect());
    let mut blocks = vec![Block::Text(sentences.join(" "))];
    blocks.extend(reasons.filled());
    blocks.push(Block::Text(how_to_read(found)));
    blocks.push(Block::Table(table(found)));
    blocks
}

/// Who leads where, the one that leads on most storages first.
fn leaders(found: &StorageComparison) -> Vec<String> {
    let leading = found.rankings.iter();
    let names: BTreeSet<&str> = leading.filter_map(|it| it.lead.leader()).collect();
    let led_by = |name: &str| -> Vec<&StorageRanking> {
        let led = found.rankings.iter();
        led.filter(|it| it.lead.leader() == Some(name)).collect()
    };
    let mut led: Vec<_> = names.into_iter().map(|name| (name, led_by(name))).collect();
    led.sort_by_key(|(_, rankings)| std::cmp::Reverse(rankings.len()));
    let of_all = |rankings: usize| rankings == found.rankings.len();
    match led.as_slice() {
        [(name, rankings)] if of_all(rankings.len()) => {
            vec![format!(
                "{name} leads on each: {}.",
                labels(rankings.iter().copied())
            )]
        }
        [(name, most), (other, few)]
            if most.len() > few.len() && of_all(most.len() + few.len()) =>
        {
            let few = labels(few.iter().copied());
            vec![format!(
                "{name} leads everywhere but on {few}, where {other} does."
            )]
        }
        several => {
            let sentence = |(name, rankings): &(&str, Vec<&StorageRanking>)| {
                format!("{name} leads on {}.", labels(rankings.iter().copied()))
            };
            several.iter().map(sentence).collect()
        }
    }
}

/// Where nobody is shown to lead, with the reason that the ranking has.
fn without_leader(found: &StorageComparison, answer: &Answer) -> impl Iterator<Item = String> {
    found.rankings.iter().filter_map(|ranking| {
        let storage = label(&ranking.storage);
        let sentence = || match answer.ranking(ranking.index) {
            Some(ranking) => format!("On {storage}: {}", words::verdict_sentence(ranking)),
            None => format!("On {storage}: fewer than two contenders are comparable."),
        };
        match &ranking.lead {
            LeadVerdict::Leader(_) => None,
            LeadVerdict::Equal(names) => Some(format!("Equal on {storage}: {}.", listed(names))),
            LeadVerdict::Undecided(_) | LeadVerdict::NoOrder => Some(sentence()),
        }
    })
}

/// Why a contender leads on a storage, with the figures that show it.
fn reason(reason: &OrderReason) -> String {
    let (storage, leader, other) = (label(&reason.storage), &reason.leader, &reason.other);
    let both = [&reason.leader_figures, &reason.other_figures];
    let known =
        |figure: fn(&StorageFigures) -> Option<f64>| both.map(|it| figure(it).unwrap_or(0.0));
    let [own_share, other_share] = known(|it| it.flush_share).map(per_cent);
    let flushing = format!(
        "On {storage}, flushes were under way for {own_share} of the time of {leader} and \
         {other_share} of that of {other}"
    );
    match reason.kind {
        ReasonKind::FewerFlushes => {
            let [own, others] = known(|it| it.flushes_per_commit).map(number);
            let shared = if reason.shares_flushes {
                ": its workers share flushes (group commit)"
            } else {
                ""
            };
            format!(
                "{flushing}. A commit takes {others} flushes with {other}, and {own} with \
                 {leader}{shared}."
            )
        }
        ReasonKind::FewerBytes => {
            let [own_busy, other_busy] = known(|it| it.busy_share).map(per_cent);
            let [own, others] = known(|it| it.bytes_per_commit).map(bytes);
            format!(
                "On {storage}, the device was busy for {own_busy} of the time of {leader} and \
                 {other_busy} of that of {other} (flushes: {own_share} and {other_share}). For a \
                 commit, {others} are written with {other}, and {own} with {leader}."
            )
        }
        ReasonKind::LittleFlushing => {
            format!("{flushing}: most of the time goes into something else.")
        }
    }
}

/// The repeats of all figures, if these are the same.
fn common_repeats(found: &StorageComparison) -> Option<usize> {
    let rankings = found.rankings.iter();
    let figures = rankings.flat_map(|ranking| ranking.figures.iter().flatten());
    let repeats: BTreeSet<usize> = figures.map(|figures| figures.repeats).collect();
    let only = repeats.first().copied();
    only.filter(|_| repeats.len() == 1)
}

fn how_to_read(found: &StorageComparison) -> String {
    let unit = capitalized(&found.subject.unit);
    let repeats = match common_repeats(found) {
        Some(1) => "one repeat each".to_owned(),
        Some(repeats) => format!("medians of {repeats} repeats"),
        None => "medians, with the number of repeats in brackets".to_owned(),
    };
    format!(
        "{unit} per second, {repeats}. {FIRST}: no other contender is shown to be faster on that \
         storage."
    )
}

fn table(found: &StorageComparison) -> Table {
    let repeats = common_repeats(found);
    let cell = |figures: Option<StorageFigures>| {
        let Some(figures) = figures else {
            return NOTHING.to_owned();
        };
        let mut text = number(figures.rate_per_s);
        if repeats.is_none() {
            text += &format!(" ({})", figures.repeats);
        }
        if figures.is_first {
            text += &format!(" {FIRST}");
        }
        text
    };
    let rows: Vec<(usize, &String)> = found.contenders.iter().enumerate().collect();
    let name = Column::text("contender", 0).in_role(ColumnRole::Name);
    let mut table = Table::of(&rows).column(name, |(_, name)| name);
    for ranking in &found.rankings {
        let figures = |(row, _): &(usize, &String)| cell(ranking.figures[*row]);
        table = table.figures(label(&ranking.storage), 1, figures);
    }
    table.build()
}

/// The rates of each contender by storage. The scale does not begin at 0, so that a rate below one
/// a second is not drawn; `None` if there is no other.
fn chart(found: &StorageComparison) -> Option<Chart> {
    let words = found
        .rankings
        .iter()
        .enumerate()
        .map(|(index, ranking)| Word {
            text: label(&ranking.storage).into(),
            color: index,
        });
    let group = |(row, name): (usize, &String)| {
        let points = found.rankings.iter().enumerate().filter_map(|(index, it)| {
            let rate_per_s = it.figures[row]?.rate_per_s;
            (rate_per_s >= 1.0).then(|| vec![index as f64, rate_per_s])
        });
        ChartGroup::new(name.as_str(), points)
    };
    let groups = found.contenders.iter().enumerate().map(group);
    let groups: Vec<_> = groups.filter(|group| !group.rows.is_empty()).collect();
    let title = format!("{} per second by storage", capitalized(&found.subject.unit));
    (!groups.is_empty()).then(|| Chart {
        says: format!(
            "{title}, on a logarithmic scale: {} on {}.",
            listed(&found.contenders),
            labels(&found.rankings)
        ),
        title,
        note: "Medians, on a logarithmic scale. Where lines cross, the order changes.".to_owned(),
        columns: vec![
            ChartColumn::new("storage", Unit::Word),
            ChartColumn::new("median", Unit::PerSecond),
        ],
        groups,
        words: words.collect(),
        ..Chart::new(ChartKind::Curve, "contender")
    })
}

fn request_name(request: RequestKind) -> &'static str {
    match request {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Flush => "flush",
    }
}

fn lateness(models: &[ModelServers]) -> Table {
    let rows = models.iter().flat_map(|model| {
        let requests = model.requests.iter();
        requests.map(move |request| (&model.model, request))
    });
    let rows: Vec<_> = rows.collect();
    Table::of(&rows)
        .text("model", 0, |(model, _)| model)
        .text("request", 0, |(_, it)| request_name(it.request))
        .figures("number", 1, |(_, it)| whole(it.count as f64))
        .figures("modeled, mean", 0, |(_, it)| {
            it.modeled_ns
                .map_or_else(|| NOTHING.to_owned(), nanoseconds)
        })
        .figures("late, median", 0, |(_, it)| nanoseconds(it.median_ns))
        .figures("late, p99", 0, |(_, it)| nanoseconds(it.p99_ns))
        .build()
}

/// Says on which way the times of which models were measured.
fn measured_way(models: &[ModelServers]) -> String {
    let without = models.iter().filter(|model| !model.is_through_loop);
    let without: Vec<String> = without.map(|model| model.model.clone()).collect();
    if without.is_empty() {
        "through a loop device".to_owned()
    } else if without.len() == models.len() {
        "without a loop device".to_owned()
    } else {
        let without = listed(&without);
        format!("through a loop device, on {without} without one")
    }
}

/// Says how the times were measured, and which numbers of requests at once those of a cell are of.
fn own_cost_text(models: &[ModelServers]) -> String {
    let way = measured_way(models);
    let text = format!("{OWN_COST} {way}; medians over the images.");
    let costs = models.iter().flat_map(|model| &model.own_cost);
    let depths = costs.flat_map(|cost| &cost.by_depth);
    let depths: BTreeSet<u32> = depths.map(|cost| cost.depth).collect();
    if depths.len() < 2 {
        return text;
    }
    let depths: Vec<_> = depths.iter().map(u32::to_string).collect();
    format!("{text} With {} requests at once.", listed(&depths))
}

/// A row for each kind and size, a column for each model.
fn own_cost(models: &[ModelServers]) -> Table {
    let costs = models.iter().flat_map(|model| &model.own_cost);
    let rows: BTreeSet<_> = costs.map(|cost| (cost.request, cost.bytes)).collect();
    let rows: Vec<(RequestKind, u64)> = rows.into_iter().collect();
    let mut table = Table::of(&rows).text("request", 0, |(request, bytes)| match request {
        RequestKind::Flush => request_name(*request).to_owned(),
        _ => format!("{} of {}", request_name(*request), format_bytes(*bytes)),
    });
    for model in models {
        table = table.figures(&model.model, 1, |(request, bytes)| {
            let mut costs = model.own_cost.iter();
            let cost = costs.find(|it| (it.request, it.bytes) == (*request, *bytes));
            cost.map_or_else(|| NOTHING.to_owned(), by_depth)
        });
    }
    table.build()
}

/// The times of a request, in the order of the requests at once.
fn by_depth(cost: &RequestCost) -> String {
    let time = |it: &DepthCost| nanoseconds(it.median_ns);
    cost.by_depth
        .iter()
        .map(time)
        .collect::<Vec<_>>()
        .join(" / ")
}
