//! Anomalies of a history, and the levels that proscribe them.

use trueput_record::{Isolation, Phenomenon};

/// A kind of anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnomalyKind {
    /// A read returned a value that nobody wrote under that key.
    Damage,
    /// A transaction did not read what it had written itself.
    InternalRead,
    /// A phenomenon of the literature.
    Phenomenon(Phenomenon),
    /// A cycle of two anti-dependencies or more, never one right after another (G-nonadjacent).
    /// Snapshots exclude it: A. Cerone and A. Gotsman, "Analysing Snapshot Isolation", PODC 2016.
    NonadjacentSkew {
        /// Whether a search that found nothing is part of it.
        has_predicate: bool,
    },
}

impl AnomalyKind {
    /// Returns whether no execution at this level shows the anomaly.
    #[must_use]
    pub fn is_proscribed_by(self, level: Isolation) -> bool {
        match self {
            Self::Damage | Self::InternalRead => true,
            Self::Phenomenon(phenomenon) => level.proscribes(phenomenon),
            Self::NonadjacentSkew { has_predicate } => match level {
                Isolation::Snapshot | Isolation::Serializable => true,
                Isolation::RepeatableRead => !has_predicate,
                _ => false,
            },
        }
    }
}

impl std::fmt::Display for AnomalyKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damage => formatter.write_str("damaged read"),
            Self::InternalRead => formatter.write_str("internal read"),
            Self::Phenomenon(phenomenon) => phenomenon.fmt(formatter),
            Self::NonadjacentSkew { .. } => formatter.write_str("nonadjacent skew (G-nonadjacent)"),
        }
    }
}

/// An anomaly that occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Its kind.
    pub kind: AnomalyKind,
    /// The transactions and what each read and wrote, in one line.
    pub text: String,
}

impl Anomaly {
    /// Creates the anomaly of a phenomenon.
    pub(super) fn of(phenomenon: Phenomenon, text: String) -> Self {
        Self {
            kind: AnomalyKind::Phenomenon(phenomenon),
            text,
        }
    }
}

impl std::fmt::Display for Anomaly {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.text)
    }
}
