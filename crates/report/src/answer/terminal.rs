//! The answer on one screen: the rankings share its lines, and omitted rows are counted.

use super::subject;
use crate::answer::layout::{Layout, cut_end, cut_list, cut_name, height, labeled, shown, width};
use crate::answer::shared_marks::PlainRanking;
use crate::answer::table::{Grid, interval_text, latency_title, share_text};
use crate::answer::words;
use crate::objective;
use crate::sections::absence;
use crate::sections::failover;
use crate::storage_words;
use crate::text_width::{pad_left, padded};
use trueput_findings::answer::{
    Answer, RankingAnswer, RankingVerdict, UnrankedContender, UnrankedReason,
};
use trueput_findings::units::{nanoseconds, number};

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// Failures take no more than these, so that rankings have room.
const MAX_FAILURES: usize = 4;

/// A table shows at least this many contenders; if they do not fit, a ranking has one line.
const MIN_ROWS: usize = 2;

/// The most lines of a sentence.
const MAX_SENTENCE_LINES: usize = 3;

/// The most lines of the counts of trials, and of the parameters that all share.
const MAX_HEAD_LINES: usize = 2;

/// Where nothing is cut, rankings get at least this many lines.
const MIN_BODY_LINES: usize = 20;

/// Where nothing is cut, up to this many rankings are tables.
const MAX_WHOLE_RANKINGS: usize = 4;

/// Rows of such a table, if the screen has no room for more.
const DEFAULT_ROWS: usize = 4;

/// Likewise for what planned faults did: the answer of a run that has some.
const MAX_FAULTS: usize = 6;

/// The color of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paint {
    Plain,
    Bold,
    Red,
}

type PaintedLine = (Paint, String);

/// Writes an answer for a terminal.
pub trait AnswerText {
    /// The answer as text that fits the layout. `closing`, with commands and paths, comes last,
    /// next to the prompt. It is neither cut nor broken: everything else makes room for it, and the
    /// text exceeds the layout only if `closing` does. It ends with a newline.
    #[must_use]
    fn render(&self, layout: Layout, closing: &[String]) -> String;

    /// Only the rankings, in this many lines, for a run in progress.
    #[must_use]
    fn render_rankings(&self, layout: Layout) -> String;
}

impl AnswerText for Answer {
    fn render(&self, layout: Layout, closing: &[String]) -> String {
        AnswerScreen(self).render(layout, closing)
    }

    fn render_rankings(&self, layout: Layout) -> String {
        AnswerScreen(self).render_rankings(layout)
    }
}

/// The screen of an answer.
struct AnswerScreen<'a>(&'a Answer);

impl AnswerScreen<'_> {
    fn render(&self, layout: Layout, closing: &[String]) -> String {
        let columns = layout.columns();
        let closing: Vec<PaintedLine> = closing
            .iter()
            .flat_map(|text| labeled(&shown(text), columns))
            .map(|line| (Paint::Plain, line))
            .collect();
        let most = layout.lines.saturating_sub(heights(&closing, columns));
        let head = self.head(layout);
        let tail = self.tail(layout, !closing.is_empty());
        let tail_height = heights(&tail, columns);
        let room = most.saturating_sub(head.len() + tail_height);
        let mut lines = head;
        if layout.cuts {
            lines.extend(self.body(layout, room));
            lines.truncate(most.saturating_sub(tail_height));
            lines.extend(tail);
            lines.truncate(most);
        } else {
            lines.extend(self.body(layout, room.max(self.unbounded_room(layout))));
            lines.extend(tail);
        }
        lines.extend(closing);
        let paint = |(paint, text): &PaintedLine| match (layout.color, paint) {
            (true, Paint::Bold) => format!("{BOLD}{text}{PLAIN}\n"),
            (true, Paint::Red) => format!("{RED}{text}{PLAIN}\n"),
            _ => format!("{text}\n"),
        };
        lines.iter().map(paint).collect()
    }

    /// The lines that rankings get where nothing is cut, however long the rest is. A few rankings
    /// are never reduced to a line each there.
    fn unbounded_room(&self, layout: Layout) -> usize {
        if self.0.rankings.len() > MAX_WHOLE_RANKINGS {
            return MIN_BODY_LINES;
        }
        let plain: Vec<_> = self.0.rankings.iter().map(PlainRanking::of).collect();
        let blocks = ranking_blocks(&plain, layout);
        let tables: usize = blocks.iter().map(|block| block.cost(DEFAULT_ROWS)).sum();
        MIN_BODY_LINES.max(tables + 2 + self.0.not_ranked.len())
    }

    fn render_rankings(&self, layout: Layout) -> String {
        let lines = self.body(layout, layout.lines);
        let kept = lines.iter().skip_while(|(_, text)| text.is_empty());
        let text: Vec<_> = kept.map(|(_, text)| text.as_str()).collect();
        text.join("\n")
    }

    /// The summary of the run and its disturbances.
    fn head(&self, layout: Layout) -> Vec<PaintedLine> {
        let texts = [Some(words::counts(self.0)), words::common(self.0)];
        let texts = texts.into_iter().flatten();
        let texts = texts.flat_map(|text| layout.wrapped(&shown(&text), "  ", MAX_HEAD_LINES));
        let mut lines: Vec<_> = texts.map(|text| (Paint::Plain, text)).collect();
        let troubles = [
            words::damaged(self.0),
            absence::sentences(&self.0.absence),
            words::disturbed(&self.0.disturbances),
        ];
        let late = self.0.late_models.iter().map(storage_words::late);
        let late = late.map(|text| format!("{text}."));
        for text in troubles.into_iter().flatten().chain(late) {
            let text = layout
                .wrapped(&shown(&text), "", MAX_SENTENCE_LINES)
                .into_iter();
            lines.extend(text.map(|line| (Paint::Red, line)));
        }
        lines
    }

    /// Legends, failures, skipped parts and the next step, preceded by a blank line.
    fn tail(&self, layout: Layout, is_followed: bool) -> Vec<PaintedLine> {
        let columns = layout.columns();
        let plain = |text| (Paint::Plain, text);
        let faults = failover::sentences(&self.0.failover).into_iter();
        let faults = faults.chain(storage_words::faults(&self.0.storage_faults));
        let faults = faults.flat_map(|text| layout.wrapped(&shown(&text), "  ", MAX_FAULTS));
        let legends = [
            level_legend(&self.0.rankings, columns),
            words::medians(self.0),
            words::latency_kinds(self.0),
            objective::not_judged(self.0),
            words::not_audited(self.0),
        ];
        let legends = legends.into_iter().flatten();
        let legends = legends.chain(words::mark_legends(self.0));
        let legends = legends.flat_map(|text| layout.wrapped(&text, "", MAX_SENTENCE_LINES));
        let mut lines: Vec<_> = faults.chain(legends).map(plain).collect();
        lines.extend(self.failure_lines(layout));
        let workers = words::worker_kinds(self.0).map(|text| layout.wrapped(&shown(&text), "", 1));
        let skipped = words::skipped(&self.0.skipped).map(|text| skipped_lines(&text, layout));
        lines.extend(workers.into_iter().chain(skipped).flatten().map(plain));
        for step in &self.0.next_steps {
            let text = labeled(&shown(&words::next_step(step)), columns);
            lines.extend(text.into_iter().map(plain));
        }
        if is_followed || !lines.is_empty() {
            lines.insert(0, (Paint::Plain, String::new()));
        }
        lines
    }

    fn failure_lines(&self, layout: Layout) -> Vec<PaintedLine> {
        let kinds = &self.0.failures;
        let fits = kinds.len() <= MAX_FAILURES;
        let found = if fits { kinds.len() } else { MAX_FAILURES - 1 };
        let most = if kinds.len() <= MAX_FAILURES / 2 {
            2
        } else {
            1
        };
        let mut lines = Vec::new();
        for kind in &kinds[..found] {
            let text = layout.wrapped(&shown(&words::failure(kind)), "  ", most);
            lines.extend(text.into_iter().map(|line| (Paint::Red, line)));
        }
        if !fits {
            let more = kinds[found..].iter().map(|kind| kind.trials).sum::<usize>();
            let text = format!("… and {more} more trials that failed for other reasons; --full");
            let text = layout.wrapped(&text, "", 1).into_iter();
            lines.extend(text.map(|line| (Paint::Red, line)));
        }
        lines
    }

    /// The rankings, followed by the contenders that are not ranked.
    fn body(&self, layout: Layout, room: usize) -> Vec<PaintedLine> {
        let others = self.0.not_ranked.len();
        let reserved = match (self.0.rankings.is_empty(), others) {
            (_, 0) => 0,
            (true, _) => room,
            // A blank line, a heading, some rows.
            (false, others) => (2 + others).min((room / 3).max(3)),
        };
        let mut lines = self.ranking_lines(layout, room.saturating_sub(reserved));
        let left = room.saturating_sub(lines.len());
        lines.extend(self.not_ranked_lines(layout, left));
        if self.0.rankings.is_empty() && others == 0 && room > 1 {
            let ended = self.0.trials.planned > self.0.trials.missing;
            let text = if ended {
                "No valid trials, so nothing is ranked."
            } else {
                "No trial of this run has finished, so there is nothing to rank."
            };
            lines.push((Paint::Plain, String::new()));
            let text = layout.wrapped(text, "", 1).into_iter();
            lines.extend(text.map(|line| (Paint::Plain, line)));
        }
        lines
    }

    fn ranking_lines(&self, layout: Layout, room: usize) -> Vec<PaintedLine> {
        let plain: Vec<_> = self.0.rankings.iter().map(PlainRanking::of).collect();
        let blocks = ranking_blocks(&plain, layout);
        match shared_out(&blocks, room) {
            Some(rows) => {
                let found = blocks.iter().zip(rows);
                found.flat_map(|(block, rows)| block.lines(rows)).collect()
            }
            None => one_line_each(&self.0.rankings, layout, room),
        }
    }

    fn not_ranked_lines(&self, layout: Layout, room: usize) -> Vec<PaintedLine> {
        let mut lines = Vec::new();
        for reason in [
            UnrankedReason::OnlyContender,
            UnrankedReason::NotComparable,
            UnrankedReason::UnsafeStorage,
            UnrankedReason::Harness,
        ] {
            let of = self.0.not_ranked.iter().filter(|one| one.reason == reason);
            let of: Vec<_> = of.collect();
            let left = room.saturating_sub(lines.len());
            // A blank line and a heading say nothing by themselves.
            if !of.is_empty() && left > 2 {
                lines.extend(not_ranked_block(reason, &of, layout, left));
            }
        }
        lines
    }
}

fn ranking_blocks(plain: &[PlainRanking], layout: Layout) -> Vec<RankingBlock<'_>> {
    let grid = Grid::for_rankings(plain.iter().map(|it| &it.ranking), layout.columns());
    let blocks = plain.iter().enumerate().map(|(index, ranking)| {
        let before = index.checked_sub(1).map(|index| &plain[index].ranking);
        RankingBlock::of(ranking, before, &grid, layout)
    });
    blocks.collect()
}

/// The heading of a ranking with the promise of its level.
fn whole_heading(plain: &PlainRanking) -> String {
    let subject = &plain.ranking.subject;
    shown(&format!(
        "{}: {} · {}{}",
        subject::level(subject),
        subject::promise(subject),
        subject::conditions(subject),
        plain.labels
    ))
}

/// The heading with the promise, or without it where there is no room.
fn heading_lines(plain: &PlainRanking, layout: Layout) -> Vec<String> {
    let columns = layout.columns();
    let whole = whole_heading(plain);
    if width(&whole) <= columns {
        return vec![whole];
    }
    let short = shown(&subject::short(&plain.ranking.subject));
    if !layout.cuts {
        return layout.wrapped(&format!("{short}{}", plain.labels), "  ", usize::MAX);
    }
    let room = columns.saturating_sub(width(&plain.labels));
    let short = cut_end(&short, room);
    vec![cut_end(&format!("{short}{}", plain.labels), columns)]
}

/// The promises of the levels whose headings have no room for them.
fn level_legend(rankings: &[RankingAnswer], columns: usize) -> Option<String> {
    let mut clauses = Vec::new();
    for ranking in rankings {
        if width(&whole_heading(&PlainRanking::of(ranking))) > columns {
            let subject = &ranking.subject;
            let clause = format!("{}: {}", subject.durability, subject::promise(subject));
            if !clauses.contains(&clause) {
                clauses.push(clause);
            }
        }
    }
    (!clauses.is_empty()).then(|| format!("{}.", clauses.join("; ")))
}

/// Number of lines that these take on a terminal.
fn heights(lines: &[PaintedLine], columns: usize) -> usize {
    lines.iter().map(|(_, text)| height(text, columns)).sum()
}

/// The lines of a ranking, some of whose rows can be left out.
struct RankingBlock<'a> {
    ranking: &'a RankingAnswer,
    before: Vec<PaintedLine>,
    rows: Vec<String>,
    after: Vec<PaintedLine>,
    columns: usize,
}

impl<'a> RankingBlock<'a> {
    fn of(
        plain: &'a PlainRanking,
        previous: Option<&RankingAnswer>,
        grid: &Grid,
        layout: Layout,
    ) -> Self {
        let columns = layout.columns();
        let ranking = &plain.ranking;
        let heading = heading_lines(plain, layout).into_iter();
        let mut before = vec![(Paint::Plain, String::new())];
        before.extend(heading.map(|line| (Paint::Bold, line)));
        let header = grid.header(ranking);
        if previous.is_none_or(|previous| grid.header(previous) != header) {
            before.push((Paint::Plain, header));
        }
        let sentence = shown(&words::verdict_sentence(ranking));
        let mut sentence = layout.wrapped(&sentence, "", MAX_SENTENCE_LINES);
        let weaker = words::weaker_isolation(ranking).map(|text| shown(&text));
        let hosts = words::hosts(ranking).map(|text| shown(&text));
        sentence.extend(
            hosts
                .into_iter()
                .flat_map(|text| layout.wrapped(&text, "", MAX_SENTENCE_LINES)),
        );
        sentence.extend(
            weaker
                .into_iter()
                .flat_map(|text| layout.wrapped(&text, "", 2)),
        );
        let rows = || ranking.rows.iter().chain(&ranking.not_comparable);
        // A long name without marks of its own is cut, too, and has no sign.
        let signed = words::signed_marks(rows().filter(|row| grid.cuts(&row.contender)));
        let signed = signed.map(|text| layout.wrapped(&shown(&text), "", 2));
        let sentence = signed.into_iter().flatten().chain(sentence);
        let audited = words::audited_states(&ranking.subject);
        let audited = audited.map(|text| layout.wrapped(&text, "  ", MAX_SENTENCE_LINES));
        let compacted = words::compactions(rows());
        let compacted =
            compacted.map(|text| layout.wrapped(&shown(&text), "  ", MAX_SENTENCE_LINES));
        let sentence = sentence.chain(audited.into_iter().chain(compacted).flatten());
        let rows = rows();
        Self {
            rows: rows.map(|row| grid.row(ranking, row)).collect(),
            before,
            after: sentence.map(|line| (Paint::Plain, line)).collect(),
            ranking,
            columns,
        }
    }

    /// Number of lines if at most this many rows are shown.
    fn cost(&self, rows: usize) -> usize {
        let rows = if rows < self.rows.len() {
            // The others are counted in a line of their own.
            rows + 1
        } else {
            self.rows.len()
        };
        self.before.len() + rows + self.after.len()
    }

    fn lines(&self, rows: usize) -> Vec<PaintedLine> {
        let rows = rows.min(self.rows.len());
        let plain = |text: &String| (Paint::Plain, text.clone());
        let mut lines = self.before.clone();
        lines.extend(self.rows[..rows].iter().map(plain));
        let left = self.rows.len() - rows;
        if left > 0 {
            let text = format!("   … and {left} more{}; --full", self.range(rows));
            lines.push((Paint::Plain, cut_end(&text, self.columns)));
        }
        lines.extend(self.after.iter().cloned());
        lines
    }

    /// Range of the rows that are left out: ` (12 to 40 % of tokudb)`.
    fn range(&self, rows: usize) -> String {
        // Without an order the first row is not a leader.
        if self.ranking.verdict == RankingVerdict::NoOrder {
            return String::new();
        }
        let behind = self.ranking.rows.iter().skip(rows);
        let shares = behind.filter_map(|row| row.of_leader).map(|it| it.estimate);
        let (low, high) = shares.fold((f64::INFINITY, 0.0_f64), |(low, high), share| {
            (low.min(share), high.max(share))
        });
        let leader = shown(&self.ranking.leader().contender);
        match (low.is_finite(), self.ranking.subject.rate_per_s) {
            (false, _) => String::new(),
            (true, Some(_)) => format!(" ({}x to {}x of {leader})", number(low), number(high)),
            (true, None) => format!(" ({:.0} to {:.0} % of {leader})", low * 100.0, high * 100.0),
        }
    }
}

/// Distributes the available lines over the rankings, as rows of each; `None` if not even the
/// fewest rows fit.
fn shared_out(blocks: &[RankingBlock<'_>], room: usize) -> Option<Vec<usize>> {
    let cost = |rows: usize| blocks.iter().map(|block| block.cost(rows)).sum::<usize>();
    let most = blocks
        .iter()
        .map(|block| block.rows.len())
        .max()
        .unwrap_or(0);
    let all_fit = (MIN_ROWS..=most.max(MIN_ROWS)).rev();
    let alike = all_fit.into_iter().find(|rows| cost(*rows) <= room)?;
    let mut rows = vec![alike; blocks.len()];
    let mut left = room - cost(alike);
    // The first rankings get the remaining lines.
    for (block, rows) in blocks.iter().zip(&mut rows) {
        let grown = (*rows..=block.rows.len()).rev();
        let spent = |more: usize| block.cost(more).saturating_sub(block.cost(*rows));
        if let Some(more) = grown.into_iter().find(|more| spent(*more) <= left) {
            left -= spent(more);
            *rows = more;
        }
    }
    Some(rows)
}

/// What was skipped, on one line; if it is too wide, with the option that shows all of it. Where
/// nothing is cut, all of it.
fn skipped_lines(text: &str, layout: Layout) -> Vec<String> {
    const WHOLE: &str = "; --full";
    let text = shown(text);
    let columns = layout.columns();
    if layout.cuts && width(&text) > columns {
        return vec![cut_end(&text, columns - WHOLE.len()) + WHOLE];
    }
    layout.wrapped(&text, "  ", usize::MAX)
}

/// One line for each ranking; if there are too many, the first ones and a count of the rest.
fn one_line_each(rankings: &[RankingAnswer], layout: Layout, room: usize) -> Vec<PaintedLine> {
    let columns = layout.columns();
    let room = room.saturating_sub(1);
    let found = if rankings.len() <= room {
        rankings.len()
    } else {
        room.saturating_sub(1)
    };
    let results: Vec<_> = rankings.iter().map(|one| shown(&result(one))).collect();
    let subjects: Vec<_> = rankings
        .iter()
        .map(|one| shown(&subject::short(&one.subject)))
        .collect();
    let widest = |texts: &[String]| texts.iter().map(|text| width(text)).max().unwrap_or(0);
    let result_room = widest(&results).min(columns / 2);
    let subject_room = widest(&subjects).min(columns - result_room - 2);
    let mut lines = vec![(Paint::Plain, String::new())];
    for (subject, result) in subjects.iter().zip(&results).take(found) {
        if !layout.cuts && width(subject) + width(result) + 2 > columns {
            let whole = layout.wrapped(&format!("{subject}: {result}"), "  ", usize::MAX);
            lines.extend(whole.into_iter().map(|line| (Paint::Plain, line)));
            continue;
        }
        let subject = cut_list(subject, subject_room);
        let result = cut_end(result, columns - subject_room - 2);
        let subject = padded(&subject, subject_room);
        lines.push((Paint::Plain, format!("{subject}  {result}")));
    }
    let more = rankings.len() - found;
    if more > 0 {
        let text = format!("… and {more} more rankings; --full");
        lines.push((Paint::Plain, cut_end(&text, columns)));
    }
    lines
}

/// A ranking's result in a few words: `rocksdb leads; tokudb 85 % (71–98)`.
fn result(ranking: &RankingAnswer) -> String {
    let leader = &ranking.leader().contender;
    let second = &ranking.rows[1];
    let at_rate = ranking.subject.rate_per_s.is_some();
    let share = second.of_leader.map_or_else(String::new, |share| {
        let interval = interval_text(share, at_rate);
        let text = format!(
            "{} {} {interval}",
            second.contender,
            share_text(share, at_rate)
        );
        text.trim_end().to_owned()
    });
    match ranking.verdict {
        RankingVerdict::Leader => format!("{leader} leads; {share}"),
        RankingVerdict::NoOrder => "no order: busy machine".to_owned(),
        RankingVerdict::RateNotKept => "rate not kept".to_owned(),
        unsure => format!("{leader}? {}; {share}", unsure.label()),
    }
}

/// Figures that are in no ranking, under a heading that says why.
fn not_ranked_block(
    reason: UnrankedReason,
    figures: &[&UnrankedContender],
    layout: Layout,
    room: usize,
) -> Vec<PaintedLine> {
    let columns = layout.columns();
    let heading = match reason {
        UnrankedReason::OnlyContender => "Not ranked: only contender at these settings",
        UnrankedReason::NotComparable => "Not ranked: not comparable with others",
        UnrankedReason::UnsafeStorage => "Not ranked: the storage keeps nothing at lost power",
        UnrankedReason::Harness => "Not ranked: the null engine, the harness's own cost",
    };
    let mut lines = vec![
        (Paint::Plain, String::new()),
        (Paint::Bold, cut_end(heading, columns)),
    ];
    let room = room.saturating_sub(lines.len());
    let found = if figures.len() <= room {
        figures.len()
    } else {
        room.saturating_sub(1)
    };
    let cells: Vec<_> = figures[..found]
        .iter()
        .map(|one| not_ranked_cells(one))
        .collect();
    let (rows, is_cut) = not_ranked_rows(&cells, columns);
    lines.extend(rows.into_iter().map(|row| (Paint::Plain, row)));
    let signed = figures[..found].iter().zip(is_cut);
    let signed = signed
        .filter(|(_, is_cut)| *is_cut)
        .map(|(one, _)| &one.row);
    let signed = words::signed_marks(signed).into_iter();
    let signed = signed.flat_map(|text| layout.wrapped(&shown(&text), "", 2));
    lines.extend(signed.map(|line| (Paint::Plain, line)));
    let more = figures.len() - found;
    if more > 0 {
        let text = format!("… and {more} more; --full");
        lines.push((Paint::Plain, cut_end(&text, columns)));
    }
    if let [one] = figures {
        let audited = words::audited_states(&one.subject).into_iter();
        let audited = audited.flat_map(|text| layout.wrapped(&text, "  ", MAX_SENTENCE_LINES));
        let compacted = words::compactions(std::iter::once(&one.row)).into_iter();
        let compacted =
            compacted.flat_map(|text| layout.wrapped(&shown(&text), "  ", MAX_SENTENCE_LINES));
        lines.extend(audited.chain(compacted).map(|line| (Paint::Plain, line)));
    }
    lines
}

/// One line for each cell, in columns, and whether its name has no room for the marks. If the
/// distinguishing parameters do not fit, CPU and then latency are left out.
fn not_ranked_rows(cells: &[[String; 5]], columns: usize) -> (Vec<String>, Vec<bool>) {
    /// The column of distinguishing parameters is at least this wide.
    const MIN_SUBJECT_COLUMNS: usize = 24;
    let widest = |column: usize| {
        let all = cells.iter().map(|row: &[String; 5]| width(&row[column]));
        all.max().unwrap_or(0)
    };
    let mut widths: [usize; 5] = std::array::from_fn(widest);
    widths[0] = widths[0].min(columns / 3);
    let subject = |widths: [usize; 5]| {
        let others = [0, 2, 3, 4].map(|column| widths[column]);
        let taken: usize = others
            .iter()
            .filter(|width| **width > 0)
            .map(|width| width + 2)
            .sum();
        columns.saturating_sub(taken)
    };
    for column in [4, 3] {
        if subject(widths) < widths[1].min(MIN_SUBJECT_COLUMNS) {
            widths[column] = 0;
        }
    }
    if subject(widths) < widths[1] {
        // A sign takes the place of marks, whose meaning has a line of its own.
        let signed = |name: &str| {
            let marked = name.split_once(" [");
            marked.map_or_else(|| width(name), |(plain, _)| width(plain) + 1)
        };
        let names = cells.iter().map(|row| signed(&row[0]));
        widths[0] = widths[0].min(names.max().unwrap_or(0));
    }
    widths[1] = widths[1].min(subject(widths));
    let line = |row: &[String; 5]| {
        let mut line = String::new();
        for (column, cell) in row
            .iter()
            .enumerate()
            .filter(|(column, _)| widths[*column] > 0)
        {
            let most = widths[column];
            let cell = match column {
                1 => cut_list(cell, most),
                _ => cut_name(cell, most),
            };
            line += &if column < 2 {
                padded(&cell, most + 2)
            } else {
                pad_left(&cell, most) + "  "
            };
        }
        cut_end(line.trim_end(), columns)
    };
    let is_cut = cells.iter().map(|row| width(&row[0]) > widths[0]);
    (cells.iter().map(line).collect(), is_cut.collect())
}

/// Contender, subject, rate, latency and CPU.
fn not_ranked_cells(one: &UnrankedContender) -> [String; 5] {
    let row = &one.row;
    let latency = row.latency.as_ref().map(|latency| {
        let time = latency_title(latency, one.subject.rate_per_s.is_some());
        format!("{time} {}", nanoseconds(latency.p99_ns))
    });
    let cpu = row.cpu_ns_per_operation;
    let cpu = cpu.map(|cpu| format!("CPU/op {}", nanoseconds(cpu)));
    [
        shown(&row.contender),
        shown(&subject::short(&one.subject)),
        format!(
            "{} {}/s{}{}{}",
            number(row.rate_per_s),
            one.subject.unit,
            words::work_note(row),
            words::rate_note(row),
            objective::kept_note(row.objective.as_ref())
        ),
        latency.unwrap_or_default(),
        cpu.unwrap_or_default(),
    ]
}
