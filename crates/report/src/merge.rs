//! Several runs in one report: the rates of each contender by run, then each run's own report.

use crate::answer::Layout;
use crate::charts::Charts;
use crate::document::{Block, Table};
use crate::formats::{Format, Style};
use crate::formats::{csv, html, json, markdown, terminal};
use crate::sections;
use crate::storage_words;
use trueput_findings::Run;
use trueput_findings::multi_run::{ContenderRuns, contender_runs};
use trueput_findings::shell::quoted;
use trueput_findings::units::{counted, number, per_cent};

const SIDE_BY_SIDE: &str = "Geometric mean rate of each contender in each run, and its ratio to \
    the first run. Runs of different machines are not ranked against each other; trueput compare \
    tests for differences.";

/// Writes several runs as one report. It ends with a newline. JSON is an array of the runs'
/// documents, CSV has the trials of all.
#[must_use]
pub fn render(reports: &[Run], format: Format, style: Style) -> String {
    match format {
        Format::Terminal => terminal::render(&document(reports, style.charts), style),
        Format::Markdown => markdown::render(&document(reports, Charts::Off)),
        Format::Csv => csv::render(reports),
        Format::Json => {
            let documents: Vec<String> = reports.iter().map(json::render).collect();
            let documents = documents.iter().map(|text| text.trim_end());
            format!("[{}]\n", documents.collect::<Vec<_>>().join(",\n"))
        }
    }
}

/// Fewer lines than these are left to the runs' list and to their contenders, however many the
/// other has.
const MIN_LINES: usize = 10;

/// Several runs side by side on one screen: the runs, the rates of each contender in them, and how
/// to see everything, with the program called by this name. It ends with a newline.
#[must_use]
pub fn answer(reports: &[Run], layout: Layout, program: &str) -> String {
    let runs: Vec<_> = (1..)
        .zip(reports)
        .map(|(number, report)| format!("run {number}: {}", described(report)))
        .collect();
    let paths = reports.iter().map(|report| &report.shown_as);
    let paths = paths.map(|run| quoted(&run.to_string_lossy()));
    let paths = paths.collect::<Vec<_>>().join(" ");
    let whole = format!("Everything: {program} report {paths} --full");
    let (everything, closing) = layout.labeled(&whole);
    // The first line and the last ones, two blank ones.
    let room = layout.lines.saturating_sub(3 + closing);
    let table = side_by_side(reports).rows;
    let for_runs = runs
        .len()
        .min(room.saturating_sub(table.len() + 1).max(MIN_LINES));
    let mut lines = layout.cut(&title(reports));
    lines.extend(layout.listed(&runs, for_runs));
    if !table.is_empty() {
        lines.push(String::new());
        let titles = ["contender", "run", "mean/s", "of the first"].map(str::to_owned);
        let rows = table.into_iter().map(|row| {
            let mut row = row.into_iter();
            std::array::from_fn(|_| row.next().unwrap_or_default())
        });
        let rows: Vec<[String; 4]> = std::iter::once(titles).chain(rows).collect();
        let left = (room + 2).saturating_sub(lines.len());
        let aligned = layout.aligned(&rows, 2);
        let has_signs = aligned.iter().any(|line| line.contains("* "));
        lines.extend(layout.listed(&aligned, left.saturating_sub(usize::from(has_signs))));
        if has_signs {
            lines.extend(layout.cut("* has marks, which --full names."));
        }
    }
    lines.push(String::new());
    lines.extend(everything);
    lines.join("\n") + "\n"
}

/// Writes several runs as one HTML page that needs nothing else: no network and no other file. It
/// ends with a newline.
#[must_use]
pub fn page(reports: &[Run]) -> String {
    let mut overview = comparison_blocks(reports);
    let runs = reports.iter().map(|report| &report.shown_as);
    let runs = runs.map(|run| quoted(&run.to_string_lossy()));
    let words = ["trueput", "report"].map(str::to_owned).into_iter();
    let to_file = ["--html", "page.html"].map(str::to_owned);
    overview.push(Block::Text("This page again:".to_owned()));
    overview.push(Block::Command(words.chain(runs).chain(to_file).collect()));
    html::multi_run::render(reports, &title(reports), &overview)
}

fn title(reports: &[Run]) -> String {
    format!("{} runs side by side", reports.len())
}

/// The runs, and the rates of each contender in each of them.
fn comparison_blocks(reports: &[Run]) -> Vec<Block> {
    let runs = (1..).zip(reports);
    let runs = runs.map(|(number, report)| format!("run {number}: {}", described(report)));
    let mut blocks = vec![Block::List(runs.collect())];
    if let Some(table) = Block::Table(side_by_side(reports)).filled() {
        blocks.extend([Block::Text(SIDE_BY_SIDE.to_owned()), table]);
    }
    blocks
}

fn document(reports: &[Run], charts: Charts) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, format!("trueput: {}", title(reports)))];
    blocks.extend(comparison_blocks(reports));
    for report in reports {
        blocks.extend(sections::document(report, charts));
    }
    blocks
}

fn described(report: &Run) -> String {
    let host = &report.manifest.host;
    let models = storage_words::models_of(report);
    let models = models.map_or_else(String::new, |models| format!(" (storage models: {models})"));
    format!(
        "{}: {} on {}, {}, {} cores, {}{models}; {}, started {}",
        report.shown_as.display(),
        report.manifest.name,
        host.host_name,
        host.cpu_model,
        host.cores,
        host.file_system.kind,
        host.kernel,
        report.manifest.started_at
    )
}

/// A unique name for a contender.
fn name(of: &ContenderRuns) -> String {
    let contender = of.contender.to_string();
    let workers = counted(u64::from(of.workers), "worker");
    let mut name = format!("{contender}, {}, {}, {workers}", of.workload, of.durability);
    let settings = of.distinction.iter();
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    for setting in settings.filter(|setting| !contender.contains(setting)) {
        name += &format!(", {setting}");
    }
    name
}

fn side_by_side(reports: &[Run]) -> Table {
    let contenders = contender_runs(reports).into_iter();
    let rates = contenders.flat_map(|contender| {
        let name = name(&contender);
        let rates = contender.rates.into_iter();
        rates.map(move |rate| (name.clone(), rate))
    });
    let rates: Vec<_> = rates.collect();
    Table::of(&rates)
        .text("contender", 0, |(name, _)| name)
        .text("run", 0, |(_, rate)| {
            format!("{} ({})", rate.run + 1, rate.point.host)
        })
        .figures("mean per second", 0, |(_, rate)| number(rate.point.per_s))
        .figures("of the first", 0, |(_, rate)| per_cent(rate.of_first))
        // Some engines report a version with a date and a hash.
        .text("version", 2, |(_, rate)| &rate.point.version)
        .build()
}
