//! The charts of resources that a ranking's trials used, and of their bottlenecks.

use super::MEDIAN_REPEAT;
use crate::bottleneck_words::cause;
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit, Word};
use trueput_findings::bottleneck;
use trueput_findings::representative::Representative;
use trueput_record::Measurement;

/// CPU, memory, disk and context switches, a chart each; one that would be all zeros is left out.
pub(crate) fn resources(trials: &[Representative<'_>]) -> Vec<Chart> {
    let cpu = ResourceChart {
        title: "CPU time",
        unit: Unit::Seconds,
        parts: &["user", "kernel"],
        figures: |one| vec![one.resources.user_cpu_s, one.resources.system_cpu_s],
    };
    let memory = ResourceChart {
        title: "Peak memory",
        unit: Unit::Bytes,
        parts: &["PSS"],
        figures: |one| vec![one.resources.peak_pss_bytes as f64],
    };
    let disk = ResourceChart {
        // Before the page cache: what reaches the device is another figure, in the table.
        title: "File input and output",
        unit: Unit::Bytes,
        parts: &["pages written", "pages read"],
        figures: |one| {
            let used = &one.resources;
            let moved = [used.storage_written_bytes, used.storage_read_bytes];
            moved.map(|bytes| bytes as f64).to_vec()
        },
    };
    let switches = ResourceChart {
        title: "Context switches",
        unit: Unit::Number,
        parts: &["voluntary", "involuntary"],
        figures: |one| {
            let used = &one.resources;
            let switches = [
                used.voluntary_context_switches,
                used.involuntary_context_switches,
            ];
            switches.map(|count| count as f64).to_vec()
        },
    };
    let charts = [cpu, memory, disk, switches].into_iter();
    let seen = |chart: &Chart| chart.groups.iter().any(ChartGroup::has_something);
    charts.map(|one| one.drawn(trials)).filter(seen).collect()
}

/// A chart of a resource.
struct ResourceChart {
    title: &'static str,
    unit: Unit,
    /// The components of the amount.
    parts: &'static [&'static str],
    /// A figure for each part.
    figures: fn(&Measurement) -> Vec<f64>,
}

impl ResourceChart {
    fn drawn(&self, trials: &[Representative<'_>]) -> Chart {
        let (title, unit) = (self.title, self.unit);
        let columns: Vec<_> = self
            .parts
            .iter()
            .map(|part| ChartColumn::part(part, unit))
            .collect();
        let titles: Vec<_> = columns.iter().map(|column| column.title.as_str()).collect();
        let groups = trials
            .iter()
            .map(|one| ChartGroup::new(one.cell.name(), [(self.figures)(one.measurement)]));
        Chart {
            title: title.to_owned(),
            says: format!(
                "{title} of the workers, a bar for each contender: {}.",
                titles.join(", ")
            ),
            note: format!("The workers' processes, whole trial. {MEDIAN_REPEAT}"),
            groups: groups.collect(),
            columns,
            ..Chart::new(ChartKind::Stack, "contender")
        }
    }
}

/// The bottleneck of each trial, interval by interval; `None` if too little was seen of all.
pub(crate) fn bottlenecks(trials: &[Representative<'_>], cores: f64) -> Option<Chart> {
    let mut words: Vec<Word> = Vec::new();
    let mut groups = Vec::new();
    for one in trials {
        let Some(judged) = bottleneck::trial_bottleneck(one.trial, one.measurement, cores) else {
            continue;
        };
        let rows = judged.intervals.iter().map(|interval| {
            let (text, color) = (cause(interval.bottleneck), interval.bottleneck as usize);
            let known = words.iter().position(|other| other.text == text);
            let index = known.unwrap_or_else(|| {
                words.push(Word {
                    text: text.into(),
                    color,
                });
                words.len() - 1
            });
            vec![interval.from_s, interval.to_s, index as f64]
        });
        groups.push(ChartGroup::new(one.cell.name(), rows.collect::<Vec<_>>()));
    }
    let seen: Vec<_> = words.iter().map(|word| word.text.as_ref()).collect();
    let says = format!(
        "Bottleneck of each trial over its time. Seen: {}.",
        seen.join(", ")
    );
    (!groups.is_empty()).then(|| Chart {
        title: "Bottlenecks".to_owned(),
        says,
        note: format!("Judged for each second; rules in docs/METHOD.md. {MEDIAN_REPEAT}"),
        columns: vec![
            ChartColumn::new("from, seconds", Unit::Seconds),
            ChartColumn::new("to, seconds", Unit::Seconds),
            ChartColumn::new("bottleneck", Unit::Word),
        ],
        groups,
        words,
        ..Chart::new(ChartKind::Intervals, "contender")
    })
}
