//! Values in the binary protocol: the parameters of a prepared statement, and the columns of its
//! rows (MariaDB documentation, "Clients & Utilities", "MariaDB Client/Server Protocol").

use super::knobs::NAME;
use mysql::Column;
use mysql::consts::{ColumnFlags, ColumnType};
use trueput_engine::sql::calendar::{date_of, days_since_1970};
use trueput_engine::sql::decimal::{decimal, write_decimal};
use trueput_engine::{Datum, Error, Result, common_errors};

/// The number of the character set for bytes.
const BINARY: u16 = 63;

/// The parameters are preceded by their types.
const TYPES_FOLLOW: u8 = 1;

/// The texts in front of a column's description: catalog, schema, table twice, name twice.
const DESCRIPTION_TEXTS: usize = 6;

/// The way in which a column's values are written, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnFormat {
    /// A whole number.
    Integer {
        /// Its length.
        bytes: u8,
        /// Whether it has no sign.
        is_unsigned: bool,
    },
    /// A decimal number, as text.
    Decimal,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A date, or a date and a time.
    Moment,
    /// No value at all.
    Null,
    /// A type that the contract does not have, by its number.
    Unsupported(u8),
}

impl ColumnFormat {
    /// The format of a column that the client library has described.
    pub(super) fn of(column: &Column) -> Self {
        Self::of_type(column.column_type(), column.flags(), column.character_set())
    }

    /// The format of a column by the body of the packet that describes it.
    ///
    /// # Errors
    /// [`Error::Engine`], if the bytes are not valid.
    pub(super) fn described(mut body: &[u8]) -> Result<Self> {
        for _ in 0..DESCRIPTION_TEXTS {
            take_text(&mut body)?;
        }
        let mut facts = take_text(&mut body)?;
        let character_set = u16::from_le_bytes(take_array(&mut facts)?);
        let _length: [u8; 4] = take_array(&mut facts)?;
        let [number] = take_array(&mut facts)?;
        let flags = u16::from_le_bytes(take_array(&mut facts)?);
        Ok(match ColumnType::try_from(number) {
            Ok(of_type) => Self::of_type(
                of_type,
                ColumnFlags::from_bits_truncate(flags),
                character_set,
            ),
            Err(_) => Self::Unsupported(number),
        })
    }

    fn of_type(of_type: ColumnType, flags: ColumnFlags, character_set: u16) -> Self {
        let integer = |bytes| Self::Integer {
            bytes,
            is_unsigned: flags.contains(ColumnFlags::UNSIGNED_FLAG),
        };
        match of_type {
            ColumnType::MYSQL_TYPE_TINY => integer(1),
            ColumnType::MYSQL_TYPE_SHORT | ColumnType::MYSQL_TYPE_YEAR => integer(2),
            ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24 => integer(4),
            ColumnType::MYSQL_TYPE_LONGLONG => integer(8),
            ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => Self::Decimal,
            ColumnType::MYSQL_TYPE_BLOB
            | ColumnType::MYSQL_TYPE_LONG_BLOB
            | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
            | ColumnType::MYSQL_TYPE_STRING
            | ColumnType::MYSQL_TYPE_TINY_BLOB
            | ColumnType::MYSQL_TYPE_VAR_STRING
            | ColumnType::MYSQL_TYPE_VARCHAR => {
                if character_set == BINARY && flags.contains(ColumnFlags::BINARY_FLAG) {
                    Self::Bytes
                } else {
                    Self::Text
                }
            }
            ColumnType::MYSQL_TYPE_BIT
            | ColumnType::MYSQL_TYPE_ENUM
            | ColumnType::MYSQL_TYPE_GEOMETRY
            | ColumnType::MYSQL_TYPE_JSON
            | ColumnType::MYSQL_TYPE_SET
            | ColumnType::MYSQL_TYPE_VECTOR => Self::Text,
            ColumnType::MYSQL_TYPE_DATE
            | ColumnType::MYSQL_TYPE_DATETIME
            | ColumnType::MYSQL_TYPE_NEWDATE
            | ColumnType::MYSQL_TYPE_TIMESTAMP => Self::Moment,
            ColumnType::MYSQL_TYPE_NULL => Self::Null,
            other => Self::Unsupported(other as u8),
        }
    }
}

/// Appends the parameters of a statement: a bit for each that is NULL, the types, the values.
///
/// # Errors
/// An array: MariaDB has no array type.
pub(super) fn encode_parameters(out: &mut Vec<u8>, parameters: &[Datum<'_>]) -> Result<()> {
    if parameters.is_empty() {
        return Ok(());
    }
    let nulls = out.len();
    out.resize(nulls + parameters.len().div_ceil(8), 0);
    out.push(TYPES_FOLLOW);
    for (index, parameter) in parameters.iter().enumerate() {
        let of_type = match parameter {
            Datum::Null => {
                out[nulls + index / 8] |= 1 << (index % 8);
                ColumnType::MYSQL_TYPE_NULL
            }
            Datum::Integer(_) => ColumnType::MYSQL_TYPE_LONGLONG,
            Datum::Decimal { .. } | Datum::Text(_) | Datum::Bytes(_) => {
                ColumnType::MYSQL_TYPE_VAR_STRING
            }
            Datum::Timestamp(_) => ColumnType::MYSQL_TYPE_DATETIME,
            Datum::Integers(_) => return Err(common_errors::no_arrays(NAME)),
        };
        // The second byte says that a number has a sign.
        out.extend_from_slice(&[of_type as u8, 0]);
    }
    parameters
        .iter()
        .for_each(|parameter| encode(out, *parameter));
    Ok(())
}

fn encode(out: &mut Vec<u8>, parameter: Datum<'_>) {
    match parameter {
        // Their types say all; arrays were refused.
        Datum::Null | Datum::Integers(_) => {}
        Datum::Integer(number) => out.extend_from_slice(&number.to_le_bytes()),
        Datum::Decimal { units, scale } => {
            // A number of 64 bits has far fewer digits than the length's one byte can say.
            let start = out.len();
            out.push(0);
            write_decimal(out, units, scale);
            out[start] = (out.len() - start - 1) as u8;
        }
        Datum::Text(text) => push_text(out, text.as_bytes()),
        Datum::Bytes(bytes) => push_text(out, bytes),
        Datum::Timestamp(moment) => encode_moment(out, moment),
    }
}

/// Appends bytes behind their length.
fn push_text(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = bytes.len() as u64;
    let written = length.to_le_bytes();
    match length {
        0..=0xfa => out.push(written[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&written[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&written[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&written);
        }
    }
    out.extend_from_slice(bytes);
}

/// Appends a date and a time, from microseconds since 1970. What is zero at the end is left out.
fn encode_moment(out: &mut Vec<u8>, moment: i64) {
    const DAY_US: i64 = 86_400_000_000;
    let (year, month, day) = date_of(moment.div_euclid(DAY_US));
    let of_day = moment.rem_euclid(DAY_US);
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    let [year_low, year_high] = (year as u16).to_le_bytes();
    let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    let mut fields = [0; 11];
    fields[..4].copy_from_slice(&[year_low, year_high, month as u8, day as u8]);
    fields[4..7].copy_from_slice(&[hour as u8, minute as u8, second as u8]);
    fields[7..].copy_from_slice(&(micros as u32).to_le_bytes());
    let length = if micros != 0 {
        11
    } else if seconds != 0 {
        7
    } else {
        4
    };
    out.push(length as u8);
    out.extend_from_slice(&fields[..length]);
}

/// Reads the columns of a row, text and bytes where they are.
///
/// # Errors
/// A type that the contract does not have; [`Error::Engine`], if the bytes are not valid.
pub(super) fn decode_row<'r>(
    row: &'r [u8],
    formats: &[ColumnFormat],
    columns: &mut [Datum<'r>],
) -> Result<()> {
    // A zero, and a bit for each column that is NULL, behind two that mean nothing.
    let before = 1 + (formats.len() + 2).div_ceil(8);
    let (head, mut rest) = row.split_at_checked(before).ok_or_else(invalid_packet)?;
    for ((column, format), bit) in columns.iter_mut().zip(formats).zip(2..) {
        let is_null = head[1 + bit / 8] >> (bit % 8) & 1 == 1;
        *column = if is_null {
            Datum::Null
        } else {
            decode(&mut rest, *format)?
        };
    }
    Ok(())
}

fn decode<'r>(rest: &mut &'r [u8], format: ColumnFormat) -> Result<Datum<'r>> {
    Ok(match format {
        ColumnFormat::Integer { bytes, is_unsigned } => {
            let bytes = take(rest, bytes.into())?;
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            let number = u64::from_le_bytes(wide);
            if is_unsigned {
                Datum::Integer(i64::try_from(number).map_err(Error::engine)?)
            } else {
                // The sign moves to the front and back again.
                let unused = 64 - 8 * bytes.len();
                Datum::Integer((number << unused).cast_signed() >> unused)
            }
        }
        ColumnFormat::Decimal => decimal(take_text(rest)?)?,
        ColumnFormat::Text => {
            let text = std::str::from_utf8(take_text(rest)?);
            Datum::Text(text.map_err(Error::engine)?)
        }
        ColumnFormat::Bytes => Datum::Bytes(take_text(rest)?),
        ColumnFormat::Moment => {
            let [length] = take_array(rest)?;
            Datum::Timestamp(decode_moment(take(rest, length.into())?))
        }
        ColumnFormat::Null => Datum::Null,
        ColumnFormat::Unsupported(number) => {
            return Err(Error::Unsupported(format!(
                "a column of the type with number {number} has no place here: cast it to a type of \
                 whole or decimal numbers, text, bytes or time"
            )));
        }
    })
}

/// Microseconds since 1970; fields that were left out are zero.
fn decode_moment(fields: &[u8]) -> i64 {
    let mut all = [0; 11];
    let length = fields.len().min(all.len());
    all[..length].copy_from_slice(&fields[..length]);
    let [
        year_low,
        year_high,
        month,
        day,
        hour,
        minute,
        second,
        micros @ ..,
    ] = all;
    let year = u16::from_le_bytes([year_low, year_high]);
    let days = days_since_1970(year.into(), month.into(), day.into());
    let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
    (days * 86_400 + seconds) * 1_000_000 + i64::from(u32::from_le_bytes(micros))
}

/// Takes bytes off the front.
fn take<'r>(rest: &mut &'r [u8], bytes: usize) -> Result<&'r [u8]> {
    let (taken, left) = rest.split_at_checked(bytes).ok_or_else(invalid_packet)?;
    *rest = left;
    Ok(taken)
}

/// Takes a field of fixed length off the front.
///
/// # Errors
/// [`Error::Engine`], if it is not whole.
pub(super) fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>().ok_or_else(invalid_packet)?;
    *rest = left;
    Ok(*taken)
}

/// Takes a number of as many bytes as it needs off the front.
///
/// # Errors
/// [`Error::Engine`], if the bytes are not valid.
pub(super) fn take_number(rest: &mut &[u8]) -> Result<u64> {
    let [first] = take_array(rest)?;
    let bytes = match first {
        0..=0xfa => return Ok(first.into()),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return Err(invalid_packet()),
    };
    let mut wide = [0; 8];
    wide[..bytes].copy_from_slice(take(rest, bytes)?);
    Ok(u64::from_le_bytes(wide))
}

/// Takes bytes behind their length off the front.
fn take_text<'r>(rest: &mut &'r [u8]) -> Result<&'r [u8]> {
    let length = usize::try_from(take_number(rest)?).map_err(|_| invalid_packet())?;
    take(rest, length)
}

/// The error for bytes that are not of the protocol.
#[cold]
pub(super) fn invalid_packet() -> Error {
    Error::engine("the server sent what is not of its protocol")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(bytes: u8) -> ColumnFormat {
        ColumnFormat::Integer {
            bytes,
            is_unsigned: false,
        }
    }

    /// A row as a server writes it: a zero, no NULLs, and these bytes.
    fn row_of(values: &[u8]) -> Vec<u8> {
        [&[0, 0][..], values].concat()
    }

    /// The only column of a row of these bytes.
    fn read(row: &[u8], format: ColumnFormat) -> Result<Datum<'_>> {
        let mut columns = [Datum::Null];
        decode_row(row, &[format], &mut columns).map(|()| columns[0])
    }

    /// Reads a parameter as the server would send it back.
    fn comes_back(parameter: Datum<'_>, format: ColumnFormat) -> bool {
        let mut written = Vec::new();
        encode_parameters(&mut written, &[parameter]).unwrap();
        // A byte of NULLs, that types follow, and a type.
        let row = row_of(&written[4..]);
        read(&row, format).unwrap() == parameter
    }

    #[test]
    fn every_parameter_comes_back_as_it_went() {
        for number in [0, 1, -1, i64::MAX, i64::MIN] {
            assert!(comes_back(Datum::Integer(number), integer(8)), "{number}");
        }
        for (units, scale) in [(1234, 2), (-5, 2), (0, 4), (i64::MAX, 2)] {
            let money = Datum::Decimal { units, scale };
            assert!(comes_back(money, ColumnFormat::Decimal), "{money:?}");
        }
        for length in [0, 1, 250, 251, 65_535, 65_536, 1 << 24] {
            let text = "x".repeat(length);
            assert!(comes_back(Datum::Text(&text), ColumnFormat::Text));
            let bytes = vec![255; length];
            assert!(comes_back(Datum::Bytes(&bytes), ColumnFormat::Bytes));
        }
        for moment in [
            0,
            -1,
            951_782_399_999_999,
            951_868_800_000_000,
            4_102_444_800_000_001,
            86_400_000_000,
            1_000_000,
        ] {
            let moment = Datum::Timestamp(moment);
            assert!(comes_back(moment, ColumnFormat::Moment), "{moment:?}");
        }
    }

    #[test]
    fn parameters_are_written_as_the_protocol_has_them() {
        let mut written = Vec::new();
        let parameters = [
            Datum::Integer(-2),
            Datum::Null,
            Datum::Text("ab"),
            // 2000-02-29.
            Datum::Timestamp(951_782_400_000_000),
        ];
        encode_parameters(&mut written, &parameters).unwrap();
        let expected = [
            &[0b10, 1][..],
            &[8, 0, 6, 0, 253, 0, 12, 0],
            &[254, 255, 255, 255, 255, 255, 255, 255],
            &[2, b'a', b'b'],
            &[4, 208, 7, 2, 29],
        ];
        assert_eq!(written, expected.concat());
        written.clear();
        encode_parameters(&mut written, &[]).unwrap();
        assert!(
            written.is_empty(),
            "a statement without any has not even the bits"
        );
        let array = encode_parameters(&mut written, &[Datum::Integers(&[1])]);
        assert!(matches!(array, Err(Error::Unsupported(_))), "{array:?}");
    }

    #[test]
    fn whole_numbers_of_every_length_keep_their_sign() {
        for (bytes, value) in [
            (1, &[0xfe][..]),
            (2, &[0xfe, 0xff][..]),
            (4, &[0xfe, 0xff, 0xff, 0xff][..]),
        ] {
            let row = row_of(value);
            assert_eq!(read(&row, integer(bytes)), Ok(Datum::Integer(-2)));
            let unsigned = ColumnFormat::Integer {
                bytes,
                is_unsigned: true,
            };
            let largest = (1_i64 << (8 * bytes)) - 2;
            assert_eq!(read(&row, unsigned), Ok(Datum::Integer(largest)));
        }
        let unsigned = ColumnFormat::Integer {
            bytes: 8,
            is_unsigned: true,
        };
        assert!(
            read(&row_of(&[255; 8]), unsigned).is_err(),
            "it has no room"
        );
    }

    #[test]
    fn a_null_has_no_bytes_and_the_columns_behind_it_are_found() {
        // Ten columns, of which the first, the eighth and the last are NULL.
        let mut row = vec![0, 0b0000_0100, 0b0000_1010];
        row.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7]);
        let (formats, mut columns) = ([integer(1); 10], [Datum::Null; 10]);
        decode_row(&row, &formats, &mut columns).unwrap();
        let nulls: Vec<_> = (0..10)
            .filter(|index| columns[*index] == Datum::Null)
            .collect();
        assert_eq!(nulls, [0, 7, 9]);
        assert_eq!(columns[8], Datum::Integer(7));
    }

    #[test]
    fn bytes_that_are_not_of_the_protocol_are_an_error() {
        for (values, format) in [
            (&[1][..], integer(2)),
            (&[5, b'a'][..], ColumnFormat::Text),
            (&[0xfb][..], ColumnFormat::Text),
            (&[1, 0xff][..], ColumnFormat::Text),
            (&[0xfc, 1][..], ColumnFormat::Bytes),
            (&[7, 0][..], ColumnFormat::Moment),
            (&[3, b'1', b'e', b'5'][..], ColumnFormat::Decimal),
            (&[0; 4][..], ColumnFormat::Unsupported(4)),
        ] {
            assert!(read(&row_of(values), format).is_err(), "{format:?}");
        }
        assert!(read(&[0], integer(1)).is_err());
    }

    #[test]
    fn a_column_is_described_by_its_type_its_sign_and_its_character_set() {
        let described = |number: u8, flags: u16, character_set: u16| {
            let mut body = b"\x03def\x01s\x01t\x01t\x01c\x01c\x0c".to_vec();
            body.extend_from_slice(&character_set.to_le_bytes());
            body.extend_from_slice(&[9, 0, 0, 0, number]);
            body.extend_from_slice(&flags.to_le_bytes());
            body.extend_from_slice(&[0, 0, 0]);
            ColumnFormat::described(&body)
        };
        assert_eq!(described(3, 0, 63), Ok(integer(4)));
        let unsigned = ColumnFormat::Integer {
            bytes: 8,
            is_unsigned: true,
        };
        assert_eq!(described(8, 32, 63), Ok(unsigned));
        assert_eq!(described(253, 0, 45), Ok(ColumnFormat::Text));
        assert_eq!(described(252, 128, 63), Ok(ColumnFormat::Bytes));
        assert_eq!(described(246, 128, 63), Ok(ColumnFormat::Decimal));
        assert_eq!(described(12, 128, 63), Ok(ColumnFormat::Moment));
        assert_eq!(described(5, 0, 63), Ok(ColumnFormat::Unsupported(5)));
        assert_eq!(described(99, 0, 63), Ok(ColumnFormat::Unsupported(99)));
        assert!(ColumnFormat::described(b"\x03de").is_err());
    }
}
