//! Whether the contenders of a plan share time slices.

use crate::value::{format_seconds, parse_seconds};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The lengths that a time slice may have, seconds.
pub(crate) const LENGTHS_S: RangeInclusive<f64> = 0.001..=60.0;

/// The time slices of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TimeSlice {
    /// Contenders that can share time slices do, of a length that fits their level.
    #[default]
    Auto,
    /// Trials run one after the other.
    None,
    /// All share time slices of so many seconds, or the plan is refused.
    Length(f64),
}

/// A text that is no time slice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseTimeSliceError {
    /// It is no time.
    #[error("'{0}' is no time slice (1ms to 1m, auto or none)")]
    NotTime(String),
    /// It is too short or too long.
    #[error("{0} is out of range (1ms to 1m, auto or none)")]
    Range(String),
}

impl FromStr for TimeSlice {
    type Err = ParseTimeSliceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            time => match parse_seconds(time) {
                Ok(0.0) => Ok(Self::None),
                Ok(length_s) if LENGTHS_S.contains(&length_s) => Ok(Self::Length(length_s)),
                Ok(_) => Err(ParseTimeSliceError::Range(text.to_owned())),
                Err(_) => Err(ParseTimeSliceError::NotTime(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for TimeSlice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::None => formatter.write_str("none"),
            Self::Length(length_s) => formatter.write_str(&format_seconds(*length_s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_chosen_or_none_or_has_a_length() {
        let read = |text: &str| text.parse::<TimeSlice>();
        assert_eq!(read("auto"), Ok(TimeSlice::Auto));
        assert_eq!(read("none"), Ok(TimeSlice::None));
        assert_eq!(read("0"), Ok(TimeSlice::None));
        assert_eq!(read("50ms"), Ok(TimeSlice::Length(0.05)));
        let said = |wrong: &str| read(wrong).unwrap_err().to_string();
        for wrong in ["0.1ms", "2m"] {
            assert!(said(wrong).starts_with(&format!("{wrong} is out of range")));
        }
        for wrong in ["-1s", "some", ""] {
            assert!(said(wrong).starts_with(&format!("'{wrong}' is no time slice")));
        }
        for slice in [TimeSlice::Auto, TimeSlice::None, TimeSlice::Length(0.05)] {
            assert_eq!(read(&slice.to_string()), Ok(slice));
        }
    }
}
