//! The charts of a ranking below its table: rates over time, resources, and what held each trial.

use super::representative::Representative;
use crate::chart::{Chart, Column, Group, Kind, Mark, Unit, Word, short};
use trueput_findings::bottleneck;
use trueput_findings::rankings::Ranking;
use trueput_findings::units::plural;
use trueput_record::Measurement;
use trueput_record::recovery::EventRecord;

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
        let Some(held) = bottleneck::trial_bottleneck(one.trial, one.measurement, cores) else {
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

/// A word with a capital.
pub(crate) fn capital(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters
        .next()
        .map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + characters.as_str()
}
