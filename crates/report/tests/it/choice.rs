//! The section on a choice: the searches for knobs in it, and its charts.

use crate::support::pages::charts;
use crate::support::{flat, terminal};
use crate::tuning::{add_configurations, search, trial};
use trueput_findings::Run;
use trueput_findings::capacity::{capacities, comparisons};
use trueput_findings::choice::choice;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::flush_evidence::FlushEvidence;
use trueput_record::measurement::{LatencySummary, OpenLoop, ResponseSummary};
use trueput_record::search::{
    CapacitySettings, ChoiceSettings, ContenderPresets, SearchEnd, SearchSettings, TrialPurpose,
    TrialRole, TuningLimits,
};
use trueput_record::storage::{PowerLoss, StorageStack};
use trueput_record::{Durability, Outcome, TrialRecord, Value};
use trueput_report::{Format, RunReport, Style};

const SEARCH: &str = "lmdb: the search for knobs, by rate";
const COURSE: &str = "Course of the search";
const IMPORTANCE: &str = "Knobs that matter, by share of importance in a random forest: cache";

/// A trial for the capacity of a contender with its default knobs; in closed loop without a rate.
pub fn probe(contender: u32, engine: &str, rate_per_s: Option<f64>) -> TrialRecord {
    let purpose = match rate_per_s {
        Some(_) => TrialPurpose::Probe,
        None => TrialPurpose::ClosedLoop,
    };
    let mut record = trial(purpose, 0, 1, &[], 1_000.0);
    let spec = &mut record.spec;
    spec.id = format!("{engine}-{}", rate_per_s.unwrap_or_default());
    spec.engine = engine.to_owned();
    spec.role = Some(TrialRole {
        contender,
        purpose,
        configuration: None,
    });
    spec.conditions.rate = rate_per_s.map(|per_s| Rate {
        per_s,
        arrival: Arrival::Constant,
    });
    let measured = record.measurement.as_mut().unwrap();
    let elapsed_s = measured.elapsed_s;
    measured.open_loop = rate_per_s.map(|rate_per_s| OpenLoop {
        rate_per_s,
        issued: (rate_per_s * elapsed_s) as u64,
        responses: vec![ResponseSummary {
            kind: "update".to_owned(),
            count: 1_000,
            latency: LatencySummary {
                p50_ns: 200_000,
                p99_ns: if rate_per_s > 900.0 {
                    9_000_000
                } else {
                    1_000_000
                },
                p999_ns: 20_000_000,
                ..LatencySummary::default()
            },
        }],
        ..OpenLoop::default()
    });
    record
}

/// A choice between contenders, of which the first was tuned.
fn chosen(engines: &[&str], objective: &str) -> Run {
    let mut run = search(100);
    add_configurations(&mut run);
    let Some(SearchSettings::Tuning(mut tuning)) = run.manifest.search.take() else {
        panic!("it is a search for knobs");
    };
    let presets = std::mem::take(&mut tuning.presets);
    for (contender, engine) in (0..).zip(engines) {
        let rates = [None, Some(500.0), Some(950.0)];
        let probes = rates.map(|rate_per_s| probe(contender, engine, rate_per_s));
        run.trials.extend(probes);
    }
    run.manifest.trials = run.trials.iter().map(|it| it.spec.clone()).collect();
    run.manifest.search = Some(SearchSettings::Choice(ChoiceSettings {
        capacity: CapacitySettings {
            objective: objective.parse().unwrap(),
            precision: 0.1,
            confirmations: 1,
            budget_s: 60.0,
            arrival: Arrival::Constant,
            limits: TuningLimits::default(),
        },
        tuning: Some(tuning),
        untunable: Vec::new(),
        presets: vec![ContenderPresets {
            contender: 0,
            presets,
        }],
        needed_per_s: None,
        budget_s: 150.0,
    }));
    run
}

#[test]
fn the_page_of_a_tuned_contender_has_its_search_with_the_course_and_the_importance() {
    let page = chosen(&["lmdb", "sqlite"], "p99<5ms").page();
    assert_has!(page, SEARCH, COURSE, IMPORTANCE);
}

#[test]
fn a_contender_that_was_not_tuned_has_the_recorded_reason() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    let lack = "Not tuned, for lack of time: sqlite. A new run with a longer --budget tunes more.";
    // Earlier runs did not record how their search ended.
    for (end, reason) in [
        (None, lack),
        (Some(SearchEnd::TimeUp), lack),
        (
            Some(SearchEnd::NothingLeft),
            "Not tuned: sqlite; the search ended first.",
        ),
    ] {
        run.end.as_mut().unwrap().search_end = end;
        assert_has!(flat(&terminal(&run, 140)), reason);
    }
    run.end.as_mut().unwrap().complete = false;
    assert_has!(
        flat(&terminal(&run, 140)),
        "Not tuned: sqlite; the run was interrupted."
    );
    run.trials
        .retain(|it| it.spec.role.unwrap().purpose != TrialPurpose::Winner);
    assert_has!(
        flat(&terminal(&run, 140)),
        "lmdb: the run was interrupted after"
    );
    run.end = None;
    assert_has!(
        flat(&terminal(&run, 140)),
        "lmdb: the record ends after",
        "Not tuned: sqlite; the run is still going or was cut short."
    );
}

#[test]
fn a_choice_without_tuning_has_no_search_for_knobs() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    if let Some(SearchSettings::Choice(settings)) = &mut run.manifest.search {
        settings.tuning = None;
    }
    for text in [flat(&terminal(&run, 140)), run.page()] {
        assert_has!(text, "choice at p99");
        for part in ["the search for knobs", COURSE, "Knobs that matter"] {
            assert!(!text.contains(part), "{part}");
        }
    }
}

#[test]
fn the_first_answer_has_the_search_for_knobs_only_if_there_is_one_contender() {
    let answer = |engines: &[&str]| {
        let run = chosen(engines, "p99<5ms");
        flat(&run.render_search(Style::default()).unwrap())
    };
    let of_one = answer(&["lmdb"]);
    assert_has!(of_one, SEARCH, IMPORTANCE);
    let of_two = answer(&["lmdb", "sqlite"]);
    assert_has!(of_two, "choice at p99<5ms");
    assert!(!of_two.contains("the search for knobs"), "{of_two}");
}

#[test]
fn a_rate_that_is_not_confirmed_is_marked() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    let answer = |run: &Run| flat(&run.render_search(Style::default()).unwrap());
    let mark = "?: not confirmed; the search ended first.";
    let text = answer(&run);
    assert_has!(text, " 500?", "2 of 2 contenders are not confirmed.", mark);
    assert!(!text.contains("What failed above these rates"), "{text}");
    let confirm = |contender, engine| {
        let rates = [850.0, 850.0, 935.0, 935.0];
        rates.map(|rate_per_s| probe(contender, engine, Some(rate_per_s)))
    };
    run.trials.extend(confirm(0, "lmdb"));
    let text = answer(&run);
    assert_has!(
        text,
        " 850 ",
        " 500?",
        "1 of 2 contenders is not confirmed.",
        mark,
        "What failed above these rates: - lmdb at 935/s: update p99 9.00 ms.",
    );
    assert!(!text.contains("850?"), "{text}");
    run.trials.extend(confirm(1, "sqlite"));
    let text = answer(&run);
    for part in ["0?", "not confirmed", mark] {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_trial_that_held_far_above_a_capacity_is_named() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    let at = |rate_per_s, p99_ns| {
        let mut trial = probe(1, "sqlite", Some(rate_per_s));
        let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
        open.unwrap().responses[0].latency.p99_ns = p99_ns;
        trial
    };
    run.trials.extend([
        at(800.0, 1_000_000),
        at(800.0, 9_000_000),
        at(800.0, 9_000_000),
    ]);
    let text = flat(&run.render_search(Style::default()).unwrap());
    let named = "a trial held at 800/s, too, before the rate failed: noise may have made its \
                 capacity too low.";
    assert_has!(text, format!("- sqlite: {named}").as_str());
    assert!(!text.contains(&format!("lmdb: {named}")), "{text}");
}

#[test]
fn a_rate_is_a_lower_bound_only_if_no_trial_at_it_or_above_failed() {
    let answer = |rates: &[(f64, bool)]| {
        let mut run = chosen(&["lmdb"], "p99<5ms");
        run.trials
            .retain(|trial| trial.spec.conditions.rate.is_none());
        run.trials.extend(rates.iter().map(|&(rate_per_s, holds)| {
            let mut trial = probe(0, "lmdb", Some(rate_per_s));
            let open = trial.measurement.as_mut().unwrap().open_loop.as_mut();
            open.unwrap().responses[0].latency.p99_ns = if holds { 1_000_000 } else { 9_000_000 };
            trial
        }));
        let capacities = as_capacities(run.clone());
        [run, capacities].map(|run| flat(&run.render_search(Style::default()).unwrap()))
    };
    let unconfirmed = "requests/s (not confirmed; ";
    for (rates, expected) in [
        (&[(378.0, true)][..], "at 378 requests/s or more"),
        (
            &[(378.0, true), (412.0, false)],
            &format!("at 378 {unconfirmed}failed at 412)"),
        ),
        // The failure at 378 and what held there since have made 412 an open question.
        (
            &[(300.0, true), (412.0, false), (378.0, false), (378.0, true)],
            &format!("at 378 {unconfirmed}held in 1 of 2 trials there, failed at 412)"),
        ),
        (
            &[(378.0, true), (378.0, false)],
            &format!("at 378 {unconfirmed}held in 1 of 2 trials there)"),
        ),
    ] {
        for text in answer(rates) {
            assert_has!(text, expected);
            assert_eq!(
                text.contains("or more"),
                expected.ends_with("or more"),
                "{text}"
            );
        }
    }
}

#[test]
fn better_knobs_that_no_trial_at_a_rate_could_measure_did_not_fail_the_objective() {
    let mut run = chosen(&["lmdb"], "p99<5ms");
    let better = choice(&run.manifest, &run.trials).unwrap();
    let better = better.candidates[0].tuning.as_ref().unwrap().better();
    let (number, knobs) = better.map(|it| (it.number, it.changes.clone())).unwrap();
    for rate_per_s in std::iter::once(None).chain([500.0, 250.0, 125.0].map(Some)) {
        let mut tuned = probe(0, "lmdb", rate_per_s);
        tuned.spec.id += "-tuned";
        tuned.spec.knobs.extend(knobs.clone());
        tuned.spec.role.as_mut().unwrap().configuration = Some(number);
        if rate_per_s.is_some() {
            tuned.measurement = None;
            tuned.outcome = Outcome::Failed {
                reason: KILLED.to_owned(),
                bad_input: false,
            };
        }
        run.trials.push(tuned);
    }
    run.manifest.trials = run.trials.iter().map(|it| it.spec.clone()).collect();
    let choice = choice(&run.manifest, &run.trials).unwrap();
    let tuned = choice.candidates[0].tuned.as_ref().unwrap();
    // The control: a rate failed, so that the clause on the objective would follow.
    assert!(tuned.fails_per_s.is_some());
    let text = flat(&run.render_search(Style::default()).unwrap());
    let expected = "found better knobs, but their capacity could not be measured: worker 0";
    assert_has!(text, expected);
    assert!(!text.contains("but not at the objective"), "{text}");
}

#[test]
fn a_single_failure_at_a_capacity_is_named() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    let mut failed = probe(0, "lmdb", Some(850.0));
    let open = failed.measurement.as_mut().unwrap().open_loop.as_mut();
    open.unwrap().responses[0].latency.p99_ns = 80_000_000;
    run.trials.push(failed);
    let rates = [850.0, 850.0, 935.0, 935.0];
    run.trials
        .extend(rates.map(|rate_per_s| probe(0, "lmdb", Some(rate_per_s))));
    let text = flat(&run.render_search(Style::default()).unwrap());
    assert_has!(
        text,
        " 850 ",
        "Failed once at these rates, and held in the other trials: - lmdb at 850/s: update p99 \
         80.0 ms.",
    );
    // The figure at the capacity is that of the trials that held.
    assert_eq!(text.matches("80.0 ms").count(), 1, "{text}");
}

#[test]
fn each_limited_response_time_is_drawn_with_its_limit() {
    let page = chosen(&["lmdb"], "p50<1ms,errors<1%,p99.9<50ms").page();
    for part in [
        "p50 response time by request rate",
        "dashed: the limit, p50&lt;1ms",
        "p99.9 response time by request rate",
        "dashed: the limit, p99.9&lt;50ms",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("errors response time"));
    assert_eq!(page.matches("<line class=\"leader\"").count(), 2);
}

/// The rates of a search that finds none, from a quarter of the closed loop's down.
pub const FALLING: [f64; 8] = [250.0, 125.0, 62.5, 31.2, 15.6, 7.8, 3.9, 1.95];

pub const KILLED: &str = "worker 0 (process 7) was killed by the memory limit of 64 MiB; \
    rocksdb's cache of 32 MiB (block_cache) is not the cause: lower write_buffer_size (64 MiB), \
    or raise --memory";

/// A choice between lmdb and rocksdb, of which the trials of the second at these rates failed.
pub fn with_failures(message: &str, failed: &[f64]) -> Run {
    let mut run = chosen(&["lmdb"], "p99<5ms");
    let probes = std::iter::once(None).chain(FALLING.map(Some));
    run.trials.extend(probes.map(|rate_per_s| {
        let mut record = probe(1, "rocksdb", rate_per_s);
        if rate_per_s.is_some_and(|rate_per_s| failed.contains(&rate_per_s)) {
            record.measurement = None;
            record.outcome = Outcome::Failed {
                reason: message.to_owned(),
                bad_input: false,
            };
        } else if let Some(open) = record.measurement.as_mut().unwrap().open_loop.as_mut() {
            open.responses[0].latency.p99_ns = 9_000_000;
        }
        record
    }));
    run.manifest.trials = run.trials.iter().map(|it| it.spec.clone()).collect();
    run
}

/// The same as a search for capacities.
pub fn as_capacities(mut run: Run) -> Run {
    let Some(SearchSettings::Choice(choice)) = run.manifest.search.take() else {
        panic!("it is a choice");
    };
    run.manifest.search = Some(SearchSettings::Capacity(choice.capacity));
    run
}

#[test]
fn a_contender_that_was_killed_at_every_rate_is_not_one_that_failed_the_objective() {
    let run = with_failures(KILLED, &FALLING);
    for run in [run.clone(), as_capacities(run)] {
        let text = flat(&terminal(&run, 140));
        assert_has!(
            text,
            "rocksdb could not be measured: killed by the memory limit of 64 MiB at every rate \
             that was tried.",
            "rocksdb: not measured: worker 0 (process 7) was killed by the memory limit of 64 MiB; \
             rocksdb's cache of 32 MiB (block_cache) is not the cause: lower write_buffer_size",
        );
        assert!(!text.contains("keeps the objective at no rate"), "{text}");
        // What has no point has no line, and no name in the legend.
        let charts = charts(&run.page());
        let curve = charts.iter().find(|chart| chart["kind"] == "curve");
        let groups = curve.unwrap()["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(groups[0]["name"], "lmdb");
    }
    let full = "worker 0: IO error: No space left on device";
    let text = flat(&terminal(&with_failures(full, &FALLING[2..]), 140));
    assert_has!(
        text,
        "rocksdb could not be measured: worker 0: IO error: No space left on device in 6 of 8 \
         trials, those at the lowest rates included."
    );
    // One that was measured at the lowest rate, and too slow there, failed the objective.
    let text = flat(&terminal(&with_failures(full, &FALLING[..7]), 140));
    assert_has!(text, "rocksdb keeps the objective at no rate.");
    assert!(!text.contains("could not be measured"), "{text}");
}

#[test]
fn a_contender_with_wrong_results_was_measured_and_is_not_considered() {
    let damaged = "reads: 1 damaged record of 10";
    let mut run = with_failures(KILLED, &[]);
    let spoiled = run
        .trials
        .iter_mut()
        .rfind(|it| it.spec.engine == "rocksdb");
    spoiled.unwrap().outcome = Outcome::Invalid {
        reasons: vec![damaged.to_owned()],
    };
    let mut refuted = run.clone();
    for trial in &mut refuted.trials {
        if trial.spec.engine == "rocksdb" {
            trial.outcome = Outcome::Valid;
            trial.audit = Some(AuditStanding {
                audited_at: "2026-11-27T10:00:00Z".to_owned(),
                models: vec![ModelStanding {
                    file_system: None,
                    model: StorageModel::Journal,
                    states: 9,
                    distinct: 9,
                    undecided: false,
                    refuted: 1,
                    counterexample: None,
                }],
            });
        }
    }
    let promise = "an audit refuted its promise at this level";
    for (mut run, reason) in [(run, damaged), (refuted, promise)] {
        let Some(SearchSettings::Choice(choice)) = run.manifest.search.as_mut() else {
            panic!("it is a choice");
        };
        choice.needed_per_s = Some(5_000.0);
        let text = flat(&terminal(&run, 140));
        assert_has!(
            text,
            "None that is considered reaches the 5,000/s that you need."
        );
        for run in [run.clone(), as_capacities(run)] {
            let text = flat(&terminal(&run, 140));
            assert_has!(text, &format!(" is not considered: {reason}."));
            assert!(!text.contains("not be measured"), "{text}");
            assert!(!text.contains("not measured"), "{text}");
        }
    }
}

#[test]
fn the_contenders_of_which_none_keeps_an_objective_are_told_from_the_others() {
    let slow = |run: &mut Run| {
        for trial in &mut run.trials {
            let measured = trial.measurement.as_mut();
            let open = measured.and_then(|it| it.open_loop.as_mut());
            if let Some(open) = open {
                open.responses[0].latency.p99_ns = 9_000_000;
            }
        }
        let lmdb = FALLING.map(|rate_per_s| {
            let mut record = probe(0, "lmdb", Some(rate_per_s));
            let open = record.measurement.as_mut().unwrap().open_loop.as_mut();
            open.unwrap().responses[0].latency.p99_ns = 9_000_000;
            record
        });
        run.trials.extend(lmdb);
    };
    let mut all = with_failures(KILLED, &[]);
    slow(&mut all);
    let mut killed = with_failures(KILLED, &FALLING);
    slow(&mut killed);
    let mut wrong = all.clone();
    wrong.trials.last_mut().unwrap().outcome = Outcome::Invalid {
        reasons: vec!["reads: 1 damaged record of 10".to_owned()],
    };
    for (run, subject) in [
        (all, "No contender"),
        (killed, "No contender that was measured"),
        (wrong, "No contender that is considered"),
    ] {
        let text = flat(&terminal(&run, 140));
        let sentence = format!("{subject} keeps p99<5ms at any rate that was tried.");
        assert_has!(text, &sentence);
    }
}

#[test]
fn what_is_needed_is_judged_by_those_that_were_measured() {
    let mut run = with_failures(KILLED, &FALLING);
    let Some(SearchSettings::Choice(choice)) = run.manifest.search.as_mut() else {
        panic!("it is a choice");
    };
    choice.needed_per_s = Some(5_000.0);
    let text = flat(&terminal(&run, 140));
    assert_has!(
        text,
        "None that was measured reaches the 5,000/s that you need."
    );
    let json: serde_json::Value =
        serde_json::from_str(&run.render(Format::Json, Style::default())).unwrap();
    let candidates = json["choice"]["candidates"].as_array().unwrap();
    let killed = &candidates[1]["default"];
    assert_eq!(killed["state"]["state"], "unmeasured");
    assert_eq!(killed["probes"][0]["failure"], KILLED);
}

/// A choice in which one of two promises was audited, and that contender's flushes not counted.
pub fn audited() -> Run {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    let audited = AuditStanding {
        audited_at: "2026-11-27T10:00:00Z".to_owned(),
        models: vec![ModelStanding {
            file_system: None,
            model: StorageModel::Journal,
            states: 1_058,
            distinct: 1_000,
            undecided: false,
            refuted: 0,
            counterexample: None,
        }],
    };
    let flushes = FlushEvidence::not_counted(1, 1, "this is why".to_owned());
    for trial in &mut run.trials {
        trial.spec.durability = Durability::Sync;
        if trial.spec.engine == "sqlite" {
            trial.audit = Some(audited.clone());
            if let Some(measured) = &mut trial.measurement {
                measured.flush_evidence = Some(flushes.clone());
            }
        }
    }
    run
}

#[test]
fn a_mark_of_knobs_that_a_search_dropped_is_not_explained_and_cells_of_an_engine_are_told_apart() {
    let mut run = chosen(&["lmdb", "lmdb"], "p99<5ms");
    let flushes = FlushEvidence::not_counted(1, 1, "this is why".to_owned());
    for trial in &mut run.trials {
        trial.spec.durability = Durability::Sync;
        let role = trial.spec.role.unwrap();
        let is_search = role.purpose == TrialPurpose::Tuning;
        let is_second = role.contender == 1;
        if is_second {
            trial
                .spec
                .knobs
                .insert("cache".to_owned(), Value::Integer(5));
        }
        if let Some(measured) = trial
            .measurement
            .as_mut()
            .filter(|_| is_search || is_second)
        {
            measured.flush_evidence = Some(flushes.clone());
        }
    }
    run.manifest.trials = run.trials.iter().map(|it| it.spec.clone()).collect();
    let text = flat(&run.render_search(Style::default()).unwrap());
    let explained = " [flushes not verified]: no counter shows";
    assert_eq!(text.matches(explained).count(), 1, "{text}");
    assert_has!(text, &format!("- lmdb (cache=5){explained}"));
}

#[test]
fn an_undecided_audit_is_none_and_one_that_found_damage_on_weaker_storage_says_so() {
    let model = |model, refuted, undecided| ModelStanding {
        file_system: None,
        model,
        states: 314,
        distinct: 300,
        undecided,
        refuted,
        counterexample: None,
    };
    let answer = |models: Vec<ModelStanding>| {
        let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
        for trial in &mut run.trials {
            trial.spec.durability = Durability::Sync;
            trial.audit = (trial.spec.engine == "sqlite").then(|| AuditStanding {
                audited_at: "2026-11-27T10:00:00Z".to_owned(),
                models: models.clone(),
            });
        }
        flat(&run.render_search(Style::default()).unwrap())
    };
    let undecided = answer(vec![model(StorageModel::Journal, 0, true)]);
    assert_has!(undecided, "Not audited: lmdb, sqlite (undecided);");
    assert!(!undecided.contains("Promises audited"), "{undecided}");
    let kill = model(StorageModel::Kill, 0, false);
    let held = answer(vec![kill, model(StorageModel::Posix, 12, false)]);
    assert_has!(
        held,
        "Promises audited: sqlite (not refuted in kill 314; refuted on posix, weaker than usual \
         storage). Not audited: lmdb;"
    );
}

/// Puts the trials of an engine on storage without barriers.
fn without_barriers(run: &mut Run, engine: &str) {
    let own = run.trials.iter_mut().filter(|it| it.spec.engine == engine);
    for trial in own {
        trial.spec.durability = Durability::Sync;
        trial.storage = Some(StorageStack {
            layers: Vec::new(),
            power_loss: PowerLoss::of_mount("its ext4", "ext4", "rw,nobarrier"),
        });
    }
    run.manifest.trials = run.trials.iter().map(|it| it.spec.clone()).collect();
}

#[test]
fn nothing_is_recommended_at_a_level_that_the_storage_does_not_keep() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    without_barriers(&mut run, "lmdb");
    let found = choice(&run.manifest, &run.trials).unwrap();
    assert_eq!(found.recommended, Some(1), "sqlite has the barriers");
    without_barriers(&mut run, "sqlite");
    let found = choice(&run.manifest, &run.trials).unwrap();
    assert_eq!(found.recommended, None);
    let answer = flat(&run.render_search(Style::default()).unwrap());
    for text in [answer, flat(&terminal(&run, 140)), run.page()] {
        assert_has!(
            text,
            "sync not kept (nothing survives lost power)",
            "No contender is recommended, because sync is not kept here",
            "because its ext4 is mounted with nobarrier"
        );
    }
}

#[test]
fn a_capacity_on_storage_without_barriers_is_said_to_keep_nothing_and_compared_with_no_other() {
    let mut run = chosen(&["lmdb", "sqlite"], "p99<5ms");
    let Some(SearchSettings::Choice(settings)) = run.manifest.search.take() else {
        panic!("it is a choice");
    };
    run.manifest.search = Some(SearchSettings::Capacity(settings.capacity));
    let is_of_capacity = |trial: &TrialRecord| {
        let role = trial.spec.role;
        role.is_some_and(|role| role.purpose.is_of_capacity() && role.configuration.is_none())
    };
    run.trials.retain(is_of_capacity);
    for trial in &mut run.trials {
        trial.spec.durability = Durability::Sync;
    }
    without_barriers(&mut run, "sqlite");
    let text = flat(&run.render_search(Style::default()).unwrap());
    assert_has!(
        text,
        "sync not kept (nothing survives lost power)",
        "The storage does not keep sync: nothing survives lost power, because its ext4 is mounted"
    );
    let groups = comparisons(capacities(&run.manifest, &run.trials));
    assert_eq!(groups.len(), 2);
}
