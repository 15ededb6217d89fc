//! How much each knob of a search matters to the score.

use super::{Scores, configuration};
use crate::forest::{Forest, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::random::SplitMix64;
use trueput_record::{TrialRecord, Value};

/// With fewer configurations that have a score, a forest says nothing.
const MIN_SCORES: usize = 20;

/// A failure is as good as the worst score, and no better than this part of the default's.
pub const FAILURE_FACTOR: f64 = 0.5;

/// How much the knobs of a search matter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KnobImportance {
    /// The part of the scores' variance that a random forest predicts from the knobs, for trials
    /// that it has not learned, from 0 to 1. If it is small, the shares are noise.
    pub explained: f64,
    /// Each knob that was changed, the most important first.
    pub knobs: Vec<KnobShare>,
}

/// The importance of one knob.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KnobShare {
    /// The knob.
    pub knob: String,
    /// Its share of the importance of all, from 0 to 1: how much worse the predictions become if
    /// its values are exchanged at random (Breiman, "Random Forests", 2001).
    pub share: f64,
}

/// Computes the importance of the knobs from the trials of a search; `None` with too few.
pub(super) fn importance(trials: &[&TrialRecord], scores: &Scores) -> Option<KnobImportance> {
    let configurations = configurations(trials, scores);
    let gains = configurations.iter().filter_map(|(_, gain)| *gain);
    if gains.clone().count() < MIN_SCORES {
        return None;
    }
    let worst = gains.fold(FAILURE_FACTOR.ln(), f64::min);
    let axes = axes(trials);
    let samples = configurations.iter().map(|(trial, gain)| Sample {
        point: axes.iter().map(|axis| axis.position(trial)).collect(),
        value: gain.unwrap_or(worst),
    });
    let samples: Vec<_> = samples.collect();
    let categories: Vec<_> = axes.iter().map(KnobAxis::categories).collect();
    let mut random = SplitMix64::for_use(0, 0);
    let forest = Forest::fit(&samples, &categories, &mut random)?;
    let found = forest.importance(&samples, &mut random);
    let shares = axes.iter().zip(found.shares);
    let mut knobs: Vec<_> = shares
        .map(|(axis, share)| KnobShare {
            knob: axis.knob.to_owned(),
            share,
        })
        .collect();
    knobs.sort_by(|one, other| other.share.total_cmp(&one.share));
    Some(KnobImportance {
        explained: found.explained,
        knobs,
    })
}

/// A trial of each configuration, and its mean gain; `None` if it failed. One sample for each:
/// repeats would let the forest predict a configuration that it has learned.
fn configurations<'a>(
    trials: &[&'a TrialRecord],
    scores: &Scores,
) -> Vec<(&'a TrialRecord, Option<f64>)> {
    let mut gains: BTreeMap<u32, (&TrialRecord, Vec<Option<f64>>)> = BTreeMap::new();
    for trial in trials {
        let number = configuration(trial);
        let gain = number.and_then(|number| scores.gain(trial.spec.repeat, number));
        if let (Some(number), Some(gain)) = (number, gain) {
            let (_, gains) = gains.entry(number).or_insert((trial, Vec::new()));
            gains.push(gain);
        }
    }
    let mean = |gains: Vec<Option<f64>>| {
        let count = gains.len() as f64;
        let sum: Option<f64> = gains.into_iter().sum();
        Some(sum? / count)
    };
    gains
        .into_values()
        .map(|(trial, gains)| (trial, mean(gains)))
        .collect()
}

/// A knob as an axis of a forest.
struct KnobAxis<'a> {
    knob: &'a str,
    /// The texts that occur among its values.
    texts: Vec<&'a str>,
    /// Whether all its values are texts, which have no order.
    is_categorical: bool,
}

/// The knobs with two or more values.
fn axes<'a>(trials: &[&'a TrialRecord]) -> Vec<KnobAxis<'a>> {
    let mut values: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for (knob, value) in trials.iter().flat_map(|trial| &trial.spec.knobs) {
        values.entry(knob).or_default().push(value);
    }
    values.retain(|_, values| values.windows(2).any(|pair| pair[0] != pair[1]));
    let axis = |(knob, values): (&'a str, Vec<&'a Value>)| {
        let texts: BTreeSet<_> = values.iter().filter_map(|value| text(value)).collect();
        KnobAxis {
            knob,
            texts: texts.into_iter().collect(),
            is_categorical: values.iter().all(|value| text(value).is_some()),
        }
    };
    values.into_iter().map(axis).collect()
}

impl KnobAxis<'_> {
    /// The number of categories; 0 for a range.
    fn categories(&self) -> usize {
        if self.is_categorical {
            self.texts.len()
        } else {
            0
        }
    }

    /// A word of a range, such as `preset`, lies below its numbers.
    fn position(&self, trial: &TrialRecord) -> f64 {
        let value = trial.spec.knobs.get(self.knob);
        let place = value.and_then(text).and_then(|text| {
            let mut texts = self.texts.iter();
            texts.position(|known| *known == text)
        });
        match place {
            Some(place) if self.is_categorical => (place as f64 + 0.5) / self.texts.len() as f64,
            Some(place) => -1e9 - place as f64,
            None => value.map_or(0.0, number),
        }
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Boolean(is_on) => f64::from(u8::from(*is_on)),
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Text(_) => 0.0,
    }
}
