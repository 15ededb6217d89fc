//! Marks that all contenders of a ranking have, in its heading instead of in each name.

use trueput_findings::answer::{AnswerRow, RankingAnswer};
use trueput_findings::marks::{Mark, labels, marked};

/// A ranking as the terminal shows it.
pub(super) struct PlainRanking {
    /// The ranking, whose contenders have the names and the marks without the shared ones.
    pub ranking: RankingAnswer,
    /// Labels after the heading: ` [flushes not verified]`; empty if no mark is shared.
    pub labels: String,
}

impl PlainRanking {
    pub fn of(ranking: &RankingAnswer) -> Self {
        let rows = || ranking.rows.iter().chain(&ranking.not_comparable);
        let has = |row: &AnswerRow, kind| row.marks.iter().any(|mark| mark.kind == kind);
        let mut shared = ranking.leader().marks.clone();
        shared.retain(|mark| rows().all(|row| has(row, mark.kind)));
        let is_shared = |kind| shared.iter().any(|mark: &Mark| mark.kind == kind);
        let mut plain = ranking.clone();
        for row in plain.rows.iter_mut().chain(&mut plain.not_comparable) {
            let mut left = row.marks.clone();
            left.retain(|mark| !is_shared(mark.kind));
            let name = marked(&row.plain_name, &left);
            let weaker = plain.weaker_isolation.iter_mut();
            let weaker = weaker.flat_map(|it| it.stronger.iter_mut().chain([&mut it.contender]));
            let named = plain.inconclusive.iter_mut().chain(weaker);
            for other in named.filter(|other| **other == row.contender) {
                other.clone_from(&name);
            }
            row.contender = name;
            row.marks = left;
        }
        let labels = if shared.is_empty() {
            String::new()
        } else {
            format!(" [{}]", labels(&shared, ", "))
        };
        Self {
            ranking: plain,
            labels,
        }
    }
}
