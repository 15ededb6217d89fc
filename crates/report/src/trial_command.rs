//! The words of a command that runs a trial of a run again.

use trueput_findings::Run;
use trueput_findings::shell::quoted;
use trueput_record::TrialSpec;

/// The command line of a trial: the subcommand, and every setting, knob and condition that differs
/// from the usual, but for the rate, quoted for a shell. `default` is the trial with the knobs of
/// the plan.
pub(crate) fn trial_command(
    run: &Run,
    subcommand: &str,
    spec: &TrialSpec,
    default: &TrialSpec,
) -> Vec<String> {
    let words = ["trueput", subcommand, &spec.workload].map(str::to_owned);
    let mut words = words.to_vec();
    let mut option =
        |name: &str, value: String| words.extend([format!("--{name}"), quoted(&value)]);
    option("engine", spec.contender());
    option("durability", spec.durability.to_string());
    option("workers", spec.workers.to_string());
    let changed = run.manifest.changed_settings.get(&spec.workload);
    for name in changed.into_iter().flatten() {
        if let Some(value) = spec.settings.get(name) {
            option("set", format!("{name}={value}"));
        }
    }
    let by_plan = run.manifest.changed_knobs.get(&spec.engine);
    for (name, value) in &spec.knobs {
        let is_given = by_plan.is_some_and(|names| names.contains(name));
        if is_given || default.knobs.get(name) != Some(value) {
            option("knob", format!("{}.{name}={value}", spec.engine));
        }
    }
    let mut conditions = spec.conditions.clone();
    conditions.rate = None;
    for (name, value) in conditions.options() {
        words.push(format!("--{name}"));
        words.extend(value.as_deref().map(quoted));
    }
    words
}
