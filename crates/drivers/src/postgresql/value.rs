//! Values in the protocol's binary format, as each type's `send` and `recv` functions write and
//! read them (PostgreSQL's source, `src/backend/utils/adt`).

use super::message::{fixed, invalid_message, length};
use trueput_engine::common_errors::LengthLimits;
use trueput_engine::{Datum, Error, KeyBatch, RecordSource, Result};

/// Object ids of types (`pg_type.dat`).
pub(super) mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const CHAR: u32 = 18;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const UNKNOWN: u32 = 705;
    pub const INT4_ARRAY: u32 = 1007;
    pub const INT8_ARRAY: u32 = 1016;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const NUMERIC: u32 = 1700;
    pub const VOID: u32 = 2278;
}

/// From 1970-01-01 to 2000-01-01, from when PostgreSQL counts, microseconds.
const EPOCH_US: i64 = 946_684_800_000_000;
/// The base of the digits of a NUMERIC, and how many decimal digits each is.
const BASE: i128 = 10_000;
const DIGITS: i32 = 4;
/// The sign of a NUMERIC below zero.
const NEGATIVE: u16 = 0x4000;

/// Writes a parameter of the type `of_type` as its length and its bytes.
///
/// # Errors
/// [`Error::Unsupported`], if a datum cannot be a parameter of that type.
pub(super) fn encode(out: &mut Vec<u8>, datum: &Datum<'_>, of_type: u32) -> Result<()> {
    if *datum == Datum::Null {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        return Ok(());
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    encode_body(out, datum, of_type)?;
    let bytes = length(out.len() - start - 4)?.to_be_bytes();
    out[start..start + 4].copy_from_slice(&bytes);
    Ok(())
}

fn encode_body(out: &mut Vec<u8>, datum: &Datum<'_>, of_type: u32) -> Result<()> {
    let misfit = || {
        Error::Unsupported(format!(
            "{datum:?} is not a parameter of the type with id {of_type}"
        ))
    };
    match (*datum, of_type) {
        (Datum::Integer(number), oid::INT8) => out.extend_from_slice(&number.to_be_bytes()),
        (Datum::Integer(number), oid::INT4) => {
            let number = i32::try_from(number).map_err(|_| misfit())?;
            out.extend_from_slice(&number.to_be_bytes());
        }
        (Datum::Integer(number), oid::INT2) => {
            let number = i16::try_from(number).map_err(|_| misfit())?;
            out.extend_from_slice(&number.to_be_bytes());
        }
        (Datum::Integer(number @ (0 | 1)), oid::BOOL) => out.push(number as u8),
        (Datum::Integer(number), oid::NUMERIC) => encode_numeric(out, number, 0),
        (Datum::Decimal { units, scale }, oid::NUMERIC) => encode_numeric(out, units, scale),
        (Datum::Text(text), oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::UNKNOWN) => {
            out.extend_from_slice(text.as_bytes());
        }
        (Datum::Bytes(bytes), oid::BYTEA) => out.extend_from_slice(bytes),
        (Datum::Timestamp(at_us), oid::TIMESTAMPTZ | oid::TIMESTAMP) => {
            let at_us = at_us.checked_sub(EPOCH_US).ok_or_else(misfit)?;
            out.extend_from_slice(&at_us.to_be_bytes());
        }
        (Datum::Integers(numbers), oid::INT4_ARRAY | oid::INT8_ARRAY) => {
            encode_array(out, numbers, of_type)?;
        }
        _ => return Err(misfit()),
    }
    Ok(())
}

fn encode_array(out: &mut Vec<u8>, numbers: &[i64], of_type: u32) -> Result<()> {
    let element = if of_type == oid::INT4_ARRAY {
        oid::INT4
    } else {
        oid::INT8
    };
    let dimensions = i32::from(!numbers.is_empty());
    // Dimensions, whether there are NULLs, the elements' type; then per dimension length and base.
    for number in [dimensions, 0, element.cast_signed()] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    if dimensions == 0 {
        return Ok(());
    }
    out.extend_from_slice(&length(numbers.len())?.to_be_bytes());
    out.extend_from_slice(&1_i32.to_be_bytes());
    for number in numbers {
        encode(out, &Datum::Integer(*number), element)?;
    }
    Ok(())
}

/// Writes keys as a parameter of the type `bytea[]`: its length and the array.
pub(super) fn encode_keys(out: &mut Vec<u8>, keys: &KeyBatch) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    // As in `encode_array`: one dimension, and no NULLs.
    let element = oid::BYTEA.cast_signed();
    for number in [1, 0, element, length(keys.len())?, 1] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    for key in keys.keys_from(0) {
        out.extend_from_slice(&length(key.len())?.to_be_bytes());
        out.extend_from_slice(key);
    }
    let bytes = length(out.len() - start - 4)?.to_be_bytes();
    out[start..start + 4].copy_from_slice(&bytes);
    Ok(())
}

/// Bytes that a COPY sends at once.
const COPY_BYTES: usize = 64 << 10;

/// The data of a COPY of records in the binary format (documentation of COPY, "Binary Format").
#[derive(Default)]
pub(super) struct BinaryCopy {
    has_begun: bool,
}

impl BinaryCopy {
    /// Appends the next records; returns whether there may be more.
    ///
    /// # Errors
    /// A record that is too long.
    pub(super) fn write_part(
        &mut self,
        out: &mut Vec<u8>,
        records: &mut dyn RecordSource,
        limits: LengthLimits,
    ) -> Result<bool> {
        if !self.has_begun {
            self.has_begun = true;
            // The signature, no flags, and no extension.
            out.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
            out.extend_from_slice(&[0; 8]);
        }
        let end = out.len() + COPY_BYTES;
        while out.len() < end {
            let Some((key, value)) = records.next_record() else {
                out.extend_from_slice(&(-1_i16).to_be_bytes());
                return Ok(false);
            };
            limits.check(key, value)?;
            out.extend_from_slice(&2_i16.to_be_bytes());
            for column in [key, value] {
                out.extend_from_slice(&length(column.len())?.to_be_bytes());
                out.extend_from_slice(column);
            }
        }
        Ok(true)
    }
}

/// A NUMERIC is its digits to the base of 10,000, the weight of the first, the sign, and how many
/// decimal digits follow the point.
fn encode_numeric(out: &mut Vec<u8>, units: i64, scale: u8) {
    // Behind the point there is a whole number of such digits.
    let behind =
        i32::from(scale).div_euclid(DIGITS) + i32::from(!scale.is_multiple_of(DIGITS as u8));
    let shift = behind * DIGITS - i32::from(scale);
    let mut rest = i128::from(units).unsigned_abs() * 10_u128.pow(shift.unsigned_abs());
    let mut digits = [0_i16; 8];
    let mut count = 0;
    while rest > 0 {
        digits[count] = (rest % BASE.unsigned_abs()) as i16;
        rest /= BASE.unsigned_abs();
        count += 1;
    }
    let weight = count as i32 - 1 - behind;
    let zeros = digits[..count]
        .iter()
        .take_while(|digit| **digit == 0)
        .count();
    let sign = if units < 0 { NEGATIVE } else { 0 };
    out.extend_from_slice(&((count - zeros) as i16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&u16::from(scale).to_be_bytes());
    for digit in digits[zeros..count].iter().rev() {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// Reads a column of the type `of_type`. Whole numbers of an array are put into `numbers`.
///
/// # Errors
/// [`Error::Unsupported`] for a type that [`Datum`] does not have, [`Error::Engine`] for a number
/// that does not fit.
pub(super) fn decode<'a>(
    bytes: Option<&'a [u8]>,
    of_type: u32,
    numbers: &'a mut Vec<i64>,
) -> Result<Datum<'a>> {
    let Some(bytes) = bytes else {
        return Ok(Datum::Null);
    };
    let text = || std::str::from_utf8(bytes).map_err(|_| invalid_message());
    Ok(match of_type {
        oid::INT8 => Datum::Integer(i64::from_be_bytes(fixed(bytes)?)),
        oid::INT4 => Datum::Integer(i32::from_be_bytes(fixed(bytes)?).into()),
        oid::INT2 => Datum::Integer(i16::from_be_bytes(fixed(bytes)?).into()),
        oid::BOOL => Datum::Integer(i64::from(fixed::<1>(bytes)?[0])),
        oid::NUMERIC => decode_numeric(bytes)?,
        oid::BYTEA => Datum::Bytes(bytes),
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR | oid::UNKNOWN => {
            Datum::Text(text()?)
        }
        oid::TIMESTAMPTZ | oid::TIMESTAMP => {
            let since_2000 = i64::from_be_bytes(fixed(bytes)?);
            // The ends of the range stand for infinity.
            Datum::Timestamp(since_2000.saturating_add(EPOCH_US))
        }
        oid::INT4_ARRAY | oid::INT8_ARRAY => {
            decode_array(bytes, numbers)?;
            Datum::Integers(numbers)
        }
        oid::VOID => Datum::Null,
        other => {
            return Err(Error::Unsupported(format!(
                "a column of the type with id {other}: cast it to a type of whole or decimal \
                 numbers, text, bytes or time"
            )));
        }
    })
}

fn decode_numeric(bytes: &[u8]) -> Result<Datum<'static>> {
    let (head, digits) = bytes.split_first_chunk::<8>().ok_or_else(invalid_message)?;
    let part = |at: usize| i16::from_be_bytes([head[at], head[at + 1]]);
    let (weight, sign, scale) = (i32::from(part(2)), part(4).cast_unsigned(), part(6));
    let too_large = || Error::engine("a decimal number that has no room in 63 bits");
    let scale = u8::try_from(scale).map_err(|_| too_large())?;
    if sign != 0 && sign != NEGATIVE {
        return Err(Error::engine("a decimal number that is NaN or infinite"));
    }
    let mut units: i128 = 0;
    for (index, digit) in (0..).zip(digits.chunks_exact(2)) {
        let digit = i128::from(i16::from_be_bytes([digit[0], digit[1]]));
        let exponent = (weight - index) * DIGITS + i32::from(scale);
        let power = |exponent: i32| 10_i128.checked_pow(exponent.unsigned_abs());
        let part = if exponent >= 0 {
            power(exponent).and_then(|power| digit.checked_mul(power))
        } else {
            // What follows the scale is zeros.
            Some(power(exponent).map_or(0, |power| digit / power))
        };
        let sum = part.and_then(|part| units.checked_add(part));
        units = sum.ok_or_else(too_large)?;
    }
    let units = if sign == NEGATIVE { -units } else { units };
    let units = i64::try_from(units).map_err(|_| too_large())?;
    Ok(Datum::Decimal { units, scale })
}

fn decode_array(bytes: &[u8], numbers: &mut Vec<i64>) -> Result<()> {
    numbers.clear();
    let (head, mut rest) = bytes
        .split_first_chunk::<12>()
        .ok_or_else(invalid_message)?;
    let dimensions = i32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    match dimensions {
        0 => return Ok(()),
        1 => rest = rest.get(8..).ok_or_else(invalid_message)?,
        _ => {
            return Err(Error::Unsupported(
                "an array of several dimensions".to_owned(),
            ));
        }
    }
    while let Some((size, after)) = rest.split_first_chunk::<4>() {
        let size = usize::try_from(i32::from_be_bytes(*size))
            .map_err(|_| Error::Unsupported("an array with NULL in it".to_owned()))?;
        let (number, after) = after.split_at_checked(size).ok_or_else(invalid_message)?;
        numbers.push(match size {
            4 => i32::from_be_bytes(fixed(number)?).into(),
            _ => i64::from_be_bytes(fixed(number)?),
        });
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(datum: Datum<'_>, of_type: u32) -> bool {
        let mut bytes = Vec::new();
        encode(&mut bytes, &datum, of_type).unwrap();
        let size = i32::from_be_bytes(fixed(&bytes[..4]).unwrap());
        assert_eq!(size as usize, bytes.len() - 4);
        decode(Some(&bytes[4..]), of_type, &mut Vec::new()).unwrap() == datum
    }

    #[test]
    fn every_datum_comes_back_as_it_went() {
        for number in [0, 1, -1, i64::from(i16::MAX)] {
            for of_type in [oid::INT2, oid::INT4, oid::INT8] {
                assert!(there_and_back(Datum::Integer(number), of_type));
            }
        }
        assert!(there_and_back(Datum::Text("Grüße"), oid::TEXT));
        assert!(there_and_back(Datum::Bytes(&[0, 255]), oid::BYTEA));
        assert!(there_and_back(
            Datum::Timestamp(1_234_567),
            oid::TIMESTAMPTZ
        ));
        for numbers in [&[] as &[i64], &[7], &[-1, i64::from(i32::MAX)]] {
            assert!(there_and_back(Datum::Integers(numbers), oid::INT4_ARRAY));
            assert!(there_and_back(Datum::Integers(numbers), oid::INT8_ARRAY));
        }
        let mut null = Vec::new();
        encode(&mut null, &Datum::Null, oid::INT4).unwrap();
        assert_eq!(null, [255; 4]);
        assert_eq!(decode(None, oid::INT4, &mut Vec::new()), Ok(Datum::Null));
    }

    #[test]
    fn decimals_keep_their_units_and_scale() {
        for units in [
            0,
            1,
            -1,
            5,
            99,
            10_000,
            123_456,
            -50_000,
            300_000_000,
            i64::MAX,
            -i64::MAX,
        ] {
            for scale in [0, 1, 2, 3, 4, 5, 8] {
                assert!(there_and_back(
                    Datum::Decimal { units, scale },
                    oid::NUMERIC
                ));
            }
        }
    }

    #[test]
    fn a_numeric_is_written_as_postgresql_writes_it() {
        let mut bytes = Vec::new();
        let money = Datum::Decimal {
            units: -1_234_567,
            scale: 2,
        };
        encode(&mut bytes, &money, oid::NUMERIC).unwrap();
        // -12345.67 is -(1 x 10,000 + 2345 + 6700/10,000).
        let parts: Vec<i16> = bytes[4..]
            .chunks(2)
            .map(|part| i16::from_be_bytes([part[0], part[1]]))
            .collect();
        assert_eq!(parts, [3, 1, 0x4000, 2, 1, 2345, 6700]);
    }

    #[test]
    fn a_datum_that_does_not_fit_its_type_is_refused() {
        let refused = |datum: Datum<'_>, of_type| encode(&mut Vec::new(), &datum, of_type).is_err();
        assert!(refused(Datum::Integer(70_000), oid::INT2));
        assert!(refused(Datum::Integer(i64::MAX), oid::INT4));
        assert!(refused(Datum::Text("a"), oid::INT4));
        assert!(refused(Datum::Integers(&[i64::MAX]), oid::INT4_ARRAY));
        let number = 1.5_f64.to_be_bytes();
        assert!(decode(Some(&number), 701, &mut Vec::new()).is_err());
    }
}
