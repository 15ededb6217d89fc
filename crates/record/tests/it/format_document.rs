//! `docs/FORMAT.md` names every field that is written, and its examples can be read.

use crate::support::{self, end, manifest, record};
use serde_json::Value;
use std::collections::BTreeSet;
use trueput_record::folder::{RunEnd, RunManifest};
use trueput_record::{Outcome, TrialRecord};

const DOCUMENT: &str = include_str!("../../../../docs/FORMAT.md");

/// Maps whose keys are names of settings and results, not fields of the format.
const FREE_MAPS: [&str; 7] = [
    "settings",
    "knobs",
    "counters",
    "results",
    "headlines",
    "costs",
    "byte_knobs",
];

fn collect_fields(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                fields.insert(name.clone());
                if !FREE_MAPS.contains(&name.as_str()) {
                    collect_fields(member, fields);
                }
            }
        }
        Value::Array(members) => members
            .iter()
            .for_each(|member| collect_fields(member, fields)),
        _ => {}
    }
}

fn fields_of(value: impl serde::Serialize) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    collect_fields(
        &serde_json::to_value(value).unwrap_or_default(),
        &mut fields,
    );
    fields
}

/// The document's section of that heading, up to the next one of its level.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = document
        .find(heading)
        .map_or(document.len(), |at| at + heading.len());
    let rest = &document[start..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

fn missing(section: &str, fields: &BTreeSet<String>) -> Vec<String> {
    fields
        .iter()
        .filter(|field| !section.contains(&format!("`{field}`")))
        .cloned()
        .collect()
}

/// The first fenced block of JSON in a section.
fn example(section: &str) -> &str {
    let begun = section.split_once("```json\n").map_or("", |(_, rest)| rest);
    begun.split_once("```").map_or("", |(block, _)| block)
}

#[test]
fn every_field_of_every_file_is_described() {
    let failed = TrialRecord {
        outcome: Outcome::Failed {
            reason: String::new(),
            bad_input: true,
        },
        ..record()
    };
    let invalid = TrialRecord {
        outcome: Outcome::Invalid {
            reasons: Vec::new(),
        },
        ..record()
    };
    let mut trial = fields_of(record());
    trial.extend(fields_of(failed));
    trial.extend(fields_of(invalid));
    let files = [
        ("\n## run.json", fields_of(manifest())),
        ("\n## trials.jsonl", trial),
        ("\n## end.json", fields_of(end())),
    ];
    for (heading, fields) in files {
        let section = section(DOCUMENT, heading);
        // The fields of a trial's `spec` are described once, under run.json.
        let fields = match heading {
            "\n## trials.jsonl" => &fields - &fields_of(support::spec()),
            _ => fields,
        };
        assert_eq!(
            missing(section, &fields),
            Vec::<String>::new(),
            "in{heading}"
        );
    }
}

#[test]
fn a_field_that_is_not_described_is_found() {
    let fields = BTreeSet::from(["elapsed_s".to_owned(), "mood".to_owned()]);
    assert_eq!(missing("| `elapsed_s` | seconds |", &fields), ["mood"]);
}

#[test]
fn every_status_and_every_named_choice_is_described() {
    let choices = [
        "valid",
        "invalid",
        "failed",
        "interrupted",
        "processes",
        "threads",
        "full",
        "sample",
        "off",
        "sync",
        "async",
        "buffered",
        "process",
        "none",
    ];
    for choice in choices {
        assert!(DOCUMENT.contains(&format!("`{choice}`")), "{choice}");
    }
}

#[test]
fn the_documents_examples_can_be_read() {
    let run: RunManifest =
        serde_json::from_str(example(section(DOCUMENT, "\n## run.json"))).unwrap();
    let trial: TrialRecord =
        serde_json::from_str(example(section(DOCUMENT, "\n## trials.jsonl"))).unwrap();
    let end: RunEnd = serde_json::from_str(example(section(DOCUMENT, "\n## end.json"))).unwrap();
    assert_eq!(run.trials[0], trial.spec, "the examples are of one run");
    assert!(trial.is_rankable() && end.complete);
}

#[test]
fn the_document_states_the_format_that_is_written() {
    let version = format!("version {}", trueput_record::FORMAT_VERSION);
    assert!(
        DOCUMENT.contains(&version),
        "docs/FORMAT.md does not state {version}"
    );
}
