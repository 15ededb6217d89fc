//! The number of rows for each value of k, for the scripts that only read: what they count is then
//! known.

use super::rows::{RowKey, RowMaker};
use super::tables::KRange;
use super::text::WriteName;

/// The rows of one table up to each value of k.
#[derive(Debug)]
pub(super) struct KCounts {
    /// For each value from 0 on, the rows with it or a lower one.
    up_to: Box<[u32]>,
}

impl KCounts {
    /// Of a loaded table of this size.
    pub(super) fn new(maker: &RowMaker, table: u32, table_size: u32) -> Self {
        let mut up_to = vec![0_u32; table_size as usize + 1];
        for id in 1..=table_size {
            let k = maker.k(RowKey::new(table, id), WriteName::LOADED);
            up_to[k as usize] += 1;
        }
        let mut rows = 0;
        for count in &mut up_to {
            rows += *count;
            *count = rows;
        }
        Self {
            up_to: up_to.into(),
        }
    }

    /// The rows whose k is in a range.
    pub(super) fn rows(&self, range: KRange) -> u64 {
        let up_to = |k: u32| {
            let last = self.up_to.len() - 1;
            u64::from(self.up_to[(k as usize).min(last)])
        };
        let below = range.low.checked_sub(1).map_or(0, up_to);
        up_to(range.high) - below
    }
}

#[cfg(test)]
mod tests {
    use super::super::distribution::Distribution;
    use super::*;

    #[test]
    fn a_range_has_the_rows_whose_k_is_in_it() {
        let maker = RowMaker::new(3, Distribution::Uniform, 50);
        let counts = KCounts::new(&maker, 1, 50);
        let ks = (1..=50).map(|id| maker.k(RowKey::new(1, id), WriteName::LOADED));
        let ks: Vec<_> = ks.collect();
        for (low, high) in [(0, 0), (1, 50), (7, 7), (3, 20), (45, 1_000), (60, 70)] {
            let expected = ks.iter().filter(|k| (low..=high).contains(*k)).count();
            let found = counts.rows(KRange { low, high });
            assert_eq!(found, expected as u64, "{low} to {high}");
        }
    }
}
