//! The parameters that a search may change, and their values as points of the unit cube.
//!
//! Each parameter is an axis. Values that differ in kind from the others (a word such as `preset`,
//! or a lowest value of 0 or -1, which usually turns something off or leaves it to the engine) are
//! special: they share a fifth of the axis, as in `LlamaTune` (Kanellis et al., VLDB 2022, special
//! value biasing with probability 20 %). Its second idea, buckets, is taken as readable values:
//! sizes have three significant bits, other numbers two significant digits, so that no trials are
//! spent on 63 against 64 MiB. Its third, random projections to fewer dimensions, is left out:
//! the spaces here have tens of parameters, not hundreds, and the importance of each is reported.

mod axis;

use crate::error::{Refusal, SpaceError};
use axis::Axis;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use trueput_record::Value;
use trueput_record::parameter::{Parameter, ValueKind, resolve};
use trueput_record::value::Settings;

/// Decides whether a configuration may run. It gets the settings that differ from the default, and
/// refuses for example a weaker promise.
pub type Fence = Box<dyn Fn(&Settings) -> Result<(), Refusal>>;

/// Bounds of a searched range, in the parameter's unit (bytes, seconds). A side that is given
/// replaces the side that [`Space::new`] derives. A lower bound also excludes a special value below
/// it that is not the default; a cap on sizes has only an upper bound, so "off" stays possible.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bounds {
    /// The lowest value to try.
    pub low: Option<f64>,
    /// The highest value to try.
    pub high: Option<f64>,
}

/// Restrictions of a search to a part of its parameters and ranges.
#[derive(Debug, Clone, Default)]
pub struct Restrictions {
    /// The parameters to search; all if there is none.
    pub only: Option<BTreeSet<String>>,
    /// Bounds by parameter.
    pub bounds: BTreeMap<String, Bounds>,
}

/// A search space. Its configurations are [`Settings`] that hold only what differs from the
/// default, so the default is empty, and equal configurations are equal settings.
pub struct Space {
    parameters: Vec<Parameter>,
    axes: Vec<Axis>,
    fence: Fence,
}

impl fmt::Debug for Space {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}

impl Space {
    /// Makes a space of the parameters that have a range or choices. Texts are left out.
    ///
    /// Ranges of two decades or more have a logarithmic scale. The searched part of such a range
    /// is within a factor of 100 of the default on either side; if the default is special, it is
    /// a factor of 2^20 above the lowest number. Where 0 is the lowest value, numbers begin at
    /// 4 KiB, 1 ms or 1. `restrictions` change either side.
    ///
    /// # Errors
    /// [`SpaceError`]: there is nothing to search, or a restriction does not fit the parameters.
    pub fn new(
        parameters: &[Parameter],
        restrictions: &Restrictions,
        fence: Fence,
    ) -> Result<Self, SpaceError> {
        check_names(parameters, restrictions)?;
        let only = restrictions.only.as_ref();
        let is_in = |name: &str| only.is_none_or(|only| only.contains(name));
        let mut space = Self {
            parameters: Vec::new(),
            axes: Vec::new(),
            fence,
        };
        for parameter in parameters.iter().filter(|one| is_in(one.name)) {
            let bounds = restrictions.bounds.get(parameter.name).copied();
            if let Some(axis) = Axis::new(parameter, bounds)? {
                space.parameters.push(*parameter);
                space.axes.push(axis);
            }
        }
        if space.axes.is_empty() {
            Err(SpaceError::NoParameter)
        } else {
            Ok(space)
        }
    }

    /// Returns the number of parameters.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.axes.len()
    }

    /// Returns the parameters' names, in the order of a point's coordinates.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().map(|parameter| parameter.name)
    }

    /// Returns the settings at a point: the values that differ from the default.
    #[must_use]
    pub fn settings(&self, point: &[f64]) -> Settings {
        let values = self.axes.iter().zip(point);
        self.changes(values.map(|(axis, at)| axis.value(*at)))
    }

    /// Returns the settings at a point as far as the fence allows them: a value that it refuses
    /// beside those of the parameters before it stays at its default. Knobs often fit only one
    /// value of another knob, so that few points are allowed as they are.
    #[must_use]
    pub fn allowed_settings(&self, point: &[f64]) -> Settings {
        let drawn = self.settings(point);
        if self.check(&drawn).is_ok() {
            return drawn;
        }
        let mut allowed = Settings::new();
        for name in self.names() {
            let Some(value) = drawn.get(name) else {
                continue;
            };
            allowed.insert(name.to_owned(), value.clone());
            if self.check(&allowed).is_err() {
                allowed.remove(name);
            }
        }
        allowed
    }

    /// Returns the point of settings that [`Self::admit`] returned. A value outside of the searched
    /// range, which a preset may have, is at its end.
    #[must_use]
    pub fn point(&self, settings: &Settings) -> Vec<f64> {
        let named = self.parameters.iter().zip(&self.axes);
        let position = |(parameter, axis): (&Parameter, &Axis)| match settings.get(parameter.name) {
            Some(value) => axis.position(value),
            None => axis.position(&parameter.kind.default_value()),
        };
        named.map(position).collect()
    }

    /// Checks settings that come from outside and returns those that differ from the default.
    ///
    /// # Errors
    /// [`Refusal::Value`] with the parameter, the value and the valid values.
    pub fn admit(&self, given: &Settings) -> Result<Settings, Refusal> {
        let resolved = resolve("the search", &self.parameters, given);
        let resolved = resolved.map_err(|error| Refusal::Value(error.to_string()))?;
        let values = self.names().filter_map(|name| resolved.get(name).cloned());
        Ok(self.changes(values))
    }

    /// Asks the fence.
    ///
    /// # Errors
    /// Why this configuration may not run.
    pub fn check(&self, settings: &Settings) -> Result<(), Refusal> {
        (self.fence)(settings)
    }

    /// Returns for each axis the number of its categories; 0 for a range.
    pub(crate) fn categories(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::categories).collect()
    }

    /// Returns positions on an axis that show its course: each special value and category, and the
    /// ends and the middle of its range.
    #[must_use]
    pub fn levels(&self, dimension: usize) -> Vec<f64> {
        self.axes[dimension].levels()
    }

    fn changes(&self, values: impl Iterator<Item = Value>) -> Settings {
        let named = self.parameters.iter().zip(values);
        named
            .filter(|(parameter, value)| parameter.kind.default_value() != *value)
            .map(|(parameter, value)| (parameter.name.to_owned(), value))
            .collect()
    }
}

fn check_names(parameters: &[Parameter], restrictions: &Restrictions) -> Result<(), SpaceError> {
    let only = restrictions.only.iter().flatten();
    for name in only.chain(restrictions.bounds.keys()) {
        let Some(known) = parameters.iter().find(|known| known.name == name) else {
            return Err(SpaceError::UnknownParameter {
                name: name.clone(),
                known: parameters.iter().map(|known| known.name).collect(),
            });
        };
        if matches!(known.kind, ValueKind::Text { .. }) {
            return Err(SpaceError::Text(name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
