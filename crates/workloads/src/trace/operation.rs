//! The operations of a trace, and the kinds by which they are counted.

use crate::keyed::kinds::{KindSet, operation_kinds};
use trueput_record::suggest::did_you_mean;

/// A set of kinds, always in the order of [`Kind`].
pub(super) type Kinds = KindSet<Kind>;

operation_kinds! {
    /// A kind of request.
    enum Kind {
        /// A look-up.
        Get = "get",
        /// A record stored without reading it.
        Put = "put",
        /// A record read and stored, in one transaction.
        Update = "update",
        /// A record read, then read and stored.
        ReadModifyWrite = "read-modify-write",
        /// A new record.
        Insert = "insert",
        /// A record taken out.
        Delete = "delete",
        /// A record and those after it.
        Scan = "scan",
        /// Several operations that are committed together.
        Transaction = "transaction",
        /// Several reads in one transaction.
        ReadTransaction = "read-transaction",
    }
}

impl Kind {
    /// Whether a request of this kind commits a write.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::Scan | Self::ReadTransaction)
    }
}

/// What one line of a trace does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Action {
    Get,
    Put,
    Update,
    ReadModifyWrite,
    Insert,
    Delete,
    Scan,
}

/// The words for the actions in CSV and JSON Lines; the first of each is the one that is written.
const WORDS: [(Action, &[&str]); 7] = [
    (Action::Get, &["get", "read"]),
    (Action::Put, &["put", "set", "write"]),
    (Action::Update, &["update", "replace"]),
    (Action::ReadModifyWrite, &["read-modify-write", "rmw"]),
    (Action::Insert, &["insert", "add"]),
    (Action::Delete, &["delete"]),
    (Action::Scan, &["scan", "seek"]),
];

impl Action {
    /// Every action, in the order of their numbers.
    pub(super) const ALL: [Self; 7] = [
        Self::Get,
        Self::Put,
        Self::Update,
        Self::ReadModifyWrite,
        Self::Insert,
        Self::Delete,
        Self::Scan,
    ];

    /// Reads a word of our own formats.
    ///
    /// # Errors
    /// One clause: the word, and those that are known.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let known = |(_, words): &&(Self, &[&str])| words.contains(&word);
        if let Some((action, _)) = WORDS.iter().find(known) {
            return Ok(*action);
        }
        let names = WORDS.iter().map(|(_, words)| words[0]);
        let all: Vec<_> = WORDS
            .iter()
            .flat_map(|(_, words)| *words)
            .copied()
            .collect();
        Err(format!(
            "unknown operation '{word}'{}; known are {}",
            did_you_mean(word, all),
            names.collect::<Vec<_>>().join(", ")
        ))
    }

    /// The kind of a request of this action alone.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Get => Kind::Get,
            Self::Put => Kind::Put,
            Self::Update => Kind::Update,
            Self::ReadModifyWrite => Kind::ReadModifyWrite,
            Self::Insert => Kind::Insert,
            Self::Delete => Kind::Delete,
            Self::Scan => Kind::Scan,
        }
    }

    /// Whether it changes its record.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::Scan)
    }

    /// Whether it looks for a record that must be there.
    pub(super) fn looks_up(self) -> bool {
        !matches!(self, Self::Put | Self::Insert | Self::Scan)
    }

    /// Whether it stores a value.
    pub(super) fn stores(self) -> bool {
        self.writes() && self != Self::Delete
    }

    /// Whether it reads the record that it then stores.
    pub(super) fn reads_first(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite)
    }

    /// Whether it creates its record, so that a key that begins with it need not exist before.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Put | Self::Insert)
    }
}
