//! The longest sequence and the largest number, kept as maxima in the database.

use crate::keyed::transaction::TransactionError;
use trueput_engine::Session;

/// A maximum and a start that attains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Maximum {
    /// The value: steps, or a number.
    pub value: u64,
    /// A start that attains it; 0 where nothing was looked at yet.
    pub start: u64,
}

impl Maximum {
    /// A value that a start attains.
    #[must_use]
    pub const fn new(value: u64, start: u64) -> Self {
        Self { value, start }
    }

    /// Whether this one takes the other's place: it is greater, or as great from a lower start.
    #[must_use]
    pub fn exceeds(&self, other: &Self) -> bool {
        (self.value, other.start) > (other.value, self.start) || other.start == 0
    }

    /// Takes the other one if that beats this one.
    pub fn consider(&mut self, other: Self) {
        if other.start != 0 && other.exceeds(self) {
            *self = other;
        }
    }

    fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.value) << 64 | u128::from(self.start)).to_be_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let both = u128::from_be_bytes(bytes.try_into().ok()?);
        Some(Self {
            value: (both >> 64) as u64,
            start: both as u64,
        })
    }
}

/// The maximum under `key`, if there is one.
pub(super) fn read(
    session: &mut dyn Session,
    key: &[u8],
) -> Result<Option<Maximum>, TransactionError> {
    let mut stored = None;
    let there = session.get(key, &mut |bytes| stored = Maximum::from_bytes(bytes))?;
    if there && stored.is_none() {
        return Err(TransactionError::workload(
            "a maximum in the database is damaged".to_owned(),
        ));
    }
    Ok(stored)
}

/// Within a write transaction: reads, compares and sets; returns the resulting maximum.
pub(super) fn raise(
    session: &mut dyn Session,
    key: &[u8],
    candidate: Maximum,
) -> Result<Maximum, TransactionError> {
    match read(session, key)? {
        Some(stored) if !candidate.exceeds(&stored) => Ok(stored),
        _ => {
            session.put(key, &candidate.to_bytes())?;
            Ok(candidate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_wins_and_among_equals_the_lower_start() {
        let old = Maximum::new(5, 30);
        assert!(Maximum::new(6, 99).exceeds(&old));
        assert!(Maximum::new(5, 29).exceeds(&old));
        assert!(!Maximum::new(5, 30).exceeds(&old));
        assert!(!Maximum::new(4, 1).exceeds(&old));
    }

    #[test]
    fn a_maximum_reads_back() {
        let maximum = Maximum::new(u64::MAX - 1, 77_671);
        assert_eq!(Maximum::from_bytes(&maximum.to_bytes()), Some(maximum));
        assert_eq!(Maximum::from_bytes(b"350"), None);
    }
}
