//! The charts of a ranking below its table: rates over time, resources, and what held each trial.

use super::chart::{Chart, Column, Group, Kind, Mark, Unit, Word, short};
use super::representative::Representative;
use crate::significance::levels;
use std::collections::BTreeSet;
use trueput_findings::bottleneck;
use trueput_findings::rankings::Ranking;
use trueput_findings::scaling::{Series, series};
use trueput_findings::units::plural;
use trueput_record::recovery::EventRecord;
use trueput_record::{Durability, Measurement};

/// A part of the timeline shorter than this has too few samples for a rate, seconds.
const SHORTEST_S: f64 = 0.25;

/// How many points all timelines of a chart have together, and the least that each keeps.
const MOST_POINTS: usize = 12_000;
const FEWEST_POINTS: usize = 30;
const ENOUGH_POINTS: usize = 240;

/// The most events that are marked on a line.
const MOST_MARKS: usize = 200;

/// Which trial stands for a contender in every chart but that of the rates.
pub(crate) const MEDIAN_REPEAT: &str = "Each contender's repeat with the median rate.";

/// Rates over time; `None` where no trial was long enough for two points.
pub(crate) fn over_time(ranking: &Ranking, chosen: &[Representative<'_>]) -> Option<Chart> {
    let budget = (MOST_POINTS / chosen.len().max(1)).clamp(FEWEST_POINTS, ENOUGH_POINTS);
    let group = |one: &Representative<'_>| {
        let rows = rate_points(one.measurement, &ranking.headline, budget)?;
        (rows.len() > 1).then(|| Group {
            marks: marks(one.measurement),
            ..Group::rounded(one.cell.name(), rows)
        })
    };
    let groups: Vec<_> = chosen.iter().filter_map(group).collect();
    let (first, _) = groups.split_first()?;
    let mut note = MEDIAN_REPEAT.to_owned();
    if groups.iter().any(|group| !group.marks.is_empty()) {
        note += " Dots: what the engines did by themselves.";
    }
    let names = chosen.iter().map(|one| one.cell.name());
    let without = names.filter(|name| groups.iter().all(|group| group.name != *name));
    let without: Vec<_> = without.collect();
    if !without.is_empty() {
        note += &format!(" Too short for a line: {}.", without.join(", "));
    }
    let title = format!(
        "{} per second over time",
        capital(&plural(&ranking.headline))
    );
    Some(Chart {
        says: format!(
            "{title}, a line for each of {} contenders; the first is {}.",
            groups.len(),
            first.name
        ),
        title,
        note,
        columns: vec![
            Column::new("until, seconds", Unit::Seconds),
            Column::new("per second", Unit::PerSecond),
        ],
        groups,
        ..Chart::new(Kind::Timeline, "contender")
    })
}

/// What the engine of a trial began by itself, as far as there is room for it.
fn marks(measurement: &Measurement) -> Vec<Mark> {
    let events = measurement.events.iter().flatten();
    let within = |event: &&EventRecord| event.at_s <= measurement.elapsed_s;
    let begun = events.filter(|event| !event.is_end()).filter(within);
    let begun = begun.take(MOST_MARKS);
    let mark = |event: &EventRecord| Mark {
        at_s: short(event.at_s),
        text: event.kind.clone(),
    };
    begun.map(mark).collect()
}

/// End and rate of each second, of several seconds together where there are too many.
fn rate_points(measurement: &Measurement, kind: &str, most: usize) -> Option<Vec<Vec<f64>>> {
    let operations = &measurement.operations;
    let index = operations
        .iter()
        .position(|operation| operation.kind == kind)?;
    let together = measurement.timeline.len().div_ceil(most).max(1);
    let mut from_s = 0.0;
    let mut points = Vec::new();
    for seconds in measurement.timeline.chunks(together) {
        let Some(last) = seconds.last() else { continue };
        let counts = seconds.iter().filter_map(|second| second.counts.get(index));
        let span_s = last.at_s - from_s;
        if span_s >= SHORTEST_S {
            points.push(vec![last.at_s, counts.sum::<u64>() as f64 / span_s]);
        }
        from_s = last.at_s;
    }
    Some(points)
}

/// CPU, memory, disk and context switches, a chart each; one that would be all zeros is left out.
pub(crate) fn resources(chosen: &[Representative<'_>]) -> Vec<Chart> {
    type Parts = fn(&Measurement) -> Vec<f64>;
    let charts: [(&str, Unit, &[&str], Parts); 4] = [
        (
            "CPU time",
            Unit::Seconds,
            &["user, seconds", "kernel, seconds"],
            |one| vec![one.resources.user_cpu_s, one.resources.system_cpu_s],
        ),
        ("Peak memory", Unit::Bytes, &["PSS, bytes"], |one| {
            vec![one.resources.peak_pss_bytes as f64]
        }),
        (
            "Disk",
            Unit::Bytes,
            &["written, bytes", "read, bytes"],
            |one| {
                let used = &one.resources;
                vec![
                    used.storage_written_bytes as f64,
                    used.storage_read_bytes as f64,
                ]
            },
        ),
        (
            "Context switches",
            Unit::Number,
            &["voluntary", "involuntary"],
            |one| {
                let used = &one.resources;
                let switches = [
                    used.voluntary_context_switches,
                    used.involuntary_context_switches,
                ];
                switches.map(|count| count as f64).to_vec()
            },
        ),
    ];
    let chart = |(title, unit, parts, figures): (&str, Unit, &[&str], Parts)| Chart {
        title: title.to_owned(),
        says: format!(
            "{title} of the workers, a bar for each contender: {}.",
            parts.join(", ")
        ),
        note: format!("The workers' processes, whole trial. {MEDIAN_REPEAT}"),
        columns: parts.iter().map(|part| Column::new(*part, unit)).collect(),
        groups: chosen
            .iter()
            .map(|one| Group::new(one.cell.name(), [figures(one.measurement)]))
            .collect(),
        ..Chart::new(Kind::Stack, "contender")
    };
    let seen = |chart: &Chart| chart.groups.iter().any(Group::has_something);
    charts.into_iter().map(chart).filter(seen).collect()
}

/// What held each trial, stretch by stretch; `None` where too little was seen of all.
pub(crate) fn stretches(chosen: &[Representative<'_>], cores: f64) -> Option<Chart> {
    let mut words: Vec<Word> = Vec::new();
    let mut groups = Vec::new();
    for one in chosen {
        let Some(held) = bottleneck::held(one.trial, one.measurement, cores) else {
            continue;
        };
        let rows = held.stretches.iter().map(|stretch| {
            let (text, color) = (stretch.bottleneck.words(), stretch.bottleneck as usize);
            let known = words.iter().position(|other| other.text == text);
            let index = known.unwrap_or_else(|| {
                words.push(Word { text, color });
                words.len() - 1
            });
            vec![stretch.from_s, stretch.to_s, index as f64]
        });
        groups.push(Group::new(one.cell.name(), rows.collect::<Vec<_>>()));
    }
    let seen: Vec<_> = words.iter().map(|word| word.text).collect();
    let says = format!(
        "Bottleneck of each trial over its time. Seen: {}.",
        seen.join(", ")
    );
    (!groups.is_empty()).then(|| Chart {
        title: "Bottlenecks".to_owned(),
        says,
        note: format!("Judged for each second; rules in docs/METHOD.md. {MEDIAN_REPEAT}"),
        columns: vec![
            Column::new("from, seconds", Unit::Seconds),
            Column::new("to, seconds", Unit::Seconds),
            Column::new("bottleneck", Unit::Word),
        ],
        groups,
        words,
        ..Chart::new(Kind::Stretches, "contender")
    })
}

/// The scaling curves with the fitted law, a chart per level; none where nothing ran with several
/// numbers of workers.
pub(crate) fn scaling(rankings: &[Ranking]) -> Vec<Chart> {
    let levels: BTreeSet<_> = rankings.iter().map(|ranking| ranking.durability).collect();
    let of_level = |level: Durability| {
        let rankings = rankings.iter().filter(|one| one.durability == level);
        let rankings: Vec<_> = rankings.cloned().collect();
        let groups: Vec<_> = series(&rankings).iter().map(curve).collect();
        (!groups.is_empty()).then(|| Chart {
            title: format!("Rate by number of workers, {level}"),
            says: format!(
                "Rates by number of workers at {level}: {} series.",
                groups.len()
            ),
            note: "Points: measured medians. Curves: the Universal Scalability Law, where it \
                   describes them."
                .to_owned(),
            columns: vec![
                Column::new("workers", Unit::Number),
                Column::new("measured per second", Unit::PerSecond),
                Column::new("law per second", Unit::PerSecond),
            ],
            groups,
            ..Chart::new(Kind::Scaling, "series")
        })
    };
    levels.into_iter().filter_map(of_level).collect()
}

fn curve(series: &Series) -> Group {
    let measured = series
        .points
        .iter()
        .map(|point| vec![Some(point.workers), Some(point.per_s), None]);
    let law = series
        .curve
        .iter()
        .map(|point| vec![Some(short(point.workers)), None, Some(short(point.per_s))]);
    Group {
        name: series.name.clone(),
        rows: measured.chain(law).collect(),
        marks: Vec::new(),
    }
}

/// A word with a capital.
pub(crate) fn capital(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters
        .next()
        .map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + characters.as_str()
}

/// What the knobs did to the rates; `None` where nothing can be told.
pub(crate) fn knobs(effects: &[crate::knobs::Effect]) -> Option<Chart> {
    let group = |effect: &crate::knobs::Effect| {
        let interval = effect.rate.ratio;
        let mut name = format!(
            "{} {}={} from {}; {}",
            effect.engine, effect.knob, effect.value, effect.base, effect.ranking
        );
        if !effect.besides.is_empty() {
            name += &format!("; {}", effect.besides);
        }
        let row = vec![
            Some(effect.rate_ratio),
            interval.map(|ratio| ratio.low),
            interval.map(|ratio| ratio.high),
        ];
        let rows = vec![row];
        let marks = Vec::new();
        Group { name, rows, marks }
    };
    let finite = effects
        .iter()
        .filter(|effect| effect.rate_ratio.is_finite());
    let groups: Vec<_> = finite.map(group).collect();
    let column = |title: &str| Column::new(title, Unit::Number);
    let level = levels(effects.iter().map(|effect| &effect.rate));
    let intervals = level.map_or_else(String::new, |level| {
        format!(" Lines: intervals of {level}.")
    });
    (!groups.is_empty()).then(|| Chart {
        title: "Rate after a knob was turned, over the rate before".to_owned(),
        says: format!(
            "The ratio of rates for each of {} turns of a knob.",
            groups.len()
        ),
        note: format!("Right of 1 is faster.{intervals}"),
        columns: vec![column("ratio"), column("lower end"), column("upper end")],
        groups,
        ..Chart::new(Kind::Ratios, "knob")
    })
}
