//! The columns of SQL tables: their types, how values become parameters, and how a row of a result
//! is read, one column after the other.

use crate::fixed_text::FixedText;
use trueput_engine::{Datum, Error, Result};

/// The type of a column, which each dialect writes in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// A whole number in four bytes.
    Number,
    /// A whole number in two bytes.
    Small,
    /// A whole number in eight bytes.
    Large,
    /// Twelve digits, two of them after the decimal point; in rows, cents.
    Money,
    /// Four digits after the decimal point; in rows, parts of ten thousand.
    Rate,
    /// Text that always has this length.
    Fixed(u16),
    /// Text of up to this length.
    Text(u16),
    /// A point in time; in rows, microseconds since 1970.
    Moment,
}

/// A column: its name, its type, and whether it may be empty.
pub(crate) type Column = (&'static str, ColumnType, bool);

/// Digits of money after the decimal point.
const MONEY_SCALE: u8 = 2;
/// Digits of taxes and discounts after the decimal point.
const RATE_SCALE: u8 = 4;

/// Money as a parameter, from cents.
pub(crate) fn money(cents: i64) -> Datum<'static> {
    Datum::Decimal {
        units: cents,
        scale: MONEY_SCALE,
    }
}

/// A tax or a discount as a parameter, from parts of ten thousand.
fn rate(parts: i64) -> Datum<'static> {
    Datum::Decimal {
        units: parts,
        scale: RATE_SCALE,
    }
}

/// A whole number as a parameter.
pub(crate) fn number(number: impl Into<i64>) -> Datum<'static> {
    Datum::Integer(number.into())
}

/// The columns of a row that are still to be taken.
pub(crate) struct ColumnReader<'r>(pub(crate) &'r [Datum<'r>]);

impl<'r> ColumnReader<'r> {
    fn take(&mut self) -> Result<Datum<'r>> {
        let (first, rest) = self
            .0
            .split_first()
            .ok_or_else(|| type_error("no column", None))?;
        self.0 = rest;
        Ok(*first)
    }

    /// Reads a number with `scale` digits after the decimal point, in units of the last digit. An
    /// engine without decimals stores it in these units.
    fn units(&mut self, wanted: u8) -> Result<i64> {
        match self.take()? {
            Datum::Integer(number) => Ok(number),
            Datum::Decimal { units, scale } => rescale(units, scale, wanted),
            other => Err(type_error("a number", Some(other))),
        }
    }

    /// A whole number.
    pub(crate) fn integer<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let found = self.units(0)?;
        T::try_from(found).map_err(|_| type_error("a smaller number", Some(Datum::Integer(found))))
    }

    /// A value, or nothing.
    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if let Some((Datum::Null, rest)) = self.0.split_first() {
            self.0 = rest;
            return Ok(None);
        }
        read(self).map(Some)
    }

    /// A whole number, or nothing.
    pub(crate) fn optional_integer<T: TryFrom<i64>>(&mut self) -> Result<Option<T>> {
        self.optional(Self::integer)
    }

    /// Money, in cents.
    pub(crate) fn cents(&mut self) -> Result<i64> {
        self.units(MONEY_SCALE)
    }

    /// A tax or a discount, in parts of ten thousand.
    pub(crate) fn rate(&mut self) -> Result<i64> {
        self.units(RATE_SCALE)
    }

    /// Text.
    pub(crate) fn text<const N: usize>(&mut self) -> Result<FixedText<N>> {
        match self.take()? {
            Datum::Text(text) => FixedText::new(text)
                .ok_or_else(|| type_error("shorter text", Some(Datum::Text(text)))),
            other => Err(type_error("text", Some(other))),
        }
    }

    /// A point in time.
    fn moment(&mut self) -> Result<i64> {
        match self.take()? {
            Datum::Integer(moment) | Datum::Timestamp(moment) => Ok(moment),
            other => Err(type_error("a moment", Some(other))),
        }
    }

    /// A point in time, or nothing.
    pub(crate) fn optional_moment(&mut self) -> Result<Option<i64>> {
        self.optional(Self::moment)
    }

    /// A value of one or several columns.
    pub(crate) fn value<T: ColumnValue>(&mut self, column_type: ColumnType) -> Result<T> {
        T::read(column_type, self)
    }
}

/// A field of a row: one column, or several of one type.
pub(crate) trait ColumnValue: Sized {
    /// Whether the column may be empty.
    const IS_OPTIONAL: bool = false;

    /// Appends the value as parameters.
    fn push<'r>(&'r self, column_type: ColumnType, parameters: &mut Vec<Datum<'r>>);

    /// Takes the value off a row.
    fn read(column_type: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self>;
}

macro_rules! whole_number_columns {
    ($($number:ty)*) => { $(
        impl ColumnValue for $number {
            fn push<'r>(&'r self, _: ColumnType, parameters: &mut Vec<Datum<'r>>) {
                parameters.push(number(*self));
            }

            fn read(_: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
                columns.integer()
            }
        }
    )* };
}

whole_number_columns! { u8 u32 i32 }

impl ColumnValue for bool {
    fn push<'r>(&'r self, _: ColumnType, parameters: &mut Vec<Datum<'r>>) {
        parameters.push(number(*self));
    }

    fn read(_: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
        Ok(columns.integer::<u8>()? != 0)
    }
}

impl ColumnValue for i64 {
    fn push<'r>(&'r self, column_type: ColumnType, parameters: &mut Vec<Datum<'r>>) {
        parameters.push(match column_type {
            ColumnType::Money => money(*self),
            ColumnType::Rate => rate(*self),
            ColumnType::Moment => Datum::Timestamp(*self),
            _ => number(*self),
        });
    }

    fn read(column_type: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
        match column_type {
            ColumnType::Money => columns.cents(),
            ColumnType::Rate => columns.rate(),
            ColumnType::Moment => columns.moment(),
            _ => columns.integer(),
        }
    }
}

impl<T: ColumnValue> ColumnValue for Option<T> {
    const IS_OPTIONAL: bool = true;

    fn push<'r>(&'r self, column_type: ColumnType, parameters: &mut Vec<Datum<'r>>) {
        match self {
            Some(value) => value.push(column_type, parameters),
            None => parameters.push(Datum::Null),
        }
    }

    fn read(column_type: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
        columns.optional(|columns| columns.value(column_type))
    }
}

impl<const N: usize> ColumnValue for FixedText<N> {
    fn push<'r>(&'r self, _: ColumnType, parameters: &mut Vec<Datum<'r>>) {
        parameters.push(Datum::Text(self.as_str()));
    }

    fn read(_: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
        columns.text()
    }
}

impl<T: ColumnValue + Copy + Default, const N: usize> ColumnValue for [T; N] {
    fn push<'r>(&'r self, column_type: ColumnType, parameters: &mut Vec<Datum<'r>>) {
        for value in self {
            value.push(column_type, parameters);
        }
    }

    fn read(column_type: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
        let mut values = [T::default(); N];
        for value in &mut values {
            *value = columns.value(column_type)?;
        }
        Ok(values)
    }
}

fn rescale(units: i64, scale: u8, wanted: u8) -> Result<i64> {
    let power = |digits: u8| 10_i64.checked_pow(u32::from(digits));
    let found = || {
        type_error(
            "a decimal of that scale",
            Some(Datum::Decimal { units, scale }),
        )
    };
    if scale <= wanted {
        let factor = power(wanted - scale);
        return factor
            .and_then(|factor| units.checked_mul(factor))
            .ok_or_else(found);
    }
    match power(scale - wanted) {
        Some(divisor) if units % divisor == 0 => Ok(units / divisor),
        _ => Err(found()),
    }
}

#[cold]
fn type_error(expected: &str, found: Option<Datum<'_>>) -> Error {
    Error::engine(match found {
        Some(found) => format!("a column should be {expected} and is {found:?}"),
        None => format!("a row has {expected} left"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_in_their_own_unit_and_nothing_is_rounded() {
        let decimal = |units, scale| Datum::Decimal { units, scale };
        let row = [
            decimal(5, 0),
            decimal(1230, 3),
            Datum::Integer(7),
            decimal(1234, 4),
        ];
        let mut columns = ColumnReader(&row);
        assert_eq!(columns.cents(), Ok(500));
        assert_eq!(columns.cents(), Ok(123));
        assert_eq!(columns.cents(), Ok(7));
        assert_eq!(columns.rate(), Ok(1234));
        assert!(columns.cents().is_err(), "there is none left");
        assert!(ColumnReader(&[decimal(1234, 3)]).cents().is_err());
        assert!(
            ColumnReader(&[Datum::Integer(300)])
                .integer::<u8>()
                .is_err()
        );
        assert_eq!(
            ColumnReader(&[Datum::Null]).optional_integer::<u8>(),
            Ok(None)
        );
    }
}
