//! Moments, as ODBC's buffers have them.

use trueput_engine::sql::calendar::{date_of, days_since_1970};
use trueput_engine::{Error, Result};

/// `SQL_TIMESTAMP_STRUCT`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Timestamp {
    year: i16,
    month: u16,
    day: u16,
    hour: u16,
    minute: u16,
    second: u16,
    /// Nanoseconds.
    fraction: u32,
}

const DAY_US: i64 = 86_400_000_000;

impl Timestamp {
    /// Of microseconds since 1970.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a year that the structure cannot hold.
    pub(super) fn of(moment_us: i64) -> Result<Self> {
        let (year, month, day) = date_of(moment_us.div_euclid(DAY_US));
        let rest = moment_us.rem_euclid(DAY_US);
        let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
        let year = i16::try_from(year)
            .map_err(|_| Error::Unsupported(format!("a moment in the year {year}")))?;
        Ok(Self {
            year,
            month: month as u16,
            day: day as u16,
            hour: (seconds / 3600) as u16,
            minute: (seconds / 60 % 60) as u16,
            second: (seconds % 60) as u16,
            fraction: micros as u32 * 1000,
        })
    }

    /// Microseconds since 1970.
    pub(super) fn as_us(self) -> i64 {
        let date = [self.year.into(), self.month.into(), self.day.into()];
        let days = days_since_1970(date[0], date[1], date[2]);
        let hours = days * 24 + i64::from(self.hour);
        let seconds = (hours * 60 + i64::from(self.minute)) * 60 + i64::from(self.second);
        seconds * 1_000_000 + i64::from(self.fraction / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read_exactly() {
        for moment in [
            0,
            -1,
            951_782_399_999_999,
            951_868_800_000_000,
            4_102_444_800_000_001,
        ] {
            assert_eq!(Timestamp::of(moment).unwrap().as_us(), moment);
        }
        let leap_day = Timestamp::of(951_782_400_000_000).unwrap();
        assert_eq!((leap_day.year, leap_day.month, leap_day.day), (2000, 2, 29));
        assert!(Timestamp::of(i64::MAX).is_err());
    }
}
