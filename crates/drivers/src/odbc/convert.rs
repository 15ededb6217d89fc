//! Decimals and moments, as ODBC's buffers have them.

use crate::calendar::{date_of, days_since_1970};
use trueput_engine::{Datum, Error, Result};

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
    /// [`Error::Unsupported`] for a year that has no place in the structure.
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

/// Writes `units` with `scale` digits behind the point to the end of `out`.
pub(super) fn write_decimal(out: &mut Vec<u8>, units: i64, scale: u8) {
    let mut digits = [b'0'; 40];
    let (mut rest, mut first) = (units.unsigned_abs(), digits.len());
    // One digit at least is before the point.
    while rest > 0 || digits.len() - first <= usize::from(scale) {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if first == 0 {
            break;
        }
    }
    if units < 0 {
        out.push(b'-');
    }
    let point = digits.len() - usize::from(scale).min(digits.len() - first);
    out.extend_from_slice(&digits[first..point]);
    if point < digits.len() {
        out.push(b'.');
        out.extend_from_slice(&digits[point..]);
    }
}

/// Writes a whole number to the end of `out`.
pub(super) fn write_integer(out: &mut Vec<u8>, number: i64) {
    write_decimal(out, number, 0);
}

/// A decimal number as drivers write it: `-12.34`, `.5`, ` 7 `.
///
/// # Errors
/// What is no such number, or has more than 18 digits.
pub(super) fn decimal(text: &[u8]) -> Result<Datum<'static>> {
    let text = text.trim_ascii();
    let wrong = || {
        let text = String::from_utf8_lossy(text);
        Error::engine(format!("{text} is no decimal number of 18 digits"))
    };
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let (mut units, mut scale, mut is_behind, mut seen) = (0_i64, 0_u8, false, false);
    for byte in digits {
        match byte {
            b'.' if !is_behind => is_behind = true,
            b'0'..=b'9' => {
                let longer = units
                    .checked_mul(10)
                    .and_then(|units| units.checked_add(i64::from(byte - b'0')));
                units = longer.ok_or_else(wrong)?;
                scale += u8::from(is_behind);
                seen = true;
            }
            _ => return Err(wrong()),
        }
    }
    if !seen {
        return Err(wrong());
    }
    let units = if negative { -units } else { units };
    Ok(Datum::Decimal { units, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_and_read_exactly() {
        for (units, scale, text) in [
            (1234, 2, "12.34"),
            (-5, 2, "-0.05"),
            (0, 4, "0.0000"),
            (0, 0, "0"),
            (7, 0, "7"),
            (i64::MAX, 2, "92233720368547758.07"),
        ] {
            let mut written = Vec::new();
            write_decimal(&mut written, units, scale);
            assert_eq!(String::from_utf8(written).unwrap(), text);
            assert_eq!(
                decimal(text.as_bytes()),
                Ok(Datum::Decimal { units, scale })
            );
        }
        let half = Datum::Decimal { units: 5, scale: 1 };
        assert_eq!(decimal(b" .5 "), Ok(half));
        for wrong in ["1e5", "99999999999999999999", "12,3", "", ".", "1.2.3"] {
            assert!(decimal(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

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
