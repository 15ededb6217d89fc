//! The operation kinds. A job names only the kinds in its mix.

use crate::keyed::action::Action;
use crate::keyed::kinds::{KindCatalog, KindSet, operation_kinds};

/// The number of kinds.
pub(super) const COUNT: usize = Kind::ALL.len();

operation_kinds! {
    /// A kind of operation, in db_bench's order. The first one that a mix has determines the
    /// ranking of contenders.
    enum Kind {
        /// A record looked up by key.
        Get = "get",
        /// A record stored without reading it.
        Put = "put",
        /// A key sought, and the records from there on.
        Seek = "seek",
    }
}

impl Kind {
    /// What it does to a record.
    pub(super) fn action(self) -> Action {
        match self {
            Self::Get => Action::Get,
            Self::Put => Action::Put,
            Self::Seek => Action::Scan,
        }
    }
}

/// A set of kinds.
pub(super) type Kinds = KindSet<Kind>;

/// db_bench's `QueryDecider`: of each thousand numbers in a row, or a few more, each kind gets its
/// share, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryDecider {
    /// Where the numbers of each kind end.
    ends: [u64; COUNT],
}

impl QueryDecider {
    /// Of the ratios of the kinds, which are divided by their sum; `None` if that is 0.
    pub(super) fn new(ratios: &[f64; COUNT]) -> Option<Self> {
        const NUMBERS: f64 = 1_000.0;
        let sum: f64 = ratios.iter().sum();
        if sum <= 0.0 {
            return None;
        }
        let mut end = 0;
        let ends = ratios.map(|ratio| {
            end += (NUMBERS * (ratio / sum)).ceil() as u64;
            end
        });
        Some(Self { ends })
    }

    /// The kind of the operation that a random number stands for.
    #[inline]
    pub(super) fn kind(&self, number: u64) -> Kind {
        let place = number % self.numbers();
        let index = self.ends.iter().position(|end| place < *end);
        Kind::ALL[index.unwrap_or_default()]
    }

    /// The numbers in a row by which every kind that has a share is chosen.
    pub(super) fn numbers(&self) -> u64 {
        self.ends[COUNT - 1]
    }

    /// The kinds that have a share.
    pub(super) fn kinds(&self) -> Kinds {
        let mut before = 0;
        let each = Kind::ALL.iter().zip(self.ends);
        each.fold(Kinds::default(), |kinds, (kind, end)| {
            let has_share = end > before;
            before = end;
            kinds.insert_if(has_share, *kind)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_numbers_are_divided_by_the_ratios() {
        let decider = QueryDecider::new(&[0.83, 0.14, 0.03]).unwrap();
        assert_eq!(decider.ends, [830, 970, 1_000]);
        let kinds = [829, 830, 969, 970, 999, 1_000].map(|number| decider.kind(number));
        use Kind::{Get, Put, Seek};
        assert_eq!(kinds, [Get, Put, Put, Seek, Seek, Get]);
        // Ratios need not add up to 1, and each share is rounded up.
        let decider = QueryDecider::new(&[2.0, 1.0, 0.0]).unwrap();
        assert_eq!(decider.ends, [667, 1_001, 1_001]);
        assert_eq!(decider.kinds().names(), ["get", "put"]);
        assert_eq!(QueryDecider::new(&[0.0; COUNT]), None);
    }
}
