//! What an operation on a record does, and the words for it.

/// What an operation on a record does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Action {
    /// Looks a record up by key.
    Get,
    /// Stores a record without reading it.
    Put,
    /// Reads a record and stores its next version.
    Update,
    /// Reads a record as a client does, then updates it: two reads and a put.
    ReadModifyWrite,
    /// Stores a new record.
    Insert,
    /// Takes a record out.
    Delete,
    /// Reads a record and those after it.
    Scan,
}

impl Action {
    /// Every action, in the order of their numbers.
    pub(crate) const ALL: [Self; 7] = [
        Self::Get,
        Self::Put,
        Self::Update,
        Self::ReadModifyWrite,
        Self::Insert,
        Self::Delete,
        Self::Scan,
    ];

    /// Its words; the first is the one that is written.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Get => &["get", "read"],
            Self::Put => &["put", "set", "write"],
            Self::Update => &["update", "replace"],
            Self::ReadModifyWrite => &["read-modify-write", "rmw"],
            Self::Insert => &["insert", "add"],
            Self::Delete => &["delete"],
            Self::Scan => &["scan", "seek"],
        }
    }

    /// The word that is written for it.
    pub(crate) fn word(self) -> &'static str {
        self.words()[0]
    }

    /// The action for which any of its words stands.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|action| action.words().contains(&word))
    }

    /// Whether it changes a record, or adds one.
    #[inline]
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::Scan)
    }

    /// Whether it stores a value.
    pub(crate) fn stores(self) -> bool {
        self.writes() && self != Self::Delete
    }

    /// Whether it changes or takes out a record that was there before.
    pub(crate) fn mutates(self) -> bool {
        self.writes() && self != Self::Insert
    }

    /// Whether it stores another value of a record that was there before.
    pub(crate) fn overwrites(self) -> bool {
        self.stores() && self != Self::Insert
    }

    /// Whether it reads the record that it then stores.
    pub(crate) fn reads_first(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite)
    }

    /// Whether it creates its record, so that a key that begins with it need not exist before.
    pub(crate) fn creates(self) -> bool {
        matches!(self, Self::Put | Self::Insert)
    }

    /// Whether it looks for a record that must be there.
    pub(crate) fn looks_up(self) -> bool {
        !self.creates() && self != Self::Scan
    }
}
