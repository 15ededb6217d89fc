//! Suggests a workload's setting in place of an unknown option.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use trueput_engine::{Parameter, ValueKind};
use trueput_record::suggest::same_setting;
use trueput_report::Format;
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

/// The message for an option that names a format of reports: `--json` of `trueput report`.
pub fn of_format(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    if !is_unknown || words.get(1).is_none_or(|word| word != "report") {
        return None;
    }
    let name = option.strip_prefix("--")?;
    name.parse::<Format>().ok()?;
    Some(format!(
        "unexpected argument '{option}' found; tip: write --format {name}"
    ))
}

/// The message for several rates of a command that takes one or none: the list of rates that
/// `trueput run` takes is no remedy there.
pub fn of_single_rate(error: &clap::Error, words: &[String]) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option = of(ContextKind::InvalidArg)?;
    let value = of(ContextKind::InvalidValue).filter(|value| value.contains(','))?;
    if !option.starts_with("--rate ") {
        return None;
    }
    let remedy = match words.get(1)?.as_str() {
        "choose" => "choose takes the one rate that you need, in digits, as in --rate 5000",
        "capacity" => "capacity finds the rate itself: leave out --rate",
        "tune" => "tune takes a rate in its objective: give --objective p99@RATE instead",
        _ => return None,
    };
    Some(format!("--rate {value}: {remedy}"))
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
