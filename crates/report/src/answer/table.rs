//! The columns of an answer's rows: the same widths for all rankings, so that they can be read
//! down.

use crate::answer::layout::{cut_name, shown, width};
use crate::objective::kept_text;
use crate::text_width::{pad_left, padded};
use trueput_findings::answer::{
    AnswerRow, LatencyFigure, LeaderShare, RankingAnswer, RankingVerdict, RowVerdict,
};
use trueput_findings::units::{nanoseconds, number};

/// Names are cut to no less than this before a column is left out.
const MIN_NAME_COLUMNS: usize = 16;

/// Between columns.
const GAP: usize = 2;

/// Number of columns.
const COLUMNS: usize = 9;
const CONTENDER: usize = 1;
/// Indexes of columns that are left out if there is no room, in this order: CPU, interval, latency.
const DISPENSABLE: [usize; 3] = [8, 5, 6];
/// Set to the left; figures are set to the right.
const LEFT: [usize; 3] = [CONTENDER, 5, 7];

type Cells = [String; COLUMNS];

/// The rows of rankings as text, in columns that all of them share.
pub(super) struct Grid {
    widths: [usize; COLUMNS],
    shown: [bool; COLUMNS],
}

impl Grid {
    /// Columns for these rankings that fit this many characters.
    pub(super) fn for_rankings<'a>(
        rankings: impl Iterator<Item = &'a RankingAnswer>,
        columns: usize,
    ) -> Self {
        let rows = rankings.flat_map(|ranking| {
            let rows = ranking.rows.iter().chain(&ranking.not_comparable);
            let rows = rows.map(|row| (false, cells(ranking, row)));
            std::iter::once((true, titles(ranking))).chain(rows)
        });
        let mut widths = [0; COLUMNS];
        let mut shown = [false; COLUMNS];
        for (is_title, cells) in rows {
            for (index, cell) in cells.iter().enumerate() {
                widths[index] = widths[index].max(width(cell));
                shown[index] |= !is_title && !cell.is_empty();
            }
        }
        let mut grid = Self { widths, shown };
        let mut dispensable = DISPENSABLE.into_iter();
        while grid.name_room(columns) < grid.widths[CONTENDER].min(MIN_NAME_COLUMNS) {
            match dispensable.next() {
                Some(index) => grid.shown[index] = false,
                None => break,
            }
        }
        let room = grid.name_room(columns).max(1);
        grid.widths[CONTENDER] = grid.widths[CONTENDER].min(room);
        grid
    }

    /// Width that the other columns leave for the contenders' names.
    fn name_room(&self, columns: usize) -> usize {
        let others = (0..COLUMNS).filter(|index| *index != CONTENDER && self.shown[*index]);
        let taken: usize = others.map(|index| self.widths[index] + GAP).sum();
        columns.saturating_sub(taken)
    }

    /// Whether there is no room for a name with its marks.
    pub(super) fn cuts(&self, name: &str) -> bool {
        width(&shown(name)) > self.widths[CONTENDER]
    }

    /// The line of titles of a ranking.
    pub(super) fn header(&self, ranking: &RankingAnswer) -> String {
        self.line(&titles(ranking))
    }

    /// The line of a row.
    pub(super) fn row(&self, ranking: &RankingAnswer, row: &AnswerRow) -> String {
        self.line(&cells(ranking, row))
    }

    fn line(&self, cells: &Cells) -> String {
        let mut parts = Vec::new();
        for (index, cell) in cells
            .iter()
            .enumerate()
            .filter(|(index, _)| self.shown[*index])
        {
            let most = self.widths[index];
            let cell = cut_name(cell, most);
            parts.push(if LEFT.contains(&index) {
                padded(&cell, most)
            } else {
                pad_left(&cell, most)
            });
        }
        parts.join("  ").trim_end().to_owned()
    }
}

fn titles(ranking: &RankingAnswer) -> Cells {
    let latency = ranking.rows.iter().find_map(|row| row.latency.as_ref());
    let work = ranking.rows.iter().find_map(|row| row.work.as_ref());
    let at_rate = ranking.subject.rate_per_s.is_some();
    let latency = latency.map_or_else(String::new, |latency| latency_title(latency, at_rate));
    [
        "#".to_owned(),
        "contender".to_owned(),
        format!("{}/s", ranking.subject.unit),
        work.map_or_else(String::new, |work| format!("{}/s", work.what)),
        if at_rate { "p99/best" } else { "rate/best" }.to_owned(),
        "interval".to_owned(),
        latency,
        "objective".to_owned(),
        "CPU/op".to_owned(),
    ]
}

/// The title of a latency: `p99 update`; at an offered rate `p99 response`, or `p99 service update`
/// if the queue is not included.
pub(crate) fn latency_title(latency: &LatencyFigure, at_rate: bool) -> String {
    match (latency.is_response, at_rate) {
        (true, _) => "p99 response".to_owned(),
        (false, true) => format!("p99 service {}", latency.kind),
        (false, false) => format!("p99 {}", latency.kind),
    }
}

fn cells(ranking: &RankingAnswer, row: &AnswerRow) -> Cells {
    let at_rate = ranking.subject.rate_per_s.is_some();
    // Without an order there is no leader to compare with.
    let has_order = ranking.verdict != RankingVerdict::NoOrder;
    let share = match (row.verdict, row.of_leader.filter(|_| has_order)) {
        _ if !has_order => String::new(),
        (RowVerdict::RateNotKept, _) => "not kept".to_owned(),
        (RowVerdict::NotCompared, _) if row.kept_rate == Some(false) => "not kept".to_owned(),
        (RowVerdict::Leader, _) if at_rate => "1x".to_owned(),
        (RowVerdict::Leader, _) => "100 %".to_owned(),
        (_, Some(share)) => share_text(share, at_rate),
        (_, None) => String::new(),
    };
    let interval = row
        .of_leader
        .filter(|_| has_order && row.verdict != RowVerdict::RateNotKept);
    [
        rank_text(row),
        shown(&row.contender),
        number(row.rate_per_s),
        row.work
            .as_ref()
            .map_or_else(String::new, |work| number(work.per_s)),
        share,
        interval.map_or_else(String::new, |share| interval_text(share, at_rate)),
        row.latency
            .as_ref()
            .map_or_else(String::new, |latency| nanoseconds(latency.p99_ns)),
        row.objective.as_ref().map_or_else(String::new, kept_text),
        row.cpu_ns_per_operation
            .map_or_else(String::new, nanoseconds),
    ]
}

/// The rank of a contender; a dash without one.
pub(crate) fn rank_text(row: &AnswerRow) -> String {
    row.rank
        .map_or_else(|| "–".to_owned(), |rank| rank.to_string())
}

/// A share in per cent, or a factor if response times are compared: `85 %`, `1.42x`.
pub(crate) fn share_text(share: LeaderShare, at_rate: bool) -> String {
    if at_rate {
        format!("{}x", number(share.estimate))
    } else {
        format!("{} %", percentage(share.estimate, share))
    }
}

/// The interval of a share: `(71–98)`.
pub(crate) fn interval_text(share: LeaderShare, at_rate: bool) -> String {
    interval_ends(share, at_rate).map_or_else(String::new, |ends| format!("({ends})"))
}

/// The ends of the interval of a share: `71–98`.
pub(super) fn interval_ends(share: LeaderShare, at_rate: bool) -> Option<String> {
    let interval = share.interval?;
    let [low, high] = [interval.low, interval.high].map(|end| {
        if at_rate {
            number(end)
        } else {
            percentage(end, share)
        }
    });
    Some(format!("{low}–{high}"))
}

/// Per cent with enough decimals to distinguish the ends of the interval; more digits would be
/// noise.
fn percentage(part: f64, share: LeaderShare) -> String {
    match part * 100.0 {
        ..0.1 => return "<0.1".to_owned(),
        1_000.0.. => return ">999".to_owned(),
        _ => {}
    }
    let span = share.interval.map_or(f64::INFINITY, |it| it.high - it.low);
    let decimals = match (span, part) {
        (..0.002, _) => 2,
        (..0.02, _) | (_, ..0.1) => 1,
        _ => 0,
    };
    format!("{:.decimals$}", part * 100.0)
}
