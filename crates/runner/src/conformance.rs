//! Puts an engine through the conformance suite before anything of it is measured.

use crate::bind::bind;
use crate::context::{Context, Halt};
use crate::hosting::Hosting;
use crate::phase::alone;
use crate::protocol::{Assignment, Part, Report};
use crate::{Event, Phase};
use std::path::Path;
use std::time::Duration;
use trueput_record::TrialSpec;
use trueput_record::measurement::Check;

/// No trial has such an id.
const FOLDER: &str = ".conformance";

/// The suite takes a second or two. An engine that hangs in one call cannot be cut short from inside
/// its process, so the process is.
const LIMIT: Duration = Duration::from_secs(180);

/// The failures of a trial's engine at its level, with its knobs and its allocator, one sentence
/// each. The suite runs once per run for each of them, in a process of its own: an engine that
/// crashes has failed.
///
/// # Errors
/// [`Halt::Interrupted`] where the user stopped the run, [`Halt::Failed`] where there is no folder
/// to do it in.
pub(crate) fn failures(context: &mut Context<'_>, spec: &TrialSpec) -> Result<Vec<String>, Halt> {
    if spec.engine == trueput_engine::storage::NAME {
        // It has no records, so there is nothing that it could do wrong with them.
        return Ok(Vec::new());
    }
    let knobs = serde_json::to_string(&spec.knobs).unwrap_or_default();
    let allocator = spec.conditions.allocator;
    let key = format!(
        "{} {} {allocator} {knobs}",
        spec.contender(),
        spec.durability
    );
    if let Some(known) = context.conformance.get(&key) {
        return Ok(known.clone());
    }
    context.area.remove(FOLDER)?;
    let (directory, _) = context.area.trial(FOLDER)?;
    let answer = examine(context, spec, &directory);
    context.area.remove(FOLDER)?;
    let (passed, failures) = match answer {
        Ok(Report::Conformed { checks }) => judge(&checks),
        Ok(_) => (
            0,
            vec!["the conformance suite gave another answer".to_owned()],
        ),
        Err(Halt::Failed(reason)) => (0, vec![reason]),
        Err(Halt::Interrupted) => return Err(Halt::Interrupted),
    };
    context.tell(&Event::ConformanceChecked {
        contender: spec.contender(),
        durability: spec.durability,
        passed,
        failures: failures.clone(),
    });
    context.conformance.insert(key, failures.clone());
    Ok(failures)
}

/// Runs the suite in that folder, on a server where the engine needs one.
fn examine(context: &mut Context<'_>, spec: &TrialSpec, directory: &Path) -> Result<Report, Halt> {
    let bound = bind(context.registry, spec)?;
    let mut hosting = Hosting::new(&bound, spec, directory);
    hosting.start(context, None, Phase::Prepare)?;
    let assignment = Assignment {
        spec: spec.clone(),
        directory: directory.to_owned(),
        generation: 0,
        part: Part::Conformance,
    };
    let what = "the conformance suite";
    let answer = alone(context, assignment, None, Some(LIMIT), what);
    let answer = answer.map_err(|halt| hosting.explained(halt))?;
    hosting.stop(context, Phase::Prepare)?;
    Ok(answer)
}

fn judge(checks: &[Check]) -> (usize, Vec<String>) {
    if checks.is_empty() {
        return (0, vec!["the conformance suite checked nothing".to_owned()]);
    }
    // A database that does not even open fails every check with one reason: it is said once.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for check in checks.iter().filter(|check| !check.passed) {
        match reasons
            .iter_mut()
            .find(|(detail, _)| *detail == check.detail)
        {
            Some((_, names)) => names.push(&check.name),
            None => reasons.push((&check.detail, vec![&check.name])),
        }
    }
    let failed: usize = reasons.iter().map(|(_, names)| names.len()).sum();
    let said = |(detail, names): (&str, Vec<&str>)| match names.as_slice() {
        [name] => format!("conformance, {name}: {detail}"),
        [name, others @ ..] => format!("conformance, {name} and {} more: {detail}", others.len()),
        [] => format!("conformance: {detail}"),
    };
    (
        checks.len() - failed,
        reasons.into_iter().map(said).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_named_and_no_check_at_all_is_a_failure() {
        let checks = [
            Check::new("order", false, "b before a"),
            Check::new("puts", true, "10"),
        ];
        assert_eq!(
            judge(&checks),
            (1, vec!["conformance, order: b before a".to_owned()])
        );
        assert_eq!(judge(&checks[1..]), (1, vec![]));
        let closed = ["puts", "gets", "scans"].map(|name| Check::new(name, false, "no such file"));
        let said = "conformance, puts and 2 more: no such file";
        assert_eq!(judge(&closed), (0, vec![said.to_owned()]));
        assert_eq!(judge(&[]).1.len(), 1);
    }
}
