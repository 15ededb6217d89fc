//! The engines in a hundred columns: which builds are here, and at which levels.

use super::{EngineListing, LibraryListing, isolation, short, workers};
use trueput_engine::Isolation;
use trueput_report::document::{Block, Column, Table};

/// A longer version is cut at its first hyphen, where a distribution's suffix begins.
const LONGEST_VERSION: usize = 12;

/// The installed builds in a table, the unusable ones, and the names of those that could be
/// installed.
pub(super) fn overview(listed: &[EngineListing]) -> Vec<Block> {
    let columns = vec![
        Column::text("engine", 0),
        Column::text("version", 0),
        Column::text("workers", 3),
        Column::text("durability", 1),
        Column::text("isolation", 2),
        Column::text("build", 4),
    ];
    let rows = listed.iter().flat_map(|engine| {
        let usable = engine.builds.iter().filter(|found| found.build.is_ok());
        usable.filter_map(|found| row(engine, found))
    });
    let rows = rows.collect();
    let mut blocks = vec![Block::Table(Table::new(columns, rows))];
    let unusable: Vec<_> = listed.iter().flat_map(unusable).collect();
    if !unusable.is_empty() {
        blocks.push(Block::Warnings(unusable));
    }
    let clusters = listed
        .iter()
        .filter(|listed| listed.engine.cluster().is_some());
    let clusters: Vec<&str> = clusters.map(|listed| listed.engine.info().name).collect();
    if !clusters.is_empty() {
        let names = clusters.join(", ");
        let text = format!("Clusters, run only where they are named: {names} (docs/CLUSTERS.md).");
        blocks.push(Block::Text(text));
    }
    let absent: Vec<_> = listed
        .iter()
        .flat_map(EngineListing::to_install)
        .map(|(title, _)| title)
        .collect();
    let audited = listed.iter().flat_map(|engine| &engine.builds);
    if !audited.flat_map(|build| &build.audits).any(|_| true) {
        let text = "No level was audited here: \"trueput audit\" tests promises.";
        blocks.push(Block::Text(text.to_owned()));
    }
    let rest = match absent.is_empty() {
        true => {
            "--full shows the libraries' paths. ENGINE@PATH names a build of your own.".to_owned()
        }
        false => format!(
            "Not here: {}. --full shows how to install them, and the libraries' paths. ENGINE@PATH \
             names a build of your own.",
            absent.join(", ")
        ),
    };
    blocks.push(Block::Text(rest));
    blocks
}

fn row(listed: &EngineListing, found: &LibraryListing) -> Option<Vec<String>> {
    let engine = listed.engine;
    let build = found.build.as_ref().ok()?;
    let kind = match (&found.library, build.assertions) {
        (_, Some(true)) => "assertions",
        (Some(_), _) => "library",
        (None, _) => "compiled in",
    };
    Some(vec![
        engine.info().name.to_owned(),
        number(&build.version).to_owned(),
        workers(engine).to_owned(),
        found.levels.clone(),
        isolation(engine)
            .map_or("not stated", Isolation::name)
            .to_owned(),
        kind.to_owned(),
    ])
}

/// A version without the suffix of a distribution.
fn number(version: &str) -> &str {
    let version = short(version);
    match version.split_once('-') {
        Some((number, _)) if version.len() > LONGEST_VERSION => number,
        _ => version,
    }
}

fn unusable(listed: &EngineListing) -> Vec<String> {
    let name = listed.engine.info().name;
    let said = listed.builds.iter().filter_map(|found| {
        let why = found.build.as_ref().err()?;
        Some(format!("{name}: unusable: {why}"))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_shown_without_what_a_distribution_added() {
        assert_eq!(number("10.11.19-MariaDB-0+deb12u1"), "10.11.19");
        assert_eq!(number("7.0-005"), "7.0-005");
    }
}
