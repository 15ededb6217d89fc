//! The experiment here that comes nearest to a published one: a plan of ours with the document's
//! settings, at a scale.

use crate::built_in_plans::{self, plan_or_workload};
use crate::failure::Failure;
use crate::output;
use crate::plan_overrides::PlanOverrides;
use trueput_findings::units::counted;
use trueput_host::trial_file_system::why_unavailable;
use trueput_record::plan::{Condition, Contender, PlanFile, UnsupportedPolicy};
use trueput_record::published::{PublishedTable, Setting, named};
use trueput_record::skipped::SkippedPart;
use trueput_record::value::parse_bytes;
use trueput_record::{Durability, Value, WorkerKind};
use trueput_runner::matrix::{BuildAccess, with_install};
use trueput_runner::{Registry, matrix};

/// Prefix of a published table's id in the name of a plan.
const PREFIX: &str = "published/";

/// The smallest size that a size is scaled to, bytes: a cache or a map below it is of no use.
const MIN_SIZE_BYTES: u64 = 16 << 20;

/// A resolved plan, with its differences from the plan of that name.
pub struct NamedPlan {
    /// The plan.
    pub plan: PlanFile,
    /// The scale of a published experiment, in a sentence for the user once the plan is expanded;
    /// `None` for other plans.
    pub scale_note: Option<String>,
    /// Parts of a published experiment that are skipped.
    pub skipped: Vec<SkippedPart>,
    /// The reason why none of its file systems is available; `None` if one is, or if it names none.
    pub no_file_system: Option<String>,
}

/// Prints the scale of a published experiment, and where this many trials run whose plan was to run
/// on file systems that are not available.
pub fn note_adaptation(
    scale_note: Option<String>,
    no_file_system: Option<String>,
    plan: &PlanFile,
    trials: usize,
) {
    if let Some(note) = scale_note {
        output::note(&note);
    }
    // The command line may have named one.
    let is_here = plan.conditions.file_system.is_empty();
    if let Some(reason) = no_file_system.filter(|_| is_here) {
        let trials = counted(trials as u64, "trial");
        output::note(&format!(
            "{reason}; running on the current file system instead: {trials}"
        ));
    }
}

/// The id in `published/ID` or `published/ID.toml`; `None` if something else is named.
fn id(target: &str) -> Option<&str> {
    let id = target.strip_prefix(PREFIX)?;
    Some(id.strip_suffix(".toml").unwrap_or(id))
}

/// Reads a scale.
pub fn parse_scale(text: &str) -> Result<f64, Failure> {
    let scale: f64 = text.parse().map_err(|_| {
        Failure::usage(format!(
            "'{text}' is not a number: write a part of the published size, as in 0.01"
        ))
    })?;
    if scale > 0.0 && scale <= 1.0 {
        Ok(scale)
    } else {
        Err(Failure::usage(format!(
            "scale {text} must be above 0 and at most 1, which is the published size"
        )))
    }
}

/// Resolves a plan by name: a file, a workload, or `published/ID` at a scale, which its note
/// states.
///
/// # Errors
/// A usage error if there is no such plan, if it needs something that is missing here, or if a
/// scale is given for another kind of plan.
pub fn plan(
    target: &str,
    scale: Option<f64>,
    registry: &Registry,
    builds: BuildAccess,
) -> Result<NamedPlan, Failure> {
    let Some(id) = id(target) else {
        return match scale {
            None => Ok(NamedPlan {
                plan: plan_or_workload(target, registry)?,
                scale_note: None,
                skipped: Vec::new(),
                no_file_system: None,
            }),
            Some(_) => Err(Failure::usage(format!(
                "--scale needs published/ID, but '{target}' is not one; see 'trueput published'"
            ))),
        };
    };
    let published = named(id).map_err(Failure::usage)?;
    let scale = scale.unwrap_or(published.experiment.scale);
    adapt_experiment(&published, scale, registry, builds)
}

/// Words the refusal of a plan that [`plan`] resolved: where its scale is too small, that is what
/// the user gave, and not the setting that it made too small.
pub fn word_refusal(
    target: &str,
    scale: Option<f64>,
    overrides: &PlanOverrides,
    registry: &Registry,
    refusal: Failure,
) -> Failure {
    let (Some(id), Some(scale), Failure::Usage(reason)) = (id(target), scale, &refusal) else {
        return refusal;
    };
    let Ok(published) = named(id) else {
        return refusal;
    };
    // Nothing is opened: whether the plan is trusted may be what was refused.
    let builds = BuildAccess::Unopened;
    let fits = |scale| {
        adapt_experiment(&published, scale, registry, builds).is_ok_and(|mut adapted| {
            let applied = overrides.apply(&mut adapted.plan);
            applied.is_ok() && matrix::expand_with(&adapted.plan, registry, builds).is_ok()
        })
    };
    match smallest_scale(scale, published.experiment.scale, fits) {
        Some(smallest) => Failure::usage(format!(
            "--scale {scale} is too small: {reason}; give --scale {smallest} or more"
        )),
        None => refusal,
    }
}

/// The smallest scale of two digits that fits, if a scale is too small and a larger one is not.
fn smallest_scale(small: f64, large: f64, fits: impl Fn(f64) -> bool) -> Option<f64> {
    /// The place of 1 among the scales of two digits; that of 1e-11 is 0.
    const LAST: i32 = 990;
    let at = |place: i32| f64::from(10 + place % 90) / 10_f64.powi(12 - place / 90);
    if small >= large || fits(small) || !fits(large) {
        return None;
    }
    let (mut from, mut to) = (0, LAST);
    while from < to {
        let middle = i32::midpoint(from, to);
        let scale = at(middle);
        if scale >= large || scale > small && fits(scale) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    Some(at(to))
}

/// The requirements of a table's experiment that this machine lacks; `None` if nothing is missing.
pub fn missing(
    published: &PublishedTable,
    registry: &Registry,
    builds: BuildAccess,
) -> Option<String> {
    let experiment = &published.experiment;
    if registry.workload(&experiment.workload).is_err() {
        return Some(format!(
            "needs the workload {}, which trueput does not have",
            experiment.workload
        ));
    }
    let engines: Vec<_> = engines(published).collect();
    let mut absent = engines
        .iter()
        .filter_map(|name| missing_engines(name, registry, builds));
    if absent.by_ref().count() == engines.len() && !engines.is_empty() {
        Some(format!(
            "needs {}, which is not installed",
            engines.join(" or ")
        ))
    } else {
        None
    }
}

/// The plan for a table's experiment at a scale.
///
/// Adapts the experiment to this machine: missing engines and file systems are skipped; without
/// any file system it runs on that of the work folder.
///
/// # Errors
/// A usage error if the experiment needs something that is missing here.
fn adapt_experiment(
    published: &PublishedTable,
    scale: f64,
    registry: &Registry,
    builds: BuildAccess,
) -> Result<NamedPlan, Failure> {
    let (experiment, id) = (&published.experiment, &published.id);
    if let Some(missing) = missing(published, registry, builds) {
        let reasons: Vec<_> = engines(published)
            .filter_map(|name| missing_engines(&name, registry, builds))
            .collect();
        let clause = if reasons.is_empty() {
            String::new()
        } else {
            format!(": {}", reasons.join("; "))
        };
        return Err(Failure::usage(format!("{PREFIX}{id} {missing}{clause}")));
    }
    let mut plan = begun(published)?;
    for setting in &experiment.settings {
        apply(setting, &mut plan).map_err(|reason| {
            Failure::Other(format!("published/{id}.toml: {}: {reason}", setting.name))
        })?;
    }
    let wanted = plan.engines.iter();
    let skipped: Vec<_> = wanted
        .filter_map(|one| missing_engines(&one.engine, registry, builds))
        .map(SkippedPart::from)
        .collect();
    plan.engines
        .retain(|one| missing_engines(&one.engine, registry, builds).is_none());
    // The plan's knobs of engines that are not here are left over, and no mistake.
    plan.origin.forget("engines");
    for key in &experiment.scales {
        rescale(key, scale, &mut plan);
    }
    if scale < 1.0 {
        plan.conditions.image_bytes = None;
    }
    let no_file_system = without_file_systems(&mut plan, registry, builds);
    plan.about = format!(
        "The nearest to \"{}\" ({}) that this machine can run, at {scale} of its size.",
        published.title, published.source.date
    );
    plan.name.clone_from(id);
    Ok(NamedPlan {
        plan,
        scale_note: Some(format!(
            "{PREFIX}{id} at scale {scale} (1 is the published size)"
        )),
        skipped,
        no_file_system,
    })
}

fn engines(published: &PublishedTable) -> impl Iterator<Item = String> + '_ {
    let settings = published.experiment.settings.iter();
    let names = settings.filter(|setting| setting.name == "engines");
    names.flat_map(|setting| setting.values.iter().map(ToString::to_string))
}

/// Why an engine cannot compete; `None` if it can.
fn missing_engines(name: &str, registry: &Registry, builds: BuildAccess) -> Option<String> {
    let engine = match registry.engine(name) {
        Ok(engine) => engine,
        Err(reason) => return Some(reason.to_string()),
    };
    let error = builds.missing(engine)?;
    let reason = with_install(&error, engine);
    Some(format!("{name} is not installed: {reason}"))
}

fn begun(published: &PublishedTable) -> Result<PlanFile, Failure> {
    let experiment = &published.experiment;
    let mut plan = match built_in_plans::named(&experiment.plan) {
        Some(built_in) => built_in.plan()?,
        None => PlanFile::for_workload(&experiment.workload),
    };
    plan.unsupported = UnsupportedPolicy::Skip;
    Ok(plan)
}

/// Applies a setting of the published experiment to the plan.
fn apply(setting: &Setting, plan: &mut PlanFile) -> Result<(), Failure> {
    let texts: Vec<String> = setting.values.iter().map(ToString::to_string).collect();
    let first = || texts.first().cloned().unwrap_or_default();
    let no_key = || Failure::usage("no key of a plan");
    plan.origin.forget(&setting.name);
    match setting.name.split('.').collect::<Vec<_>>()[..] {
        ["engines"] => plan.engines = texts.iter().map(|name| Contender::parse(name)).collect(),
        ["durability"] => {
            plan.durability = for_each_value(&texts, |text| {
                text.parse::<Durability>().map_err(Failure::usage)
            })?;
        }
        ["workers"] => plan.workers = for_each_value(&texts, crate::plan_overrides::parse_workers)?,
        ["worker_kind"] => {
            let kinds = [WorkerKind::Processes, WorkerKind::Threads];
            plan.worker_kind = kinds.into_iter().find(|kind| kind.name() == first());
        }
        [name] => {
            let condition = Condition::named(name).ok_or_else(no_key)?;
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let set = condition.set(&mut plan.conditions, &texts);
            set.map_err(Failure::usage)?;
        }
        ["settings", name] => {
            plan.settings
                .insert(name.to_owned(), setting.values.clone());
        }
        ["knobs", engine, name] => {
            let knobs = plan.knobs.entry(engine.to_owned()).or_default();
            knobs.insert(name.to_owned(), setting.values.clone());
        }
        _ => return Err(no_key()),
    }
    Ok(())
}

fn for_each_value<T>(
    texts: &[String],
    read: impl Fn(&str) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    texts.iter().map(|text| read(text)).collect()
}

/// Scales the values of a key of the plan.
fn rescale(key: &str, scale: f64, plan: &mut PlanFile) {
    let values = match key.split('.').collect::<Vec<_>>()[..] {
        [name] => {
            if let Some(condition) = Condition::named(name) {
                condition.scale(&mut plan.conditions, scale);
            }
            None
        }
        ["settings", name] => plan.settings.get_mut(name),
        ["knobs", engine, name] => plan.knobs.get_mut(engine).and_then(|of| of.get_mut(name)),
        _ => None,
    };
    for value in values.into_iter().flatten() {
        *value = scaled(value, scale);
    }
    plan.origin.forget(key);
}

/// A count is at least 1, a size with a unit at least 16 MiB; other words are unchanged.
fn scaled(value: &Value, scale: f64) -> Value {
    match value {
        Value::Integer(count) => Value::Integer(((*count as f64 * scale).round() as i64).max(1)),
        Value::Float(number) => Value::Float(number * scale),
        Value::Text(text) => parse_bytes(text).map_or_else(
            |_| value.clone(),
            |bytes| {
                let smaller = ((bytes as f64 * scale) as u64).max(MIN_SIZE_BYTES);
                Value::from(smaller.min(bytes))
            },
        ),
        Value::Boolean(_) => value.clone(),
    }
}

/// If no file system of the plan is available, uses that of the work folder and says why.
fn without_file_systems(
    plan: &mut PlanFile,
    registry: &Registry,
    builds: BuildAccess,
) -> Option<String> {
    if plan.conditions.file_system.is_empty() {
        return None;
    }
    matrix::expand_with(plan, registry, builds).err()?;
    let reason = why_unavailable(&plan.conditions.file_system);
    let mut without = plan.clone();
    without.conditions.file_system.clear();
    without.conditions.image_bytes = None;
    matrix::expand_with(&without, registry, builds).ok()?;
    *plan = without;
    Some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::published::all;

    #[test]
    fn a_table_is_named_with_its_folder() {
        assert_eq!(id("published/symas-2014-load"), Some("symas-2014-load"));
        assert_eq!(
            id("published/symas-2014-load.toml"),
            Some("symas-2014-load")
        );
        assert_eq!(id("plans/symas-numa.toml"), None);
        assert_eq!(id("threen1"), None);
    }

    #[test]
    fn a_scale_is_a_part_of_one() {
        assert_eq!(parse_scale("0.25"), Ok(0.25));
        for wrong in ["0", "-1", "2", "half", "NaN"] {
            assert!(parse_scale(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_smallest_scale_that_fits_has_two_digits() {
        let smallest = |small, large, least: f64| {
            smallest_scale(small, large, |scale| (3e7 * scale).round() >= least)
        };
        assert_eq!(smallest(1e-7, 0.005, 1e3), Some(0.000_034));
        assert_eq!(smallest(1e-7, 1.0, 3e7), Some(1.0));
        assert_eq!(smallest(1e-300, 0.005, 3.0), Some(8.4e-8));
        assert_eq!(smallest(0.001, 0.005, 1e3), None, "it fits");
        assert_eq!(smallest(0.001, 0.005, 1e9), None, "nothing fits");
        assert_eq!(smallest(0.01, 0.005, 1e9), None, "it is not small");
    }

    #[test]
    fn counts_and_sizes_are_scaled_and_words_are_not() {
        assert_eq!(
            scaled(&Value::Integer(1_000_000), 0.01),
            Value::Integer(10_000)
        );
        assert_eq!(scaled(&Value::Integer(3), 0.01), Value::Integer(1));
        assert_eq!(scaled(&Value::from("32GiB"), 0.5), Value::Integer(16 << 30));
        assert_eq!(
            scaled(&Value::from("32GiB"), 0.0001),
            Value::Integer(16 << 20)
        );
        assert_eq!(scaled(&Value::from("words"), 0.01), Value::from("words"));
    }

    #[test]
    fn every_experiment_begins_with_a_plan_that_is_there_and_sets_what_plans_have() {
        for published in all().unwrap() {
            let experiment = &published.experiment;
            let there = built_in_plans::named(&experiment.plan).is_some();
            assert!(there || experiment.plan.is_empty(), "{}", published.id);
            let mut plan = begun(&published).unwrap();
            assert_eq!(plan.workload, experiment.workload, "{}", published.id);
            for setting in &experiment.settings {
                apply(setting, &mut plan).expect(&published.id);
            }
            for key in &experiment.scales {
                let before = format!("{plan:?}");
                rescale(key, 0.5, &mut plan);
                assert_ne!(before, format!("{plan:?}"), "{}: {key}", published.id);
            }
        }
    }
}
