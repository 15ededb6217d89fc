//! Presets: published advice on the knobs of an engine, as data with its source.
//!
//! They are in `presets/*.toml` and are embedded in the program. A value is fixed, or a share of
//! the machine's memory or a number for each of its processors, as tuning guides state them.

use crate::error::{BoundError, PresetError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use trueput_record::Value;
use trueput_record::value::{Settings, format_bytes, parse_bytes};

/// The text of an engine's file in `presets/`.
macro_rules! embedded {
    ($engine:literal) => {
        (
            $engine,
            include_str!(concat!("../presets/", $engine, ".toml")),
        )
    };
}

/// Every file, in listing order.
const FILES: [(&str, &str); 11] = [
    embedded!("lmdb"),
    embedded!("sqlite"),
    embedded!("fjall"),
    embedded!("rocksdb"),
    embedded!("leveldb"),
    embedded!("berkeleydb"),
    embedded!("wiredtiger"),
    embedded!("mdbx"),
    embedded!("mariadb"),
    embedded!("gtm"),
    embedded!("postgresql"),
];

/// Sizes from a share are whole multiples of this, as people write them.
const SIZE_STEP: f64 = 1_048_576.0;

/// The presets of an engine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetFile {
    /// The engine.
    pub engine: String,
    /// Its presets, in the order in which a search tries them.
    #[serde(rename = "preset")]
    pub presets: Vec<PublishedPreset>,
}

/// A named set of values from published advice.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedPreset {
    /// Its name in reports.
    pub name: String,
    /// The title of the source.
    pub title: String,
    /// The address of the source.
    pub url: String,
    /// What the source says, and what of it is no knob here.
    pub says: String,
    /// The values by knob.
    values: BTreeMap<String, PresetValue>,
}

/// A value of a preset.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum PresetValue {
    Fixed(Value),
    Share(MachineShare),
}

/// A value that depends on the machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineShare {
    of: MachineFigure,
    /// Multiplied by the figure.
    share: f64,
    at_least: Option<Value>,
    at_most: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MachineFigure {
    /// Bytes of memory.
    Memory,
    /// Processors.
    Cores,
}

/// The machine that the values of a preset are computed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// The memory that the engine and its load may use, bytes.
    pub memory_bytes: u64,
    /// Processors.
    pub cores: u32,
}

impl PublishedPreset {
    /// Returns the values for a machine.
    ///
    /// # Errors
    /// [`PresetError::Bound`].
    pub fn settings(&self, machine: Machine) -> Result<Settings, PresetError> {
        let values = self.values.iter();
        let settings = values.map(|(knob, value)| {
            let value = match value {
                PresetValue::Fixed(value) => value.clone(),
                PresetValue::Share(share) => {
                    share.value(machine).map_err(|source| PresetError::Bound {
                        preset: self.name.clone(),
                        knob: knob.clone(),
                        source,
                    })?
                }
            };
            Ok((knob.clone(), value))
        });
        settings.collect()
    }
}

impl PublishedPreset {
    /// Returns the values as the source states them: `shared_buffers = 0.25 × memory`.
    pub fn stated_values(&self) -> impl Iterator<Item = String> {
        let values = self.values.iter();
        values.map(|(knob, value)| match value {
            PresetValue::Fixed(value) => format!("{knob}={value}"),
            PresetValue::Share(share) => format!("{knob}={share}"),
        })
    }
}

impl fmt::Display for MachineShare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = match self.of {
            MachineFigure::Memory => "memory",
            MachineFigure::Cores => "processors",
        };
        match self.share {
            1.0 => formatter.write_str(figure)?,
            share if share > SIZE_STEP => {
                write!(formatter, "{} × {figure}", format_bytes(share as u64))?;
            }
            share => write!(formatter, "{share} × {figure}")?,
        }
        if let Some(least) = &self.at_least {
            write!(formatter, ", at least {least}")?;
        }
        if let Some(most) = &self.at_most {
            write!(formatter, ", at most {most}")?;
        }
        Ok(())
    }
}

impl MachineShare {
    fn value(&self, machine: Machine) -> Result<Value, BoundError> {
        let figure = match self.of {
            MachineFigure::Memory => machine.memory_bytes as f64,
            MachineFigure::Cores => f64::from(machine.cores),
        };
        let exact = figure * self.share;
        let mut number = if exact >= SIZE_STEP {
            (exact / SIZE_STEP).floor() * SIZE_STEP
        } else {
            exact.floor()
        };
        if let Some(least) = &self.at_least {
            number = number.max(bound(least)?);
        }
        if let Some(most) = &self.at_most {
            number = number.min(bound(most)?);
        }
        Ok(Value::Integer(number as i64))
    }
}

fn bound(value: &Value) -> Result<f64, BoundError> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        Value::Text(text) => parse_bytes(text)
            .map(|bytes| bytes as f64)
            .map_err(BoundError::Size),
        Value::Boolean(_) => Err(BoundError::Boolean),
    }
}

/// Returns the engines that have presets.
pub fn engines() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(engine, _)| *engine)
}

/// Returns the presets of an engine; none if no advice on its knobs is known.
///
/// # Errors
/// [`PresetError`]: its file is damaged.
pub fn presets(engine: &str) -> Result<Vec<PublishedPreset>, PresetError> {
    let Some((_, text)) = FILES.iter().find(|(known, _)| *known == engine) else {
        return Ok(Vec::new());
    };
    let file: PresetFile = toml::from_str(text).map_err(|error| PresetError::Syntax {
        engine: engine.to_owned(),
        message: error.message().to_owned(),
    })?;
    if file.engine == engine {
        Ok(file.presets)
    } else {
        Err(PresetError::OtherEngine {
            engine: engine.to_owned(),
            owner: file.engine,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(engine: &str, name: &str, machine: Machine) -> Settings {
        let presets = presets(engine).unwrap();
        let preset = presets.iter().find(|preset| preset.name == name).unwrap();
        preset.settings(machine).unwrap()
    }

    #[test]
    fn shares_follow_the_machine_within_their_bounds() {
        let small = Machine {
            memory_bytes: 1 << 30,
            cores: 1,
        };
        let large = Machine {
            memory_bytes: 64 << 30,
            cores: 96,
        };
        let buffers = |machine| settings("postgresql", "pgtune-oltp", machine);
        assert_eq!(buffers(small)["shared_buffers"], Value::Integer(1 << 28));
        assert_eq!(buffers(large)["shared_buffers"], Value::Integer(16 << 30));
        assert_eq!(buffers(large)["wal_buffers"], Value::Integer(16 << 20));
        let log = |machine| settings("mariadb", "dedicated-server", machine);
        assert_eq!(
            log(small)["innodb_log_file_size"],
            Value::Integer(512 << 20)
        );
        assert_eq!(log(large)["innodb_log_file_size"], Value::Integer(16 << 30));
    }

    #[test]
    fn an_engine_without_advice_has_no_presets() {
        assert_eq!(presets("null"), Ok(Vec::new()));
    }
}
