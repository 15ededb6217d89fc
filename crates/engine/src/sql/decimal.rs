//! Decimal numbers as text, which servers and ODBC's drivers send and take.

use crate::{Datum, Error, Result};

/// Appends `units` to `out` with `scale` digits after the decimal point.
pub fn write_decimal(out: &mut Vec<u8>, units: i64, scale: u8) {
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
pub fn write_integer(out: &mut Vec<u8>, number: i64) {
    write_decimal(out, number, 0);
}

/// A decimal number as drivers write it: `-12.34`, `.5`, ` 7 `.
///
/// # Errors
/// A text that is not a number, or has more than 18 digits.
pub fn decimal(text: &[u8]) -> Result<Datum<'static>> {
    let text = text.trim_ascii();
    let wrong = || {
        let text = String::from_utf8_lossy(text);
        Error::engine(format!(
            "{text} is not a decimal number of at most 18 digits"
        ))
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
}
