//! The space of a search: the knobs, their bounds, what must not run, and where to begin.

use crate::error::{KnobSpaceError, Refusal, SearchError, SearchedKnobError};
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
    /// [`KnobSpaceError`]: there is nothing to search, or a bound leaves no value.
    pub fn space(&self) -> Result<Space, KnobSpaceError> {
        let engine = self.engine.info().name;
        let knobs = self.engine.knobs();
        if knobs.is_empty() {
            return Err(KnobSpaceError::NoKnobs { engine });
        }
        let is_searched = |knob: &Parameter| {
            let is_condition = CONDITIONS.contains(&knob.name);
            is_free(self.first, knob) && (!is_condition || !self.searched.is_empty())
        };
        if !knobs.iter().any(is_searched) {
            return Err(KnobSpaceError::AllGiven { engine });
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
    /// [`SearchError`]: there is nothing to search, or a file of presets is damaged.
    pub fn presets(&self, cores: u32) -> Result<Vec<TuningPreset>, SearchError> {
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
                    Err(refusal) => dropped.push(format!("{knob}={value}: {refusal}")),
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
    fn admit(&self, space: &Space, given: &Settings) -> Result<Settings, Refusal> {
        for name in given.keys() {
            if !space.names().any(|known| known == name) {
                return Err(Refusal::NotSearched);
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
                return Err(Refusal::OutOfBounds);
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
    given_value(first, knob).is_none()
}

/// The value that the plan gives a knob; `None` if it is the default.
fn given_value<'a>(first: &'a TrialSpec, knob: &Parameter) -> Option<&'a Value> {
    let own = first.knobs.get(knob.name);
    own.filter(|value| **value != knob.kind.default_value())
}

/// Reads the knobs to search, as in `cache_size=64MiB..1GiB` or `wiredtiger.table`.
///
/// # Errors
/// [`SearchedKnobError`]: the engine has no such knob, the plan gives it, it is named twice, or a
/// bound is no value of it.
pub fn searched_knobs(
    given: &[String],
    engine: &dyn Engine,
    first: &TrialSpec,
) -> Result<Vec<SearchedKnob>, SearchedKnobError> {
    let read = |text: &String| searched_knob(text, engine, first);
    let knobs = given.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    for (at, knob) in knobs.iter().enumerate() {
        if knobs[..at].iter().any(|other| other.name == knob.name) {
            return Err(SearchedKnobError::Twice(knob.name.clone()));
        }
    }
    Ok(knobs)
}

fn searched_knob(
    text: &str,
    engine: &dyn Engine,
    first: &TrialSpec,
) -> Result<SearchedKnob, SearchedKnobError> {
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
        return Err(SearchedKnobError::Unknown {
            engine: owner,
            name: name.to_owned(),
            hint: did_you_mean(name, knobs.iter().map(|knob| knob.name)),
        });
    };
    if let Some(value) = given_value(first, knob) {
        return Err(SearchedKnobError::Kept {
            name: name.to_owned(),
            value: value.clone(),
        });
    }
    let (low, high) = match bounds {
        None => (None, None),
        Some(bounds) => {
            let sides = bounds.split_once("..");
            let (low, high) = sides.ok_or_else(|| SearchedKnobError::NoRange(text.to_owned()))?;
            (bound(knob, low)?, bound(knob, high)?)
        }
    };
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        return Err(SearchedKnobError::Reversed(text.to_owned()));
    }
    Ok(SearchedKnob {
        name: name.to_owned(),
        low,
        high,
    })
}

/// Reads a bound in the knob's unit; `None` if it is left out.
fn bound(knob: &Parameter, text: &str) -> Result<Option<f64>, SearchedKnobError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let name = knob.name;
    let unreadable = |error: &dyn std::fmt::Display| SearchedKnobError::Bound {
        knob: name,
        reason: error.to_string(),
    };
    let value = match knob.kind {
        ValueKind::Bytes { .. } => parse_bytes(text).map_err(|error| unreadable(&error))? as f64,
        ValueKind::Duration { .. } => parse_seconds(text).map_err(|error| unreadable(&error))?,
        ValueKind::Integer { .. } | ValueKind::Fraction { .. } => {
            let number = text.replace('_', "").parse::<f64>().ok();
            let number = number.filter(|number| number.is_finite());
            number.ok_or_else(|| SearchedKnobError::NotANumber {
                knob: name,
                text: text.to_owned(),
            })?
        }
        _ => {
            return Err(SearchedKnobError::Choices {
                knob: name,
                choices: knob.kind.range(),
            });
        }
    };
    Ok(Some(value))
}

#[cfg(test)]
mod tests;
