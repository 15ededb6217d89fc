//! The cost of a step: promises, and what drivers and workloads say of their knobs.

use crate::Run;
use crate::published::given_up;
use crate::units::{bytes, number, thousands};
use trueput_record::trial::Settings;
use trueput_record::{TrialRecord, TrialSpec, Window};

/// What the second trial's settings give up over the first one's, a sentence each. Nothing is made
/// up: where neither the level nor a driver says anything, the list is empty.
pub(super) fn of(
    report: &Run,
    before: &TrialSpec,
    after: &TrialSpec,
    trials: &[&TrialRecord],
) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(lost_promises) = given_up(before.durability, after.durability) {
        let mut sentence = format!(
            "durability {} instead of {}: {lost_promises}",
            after.durability, before.durability
        );
        let opened = trials.iter().find_map(|trial| trial.engine.as_ref());
        if let Some(window) = opened.and_then(|engine| engine.promise.window.as_ref()) {
            sentence += &format!("; can be lost: {}", lost(window));
        }
        sentences.push(sentence);
    }
    let mut told = |owner: &str, before: &Settings, after: &Settings| {
        for (name, value) in after {
            if before.get(name) == Some(value) {
                continue;
            }
            let said = report.manifest.costs.get(&format!("{owner}.{name}"));
            if let Some(said) = said.filter(|said| !said.is_empty()) {
                sentences.push(format!("{name} {value}: {said}"));
            }
        }
    };
    told(&after.engine, &before.knobs, &after.knobs);
    told(&after.workload, &before.settings, &after.settings);
    if before.conditions.log_file_system != after.conditions.log_file_system {
        sentences.push("the log's file system: one more device that can fail".to_owned());
    }
    sentences
}

/// How much a level can lose, in words.
pub fn lost(window: &Window) -> String {
    let mut bounds = Vec::new();
    bounds.extend(window.time_s.map(|time_s| format!("{} s", number(time_s))));
    bounds.extend(window.bytes.map(|size| bytes(size as f64)));
    bounds.extend(window.commits.map(|commits| {
        if commits == 1 {
            "1 commit".to_owned()
        } else {
            format!("{} commits", thousands(commits))
        }
    }));
    bounds.push(format!("until {}", window.until));
    bounds.join(", ")
}
