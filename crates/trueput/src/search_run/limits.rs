//! The limits that a configuration must keep, on the command line.

use crate::failure::Failure;
use std::str::FromStr;
use trueput_record::search::TuningLimits;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::{parse_bytes, parse_seconds};
use trueput_record::{Durability, Survival};

/// The figures that can be limited.
const NAMES: [&str; 4] = ["memory", "space", "recovery", "window"];

/// Limits, as in `durability>=sync,memory<2GiB,recovery<10s`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// The limits of memory, disk space, recovery time and loss.
    pub values: TuningLimits,
    /// What the plan's level must keep, which the search keeps in any case.
    pub durability: Option<Durability>,
}

impl Limits {
    /// Checks that the plan's levels keep what is asked for.
    ///
    /// # Errors
    /// A usage error in one sentence: the plan's level, and what to do.
    pub fn check_levels(self, levels: impl IntoIterator<Item = Durability>) -> Result<(), Failure> {
        let Some(asked) = self.durability else {
            return Ok(());
        };
        match levels.into_iter().find(|level| !keeps(*level, asked)) {
            Some(level) => Err(Failure::usage(format!(
                "--within durability>={asked}: the plan's level is {level}, which does not keep \
                 all that {asked} keeps; give --durability {asked}"
            ))),
            None => Ok(()),
        }
    }
}

/// Whether a level keeps all that another one keeps. The levels have no single order: `buffered`
/// keeps more than `process` when power is lost, and less when processes are killed.
fn keeps(level: Durability, asked: Durability) -> bool {
    let strength = |survival| match survival {
        Survival::EveryCommit => 2,
        Survival::ConsistentPrefix => 1,
        Survival::Nothing => 0,
    };
    let failures: [fn(Durability) -> Survival; 2] = [
        Durability::after_killed_processes,
        Durability::after_lost_power,
    ];
    let mut failures = failures.into_iter();
    failures.all(|survival| strength(survival(level)) >= strength(survival(asked)))
}

impl FromStr for Limits {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let mut values = TuningLimits::default();
        let mut durability = None;
        let twice =
            |name: &str| Failure::usage(format!("'{text}' limits {name} twice; give one limit"));
        for part in text.split(',') {
            if let Some((name, level)) = part.split_once(">=")
                && name.trim() == "durability"
            {
                let level = level.trim().parse::<Durability>();
                let level = level.map_err(Failure::usage)?;
                set(&mut durability, level).map_err(|()| twice("durability"))?;
                continue;
            }
            let (name, limit) = part.split_once('<').ok_or_else(|| {
                Failure::usage(format!(
                    "'{part}' is not a limit: write NAME<LIMIT, as in memory<2GiB, or \
                     durability>=LEVEL"
                ))
            })?;
            let (name, limit) = (name.trim(), limit.trim());
            let is_first = match name {
                "memory" => set(&mut values.memory_bytes, parse_size(name, limit)?),
                "space" => match limit.strip_suffix('x') {
                    Some(factor) => set(&mut values.space_factor, parse_factor(factor)?),
                    None => set(&mut values.space_bytes, parse_size(name, limit)?),
                },
                "recovery" => set(&mut values.recovery_s, parse_time(name, limit)?),
                "window" => set(&mut values.window_s, parse_time(name, limit)?),
                other => {
                    let hint = did_you_mean(other, NAMES);
                    return Err(Failure::usage(format!(
                        "'{other}' cannot be limited{hint}; write memory, space, recovery or \
                         window, or durability>=LEVEL"
                    )));
                }
            };
            is_first.map_err(|()| twice(name))?;
        }
        Ok(Self { values, durability })
    }
}

/// Sets a limit, unless it was set before.
fn set<T>(limit: &mut Option<T>, value: T) -> Result<(), ()> {
    match limit.replace(value) {
        None => Ok(()),
        Some(_) => Err(()),
    }
}

/// Reads a size. It must have its unit: bytes without one are mostly meant as MiB or GiB.
fn parse_size(name: &str, limit: &str) -> Result<u64, Failure> {
    let bytes = parse_bytes(limit).map_err(Failure::usage)?;
    let unit = match bytes {
        _ if has_unit(limit) => return Ok(bytes),
        ..64 => "GiB",
        64..1_048_576 => "MiB",
        _ => "B",
    };
    Err(no_unit(name, limit, unit))
}

/// Reads a time, which must have its unit.
fn parse_time(name: &str, limit: &str) -> Result<f64, Failure> {
    let seconds = parse_seconds(limit).map_err(Failure::usage)?;
    let found = has_unit(limit).then_some(seconds);
    found.ok_or_else(|| no_unit(name, limit, "s"))
}

fn has_unit(limit: &str) -> bool {
    limit.ends_with(|letter: char| letter.is_ascii_alphabetic())
}

fn no_unit(name: &str, limit: &str, unit: &str) -> Failure {
    Failure::usage(format!(
        "'{name}<{limit}' has no unit; write {name}<{limit}{unit}"
    ))
}

/// Reads a multiple of what the default takes.
fn parse_factor(text: &str) -> Result<f64, Failure> {
    let factor = text.parse::<f64>().ok();
    let factor = factor.filter(|factor| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| {
        Failure::usage(format!(
            "'{text}x' is no multiple above 1 of the default's space, as 2x"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let limits: Limits = "memory<2GiB,recovery<500ms".parse().unwrap();
        assert_eq!(limits.values.memory_bytes, Some(2 << 30));
        assert_eq!(limits.values.recovery_s, Some(0.5));
        let limits: Limits = "space<2x".parse().unwrap();
        assert_eq!(limits.values.space_factor, Some(2.0));
        assert_eq!(limits.values.space_bytes, None);
        let limits: Limits = "space<2x,space<4294967296B".parse().unwrap();
        assert_eq!(limits.values.space_factor, Some(2.0));
        assert_eq!(limits.values.space_bytes, Some(4 << 30));
        for (text, right) in [
            ("memory", "memory<2GiB"),
            ("memori<2GiB", "did you mean 'memory'"),
            ("memory<much", "as in 4096, 64KiB, 1GiB"),
            ("durability<sync", "or durability>=LEVEL"),
            ("memory>=2GiB", "memory<2GiB"),
            ("durability>=asinc", "did you mean 'async'"),
            ("space<0.5x", "multiple above 1"),
            ("space<ax", "multiple above 1"),
            ("memory<2", "'memory<2' has no unit; write memory<2GiB"),
            ("memory<512", "write memory<512MiB"),
            ("space<4294967296", "write space<4294967296B"),
            ("recovery<10", "write recovery<10s"),
            ("window < 1", "write window<1s"),
            ("memory<2GiB,memory<3GiB", "limits memory twice"),
            ("space<2x,space<3x", "limits space twice"),
            ("window<1s,window<1s", "limits window twice"),
            (
                "durability>=sync,durability>=async",
                "limits durability twice",
            ),
        ] {
            let reason = text.parse::<Limits>().unwrap_err().to_string();
            assert!(reason.contains(right), "{text}: {reason}");
        }
    }

    #[test]
    fn a_level_that_keeps_less_than_the_one_asked_for_is_refused() {
        use Durability::{Async, Buffered, Process, Sync};
        for (asked, kept_by) in [
            ("sync", vec![Sync]),
            ("async", vec![Sync, Async]),
            ("buffered", vec![Sync, Async, Buffered]),
            ("process", vec![Sync, Async, Process]),
            ("none", Durability::ALL.to_vec()),
        ] {
            let limits: Limits = format!("durability>={asked}").parse().unwrap();
            let mut kept = Durability::ALL.to_vec();
            kept.retain(|level| limits.check_levels([*level]).is_ok());
            assert_eq!(kept, kept_by, "{asked}");
        }
        let text = "durability>=sync,window<1s,recovery<10s,memory<2GiB,space<2x";
        let limits: Limits = text.parse().unwrap();
        assert_eq!(limits.values.window_s, Some(1.0));
        assert_eq!(limits.values.space_factor, Some(2.0));
        let reason = limits.check_levels([Async]).unwrap_err().to_string();
        for part in ["the plan's level is async", "give --durability sync"] {
            assert!(reason.contains(part), "{reason}");
        }
        assert!(Limits::default().check_levels([Durability::None]).is_ok());
    }
}
