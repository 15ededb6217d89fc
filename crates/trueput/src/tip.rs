//! What an option that is none may have meant: a setting of a workload.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use trueput_engine::{Kind, Knob};
use trueput_runner::Registry;
use trueput_workloads::Workload;

/// What clap says of an option that it does not know, where that is the name of a workload's setting:
/// `pacing is a setting of tpcc: --set pacing=tpc`. `words` are those of the command line.
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
    let known = named.into_iter().chain(others).find_map(|workload| {
        let mut settings = workload.settings().iter();
        let setting = settings.find(|setting| setting.name == given)?;
        Some((workload.info().name, setting))
    });
    let (workload, setting) = known?;
    let value = value(option, words).map_or_else(|| "VALUE".to_owned(), |text| fit(text, setting));
    let name = setting.name;
    Some(format!(
        "unexpected argument '{option}' found; tip: {name} is a setting of {workload}: \
         --set {name}={value}"
    ))
}

/// What was given to an option.
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

/// A value as the setting has it: what is one choice of several words is written with `+`.
fn fit(text: &str, setting: &Knob) -> String {
    let joined = text.replace(',', "+");
    match setting.kind {
        Kind::Choice { choices, .. } if choices.contains(&joined.as_str()) => joined,
        _ => text.to_owned(),
    }
}
