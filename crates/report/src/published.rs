//! A published table as a report: the table, its source, its caveats, and the nearest plan on this
//! machine.

use crate::document::{Block, Column, Table};
use crate::formats::{Format, Style};
use crate::formats::{csv, markdown, terminal};
use trueput_findings::published::format_cell;
use trueput_record::published::{Cell, ColumnKind, Experiment, PublishedTable};

/// Writes a published table in a format. It ends with a newline. `workloads` are the names of this
/// program's workloads.
#[must_use]
pub fn render(
    published: &PublishedTable,
    workloads: &[&str],
    format: Format,
    style: Style,
) -> String {
    match format {
        Format::Terminal => terminal::render(&document(published, workloads), style),
        Format::Markdown => markdown::render(&document(published, workloads)),
        Format::Csv => csv(published),
        Format::Json => format!("{:#}\n", serde_json::json!(published)),
    }
}

/// The table as the blocks of a report.
#[must_use]
pub fn document(published: &PublishedTable, workloads: &[&str]) -> Vec<Block> {
    let source = &published.source;
    let mut blocks = vec![
        Block::Heading(1, published.title.clone()),
        Block::Table(table(published)),
        Block::Heading(2, "Source".to_owned()),
        Block::List(vec![
            format!("author: {}", source.author),
            format!("document: {}", source.document),
            format!("date: {}", source.date),
            format!("address: {}", source.address),
            format!("machine: {}", published.machine),
            format!("version: {}", published.version),
        ]),
        Block::Heading(2, "How it was measured".to_owned()),
        Block::List(published.conditions.clone()),
        Block::Heading(2, "Caveats".to_owned()),
        Block::List(published.caveats.clone()),
        Block::Heading(2, "Columns".to_owned()),
    ];
    let meaning =
        |column: &trueput_record::published::Column| format!("{}: {}", column.name, column.meaning);
    blocks.push(Block::List(published.columns.iter().map(meaning).collect()));
    blocks.push(Block::Heading(2, "The nearest experiment here".to_owned()));
    blocks.extend(experiment(&published.experiment, workloads));
    if workloads.contains(&published.experiment.workload.as_str()) {
        let text = "On this machine, at a scale for a small machine (1 is the document's size):";
        blocks.push(Block::Text(text.to_owned()));
        blocks.push(Block::Command(command(published)));
    }
    blocks
}

/// The command that runs the nearest experiment here, at a scale for a small machine.
#[must_use]
pub fn command(published: &PublishedTable) -> Vec<String> {
    let mut words = vec!["trueput".to_owned(), "run".to_owned()];
    words.push(format!("published/{}", published.id));
    words.push("--scale".to_owned());
    words.push(published.experiment.scale.to_string());
    words
}

fn experiment(experiment: &Experiment, workloads: &[&str]) -> Vec<Block> {
    let workload = &experiment.workload;
    let mut text = if !workloads.contains(&workload.as_str()) {
        format!("A workload {workload}, which this program does not have; its plan would set:")
    } else if experiment.plan.is_empty() {
        format!("The workload {workload}, with a plan that sets:")
    } else {
        format!(
            "The workload {workload}, with plans/{}.toml, in which it sets:",
            experiment.plan
        )
    };
    if !experiment.differs.is_empty() {
        text = format!("{} {text}", experiment.differs);
    }
    let setting = |setting: &trueput_record::published::Setting| {
        let values: Vec<_> = setting.values.iter().map(ToString::to_string).collect();
        format!("{} = {}", setting.name, values.join(", "))
    };
    let settings = experiment.settings.iter().map(setting).collect();
    vec![Block::Text(text), Block::List(settings)]
}

/// The table for people, with thousands separated. The first two and the last two columns are kept
/// in a narrow layout.
#[must_use]
pub fn table(published: &PublishedTable) -> Table {
    let last = published.columns.len().saturating_sub(2);
    let columns = published.columns.iter().enumerate();
    let columns = columns.map(|(index, column)| {
        let is_between = (2..last).contains(&index);
        let is_figure = column.kind != ColumnKind::Text;
        Column::new(&column.name, is_figure, u8::from(is_between))
    });
    let row = |row: &Vec<Cell>| row.iter().map(format_cell).collect();
    Table::new(columns.collect(), published.rows.iter().map(row).collect())
}

/// The table as CSV (RFC 4180): plain numbers, repeats with `;` between.
fn csv(published: &PublishedTable) -> String {
    let names = published.columns.iter().map(|column| column.name.clone());
    let mut text = line(names);
    for row in &published.rows {
        text.push_str(&line(row.iter().map(ToString::to_string)));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.map(|cell| csv::quoted(&cell)).collect();
    cells.join(",") + "\r\n"
}
