//! How rankings stand after a round of repeats, in a line each.

use super::layout::{cut_end, shown};
use super::{Answer, RankingAnswer};
use crate::units::number;

/// More rankings than these are counted.
const MOST_RANKINGS: usize = 8;

impl Answer {
    /// How each ranking stands, a line each: `sync: rocksdb 8,469/s, tokudb 7,173/s`. Subjects are as
    /// short as tells them apart; no line is wider than `columns`.
    #[must_use]
    pub fn standings(&self, columns: usize) -> Vec<String> {
        let short = |ranking: &RankingAnswer| ranking.subject.durability.to_string();
        let levels: std::collections::BTreeSet<_> = self.rankings.iter().map(short).collect();
        let by_level = levels.len() == self.rankings.len();
        let line = |ranking: &RankingAnswer| {
            let subject = match by_level {
                true => short(ranking),
                false => ranking.subject.short(),
            };
            let rows = ranking.rows.iter();
            let rows = rows.map(|row| format!("{} {}/s", row.contender, number(row.rate_per_s)));
            let rows: Vec<_> = rows.collect();
            cut_end(&shown(&format!("{subject}: {}", rows.join(", "))), columns)
        };
        let told = match self.rankings.len() <= MOST_RANKINGS {
            true => self.rankings.len(),
            false => MOST_RANKINGS - 1,
        };
        let mut lines: Vec<_> = self.rankings[..told].iter().map(line).collect();
        let more = self.rankings.len() - told;
        if more > 0 {
            lines.push(format!("and {more} more rankings"));
        }
        lines
    }
}
