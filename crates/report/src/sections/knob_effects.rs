//! The effect of each knob.

use super::{Part, Section, SectionInput};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit};
use crate::document::{Block, Table};
use crate::ranking_title::ranking_heading;
use crate::significance::levels;
use trueput_findings::knob_effects::{KnobEffect, knob_effects};
use trueput_findings::rankings::Ranking;
use trueput_findings::units::{bytes, number};
use trueput_record::Value;

/// The effect of changing one knob, everything else being equal.
pub(crate) struct KnobEffects;

impl Section for KnobEffects {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let rankings = &input.rankings;
        let effects = knob_effects(input.run, rankings);
        let table = table(&effects, rankings);
        let part = Part::with_text("Effect of each knob", KNOBS_TEXT, table);
        let charts = input.page_charts(|| chart(&effects, rankings).into_iter().collect());
        part.map(|part| Part { charts, ..part })
    }
}

fn heading(effect: &KnobEffect, rankings: &[Ranking]) -> String {
    let ranking = rankings.get(effect.ranking);
    ranking.map(ranking_heading).unwrap_or_default()
}

/// The parameters that distinguish it from an equal change: `journal_buffers=128`.
fn distinction(effect: &KnobEffect) -> String {
    let parameters = effect.distinction.iter();
    let words: Vec<_> = parameters
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    words.join(", ")
}

/// A value of the knob: a size with its unit, any other as a plan writes it.
fn value_text(effect: &KnobEffect, value: &Value) -> String {
    match value {
        Value::Integer(size) if effect.is_size => bytes(*size as f64),
        other => other.to_string(),
    }
}

/// The effects as a table; `None` if no trials differ by only one knob.
fn table(effects: &[KnobEffect], rankings: &[Ranking]) -> Option<Block> {
    let several = effects.iter().any(|effect| !effect.distinction.is_empty());
    let times = |ratio: f64| {
        if ratio.is_finite() {
            format!("{} ×", number(ratio))
        } else {
            "–".to_owned()
        }
    };
    let table = Table::of(effects)
        .text("knob", 0, |effect| {
            format!("{} {}", effect.engine, effect.knob)
        })
        .text("where", 2, |effect| heading(effect, rankings))
        .figures("changed to", 0, |effect| value_text(effect, &effect.value))
        .figures("from", 0, |effect| value_text(effect, &effect.base))
        .when(several, |table| {
            table.text("other parameters", 0, distinction)
        })
        .figures("rate", 0, |effect| times(effect.rate_ratio))
        .text("verdict", 0, |effect| effect.rate.verdict.words())
        .figures("memory", 4, |effect| times(effect.memory_ratio))
        .figures("database", 4, |effect| times(effect.database_ratio))
        .text("cost", 1, |effect| match effect.cost.as_str() {
            "" => "none stated by the driver",
            cost => cost,
        });
    Block::Table(table.build()).filled()
}

const KNOBS_TEXT: &str = "Cells that differ in one knob only: rate, peak memory and database size \
    relative to the first value in the plan, and the cost that the driver states.";

/// The effect of knobs on rates; `None` if unknown.
fn chart(effects: &[KnobEffect], rankings: &[Ranking]) -> Option<Chart> {
    let group = |effect: &KnobEffect| {
        let interval = effect.rate.ratio;
        let mut name = format!(
            "{} {}={} from {}; {}",
            effect.engine,
            effect.knob,
            value_text(effect, &effect.value),
            value_text(effect, &effect.base),
            heading(effect, rankings)
        );
        if !effect.distinction.is_empty() {
            name += &format!("; {}", distinction(effect));
        }
        let row = vec![
            Some(effect.rate_ratio),
            interval.map(|ratio| ratio.low),
            interval.map(|ratio| ratio.high),
        ];
        let rows = vec![row];
        let marks = Vec::new();
        ChartGroup { name, rows, marks }
    };
    let finite = effects
        .iter()
        .filter(|effect| effect.rate_ratio.is_finite());
    let groups: Vec<_> = finite.map(group).collect();
    let column = |title: &str| ChartColumn::new(title, Unit::Number);
    let level = levels(effects.iter().map(|effect| &effect.rate));
    let intervals = level.map_or_else(String::new, |level| {
        format!(" Lines: intervals of {level}.")
    });
    (!groups.is_empty()).then(|| Chart {
        title: "Rate after a knob change, over the rate before".to_owned(),
        says: format!(
            "The ratio of rates for each of {} turns of a knob.",
            groups.len()
        ),
        note: format!("Right of 1 is faster.{intervals}"),
        columns: vec![column("ratio"), column("lower end"), column("upper end")],
        groups,
        ..Chart::new(ChartKind::Ratios, "knob")
    })
}
