//! docs/DURABILITY.md and docs/ISOLATION.md agree with the drivers.

use std::collections::BTreeSet;
use std::path::Path;
use trueput_engine::{Durability, Engine, Isolation, isolation, parameter};
use trueput_record::value::Settings;

const TABLE: &str = include_str!("../../../../docs/DURABILITY.md");

/// The cells of the table under a heading, the rows of names and dashes left out.
fn cells(heading: &str) -> Vec<Vec<&'static str>> {
    let section = TABLE
        .split("\n## ")
        .find(|section| section.starts_with(heading));
    let rows = section
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("| "));
    rows.skip(1)
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn the_table_says_why_of_every_level_that_an_engine_has_not() {
    let reasons = cells("Levels that an engine does not have");
    let mut wrong = Vec::new();
    for engine in trueput::registry().engines {
        let name = engine.info().name;
        for durability in Durability::ALL {
            let levels = |row: &Vec<&str>| row[1].split(", ").any(|word| word == durability.name());
            let rows = reasons
                .iter()
                .filter(|row| row[0] == name && levels(row))
                .count();
            if rows != usize::from(engine.promise(durability).is_none()) {
                wrong.push(format!("{name} at {durability}: {rows} rows"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/DURABILITY.md, 'Levels that an engine does not have', needs one row for each level \
         without a promise and none for others: {wrong:#?}"
    );
}

#[test]
fn the_levels_survive_what_the_table_says() {
    for level in Durability::ALL {
        let (killed, power) = (level.after_killed_processes(), level.after_lost_power());
        let row = format!("`{level}` | {killed} | {power}");
        assert!(
            TABLE.lines().any(|line| line == row),
            "docs/DURABILITY.md lacks {row}"
        );
    }
}

const ISOLATION: &str = include_str!("../../../../docs/ISOLATION.md");

/// The first columns of the rows that the table of docs/ISOLATION.md must have for an engine,
/// except its version: settings, and the isolation stated for them.
fn isolation_rows(engine: &dyn Engine) -> Vec<[String; 3]> {
    let name = engine.info().name;
    let first = Durability::ALL
        .into_iter()
        .find(|level| engine.promise(*level).is_some());
    let row = |settings: Settings| {
        let knobs = parameter::resolve(name, engine.knobs(), &settings).ok()?;
        engine.promise_with(first?, &knobs).ok()?;
        let words: Vec<_> = settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let stated = engine.isolation(&knobs).map_or("nothing", Isolation::name);
        Some([name.to_owned(), words.join("<br>"), stated.to_owned()])
    };
    isolation::settings(engine)
        .into_iter()
        .filter_map(row)
        .collect()
}

#[test]
fn the_table_of_isolation_has_every_engine_with_what_it_states() {
    let observed = ISOLATION.split("\n## Observations of the suite").nth(1);
    let rows = observed.unwrap_or_default().lines();
    let rows = rows.filter(|line| line.starts_with("| ")).skip(1);
    let found: Vec<[String; 3]> = rows
        .map(|row| {
            let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [name, settings, stated] =
                [0, 2, 3].map(|index| cells.get(index).copied().unwrap_or_default());
            // A build that is named by its file states what its engine does.
            let name = name.split('@').next().unwrap_or_default();
            [name, settings, stated].map(str::to_owned)
        })
        .collect();
    let engines = trueput::registry().engines.iter();
    // What is behind a data source is known only where one is named.
    let engines = engines.filter(|engine| !engine.requires_address());
    let expected: Vec<_> = engines.flat_map(|engine| isolation_rows(*engine)).collect();
    let plugins = stated_by_plugins();
    let is_of_plugin = |row: &[String; 3]| plugins.iter().any(|(name, _)| *name == row[0]);
    let (of_plugins, found): (Vec<_>, Vec<_>) = found.into_iter().partition(is_of_plugin);
    let of_plugins = of_plugins
        .into_iter()
        .map(|[name, _, stated]| (name, stated));
    assert_eq!(of_plugins.collect::<BTreeSet<_>>(), plugins);
    let missing: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
    assert!(missing.is_empty(), "not in docs/ISOLATION.md: {missing:#?}");
    let unknown: Vec<_> = found.iter().filter(|row| !expected.contains(row)).collect();
    assert!(unknown.is_empty(), "no driver states it: {unknown:#?}");
}

/// The names of the plug-ins in engines/, with the levels of isolation that each states.
fn stated_by_plugins() -> BTreeSet<(String, String)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../engines"));
    let mut stated = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        // The folders without a README serve measurements and tests.
        let text = std::fs::read_to_string(entry.path().join("description.json"));
        let (Ok(text), true) = (text, entry.path().join("README.md").exists()) else {
            continue;
        };
        // That of the template has placeholders.
        let Ok(description) = serde_json::from_str::<serde_json::Value>(&text) else {
            continue;
        };
        let name = description["name"].as_str().unwrap();
        for rule in description["isolation"].as_array().unwrap() {
            stated.insert((name.to_owned(), rule["level"].as_str().unwrap().to_owned()));
        }
    }
    assert!(stated.len() > 10, "{stated:?}");
    stated
}
