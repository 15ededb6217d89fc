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
                "space" => limits.space_bytes = Some(parse_bytes(limit)?),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let limits: Limits = "memory<2GiB,recovery<500ms".parse().unwrap();
        assert_eq!(limits.limits.memory_bytes, Some(2 << 30));
        assert_eq!(limits.limits.recovery_s, Some(0.5));
        for (text, right) in [
            ("memory", "memory<2GiB"),
            ("memori<2GiB", "did you mean 'memory'"),
            ("memory<much", "as in 4096, 64KiB, 1GiB"),
        ] {
            let why = text.parse::<Limits>().unwrap_err();
            assert!(why.contains(right), "{text}: {why}");
        }
    }
}
