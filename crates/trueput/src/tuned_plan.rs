//! The plan of the best knobs that a search found: a file in its run folder, which runs the default
//! and these knobs alternately.

use crate::failure::Failure;
use crate::output;
use crate::prepared_run::PreparedRun;
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;
use trueput_findings::choice::choice;
use trueput_findings::tuning::tuning_of;
use trueput_record::parameter::Parameter;
use trueput_record::plan::{Dimensions, check_name};
use trueput_record::regular_file;
use trueput_record::search::{CapacitySettings, ChoiceSettings, SearchSettings, TuningSettings};
use trueput_record::text::escape_line;
use trueput_record::value::Settings;
use trueput_record::{Conditions, RunManifest, TrialRecord, TrialSpec, Value, VerifyLevel};
use trueput_report::TUNED_PLAN;
use trueput_runner::Registry;
use trueput_tuner::capacity::open_loop;
use trueput_workloads::{custom, trace};

/// Repeats of the default and of the tuned knobs.
const REPEAT: u32 = 5;

/// The seeds from the first trial's on that a search, its holdout and a run-off have.
const USED_SEEDS: u64 = 3;

/// Writes the plan of a search that is over, if it found better knobs; if it did not, removes one
/// that an earlier part of it wrote.
pub fn write(run: &PreparedRun<'_>, ended: &[TrialRecord]) {
    let folder = run.folder.path();
    let file = folder.join(TUNED_PLAN);
    let (action, result) = match TunedPlan::of(&run.manifest, ended) {
        Some(plan) => (
            "write",
            plan.write(&run.manifest.name, folder, run.registry),
        ),
        None => ("remove", remove_if_there(&file)),
    };
    if let Err(reason) = result {
        output::note(&format!("cannot {action} {}: {reason}", file.display()));
    }
}

fn remove_if_there(file: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::Other(error.to_string())),
        _ => Ok(()),
    }
}

/// The best knobs of a search, and the trial that they are run beside.
struct TunedPlan {
    /// The default, under the conditions of the plan.
    default: TrialSpec,
    /// The values of the tuned knobs.
    changes: Settings,
    /// What they gain, in a sentence.
    gain: String,
}

impl TunedPlan {
    /// The plan of a search; `None` if it found no better knobs.
    fn of(manifest: &RunManifest, ended: &[TrialRecord]) -> Option<Self> {
        match manifest.search.as_ref()? {
            SearchSettings::Tuning(settings) => Self::of_tuning(settings, manifest, ended),
            SearchSettings::Choice(settings) => Self::of_choice(settings, manifest, ended),
            SearchSettings::Capacity(_) | SearchSettings::Decision(_) => None,
        }
    }

    fn of_tuning(
        settings: &TuningSettings,
        manifest: &RunManifest,
        ended: &[TrialRecord],
    ) -> Option<Self> {
        let found = tuning_of(0, settings, manifest, ended)?;
        let better = found.better()?;
        let ratio = found.holdout.as_ref().and_then(|holdout| holdout.ratio);
        let interval = ratio.map_or_else(String::new, |ratio| {
            let level = (ratio.level * 1e3).round() / 10.0;
            format!(
                " ({level} % interval: {:.2} to {:.2})",
                ratio.low, ratio.high
            )
        });
        let factor = better.holdout_factor?;
        Some(Self {
            default: manifest.trials.first()?.clone(),
            changes: better.changes.clone(),
            gain: format!(
                "{factor:.2} times the default's score{interval}, in pairs that the search had \
                 not seen."
            ),
        })
    }

    /// The plan of the contender that is recommended, at the rate that is needed, or else at its
    /// capacity.
    fn of_choice(
        settings: &ChoiceSettings,
        manifest: &RunManifest,
        ended: &[TrialRecord],
    ) -> Option<Self> {
        let found = choice(manifest, ended)?;
        let first = found.first()?;
        let tuned = first.tuned.as_ref().filter(|_| first.is_tuned_better())?;
        let capacity_per_s = tuned.capacity_per_s?;
        let CapacitySettings {
            objective, arrival, ..
        } = &settings.capacity;
        let by_default = match first.default.capacity_per_s {
            Some(per_s) => format!("up to {per_s}"),
            None => "at no rate that was tried".to_owned(),
        };
        let per_s = settings.needed_per_s.unwrap_or(capacity_per_s);
        let default = open_loop(&first.default.spec, per_s, *arrival);
        let knobs = tuned.spec.knobs.iter();
        let changes = knobs.filter(|(name, value)| default.knobs.get(*name) != Some(*value));
        Some(Self {
            changes: changes
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            gain: format!(
                "{objective} up to {capacity_per_s} requests/s; with the default's knobs \
                 {by_default}."
            ),
            default,
        })
    }

    fn write(&self, name: &str, folder: &Path, registry: &Registry) -> Result<(), Failure> {
        let text = self.to_toml(name, folder, registry)?;
        let written = regular_file::replace(folder, TUNED_PLAN, text.as_bytes());
        written.map_err(|error| Failure::Other(error.to_string()))
    }

    /// The text of the file, for a search of this name and its run folder. The tuned knobs are a
    /// step: a plan has no other way to give one engine two sets of knobs.
    fn to_toml(&self, name: &str, folder: &Path, registry: &Registry) -> Result<String, Failure> {
        let spec = &self.default;
        let about = format!(
            "{} with the default's knobs, and with those that the search in {} found.",
            spec.contender(),
            folder.display()
        );
        let keys = self.keys(name, &about).into_iter();
        let keys = keys.map(|(key, value)| format!("{key} = {value}\n"));
        let workload = registry.workload(&spec.workload).map_err(Failure::usage)?;
        let settings = changed(workload.settings(), &spec.settings);
        let settings = with_absolute_paths(&spec.workload, settings)?;
        let engine = registry.engine(&spec.engine).map_err(Failure::usage)?;
        let knobs = changed(engine.knobs(), &spec.knobs);
        let engine = toml_key(&spec.engine);
        Ok([
            format!("# {}\n# {}\n\n", escape_line(&about), self.gain),
            keys.collect(),
            table("settings", &settings),
            table(&format!("knobs.{engine}"), &knobs),
            "\n[[step]]\nname = \"tuned\"\n".to_owned(),
            table(&format!("step.knobs.{engine}"), &self.changes),
        ]
        .concat())
    }

    /// The keys above the tables, each with its value as TOML.
    fn keys(&self, name: &str, about: &str) -> Vec<(String, String)> {
        let spec = &self.default;
        let name = format!("{name}-tuned");
        let is_name = check_name(&name).is_ok();
        let verify = (spec.verify != VerifyLevel::Full).then(|| toml_text(spec.verify.name()));
        // Neither the search nor its holdout has seen these data. TOML has no larger numbers.
        let seed = i64::try_from(spec.seed.wrapping_add(USED_SEEDS)).ok();
        let keys = [
            ("name", is_name.then(|| toml_text(&name))),
            ("about", Some(toml_text(about))),
            ("workload", Some(toml_text(&spec.workload))),
            (
                "engines",
                Some(format!("[{}]", toml_text(&spec.contender()))),
            ),
            ("durability", Some(toml_text(&spec.durability.to_string()))),
            ("workers", Some(spec.workers.to_string())),
            ("worker_kind", Some(toml_text(spec.worker_kind.name()))),
            ("repeat", Some(REPEAT.to_string())),
            ("verify", verify),
            ("seed", seed.map(|seed| seed.to_string())),
        ];
        let keys = keys.into_iter();
        let given = keys.filter_map(|(key, value)| Some((key.to_owned(), value?)));
        given.chain(condition_keys(&spec.conditions)).collect()
    }
}

/// The conditions that differ from the usual ones, as keys of a plan.
fn condition_keys(conditions: &Conditions) -> Vec<(String, String)> {
    let options = conditions.options().into_iter();
    let keys = options.map(|(option, value)| {
        let value = match value {
            None => "true".to_owned(),
            Some(number) if option == "rate" => number,
            Some(value) => toml_text(&value),
        };
        (option.replace('-', "_"), value)
    });
    keys.collect()
}

/// The values that are not the default.
fn changed(parameters: &[Parameter], values: &Settings) -> Settings {
    let is_usual = |name: &str, value: &Value| {
        let mut own = parameters.iter().filter(|it| it.name == name);
        own.any(|it| it.kind.default_value() == *value)
    };
    let mut changed = values.clone();
    changed.retain(|name, value| !is_usual(name, value));
    changed
}

/// A workload's settings with absolute paths: those of a plan are relative to its own folder.
fn with_absolute_paths(workload: &str, settings: Settings) -> Result<Settings, Failure> {
    let here = std::env::current_dir();
    let here = here.map_err(|error| Failure::Other(error.to_string()))?;
    let lists = settings
        .into_iter()
        .map(|(name, value)| (name, vec![value]));
    let mut lists: Dimensions = lists.collect();
    match workload {
        custom::NAME => custom::resolve_files(&mut lists, &here),
        trace::NAME => trace::resolve_files(&mut lists, &here),
        _ => {}
    }
    let values = lists.into_iter();
    let first = values.filter_map(|(name, list)| Some((name, list.into_iter().next()?)));
    Ok(first.collect())
}

/// A table of values; nothing if there are none.
fn table(header: &str, values: &Settings) -> String {
    if values.is_empty() {
        return String::new();
    }
    let values = values.iter();
    let lines = values.map(|(name, value)| format!("{} = {}\n", toml_key(name), toml_value(value)));
    format!("\n[{header}]\n{}", lines.collect::<String>())
}

fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        toml_text(name)
    }
}

fn toml_text(text: &str) -> String {
    toml_value(&Value::from(text))
}

/// A value as TOML, which writes truth values, numbers and texts as JSON does. JSON leaves DEL as
/// it is.
fn toml_value(value: &Value) -> String {
    json!(value).to_string().replace('\u{7f}', r"\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in_plans::plan_or_workload;
    use crate::workload_files;
    use trueput_record::conditions::{Arrival, Rate};
    use trueput_record::measurement::{
        LatencySummary, Measurement, OpenLoop, OperationSummary, ResponseSummary,
    };
    use trueput_record::plan::{Contender, PlanFile};
    use trueput_record::search::{
        TrialPurpose, TrialRole, TuningLimits, TuningScore, TuningStrategy,
    };
    use trueput_record::{Durability, FORMAT_VERSION, HostFacts, Outcome};
    use trueput_runner::matrix;

    const FOLDER: &str = "results/20261126T101500Z-ycsb";
    const CACHE: &str = "cache_size";

    /// A trial on SQLite, with some of its knobs.
    fn first(knobs: &[(&str, Value)]) -> TrialSpec {
        let registry = crate::registry();
        let mut plan = plan_or_workload("ycsb", &registry).unwrap();
        plan.engines = vec![Contender::parse("sqlite")];
        plan.durability = vec![Durability::Sync];
        plan.workers = vec![1];
        plan.repeat = 1;
        plan.settings
            .insert("workload".to_owned(), vec![Value::from("a")]);
        let matrix = matrix::expand(&plan, &registry).unwrap();
        let mut first = matrix.trials.into_iter().next().unwrap();
        for (name, value) in knobs {
            first.knobs.insert((*name).to_owned(), value.clone());
        }
        first
    }

    /// The run of a search whose first trial this is.
    fn manifest(first: &TrialSpec, search: SearchSettings) -> RunManifest {
        RunManifest {
            format: FORMAT_VERSION,
            name: String::new(),
            about: String::new(),
            started_at: String::new(),
            host: HostFacts::default(),
            headlines: [(first.workload.clone(), "op".to_owned())].into(),
            changed_settings: Default::default(),
            changed_knobs: Default::default(),
            byte_knobs: Default::default(),
            cache_bytes: None,
            costs: Default::default(),
            work: None,
            until: None,
            include_assertions: false,
            split_by: None,
            objective: None,
            search: Some(search),
            gates: Vec::new(),
            trials: vec![first.clone()],
            skipped: Vec::new(),
            skipped_kinds: Vec::new(),
            hosts: Vec::new(),
        }
    }

    /// A valid trial that has ended.
    fn record(spec: TrialSpec, measurement: Measurement) -> TrialRecord {
        TrialRecord {
            format: FORMAT_VERSION,
            spec,
            outcome: Outcome::Valid,
            resumed: false,
            started_at: String::new(),
            file_system: None,
            log_file_system: None,
            storage: None,
            fault_counts: None,
            host: None,
            engine: None,
            conformance: None,
            isolation_check: None,
            audit: None,
            hardware_limits: None,
            load: None,
            measurement: Some(measurement),
            verification: None,
        }
    }

    fn large_cache() -> Settings {
        Settings::from([(CACHE.to_owned(), Value::Integer(64 << 20))])
    }

    fn tuned(default: TrialSpec) -> TunedPlan {
        let mut changes = large_cache();
        changes.insert("journal_mode".to_owned(), Value::from("wal"));
        TunedPlan {
            default,
            changes,
            gain: "2.00 times the default's score.".to_owned(),
        }
    }

    fn text(plan: &TunedPlan) -> String {
        let text = plan.to_toml("ycsb", Path::new(FOLDER), &crate::registry());
        text.unwrap()
    }

    fn parsed(plan: &TunedPlan) -> PlanFile {
        let text = text(plan);
        let read = PlanFile::parse(Path::new(TUNED_PLAN), &text);
        read.unwrap_or_else(|reason| panic!("{reason}\n{text}"))
    }

    #[test]
    fn the_plan_runs_the_default_and_the_tuned_knobs_in_turns() {
        let page_size = Value::from("8192");
        let spec = first(&[("page_size", page_size.clone())]);
        let plan = parsed(&tuned(spec.clone()));
        assert_eq!(plan.name, "ycsb-tuned");
        let trials = matrix::expand(&plan, &crate::registry()).unwrap().trials;
        assert_eq!(trials.len(), 10);
        for pair in trials.chunks(2) {
            let [default, tuned] = pair else {
                panic!("{pair:?}");
            };
            assert_eq!(default.knobs, spec.knobs);
            assert_eq!(tuned.knobs[CACHE], Value::Integer(64 << 20));
            assert_eq!(tuned.knobs["journal_mode"], Value::from("wal"));
            assert_eq!(tuned.knobs["page_size"], page_size);
            for one in pair {
                assert_eq!(one.settings, spec.settings);
                assert_eq!(one.durability, spec.durability);
                assert_eq!((one.workers, one.worker_kind), (1, spec.worker_kind));
                assert_ne!(one.seed, spec.seed);
            }
        }
    }

    #[test]
    fn the_conditions_of_the_search_are_those_of_the_plan() {
        let mut spec = first(&[]);
        spec.conditions = Conditions {
            warm_up_s: 0.5,
            duration_s: Some(120.0),
            rate: Some(Rate {
                per_s: 0.5,
                arrival: Arrival::Poisson,
            }),
            memory_bytes: Some((256 << 20) + 1),
            crash_and_recover: true,
            ..Conditions::default()
        };
        let plan = parsed(&tuned(spec.clone()));
        assert_eq!(plan.conditions.combinations(), [spec.conditions]);
    }

    #[test]
    fn a_file_that_a_setting_names_is_found_from_the_folder_of_the_plan() {
        let here = std::env::current_dir().unwrap();
        let here = |name: &str| here.join(name).display().to_string();
        let folder = tempfile::tempdir().unwrap();
        for (workload, setting, given, expected) in [
            ("trace", "file", "t.csv", here("t.csv")),
            (
                "custom",
                "distribution",
                "histogram(h.csv)",
                format!("histogram({})", here("h.csv")),
            ),
        ] {
            let mut spec = first(&[]);
            spec.workload = workload.to_owned();
            spec.settings = Settings::from([(setting.to_owned(), Value::from(given))]);
            let registry = crate::registry();
            let written = tuned(spec).write("ycsb", folder.path(), &registry);
            assert_eq!(written, Ok(()));
            let plan = workload_files::read(&folder.path().join(TUNED_PLAN), &registry).unwrap();
            assert_eq!(plan.settings[setting], [Value::from(expected)]);
        }
    }

    #[test]
    fn texts_and_names_are_quoted_as_toml_reads_them() {
        let mut spec = first(&[]);
        let name = "a \"b\"\\\n\u{7f}\u{1b}é";
        spec.settings.insert(name.to_owned(), Value::from(name));
        let mut plan = tuned(spec);
        plan.changes.insert("x".to_owned(), Value::Float(2.0));
        let plan = parsed(&plan);
        assert_eq!(plan.settings[name], [Value::from(name)]);
        assert_eq!(plan.steps[0].knobs["sqlite"]["x"], Value::Float(2.0));
    }

    /// The plan of a search in which a larger cache has so many times the default's rate.
    fn of_search(gain: f64) -> Option<TunedPlan> {
        let default = first(&[]);
        let settings = TuningSettings {
            score: TuningScore::Rate,
            limits: TuningLimits::default(),
            trials: 32,
            seed: 1,
            budget_s: 60.0,
            presets: Vec::new(),
            searched: Vec::new(),
            strategy: TuningStrategy::Model,
        };
        let manifest = manifest(&default, SearchSettings::Tuning(settings));
        let trial = |purpose, number: u32, round: u32| {
            let mut spec = default.clone();
            spec.repeat = round;
            spec.role = Some(TrialRole {
                contender: 0,
                purpose,
                configuration: Some(number),
            });
            let mut per_s = 1_000.0 + f64::from(round % 3);
            if number > 0 {
                spec.knobs.extend(large_cache());
                per_s *= gain;
            }
            record(spec, measured(per_s))
        };
        let rounds = (1..=8).flat_map(|round| {
            [
                trial(TrialPurpose::Tuning, 0, round),
                trial(TrialPurpose::Tuning, 1, round),
                trial(TrialPurpose::Holdout, 0, round),
                trial(TrialPurpose::Winner, 1, round),
            ]
        });
        TunedPlan::of(&manifest, &rounds.collect::<Vec<_>>())
    }

    fn measured(per_s: f64) -> Measurement {
        Measurement {
            elapsed_s: 5.0,
            operations: vec![OperationSummary {
                kind: "op".to_owned(),
                count: 1_000,
                per_s,
                ..OperationSummary::default()
            }],
            ..Measurement::default()
        }
    }

    #[test]
    fn only_a_search_that_found_better_knobs_has_a_plan_which_says_by_how_much() {
        let plan = of_search(2.0).unwrap();
        assert_eq!(plan.changes, large_cache());
        let text = text(&plan);
        let mut lines = text.lines();
        let found = format!("those that the search in {FOLDER} found.");
        assert!(lines.next().unwrap().ends_with(&found), "{text}");
        let gain = "# 2.00 times the default's score (99 % interval: 2.00 to 2.00)";
        assert!(lines.next().unwrap().starts_with(gain), "{text}");
        assert!(of_search(1.0).is_none());
    }

    /// The trials that show this capacity, of the default or of a larger cache.
    fn probes(
        closed: &TrialSpec,
        configuration: Option<u32>,
        holds_per_s: f64,
    ) -> Vec<TrialRecord> {
        let probe = |rate_per_s: Option<f64>| {
            let mut spec = match rate_per_s {
                Some(per_s) => open_loop(closed, per_s, Arrival::Constant),
                None => closed.clone(),
            };
            if configuration.is_some() {
                spec.knobs.extend(large_cache());
            }
            let purpose = match rate_per_s {
                Some(_) => TrialPurpose::Probe,
                None => TrialPurpose::ClosedLoop,
            };
            spec.role = Some(TrialRole {
                contender: 0,
                purpose,
                configuration,
            });
            spec.id = format!("{configuration:?}-{rate_per_s:?}");
            let mut measurement = measured(10.0 * holds_per_s);
            measurement.open_loop = rate_per_s.map(|rate_per_s| OpenLoop {
                rate_per_s,
                issued: (rate_per_s * 5.0) as u64,
                responses: vec![ResponseSummary {
                    kind: "op".to_owned(),
                    count: 1_000,
                    latency: LatencySummary {
                        p99_ns: if rate_per_s > holds_per_s {
                            9_000_000
                        } else {
                            1_000_000
                        },
                        ..LatencySummary::default()
                    },
                }],
                ..OpenLoop::default()
            });
            record(spec, measurement)
        };
        let parts = [
            0.7, 0.8, 0.9, 0.94, 0.97, 0.99, 1.01, 1.03, 1.06, 1.1, 1.2, 1.3,
        ];
        let rates = parts.map(|part| Some(part * holds_per_s));
        std::iter::once(None).chain(rates).map(probe).collect()
    }

    #[test]
    fn a_choice_of_tuned_knobs_has_a_plan_at_the_rate_that_is_needed_or_kept() {
        let mut closed = first(&[]);
        closed.conditions.duration_s = Some(5.0);
        closed.role = Some(TrialRole {
            contender: 0,
            purpose: TrialPurpose::ClosedLoop,
            configuration: None,
        });
        let plan = |needed_per_s: Option<f64>, tuned_per_s: f64| {
            let settings = ChoiceSettings {
                capacity: CapacitySettings {
                    objective: "p99<5ms".parse().unwrap(),
                    precision: 0.1,
                    budget_s: 60.0,
                    arrival: Arrival::Constant,
                    limits: TuningLimits::default(),
                    fitted_caches: Vec::new(),
                },
                tuning: None,
                untunable: Vec::new(),
                presets: Vec::new(),
                needed_per_s,
                budget_s: 60.0,
            };
            let manifest = manifest(&closed, SearchSettings::Choice(settings));
            let mut trials = probes(&closed, None, 500.0);
            trials.extend(probes(&closed, Some(1), tuned_per_s));
            TunedPlan::of(&manifest, &trials)
        };
        for (needed_per_s, expected) in [(None, 780.0..=820.0), (Some(300.0), 300.0..=300.0)] {
            let plan = plan(needed_per_s, 800.0).unwrap();
            assert_eq!(plan.changes, large_cache());
            assert!(plan.gain.starts_with("p99<5ms up to "), "{}", plan.gain);
            assert!(
                plan.gain
                    .contains("requests/s; with the default's knobs up to ")
            );
            let rates = parsed(&plan).conditions.rate_per_s;
            assert!(
                rates.len() == 1 && expected.contains(&rates[0]),
                "{rates:?}"
            );
        }
        assert!(
            plan(None, 510.0).is_none(),
            "it is no better than the default"
        );
    }
}
