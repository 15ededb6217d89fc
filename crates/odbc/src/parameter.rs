//! A parameter's buffer.

use super::binding::BindingOptions;
use super::convert::Timestamp;
use super::manager::{Handle, Length};
use trueput_engine::sql::decimal::{write_decimal, write_integer};
use trueput_engine::{Datum, Result};

const NULL: Length = -1;

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Number,
    /// The number of digits after the decimal point.
    Decimal(u8),
    Text,
    Bytes,
    Timestamp,
}

/// A parameter's buffer.
#[derive(Default)]
pub(super) struct ParameterSlot {
    /// The bound type, and the buffer's length in bytes.
    bound: Option<(ParameterKind, usize)>,
    kind: Option<ParameterKind>,
    number: i64,
    moment: Timestamp,
    bytes: Vec<u8>,
    indicator: Length,
}

/// The buffer of a parameter and its type, as ODBC's numbers.
pub(super) struct ParameterBinding {
    pub(super) c_type: i16,
    pub(super) sql_type: i16,
    pub(super) size: usize,
    pub(super) digits: i16,
    pub(super) at: Handle,
    pub(super) room: Length,
    pub(super) indicator: *mut Length,
}

impl ParameterSlot {
    /// Copies a value into the buffer; returns whether it must be bound again.
    ///
    /// # Errors
    /// A timestamp outside ODBC's range.
    pub(super) fn put(
        &mut self,
        datum: Datum<'_>,
        binding_options: BindingOptions,
    ) -> Result<bool> {
        let kind = match datum {
            Datum::Null => {
                self.indicator = NULL;
                // What it was bound as is right for nothing too.
                self.kind.get_or_insert(ParameterKind::Text);
                return Ok(self.is_elsewhere(binding_options));
            }
            Datum::Integer(number) => self.number(number),
            Datum::Decimal { units, .. } if !binding_options.has_decimals => self.number(units),
            Datum::Timestamp(moment) if !binding_options.has_decimals => self.number(moment),
            Datum::Decimal { units, scale } => {
                self.bytes.clear();
                write_decimal(&mut self.bytes, units, scale);
                self.of_bytes(ParameterKind::Decimal(scale))
            }
            Datum::Text(text) => self.copied(text.as_bytes(), ParameterKind::Text),
            Datum::Bytes(bytes) => self.copied(bytes, ParameterKind::Bytes),
            Datum::Timestamp(moment) => {
                // A driver refuses digits that the type has no room for.
                let unit = 10_i64.pow(6_u32.saturating_sub(binding_options.fraction_digits.into()));
                self.moment = Timestamp::of(moment - moment.rem_euclid(unit))?;
                self.indicator = size_of::<Timestamp>() as Length;
                ParameterKind::Timestamp
            }
            Datum::Integers(numbers) => {
                self.bytes.clear();
                self.bytes.push(b'{');
                for (index, number) in numbers.iter().enumerate() {
                    if index > 0 {
                        self.bytes.push(b',');
                    }
                    write_integer(&mut self.bytes, *number);
                }
                self.bytes.push(b'}');
                self.of_bytes(ParameterKind::Text)
            }
        };
        self.kind = Some(kind);
        Ok(self.is_elsewhere(binding_options))
    }

    fn number(&mut self, number: i64) -> ParameterKind {
        self.number = number;
        self.indicator = size_of::<i64>() as Length;
        ParameterKind::Number
    }

    fn copied(&mut self, bytes: &[u8], kind: ParameterKind) -> ParameterKind {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.of_bytes(kind)
    }

    fn of_bytes(&mut self, kind: ParameterKind) -> ParameterKind {
        self.indicator = self.bytes.len() as Length;
        kind
    }

    /// Whether the value has moved since it was bound.
    fn is_elsewhere(&mut self, binding_options: BindingOptions) -> bool {
        const ROOM: usize = 64;
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(ROOM);
        }
        let room = match self.kind {
            Some(ParameterKind::Number | ParameterKind::Timestamp) | None => 0,
            // The same room is the same memory: it is never given back.
            Some(ParameterKind::Decimal(_) | ParameterKind::Text | ParameterKind::Bytes) => {
                self.bytes.capacity()
            }
        };
        let now = self.kind.map(|kind| (kind, room));
        let is_other = std::mem::replace(&mut self.bound, now) != now;
        is_other || (room > 0 && binding_options.binds_each_time)
    }

    /// Forgets that it is bound.
    pub(super) fn forget(&mut self) {
        self.bound = None;
    }

    /// Returns the binding of the value.
    pub(super) fn binding(&mut self, binding_options: BindingOptions) -> ParameterBinding {
        const CHAR: i16 = 1;
        const BINARY: i16 = -2;
        const TIMESTAMP: i16 = 93;
        let room = self.bytes.capacity();
        let bytes: Handle = self.bytes.as_mut_ptr().cast();
        let digits = i16::from(binding_options.fraction_digits);
        let (c_type, sql_type, size, digits, at, room) = match self.kind {
            Some(ParameterKind::Number) => (-25, -5, 19, 0, (&raw mut self.number).cast(), 8),
            Some(ParameterKind::Timestamp) => {
                let size = 20 + usize::from(binding_options.fraction_digits);
                let at = (&raw mut self.moment).cast();
                (
                    TIMESTAMP,
                    TIMESTAMP,
                    size,
                    digits,
                    at,
                    size_of::<Timestamp>(),
                )
            }
            Some(ParameterKind::Decimal(scale)) => (CHAR, 3, 18, i16::from(scale), bytes, room),
            Some(ParameterKind::Bytes) => (BINARY, -3, room, 0, bytes, room),
            Some(ParameterKind::Text) | None => (CHAR, 12, room, 0, bytes, room),
        };
        ParameterBinding {
            c_type,
            sql_type,
            size,
            digits,
            at,
            room: room as Length,
            indicator: &raw mut self.indicator,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_bound_once_as_long_as_it_stays_in_its_buffer() {
        let (mut slot, binding_options) = (ParameterSlot::default(), BindingOptions::STANDARD);
        let long = "x".repeat(1000);
        let mut put = |datum| slot.put(datum, binding_options).unwrap();
        assert!(put(Datum::Integer(1)));
        assert!(!put(Datum::Integer(2)));
        assert!(!put(Datum::Null));
        assert!(put(Datum::Text("GC")));
        assert!(!put(Datum::Text("BC")));
        assert!(!put(Datum::Null));
        assert!(put(Datum::Text(&long)));
        assert!(!put(Datum::Text("BC")));
        assert!(put(Datum::Bytes(b"BC")));
    }

    #[test]
    fn values_are_written_as_each_data_source_takes_them() {
        let text = |datum, binding_options| {
            let mut slot = ParameterSlot::default();
            slot.put(datum, binding_options).unwrap();
            (String::from_utf8(slot.bytes.clone()).unwrap(), slot.number)
        };
        let money = Datum::Decimal {
            units: 1234,
            scale: 2,
        };
        let whole = BindingOptions {
            has_decimals: false,
            ..BindingOptions::STANDARD
        };
        assert_eq!(text(money, BindingOptions::STANDARD).0, "12.34");
        assert_eq!(text(money, whole).1, 1234);
        assert_eq!(text(Datum::Timestamp(77), whole).1, 77);
        assert_eq!(text(Datum::Integers(&[1, -2]), whole).0, "{1,-2}");
    }

    #[test]
    fn a_moment_has_no_more_digits_than_the_type() {
        let five = BindingOptions {
            fraction_digits: 5,
            ..BindingOptions::STANDARD
        };
        let mut slot = ParameterSlot::default();
        slot.put(Datum::Timestamp(1_123_456), five).unwrap();
        assert_eq!(slot.moment.as_us(), 1_123_450);
        slot.put(Datum::Timestamp(1_123_456), BindingOptions::STANDARD)
            .unwrap();
        assert_eq!(slot.moment.as_us(), 1_123_456);
    }
}
