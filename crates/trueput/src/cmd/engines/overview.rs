//! The engines in a hundred columns: which builds are here, and at which levels.

use super::{EngineListing, LibraryListing, isolation, short, workers};
use crate::bundled_sources;
use trueput_engine::{Engine, Isolation};
use trueput_findings::audits::AuditState;
use trueput_report::document::{Block, Column, Table};

/// A longer version is cut at its first hyphen, where a distribution's suffix begins.
const MAX_VERSION: usize = 12;

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
    let absent: Vec<_> = listed
        .iter()
        .flat_map(EngineListing::to_install)
        .map(|(title, _)| title)
        .collect();
    let audited: Vec<_> = listed.iter().flat_map(audits).collect();
    if audited.is_empty() {
        let text = "No level was audited here: \"trueput audit\" tests promises.";
        blocks.push(Block::Text(text.to_owned()));
    } else {
        blocks.push(Block::Text(
            "Audits, with the states of each model:".to_owned(),
        ));
        blocks.push(Block::List(audited));
    }
    let rest = if absent.is_empty() {
        "--full shows the libraries' paths. ENGINE@PATH names a build of your own.".to_owned()
    } else {
        format!(
            "Not here: {}. --full shows how to install them, and the libraries' paths. ENGINE@PATH \
             names a build of your own.",
            absent.join(", ")
        )
    };
    blocks.push(Block::Text(rest));
    blocks.extend(closing(listed));
    blocks
}

/// What else there is: the clusters, and the plug-ins that could be installed.
pub(super) fn closing(listed: &[EngineListing]) -> Vec<Block> {
    let clusters = listed
        .iter()
        .filter(|listed| listed.engine.cluster().is_some());
    let clusters: Vec<&str> = clusters.map(|listed| listed.engine.info().name).collect();
    let clusters = (!clusters.is_empty()).then(|| {
        let names = clusters.join(", ");
        format!("Clusters, run only where they are named: {names} (docs/CLUSTERS.md).")
    });
    let lines = clusters.into_iter().chain(plugins_to_install(listed));
    lines.map(Block::Text).collect()
}

/// The plug-ins that come with trueput and are not installed.
fn plugins_to_install(listed: &[EngineListing]) -> Option<String> {
    let is_here = |name: &str| listed.iter().any(|one| one.engine.info().name == name);
    let names = bundled_sources::plugin_names().into_iter();
    let absent: Vec<_> = names.filter(|name| !is_here(name)).collect();
    (!absent.is_empty()).then(|| {
        let names = absent.join(", ");
        format!("Plug-ins, built by \"trueput engines install NAME\": {names}.")
    })
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
        label(engine, found),
        number(&build.version).to_owned(),
        workers(engine).to_owned(),
        found.noted_levels(refuted),
        isolation(engine)
            .map_or("not stated", Isolation::name)
            .to_owned(),
        kind.to_owned(),
    ])
}

/// The engine's name, and in brackets that of a relative: `rocksdb (Speedb)`.
fn label(engine: &dyn Engine, found: &LibraryListing) -> String {
    let info = engine.info();
    let path = found.library.as_ref().map(|path| path.to_string_lossy());
    let mut known = engine.installable_builds().iter();
    let build = path.and_then(|path| known.find(|build| path.contains(build.path)));
    // The title of a mere version begins with the engine's.
    let relative = build.filter(|build| !build.title.starts_with(info.title));
    relative.map_or_else(
        || info.name.to_owned(),
        |build| format!("{} ({})", info.name, build.title),
    )
}

/// A refutation, which is said beside the level. Other audits have lines of their own.
fn refuted(state: &AuditState) -> Option<String> {
    matches!(state, AuditState::Refuted { .. }).then(|| "REFUTED".to_owned())
}

/// The audits of each build, a line each: `lmdb 0.9.70: sync (kill 30, journal 417)`.
fn audits(listed: &EngineListing) -> Vec<String> {
    let name = listed.engine.info().name;
    let line = |found: &LibraryListing| {
        let version = number(&found.build.as_ref().ok()?.version);
        let states = found.audits.iter();
        let states: Vec<_> = states
            .map(|(level, state)| format!("{level} ({state})"))
            .collect();
        (!states.is_empty()).then(|| format!("{name} {version}: {}", states.join(", ")))
    };
    listed.builds.iter().filter_map(line).collect()
}

/// A version without the suffix of a distribution.
fn number(version: &str) -> &str {
    let version = short(version);
    match version.split_once('-') {
        Some((number, _)) if version.len() > MAX_VERSION => number,
        _ => version,
    }
}

fn unusable(listed: &EngineListing) -> Vec<String> {
    let name = listed.engine.info().name;
    let said = listed.builds.iter().filter_map(|found| {
        let reason = found.build.as_ref().err()?;
        Some(format!("{name}: unusable: {reason}"))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::{Build, Durability};
    use trueput_findings::audits::TriedStates;
    use trueput_record::audit::StorageModel;
    use trueput_report::{Style, render_with};

    #[test]
    fn a_version_is_shown_without_what_a_distribution_added() {
        assert_eq!(number("10.11.19-MariaDB-0+deb12u1"), "10.11.19");
        assert_eq!(number("7.0-005"), "7.0-005");
    }

    #[test]
    fn audits_are_below_the_table_and_cost_it_no_column() {
        let registry = crate::registry();
        let mut engines = registry.engines.iter();
        let engine = *engines.find(|one| one.info().name == "lmdb").unwrap();
        let levels = super::super::levels(engine);
        let tried = |file_system: Option<&str>| TriedStates {
            model: StorageModel::Journal,
            file_system: file_system.map(str::to_owned),
            states: 1_058,
            refuted: 0,
        };
        let listing = |audits| EngineListing {
            engine,
            builds: vec![LibraryListing {
                library: None,
                build: Ok(Build {
                    version: "0.9.70".to_owned(),
                    library: None,
                    assertions: None,
                }),
                audits,
                levels: levels.clone(),
            }],
            missing: None,
        };
        let drawn = |audits| {
            let blocks = overview(&[listing(audits)]);
            let style = Style {
                width: Some(80),
                ..Style::default()
            };
            render_with(&blocks, style, "--full")
        };
        let not_refuted = AuditState::NotRefuted {
            states: 2_116,
            models: vec![tried(None), tried(Some("ext4"))],
            refuted_by: Vec::new(),
        };
        let refuted = AuditState::Refuted {
            refuted: 13,
            states: 785,
            models: vec![StorageModel::Journal],
        };
        let header = |text: &str| text.lines().next().unwrap().split_whitespace().count();
        let kept = drawn(vec![(Durability::Sync, not_refuted.clone())]);
        assert_eq!(header(&kept), header(&drawn(Vec::new())), "{kept}");
        let audited = drawn(vec![
            (Durability::Sync, not_refuted),
            (Durability::Async, refuted),
        ]);
        assert!(
            audited.contains("  sync, async (REFUTED), process  "),
            "{audited}"
        );
        let words = audited.split_whitespace().collect::<Vec<_>>().join(" ");
        let states = "- lmdb 0.9.70: sync (journal 1,058; in the block form on ext4: journal \
                      1,058), async (REFUTED in 13 of 785)";
        assert!(words.contains(states), "{audited}");
    }
}
