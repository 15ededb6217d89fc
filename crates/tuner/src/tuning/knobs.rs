//! The space of a search: the knobs, their bounds, what must not run, and where to begin.

use crate::fence::{CONDITIONS, knob_space};
use crate::presets::{Machine, PublishedPreset, presets};
use crate::space::{Bounds, Restrictions, Space};
use trueput_engine::{Engine, Parameter};
use trueput_record::parameter::ValueKind;
use trueput_record::search::{SearchedKnob, TuningPreset};
use trueput_record::suggest::did_you_mean;
use trueput_record::value::{Settings, parse_bytes, parse_seconds};
use trueput_record::{TrialSpec, Value};

/// Sizes are searched up to this part of the memory: the trial's limit, or else the machine's.
const MEMORY_PART: f64 = 0.5;

/// A space to be: an engine as the first trial has it.
pub struct SearchSpace<'a> {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// The trial with the default configuration.
    pub first: &'a TrialSpec,
    /// The limit on the window, seconds.
    pub window_s: Option<f64>,
    /// The machine's memory, bytes.
    pub memory_bytes: u64,
    /// The knobs to search; all if there is none.
    pub searched: &'a [SearchedKnob],
}

impl SearchSpace<'_> {
    /// The knobs that the plan leaves at their defaults.
    ///
    /// # Errors
    /// One sentence: there is nothing to search, or a bound leaves no value.
    pub fn space(&self) -> Result<Space, String> {
        let name = self.engine.info().name;
        let knobs = self.engine.knobs();
        if knobs.is_empty() {
            return Err(format!("{name} has no knobs to search"));
        }
        let is_searched = |knob: &Parameter| {
            let is_condition = CONDITIONS.contains(&knob.name);
            is_free(self.first, knob) && (!is_condition || !self.searched.is_empty())
        };
        if !knobs.iter().any(is_searched) {
            return Err(format!(
                "the plan gives every knob of {name}: there is none to search"
            ));
        }
        knob_space(
            self.engine,
            self.first.durability,
            &self.first.knobs,
            self.window_s,
            self.usable_memory_bytes() as f64 * MEMORY_PART,
            self.restrictions(),
        )
    }

    /// The trial's limit, or else the machine's memory.
    fn usable_memory_bytes(&self) -> u64 {
        let limit = self.first.conditions.memory_bytes;
        limit.map_or(self.memory_bytes, |limit| limit.min(self.memory_bytes))
    }

    /// The knobs to search and their bounds, as the user gives them.
    fn restrictions(&self) -> Restrictions {
        let names = self.searched.iter().map(|knob| knob.name.clone());
        let bounded = self
            .searched
            .iter()
            .filter(|it| it.low.is_some() || it.high.is_some());
        let bounds = bounded.map(|knob| {
            let bounds = Bounds {
                low: knob.low,
                high: knob.high,
            };
            (knob.name.clone(), bounds)
        });
        Restrictions {
            only: (!self.searched.is_empty()).then(|| names.collect()),
            bounds: bounds.collect(),
        }
    }

    /// The engine's presets, as far as the search may run them, for a machine with so many
    /// processors.
    ///
    /// # Errors
    /// One sentence: there is nothing to search, or a file of presets is damaged.
    pub fn presets(&self, cores: u32) -> Result<Vec<TuningPreset>, String> {
        let space = self.space()?;
        let machine = Machine {
            memory_bytes: self.usable_memory_bytes(),
            cores,
        };
        let published = presets(self.engine.info().name)?;
        let usable = published
            .iter()
            .map(|preset| Ok(self.usable(&space, preset, preset.settings(machine)?)));
        usable.collect()
    }

    /// A preset without the values that the search may not run.
    fn usable(&self, space: &Space, published: &PublishedPreset, given: Settings) -> TuningPreset {
        let mut dropped = Vec::new();
        // Values that are allowed only together are tried together first.
        let settings = self.admit(space, &given).unwrap_or_else(|_| {
            let mut kept = Settings::new();
            for (knob, value) in given {
                let mut with = kept.clone();
                with.insert(knob.clone(), value.clone());
                match self.admit(space, &with) {
                    Ok(_) => kept = with,
                    Err(reason) => dropped.push(format!("{knob}={value}: {reason}")),
                }
            }
            self.admit(space, &kept).unwrap_or_default()
        });
        TuningPreset {
            name: published.name.clone(),
            title: published.title.clone(),
            url: published.url.clone(),
            settings,
            dropped,
        }
    }

    /// The values that differ from the default, if all of them may run.
    fn admit(&self, space: &Space, given: &Settings) -> Result<Settings, String> {
        for name in given.keys() {
            if !space.names().any(|known| known == name) {
                return Err("this knob is not searched".to_owned());
            }
        }
        let changes = space.admit(given)?;
        for knob in self.searched {
            let value = changes.get(&knob.name).and_then(number);
            let is_outside = value.is_some_and(|value| {
                knob.low.is_some_and(|low| value < low)
                    || knob.high.is_some_and(|high| value > high)
            });
            if is_outside {
                return Err("it is outside of the bounds that --search gives".to_owned());
            }
        }
        space.check(&changes)?;
        Ok(changes)
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Boolean(_) | Value::Text(_) => None,
    }
}

/// Whether the plan leaves a knob at its default.
fn is_free(first: &TrialSpec, knob: &Parameter) -> bool {
    let own = first.knobs.get(knob.name);
    own.is_none_or(|value| *value == knob.kind.default_value())
}

/// Reads the knobs to search, as in `cache_size=64MiB..1GiB` or `wiredtiger.table`.
///
/// # Errors
/// One sentence: the engine has no such knob, the plan gives it, it is named twice, or a bound is
/// no value of it.
pub fn searched_knobs(
    given: &[String],
    engine: &dyn Engine,
    first: &TrialSpec,
) -> Result<Vec<SearchedKnob>, String> {
    let read = |text: &String| searched_knob(text, engine, first);
    let knobs = given.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    for (at, knob) in knobs.iter().enumerate() {
        if knobs[..at].iter().any(|other| other.name == knob.name) {
            return Err(format!(
                "--search names '{}' twice; name it once",
                knob.name
            ));
        }
    }
    Ok(knobs)
}

fn searched_knob(
    text: &str,
    engine: &dyn Engine,
    first: &TrialSpec,
) -> Result<SearchedKnob, String> {
    let (name, bounds) = match text.split_once('=') {
        Some((name, bounds)) => (name.trim(), Some(bounds)),
        None => (text.trim(), None),
    };
    let owner = engine.info().name;
    let of_owner = name.strip_prefix(owner);
    let of_owner = of_owner.and_then(|rest| rest.strip_prefix('.'));
    let name = of_owner.unwrap_or(name);
    let knobs = engine.knobs();
    let Some(knob) = knobs.iter().find(|knob| knob.name == name) else {
        let hint = did_you_mean(name, knobs.iter().map(|knob| knob.name));
        return Err(format!(
            "{owner} has no knob '{name}'{hint}; 'trueput knobs {owner}' lists them"
        ));
    };
    if !is_free(first, knob) {
        let value = first.knobs.get(name).map(ToString::to_string);
        return Err(format!(
            "'{name}' is to be searched, and the plan or --knob keeps it at {}: remove one of both",
            value.unwrap_or_default()
        ));
    }
    let (low, high) = match bounds {
        None => (None, None),
        Some(bounds) => {
            let (low, high) = bounds.split_once("..").ok_or_else(|| {
                format!("'{text}': write bounds as LOW..HIGH, as in cache_size=64MiB..1GiB")
            })?;
            (bound(knob, low)?, bound(knob, high)?)
        }
    };
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        return Err(format!("'{text}': the lower bound is above the upper one"));
    }
    Ok(SearchedKnob {
        name: name.to_owned(),
        low,
        high,
    })
}

/// Reads a bound in the knob's unit; `None` if it is left out.
fn bound(knob: &Parameter, text: &str) -> Result<Option<f64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let value = match knob.kind {
        ValueKind::Bytes { .. } => parse_bytes(text).map(|bytes| bytes as f64),
        ValueKind::Duration { .. } => parse_seconds(text),
        ValueKind::Integer { .. } | ValueKind::Fraction { .. } => {
            let number = text.replace('_', "").parse::<f64>().ok();
            let number = number.filter(|number| number.is_finite());
            number.ok_or_else(|| format!("'{text}' is not a number"))
        }
        _ => Err(format!(
            "it has no range; it is one of {}",
            knob.kind.range()
        )),
    };
    value
        .map(Some)
        .map_err(|reason| format!("'{}': {reason}", knob.name))
}

#[cfg(test)]
mod tests;
