//! The limits that a configuration must keep, on the command line.

use std::str::FromStr;
use trueput_record::search::TuningLimits;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::{parse_bytes, parse_seconds};

/// The figures that can be limited.
const NAMES: [&str; 4] = ["memory", "space", "recovery", "window"];

/// Limits, as in `memory<2GiB,recovery<10s`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Limits {
    pub(super) limits: TuningLimits,
}

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut limits = TuningLimits::default();
        for part in text.split(',') {
            let (name, limit) = part.split_once('<').ok_or_else(|| {
                format!("'{part}' is not a limit: write NAME<LIMIT, as in memory<2GiB")
            })?;
            match name.trim() {
                "memory" => limits.memory_bytes = Some(parse_bytes(limit)?),
                "space" => match limit.trim().strip_suffix('x') {
                    Some(factor) => limits.space_factor = Some(parse_factor(factor)?),
                    None => limits.space_bytes = Some(parse_bytes(limit)?),
                },
                "recovery" => limits.recovery_s = Some(parse_seconds(limit)?),
                "window" => limits.window_s = Some(parse_seconds(limit)?),
                other => {
                    let hint = did_you_mean(other, NAMES);
                    return Err(format!(
                        "'{other}' cannot be limited{hint}; write memory, space, recovery or \
                         window. The durability level is kept anyway"
                    ));
                }
            }
        }
        Ok(Self { limits })
    }
}

/// Reads a multiple of what the default takes.
fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok();
    let factor = factor.filter(|factor| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| format!("'{text}x' is no multiple above 1 of the default's space, as 2x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let limits: Limits = "memory<2GiB,recovery<500ms".parse().unwrap();
        assert_eq!(limits.limits.memory_bytes, Some(2 << 30));
        assert_eq!(limits.limits.recovery_s, Some(0.5));
        let limits: Limits = "space<2x".parse().unwrap();
        assert_eq!(limits.limits.space_factor, Some(2.0));
        assert_eq!(limits.limits.space_bytes, None);
        for (text, right) in [
            ("memory", "memory<2GiB"),
            ("memori<2GiB", "did you mean 'memory'"),
            ("memory<much", "as in 4096, 64KiB, 1GiB"),
            ("space<0.5x", "multiple above 1"),
            ("space<ax", "multiple above 1"),
        ] {
            let why = text.parse::<Limits>().unwrap_err();
            assert!(why.contains(right), "{text}: {why}");
        }
    }
}
