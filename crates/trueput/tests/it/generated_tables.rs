//! The tables of documents that list declarations are made from the declarations.
//!
//! Each is between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. A stale one fails the test;
//! with `TRUEPUT_DOCS=write` in the environment the test rewrites it.

use std::path::Path;
use trueput_engine::{Durability, Parameter, Window};
use trueput_findings::contender::version_number;
use trueput_record::Survival;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::ModelStanding;
use trueput_record::conditions::{CONDITIONS, Form};
use trueput_record::parameter::ValueKind;
use trueput_record::published::all;
use trueput_workloads::Workload;

/// A table of a document.
struct DocumentTable {
    document: String,
    name: &'static str,
    text: String,
}

fn tables() -> Vec<DocumentTable> {
    let of = |document: &str, name, text| DocumentTable {
        document: document.to_owned(),
        name,
        text,
    };
    let audits = published_audits();
    let mut tables = vec![
        of("docs/COMMANDS.md", "conditions", conditions()),
        of("docs/PUBLISHED.md", "published", published()),
        of("docs/ENGINES.md", "engines", engines()),
        of("docs/DURABILITY.md", "promises", promises(&audits)),
        of("docs/AUDIT.md", "audits", results(&audits)),
        of("docs/KNOBS.md", "knobs", knobs()),
        of("docs/TUNING.md", "presets", presets()),
    ];
    tables.extend(trueput::registry().workloads.iter().map(|workload| {
        let document = format!("docs/workloads/{}.md", workload.info().name);
        of(&document, "settings", settings(*workload))
    }));
    tables
}

/// A table in Markdown; a bar in a cell is escaped.
fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heads.iter().map(ToString::to_string).collect());
    text.push_str(&format!("|{}\n", "---|".repeat(heads.len())));
    for row in rows {
        text.push_str(&line(
            row.iter().map(|cell| cell.replace('|', "\\|")).collect(),
        ));
    }
    text
}

fn presets() -> String {
    let of_engine = |engine: &'static str| {
        let presets = trueput_tuner::presets::presets(engine).unwrap();
        presets.into_iter().map(move |preset| {
            let values: Vec<_> = preset.stated_values().collect();
            let source = if preset.url.starts_with("http") {
                format!("[{}]({})", preset.title, preset.url)
            } else {
                format!("{} ([table](../{}))", preset.title, preset.url)
            };
            let engine = format!("`{engine}`");
            let name = format!("`{}`", preset.name);
            vec![engine, name, values.join("; "), source, preset.says]
        })
    };
    let heads = ["engine", "preset", "values", "source", "it says"];
    table(
        &heads,
        trueput_tuner::presets::engines().flat_map(of_engine),
    )
}

fn conditions() -> String {
    let rows = CONDITIONS.iter().map(|condition| {
        let name = condition.parameter.name.replace('_', "-");
        let option = format!("--{name} {}", condition.value_name);
        let many = match condition.form {
            Form::One => "one",
            Form::Dimension => "a list in a plan",
            Form::List(_) => "a list",
        };
        let mut row = vec![format!("`{}`", option.trim_end())];
        row.extend(parameter(&condition.parameter));
        row.insert(4, many.to_owned());
        row
    });
    let heads = [
        "option",
        "key in a plan",
        "default",
        "values",
        "how many",
        "meaning",
    ];
    table(&heads, rows)
}

fn published() -> String {
    let tables = all().unwrap();
    let rows = tables.iter().map(|table| {
        vec![
            format!("`{}`", table.id),
            table.source.document.clone(),
            table.year().map_or(String::new(), |year| year.to_string()),
            table.rows.len().to_string(),
            table.title.clone(),
        ]
    });
    table(
        &["table", "document", "year", "rows", "what was measured"],
        rows,
    )
}

fn engines() -> String {
    let heads = ["engine", "workers", "writers"];
    let levels = Durability::ALL.map(Durability::name);
    let rows = trueput::registry().engines.iter().map(|engine| {
        let capabilities = engine.capabilities();
        let workers = if capabilities.several_processes {
            "processes"
        } else {
            "threads"
        };
        let writers = if capabilities.concurrent_writers {
            "overlapping"
        } else {
            "one at a time"
        };
        let levels = Durability::ALL.map(|level| match engine.promise(level) {
            Some(_) => "yes".to_owned(),
            None => "–".to_owned(),
        });
        let mut row = vec![engine.info().name.to_owned()];
        row.extend(levels);
        row.extend([workers.to_owned(), writers.to_owned()]);
        row
    });
    table(&[&heads[..1], &levels, &heads[1..]].concat(), rows)
}

/// The audit of an engine at a level with default knobs that the documents show:
/// `scripts/collect-audits` writes it.
struct PublishedAudit {
    contender: String,
    version: String,
    durability: Durability,
    models: Vec<ModelStanding>,
}

fn published_audits() -> Vec<PublishedAudit> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audits.json");
    let text = std::fs::read_to_string(path).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let read = |audit: serde_json::Value| PublishedAudit {
        contender: audit["contender"].as_str().unwrap().to_owned(),
        version: audit["version"].as_str().unwrap().to_owned(),
        durability: serde_json::from_value(audit["durability"].clone()).unwrap(),
        models: serde_json::from_value(audit["models"].clone()).unwrap(),
    };
    list.into_iter().map(read).collect()
}

/// The states of a model: `785`, or `**13** of 785` if 13 of them refuted the promise.
fn states(model: &ModelStanding) -> String {
    match model.refuted {
        0 => model.states.to_string(),
        refuted => format!("**{refuted}** of {}", model.states),
    }
}

fn results(audits: &[PublishedAudit]) -> String {
    let rows = audits.iter().map(|audit| {
        let version = version_number(&audit.version);
        let mut row = vec![
            format!("{} {version}", audit.contender),
            audit.durability.to_string(),
        ];
        row.extend(StorageModel::ALL.map(|model| {
            let mut models = audit.models.iter();
            models
                .find(|it| it.model == model)
                .map_or_else(String::new, states)
        }));
        row
    });
    let models = StorageModel::ALL.map(StorageModel::name);
    table(&[&["engine", "level"], &models[..]].concat(), rows)
}

/// The states behind a promise: `1096`, or those of the models that refuted it. Killed processes
/// count where the level promises nothing for lost power. Of several versions, the one with the
/// most states is shown.
fn audited(audits: &[PublishedAudit], engine: &str, level: Durability) -> String {
    let of_promise = audits.iter();
    let found = of_promise.filter(|it| it.contender == engine && it.durability == level);
    let needs_cut = level.after_lost_power() != Survival::Nothing;
    let count = |it: &PublishedAudit| {
        let models = it.models.iter();
        let counted = models.filter(|model| model.model.loses_power() == needs_cut);
        counted.map(|model| model.states).sum::<u64>()
    };
    let is_complete = |it: &&PublishedAudit| {
        let mut models = it.models.iter();
        !needs_cut || models.any(|model| model.model == StorageModel::Journal)
    };
    let Some(audit) = found.filter(is_complete).max_by_key(|it| count(it)) else {
        return "no".to_owned();
    };
    let refuted = audit.models.iter().filter(|model| model.refuted > 0);
    let refuted: Vec<_> = refuted
        .map(|model| format!("{}: {}", model.model, states(model)))
        .collect();
    let all = count(audit);
    if refuted.is_empty() {
        all.to_string()
    } else {
        format!("{all}; {}", refuted.join(", "))
    }
}

fn promises(audits: &[PublishedAudit]) -> String {
    let rows = trueput::registry().engines.iter().flat_map(|engine| {
        let promises = Durability::ALL.into_iter().filter_map(move |level| {
            let promise = engine.promise(level)?;
            Some(vec![
                engine.info().name.to_owned(),
                level.name().to_owned(),
                format!("`{}`", promise.mapped_to),
                promise.window.as_ref().map_or("-".to_owned(), window),
                audited(audits, engine.info().name, level),
                promise.source,
            ])
        });
        promises.collect::<Vec<_>>()
    });
    let heads = ["engine", "level", "settings", "window", "audited", "source"];
    table(&heads, rows)
}

fn window(window: &Window) -> String {
    let time = window.time_s.map(|time_s| format!("{time_s} s"));
    let bytes = window.bytes.map(|bytes| format!("{bytes} bytes"));
    let commits = window.commits.map(|commits| match commits {
        1 => "1 commit".to_owned(),
        _ => format!("{commits} commits"),
    });
    let until = Some(format!("until {}", window.until));
    let parts = [time, bytes, commits, until].into_iter().flatten();
    parts.collect::<Vec<_>>().join(", ")
}

/// A section for each engine that has knobs.
fn knobs() -> String {
    let engines = trueput::registry().engines;
    let with_knobs = engines.iter().filter(|engine| !engine.knobs().is_empty());
    let sections = with_knobs.map(|engine| {
        let rows = engine.knobs().iter().map(|knob| {
            let mut row = parameter(knob);
            row.push(knob.cost.to_owned());
            row
        });
        let heads = [
            "knob",
            "default",
            "values",
            "meaning",
            "cost of another value",
        ];
        format!("## {}\n\n{}", engine.info().name, table(&heads, rows))
    });
    let sections: Vec<_> = sections.collect();
    sections.join("\n").trim_end().to_owned() + "\n"
}

fn settings(workload: &dyn Workload) -> String {
    let settings = workload.settings();
    let has_costs = settings.iter().any(|setting| !setting.cost.is_empty());
    let rows = settings.iter().map(|setting| {
        let mut row = parameter(setting);
        row.extend(has_costs.then(|| setting.cost.to_owned()));
        row
    });
    let heads = [
        "setting",
        "default",
        "values",
        "meaning",
        "cost of another value",
    ];
    table(&heads[..heads.len() - usize::from(!has_costs)], rows)
}

/// A row about a parameter: name, default with its unit, values, meaning.
fn parameter(parameter: &Parameter) -> Vec<String> {
    let default = parameter.kind.default_text();
    let unit = match (parameter.kind, parameter.unit) {
        // A size and a duration have their own.
        (ValueKind::Bytes { .. } | ValueKind::Duration { .. }, _) | (_, "") => String::new(),
        (_, unit) => format!(" {unit}"),
    };
    vec![
        format!("`{}`", parameter.name),
        format!("{default}{unit}"),
        parameter.kind.range(),
        parameter.summary.to_owned(),
    ]
}

/// A document with the text between a table's marks replaced; `None` if it lacks the marks.
fn replaced(document: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- begin: {name} -->\n"),
        format!("<!-- end: {name} -->"),
    );
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{text}\n{end}{after}"))
}

#[test]
fn tables_of_documents_are_those_of_the_declarations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let writes = std::env::var("TRUEPUT_DOCS").is_ok_and(|wish| wish == "write");
    for DocumentTable {
        document: path,
        name,
        text,
    } in tables()
    {
        let document = std::fs::read_to_string(root.join(&path)).unwrap();
        let fresh = replaced(&document, name, &text);
        let fresh = fresh.unwrap_or_else(|| panic!("{path} has no marks of '{name}'"));
        if writes {
            std::fs::write(root.join(&path), fresh).unwrap();
        } else {
            assert!(
                fresh == document,
                "the table '{name}' of {path} is stale: run this test with TRUEPUT_DOCS=write"
            );
        }
    }
}

#[test]
fn a_stale_table_is_replaced_and_what_is_around_it_stays() {
    let document = "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n";
    let fresh = replaced(document, "x", "| new |\n").unwrap();
    assert_eq!(
        fresh,
        "a\n<!-- begin: x -->\n\n| new |\n\n<!-- end: x -->\nb\n"
    );
    assert_eq!(replaced(&fresh, "x", "| new |\n").unwrap(), fresh);
    assert_eq!(replaced("a\n", "x", ""), None);
}
