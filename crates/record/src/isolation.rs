//! Isolation levels, each defined by the phenomena that it proscribes.
//!
//! The levels and phenomena are those of A. Adya, "Weak Consistency: A Generalized Theory and
//! Optimistic Implementations for Distributed Transactions", MIT, 1999, chapters 3 and 4. Lost
//! update is P4 of H. Berenson et al., "A Critique of ANSI SQL Isolation Levels", SIGMOD 1995.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An isolation level of committed transactions, weakest first.
///
/// This is the order in which reports list the levels, not an order of strength:
/// [`Isolation::RepeatableRead`] and [`Isolation::Snapshot`] each proscribe phenomena that the
/// other permits. [`Isolation::lacks`] compares strength.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Proscribes dirty writes (Adya's PL-1).
    ReadUncommitted,
    /// Proscribes dirty reads besides: aborted, intermediate and circular ones (PL-2).
    ReadCommitted,
    /// Proscribes every anomaly of existing records; phantoms are possible (PL-2.99).
    RepeatableRead,
    /// Each transaction reads one state, and one of two concurrent writers of a record aborts;
    /// write skew is possible (PL-SI).
    Snapshot,
    /// Proscribes every phenomenon (PL-3).
    Serializable,
}

/// A way in which transactions can interfere with each other.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phenomenon {
    /// Two transactions write the same two records, and one write of each survives (G0).
    DirtyWrite,
    /// A committed transaction has read a write of an aborted one (G1a).
    AbortedRead,
    /// A committed transaction has read a write that its writer overwrote before committing (G1b).
    IntermediateRead,
    /// Two committed transactions have each read a write of the other (G1c).
    CircularFlow,
    /// Two transactions read a record and write it; the later write ignores the earlier one (P4).
    LostUpdate,
    /// A transaction reads records of before and of after another one's commit (G-single).
    ReadSkew,
    /// Two transactions each read existing records that the other writes (G2-item).
    WriteSkew,
    /// A record is put into a range that a transaction has searched: the transaction finds it in a
    /// second search, or overwrites it unseen (P3; G-single with a predicate).
    Phantom,
    /// Two transactions each search a range in which the other puts a new record (G2).
    PredicateWriteSkew,
}

impl Isolation {
    /// Every level, weakest first.
    pub const ALL: [Self; 5] = [
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::Snapshot,
        Self::Serializable,
    ];

    /// Returns the level's name, as in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read-uncommitted",
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Snapshot => "snapshot",
            Self::Serializable => "serializable",
        }
    }

    /// Returns whether no execution at this level shows the phenomenon.
    #[must_use]
    pub fn proscribes(self, phenomenon: Phenomenon) -> bool {
        use Phenomenon::{
            AbortedRead, CircularFlow, DirtyWrite, IntermediateRead, LostUpdate, Phantom,
            PredicateWriteSkew, ReadSkew, WriteSkew,
        };
        match phenomenon {
            DirtyWrite => true,
            AbortedRead | IntermediateRead | CircularFlow => self >= Self::ReadCommitted,
            LostUpdate | ReadSkew => self >= Self::RepeatableRead,
            WriteSkew => matches!(self, Self::RepeatableRead | Self::Serializable),
            Phantom => matches!(self, Self::Snapshot | Self::Serializable),
            PredicateWriteSkew => self == Self::Serializable,
        }
    }

    /// Returns the phenomena that this level permits and `other` proscribes.
    pub fn lacks(self, other: Self) -> impl Iterator<Item = Phenomenon> {
        Phenomenon::ALL.into_iter().filter(move |phenomenon| {
            other.proscribes(*phenomenon) && !self.proscribes(*phenomenon)
        })
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Phenomenon {
    /// Every phenomenon, in the order of the levels that proscribe them.
    pub const ALL: [Self; 9] = [
        Self::DirtyWrite,
        Self::AbortedRead,
        Self::IntermediateRead,
        Self::CircularFlow,
        Self::LostUpdate,
        Self::ReadSkew,
        Self::WriteSkew,
        Self::Phantom,
        Self::PredicateWriteSkew,
    ];

    /// Returns the common name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DirtyWrite => "dirty write",
            Self::AbortedRead => "aborted read",
            Self::IntermediateRead => "intermediate read",
            Self::CircularFlow => "circular information flow",
            Self::LostUpdate => "lost update",
            Self::ReadSkew => "read skew",
            Self::WriteSkew => "write skew",
            Self::Phantom => "phantom",
            Self::PredicateWriteSkew => "predicate write skew",
        }
    }

    /// Its name in the literature.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::DirtyWrite => "G0",
            Self::AbortedRead => "G1a",
            Self::IntermediateRead => "G1b",
            Self::CircularFlow => "G1c",
            Self::LostUpdate => "P4",
            Self::ReadSkew => "G-single",
            Self::WriteSkew => "G2-item",
            Self::Phantom => "P3",
            Self::PredicateWriteSkew => "G2",
        }
    }
}

impl fmt::Display for Phenomenon {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name(), self.symbol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proscribed(level: Isolation) -> Vec<Phenomenon> {
        let all = Phenomenon::ALL.into_iter();
        all.filter(|phenomenon| level.proscribes(*phenomenon))
            .collect()
    }

    #[test]
    fn a_level_proscribes_what_weaker_ones_do_but_for_repeatable_read_and_snapshot() {
        let [weakest, committed, repeatable, snapshot, serializable] = Isolation::ALL;
        for (weak, strong) in [
            (weakest, committed),
            (committed, repeatable),
            (committed, snapshot),
            (repeatable, serializable),
            (snapshot, serializable),
        ] {
            assert_eq!(strong.lacks(weak).count(), 0, "{strong} {weak}");
            assert!(weak.lacks(strong).count() > 0, "{weak} {strong}");
        }
        let lacks = |level: Isolation, other| level.lacks(other).collect::<Vec<_>>();
        assert_eq!(lacks(repeatable, snapshot), [Phenomenon::Phantom]);
        assert_eq!(lacks(snapshot, repeatable), [Phenomenon::WriteSkew]);
        assert_eq!(proscribed(serializable), Phenomenon::ALL);
        assert_eq!(proscribed(weakest), [Phenomenon::DirtyWrite]);
    }

    #[test]
    fn a_level_is_written_by_its_name() {
        for level in Isolation::ALL {
            let text = serde_json::to_string(&level).unwrap();
            assert_eq!(text, format!("\"{level}\""));
        }
    }
}
