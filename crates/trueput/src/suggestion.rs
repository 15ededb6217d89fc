//! Suggests a workload's setting in place of an unknown option.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use trueput_engine::{Parameter, ValueKind};
use trueput_record::suggest::same_setting;
use trueput_runner::Registry;
use trueput_workloads::Workload;

/// The message for an unknown option that has the name of a workload's setting: `pacing is a
/// setting of tpcc: --set pacing=tpc`. `words` are those of the command line.
pub fn of_setting(error: &clap::Error, words: &[String], registry: &Registry) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let given = option.strip_prefix("--")?.replace('-', "_");
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    // The workload that is named on the command line knows best.
    let (named, others): (Vec<&dyn Workload>, Vec<_>) = registry
        .workloads
        .iter()
        .copied()
        .partition(|workload| words.iter().any(|word| word == workload.info().name));
    let by_name = |workload: &&dyn Workload| {
        let setting = workload.settings().iter().find(|one| one.name == given)?;
        Some((workload.info().name, setting, ""))
    };
    let by_meaning = |workload: &&dyn Workload| {
        let settings = workload.settings();
        let same = same_setting(&given, settings.iter().map(|setting| setting.name))?;
        let setting = settings.iter().find(|setting| setting.name == same.name)?;
        Some((workload.info().name, setting, same.note))
    };
    let known = named.iter().find_map(by_name);
    let known = known.or_else(|| named.iter().find_map(by_meaning));
    let (workload, setting, note) = known.or_else(|| others.iter().find_map(by_name))?;
    let name = setting.name;
    // A setting with a note takes another value than the user gave.
    let (value, note) = match (value(option, words), note) {
        (Some(text), "") => (fit(text, setting), String::new()),
        (None, "") => ("VALUE".to_owned(), String::new()),
        (_, note) => ("VALUE".to_owned(), format!(" ({note})")),
    };
    Some(format!(
        "unexpected argument '{option}' found; tip: {name} is a setting of {workload}{note}: \
         --set {name}={value}"
    ))
}

/// The value given to an option.
fn value<'w>(option: &str, words: &'w [String]) -> Option<&'w str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(option) {
            Some("") => {
                let next = words.next()?;
                return (!next.starts_with('-')).then_some(next);
            }
            Some(rest) if rest.starts_with('=') => return rest.strip_prefix('='),
            _ => {}
        }
    }
    None
}

/// A value in the syntax of the setting: a choice of several words joins them with `+`.
fn fit(text: &str, setting: &Parameter) -> String {
    let joined = text.replace(',', "+");
    match setting.kind {
        ValueKind::Choice { choices, .. } if choices.contains(&joined.as_str()) => joined,
        _ => text.to_owned(),
    }
}
