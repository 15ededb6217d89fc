//! What is not the same here and there.

use super::trial::Trials;
use crate::Run;
use crate::units::bytes;
use std::collections::BTreeMap;
use trueput_record::published::{Column, PublishedTable, Setting};

/// As [`differs`], of the trials of a report that were given one of the values of each of `only`.
pub fn of_report(published: &PublishedTable, report: &Run, only: &[Setting]) -> Vec<String> {
    let here = &report.manifest.host.file_system.kind;
    let workload = &published.experiment.workload;
    let trials = Trials::of(&report.trials, workload, only, here);
    differs(published, report, &trials, &BTreeMap::new())
}

/// The machine, the versions, and everything that the published experiment set and ours set
/// otherwise, a point each. Of the dimensions in `scaled` that says what is beside what.
pub(super) fn differs(
    published: &PublishedTable,
    report: &Run,
    trials: &Trials<'_>,
    scaled: &BTreeMap<String, String>,
) -> Vec<String> {
    let host = &report.manifest.host;
    let mut points = vec![
        format!(
            "machine: here {}, {} cores, {} of memory, {}; there {}",
            host.cpu_model,
            host.cores,
            bytes(host.memory_bytes as f64),
            host.kernel,
            published.machine
        ),
        format!(
            "version: here {}; there {}",
            versions(trials),
            published.version
        ),
    ];
    // Knobs that the table has columns for stand in each of its rows.
    let in_rows = |setting: &&Setting| {
        let of_it = |column: &Column| column.ours.as_ref() == Some(&setting.name);
        setting.name.starts_with("knobs.") && published.columns.iter().any(of_it)
    };
    let settings = published.experiment.settings.iter();
    let settings = settings.filter(|setting| !in_rows(setting));
    points.extend(settings.filter_map(|setting| {
        let beside = scaled.get(&setting.name).cloned();
        beside.or_else(|| otherwise(setting, trials))
    }));
    let made = |trial: &&trueput_record::TrialRecord| {
        let on = trial.file_system.as_ref();
        on.is_some_and(|on| on.image_bytes.is_some())
    };
    if trials.all.iter().any(made) {
        points.push(
            "file systems: here each in an image file on a loop device, made for its trial"
                .to_owned(),
        );
    }
    if !published.experiment.differs.is_empty() {
        points.push(published.experiment.differs.trim().to_owned());
    }
    points
}

fn versions(trials: &Trials<'_>) -> String {
    let mut versions: Vec<&str> = Vec::new();
    for engine in trials.all.iter().filter_map(|trial| trial.engine.as_ref()) {
        if !versions.contains(&engine.version.as_str()) {
            versions.push(&engine.version);
        }
    }
    match versions.is_empty() {
        true => "unknown".to_owned(),
        false => versions.join(", "),
    }
}

/// A dimension in which ours has a value that the published experiment had not.
fn otherwise(setting: &Setting, trials: &Trials<'_>) -> Option<String> {
    let here = trials.values(&setting.name);
    let there: Vec<_> = setting.values.iter().map(ToString::to_string).collect();
    if setting.name == "filesystem" || here.iter().all(|value| there.contains(value)) {
        return None;
    }
    let listed = |values: &[String]| values.join("; ");
    let name = setting.name.rsplit('.').next().unwrap_or(&setting.name);
    Some(format!(
        "{name}: here {}; there {}",
        listed(&here),
        listed(&there)
    ))
}
