//! A column's buffer.

use super::convert::Timestamp;
use super::manager::{Handle, Length, NO_DATA, ReturnCode, SUCCESS_WITH_INFO, is_success};
use trueput_engine::sql::decimal::decimal;
use trueput_engine::{Datum, Error, Result};

const NULL: Length = -1;
const NO_TOTAL: Length = -4;

/// The longest column that is bound, in characters or bytes; a longer one is fetched in parts.
const MAX_BOUND: usize = 4096;
/// Bytes of a character of UTF-8, at the most.
const BYTES_OF_CHARACTER: usize = 4;
/// Bytes of a decimal as text, at the most: 38 digits, sign, point, NUL.
const DECIMAL_ROOM: usize = 64;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ColumnType {
    Integer,
    Decimal,
    Text,
    Bytes,
    Timestamp,
    /// ODBC's number of a type that has no place here.
    Other(i16),
    #[default]
    Unknown,
}

impl ColumnType {
    /// By ODBC's number of the type (`sql.h`, `sqlext.h` and `sqlucode.h`).
    fn of(sql_type: i16) -> Self {
        match sql_type {
            4 | 5 | -5 | -6 | -7 => Self::Integer,
            2 | 3 => Self::Decimal,
            1 | 12 | -1 | -8 | -9 | -10 => Self::Text,
            -4..=-2 => Self::Bytes,
            11 | 93 => Self::Timestamp,
            other => Self::Other(other),
        }
    }

    /// The type of C in which it is fetched.
    fn c_type(self) -> i16 {
        match self {
            Self::Integer => -25,
            Self::Bytes => -2,
            Self::Timestamp => 93,
            Self::Decimal | Self::Text | Self::Other(_) | Self::Unknown => 1,
        }
    }
}

/// The type and the size of a column of which nothing else is known, as SQLite's driver describes
/// it.
const UNDECLARED: (ColumnType, usize) = (ColumnType::Text, 255);

/// A column's buffer.
#[derive(Default)]
pub(super) struct Column {
    column_type: ColumnType,
    /// In characters or bytes; 0 if the driver does not report it.
    size: usize,
    is_bound: bool,
    number: i64,
    moment: Timestamp,
    bytes: Vec<u8>,
    /// The length of this row's value, if it was fetched in parts.
    indicator: Length,
}

/// The buffer of a column, as ODBC's numbers.
pub(super) struct ColumnBinding {
    pub(super) c_type: i16,
    pub(super) at: Handle,
    pub(super) room: Length,
    pub(super) indicator: *mut Length,
}

impl Column {
    /// Records the column's type and size.
    pub(super) fn is_of(&mut self, sql_type: i16, size: usize) {
        self.column_type = ColumnType::of(sql_type);
        self.size = size;
    }

    /// The buffer to bind it to; `None` if its size is not known.
    pub(super) fn binding(&mut self) -> Option<ColumnBinding> {
        let has_size = (1..=MAX_BOUND).contains(&self.size);
        let room = match self.column_type {
            ColumnType::Integer | ColumnType::Timestamp => 0,
            ColumnType::Decimal => DECIMAL_ROOM,
            ColumnType::Text if has_size => self.size * BYTES_OF_CHARACTER + 1,
            ColumnType::Bytes if has_size => self.size,
            _ => return None,
        };
        self.bytes = vec![0; room];
        self.is_bound = true;
        let (at, room): (Handle, _) = match self.column_type {
            ColumnType::Integer => ((&raw mut self.number).cast(), size_of::<i64>()),
            ColumnType::Timestamp => ((&raw mut self.moment).cast(), size_of::<Timestamp>()),
            _ => (self.bytes.as_mut_ptr().cast(), room),
        };
        Some(ColumnBinding {
            c_type: self.column_type.c_type(),
            at,
            room: room as Length,
            indicator: &raw mut self.indicator,
        })
    }

    /// Fetches it by `get`, unless it is bound; whether that succeeded. `get` is `SQLGetData`: it
    /// gets the type of C, the buffer and its length, and where to put the length of what is
    /// left.
    pub(super) fn get(
        &mut self,
        mut get: impl FnMut(i16, Handle, Length, *mut Length) -> ReturnCode,
    ) -> bool {
        let c_type = self.column_type.c_type();
        match (self.is_bound, self.column_type) {
            (true, _) | (_, ColumnType::Other(_)) => true,
            (_, ColumnType::Integer) => {
                let at = (&raw mut self.number).cast();
                is_success(get(c_type, at, 8, &raw mut self.indicator))
            }
            (_, ColumnType::Timestamp) => {
                let at = (&raw mut self.moment).cast();
                let room = size_of::<Timestamp>() as Length;
                is_success(get(c_type, at, room, &raw mut self.indicator))
            }
            _ => self.get_parts(&mut get),
        }
    }

    fn get_parts(
        &mut self,
        get: &mut impl FnMut(i16, Handle, Length, *mut Length) -> ReturnCode,
    ) -> bool {
        const ROOM: usize = 1024;
        if self.bytes.len() < ROOM {
            self.bytes.resize(ROOM, 0);
        }
        // Text ends with a NUL in each part.
        let end = usize::from(self.column_type != ColumnType::Bytes);
        let mut have = 0;
        loop {
            let free = &mut self.bytes[have..];
            let (room, at) = (free.len(), free.as_mut_ptr().cast());
            let mut left = 0;
            let code = get(self.column_type.c_type(), at, room as Length, &raw mut left);
            if code == NO_DATA && have > 0 {
                break;
            }
            if !is_success(code) {
                return false;
            }
            if left == NULL {
                self.indicator = NULL;
                return true;
            }
            let got = room - end;
            let is_more = left == NO_TOTAL || usize::try_from(left).is_ok_and(|left| left > got);
            if code != SUCCESS_WITH_INFO || !is_more {
                have += usize::try_from(left).unwrap_or(0).min(room);
                break;
            }
            have += got;
            let rest = usize::try_from(left).map_or(self.bytes.len(), |left| left - got);
            self.bytes.resize(have + rest + end.max(1), 0);
        }
        self.indicator = have as Length;
        true
    }

    /// Whether a driver that describes a column without a declared type by the first row that it
    /// ever gave may be wrong about this one: NULL, as of the sum of no rows, counts as text.
    pub(super) fn may_be_misdescribed(&self) -> bool {
        self.indicator == NULL && (self.column_type, self.size) == UNDECLARED
    }

    /// The value of the row that was fetched.
    ///
    /// # Errors
    /// An unsupported type; text that is not UTF-8; a value longer than the driver reported.
    pub(super) fn datum(&self) -> Result<Datum<'_>> {
        if self.indicator == NULL {
            return Ok(Datum::Null);
        }
        match self.column_type {
            ColumnType::Integer => Ok(Datum::Integer(self.number)),
            ColumnType::Timestamp => Ok(Datum::Timestamp(self.moment.as_us())),
            ColumnType::Decimal => decimal(self.value()?),
            ColumnType::Bytes => Ok(Datum::Bytes(self.value()?)),
            ColumnType::Text => std::str::from_utf8(self.value()?)
                .map(Datum::Text)
                .map_err(|_| Error::engine("a text is not UTF-8")),
            ColumnType::Other(6..=8) => Err(Error::Unsupported(
                "a floating-point number has no place here".to_owned(),
            )),
            ColumnType::Other(number) => Err(Error::Unsupported(format!(
                "a column of ODBC's type {number} has no place here"
            ))),
            ColumnType::Unknown => Err(Error::engine("a column was not described")),
        }
    }

    fn value(&self) -> Result<&[u8]> {
        let length = usize::try_from(self.indicator).ok();
        let value = length.and_then(|length| self.bytes.get(..length));
        value.ok_or_else(|| {
            Error::engine(format!(
                "a column has more than the {} characters that the driver said",
                self.size
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver that has this text to give, in parts.
    fn given<'t>(
        text: &'t [u8],
        tells_length: bool,
    ) -> impl FnMut(i16, Handle, Length, *mut Length) -> ReturnCode + 't {
        let mut rest = text;
        move |_, at, room, left| {
            let part = rest.len().min(room as usize - 1);
            // SAFETY: the column says how long its buffer is.
            unsafe {
                std::ptr::copy_nonoverlapping(rest.as_ptr(), at.cast(), part);
                at.cast::<u8>().add(part).write(0);
                *left = if tells_length || part == rest.len() {
                    rest.len() as Length
                } else {
                    NO_TOTAL
                };
            }
            let is_cut = part < rest.len();
            rest = &rest[part..];
            if is_cut { SUCCESS_WITH_INFO } else { 0 }
        }
    }

    #[test]
    fn a_long_text_is_fetched_whole_with_and_without_its_length() {
        for length in [0, 1, 1023, 1024, 1025, 100_000] {
            for tells_length in [true, false] {
                let text = "x".repeat(length);
                let mut column = Column::default();
                column.is_of(-1, 0);
                assert!(column.binding().is_none());
                assert!(column.get(given(text.as_bytes(), tells_length)));
                assert_eq!(column.datum(), Ok(Datum::Text(&text)), "{length}");
            }
        }
    }

    #[test]
    fn what_is_longer_than_its_buffer_is_an_error_and_not_cut() {
        let mut column = Column::default();
        column.is_of(12, 10);
        assert_eq!(column.binding().map(|binding| binding.room), Some(41));
        column.indicator = 42;
        assert!(column.datum().is_err());
        column.indicator = NULL;
        assert_eq!(column.datum(), Ok(Datum::Null));
        assert!(!column.may_be_misdescribed(), "it has a declared length");
        column.is_of(12, 255);
        assert!(column.may_be_misdescribed());
        column.indicator = 3;
        assert!(!column.may_be_misdescribed());
        column.is_of(8, 15);
        column.indicator = 8;
        let refused = column.datum().unwrap_err().to_string();
        assert!(refused.contains("floating-point"), "{refused}");
    }
}
