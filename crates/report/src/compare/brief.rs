//! A comparison on one screen: verdicts, changes, the table of results.

use crate::answer::Layout;
use crate::compare::caveats::same_library;
use crate::compare::narrate::{
    ChangeSubjects, disturbed, listed_changes, results, sentence, side_named, warnings,
};
use crate::document::{Block, Table};
use crate::formats::Style;
use crate::formats::terminal::{self, render_with};
use crate::sections::tpcc;
use trueput_findings::compare::SideComparison;
use trueput_findings::statistics::Verdict;
use trueput_findings::text::joined;
use trueput_record::text::escape_line;

/// The most lines that the list of changes has.
const MAX_CHANGE_LINES: usize = 10;

/// Columns of the table of results on one screen: up to the verdict.
const COLUMNS: usize = 9;

const FULL: &str = "Everything: add --full";

/// Text of a run in lines, every hidden character in it shown by its number.
fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    terminal::wrap(&escape_line(text), width, indent)
}

/// The comparisons, cut to the lines of the layout.
pub(super) fn screen(compared: &[SideComparison], layout: Layout) -> String {
    let mut text = String::new();
    for shown in (1..=compared.len()).rev() {
        for most in (1..=MAX_CHANGE_LINES).rev() {
            let mut lines: Vec<String> = Vec::new();
            for one in &compared[..shown] {
                lines.extend(lines_of(one, layout, most));
                lines.push(String::new());
            }
            if shown < compared.len() {
                let left = compared.len() - shown;
                lines.push(format!("… and {left} more comparisons: --full"));
            }
            lines.push(FULL.to_owned());
            text = lines.join("\n") + "\n";
            if lines.len() <= layout.lines {
                return text;
            }
        }
    }
    text
}

/// One comparison, with at most this many lines of each kind.
fn lines_of(compared: &SideComparison, layout: Layout, most: usize) -> Vec<String> {
    let wrapped = |text: &str| wrap(text, layout.width, "  ");
    let mut lines = Vec::new();
    for (letter, facts) in [("A", &compared.first), ("B", &compared.second)] {
        lines.extend(wrapped(&side_named(letter, facts)));
    }
    lines.push(String::new());
    let workloads = compared.results.iter();
    let notice = tpcc::notice_block(workloads.map(|result| result.workload.as_str()));
    if let Some(Block::Text(text)) = notice {
        lines.extend(wrapped(&text));
    }
    lines.extend(same_library(compared).iter().flat_map(|it| wrapped(it)));
    let mut found: Vec<_> = compared.results.iter().collect();
    if found.len() > most {
        // Significant differences come first.
        found.sort_by_key(|result| match result.comparison.verdict {
            Verdict::Slower => 0,
            Verdict::Faster => 1,
            Verdict::NoDifference | Verdict::TooFew => 2,
        });
    }
    let verdicts = found.into_iter().map(|it| format!("- {}", sentence(it)));
    add_first(&mut lines, verdicts.collect(), most, layout.width);
    let disturbed = disturbed(compared).into_iter().map(|it| (it, "  "));
    for (sentence, indent) in disturbed {
        lines.extend(wrap(&sentence, layout.width, indent));
    }
    add_first(&mut lines, warnings(compared), most, layout.width);
    lines.push(String::new());
    lines.extend(change_lines(compared, layout.width, most));
    lines.push(String::new());
    lines.extend(table(compared, layout, most));
    let only = [("A", &compared.only_first), ("B", &compared.only_second)];
    for (side, names) in only.iter().filter(|(_, names)| !names.is_empty()) {
        let shown = joined(&names[..names.len().min(most)], "; ");
        let more = match names.len() - names.len().min(most) {
            0 => String::new(),
            left => format!("; and {left} more"),
        };
        lines.extend(wrapped(&format!(
            "Only in {side}, not compared: {shown}{more}."
        )));
    }
    lines
}

/// Adds the first `most` sentences, and a count of the rest.
fn add_first(lines: &mut Vec<String>, sentences: Vec<String>, most: usize, width: usize) {
    let more = sentences.len().saturating_sub(most);
    let shown = sentences.into_iter().take(most);
    lines.extend(shown.flat_map(|sentence| wrap(&sentence, width, "  ")));
    if more > 0 {
        lines.push(format!("… and {more} more; --full"));
    }
}

/// The changes, in at most this many lines plus the heading and the count of omitted ones.
fn change_lines(compared: &SideComparison, width: usize, most: usize) -> Vec<String> {
    let (listed, notes) = listed_changes(compared, false);
    if listed.is_empty() && notes.is_empty() {
        return vec![super::narrate::NOTHING_CHANGED.to_owned()];
    }
    let mut lines = vec!["What changed, A → B:".to_owned()];
    let notes: Vec<_> = notes.iter().flat_map(|it| wrap(it, width, "  ")).collect();
    let room = most.saturating_sub(notes.len()).max(1);
    let mut left = listed.len();
    let mut used = 0;
    for one in &listed {
        let sentence = change_line(one, compared);
        let these = wrap(&sentence, width, "  ");
        if used + these.len() > room && used > 0 {
            break;
        }
        used += these.len();
        left -= 1;
        lines.extend(these);
    }
    if left > 0 {
        lines.push(format!("… and {left} more; --full"));
    }
    lines.extend(notes);
    lines
}

/// One change, with the contender that it applies to unless it applies to all.
fn change_line(listed: &ChangeSubjects<'_>, compared: &SideComparison) -> String {
    let of_all = |it: &trueput_findings::compare::CellResult| {
        listed.subjects.contains(&super::narrate::both(it))
    };
    let subject = if listed.subjects.is_empty() || compared.results.iter().all(of_all) {
        String::new()
    } else {
        format!("{}: ", listed.subjects.join(", "))
    };
    let change = listed.change;
    format!(
        "- {subject}{}: {} → {}",
        change.subject, change.first, change.second
    )
}

/// The table of results, as far as the rows and columns have room.
fn table(compared: &SideComparison, layout: Layout, most: usize) -> Vec<String> {
    let Table {
        mut columns,
        mut rows,
        ..
    } = results(compared);
    let left = rows.len().saturating_sub(most);
    rows.truncate(most);
    columns.truncate(COLUMNS);
    for row in &mut rows {
        row.truncate(COLUMNS);
    }
    let style = Style {
        width: u16::try_from(layout.width).ok(),
        color: layout.color,
        ..Style::default()
    };
    let drawn = render_with(&[Block::Table(Table::new(columns, rows))], style, "--full");
    let mut lines: Vec<String> = drawn.lines().map(str::to_owned).collect();
    if left > 0 {
        lines.push(format!("… and {left} more rows; --full"));
    }
    lines
}
