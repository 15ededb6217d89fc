//! The sections on choices and on capacities: what they say in some situations, and their charts.

use crate::screens::STYLE;
use crate::support::pages::charts;
use crate::support::{flat, searched, terminal, terminal_line};
use crate::tuning;
use trueput_findings::Run;
use trueput_findings::choice::choice;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::ModelStanding;
use trueput_record::search::{SearchEnd, TrialPurpose};
use trueput_record::testing::search::{
    self, FALLING, KILLED, SLOW_NS, choice_settings, confirmation, disturbed, fail, probe,
    probe_with, remove_barriers, run_off_trial, slow_down_lmdb, uncount_flushes, with_failures,
};
use trueput_record::testing::{standing, tried};
use trueput_record::{Outcome, Value};
use trueput_report::{Format, RunReport, Style};

const SEARCH: &str = "lmdb: the search for knobs, by rate";
const COURSE: &str = "Course of the search";
const IMPORTANCE: &str = "Knobs that matter, by share of importance in a random forest: cache";

/// A run by what is unusual about it.
pub type Situation = (&'static str, Run);

fn chosen(engines: &[&str], objective: &str) -> Run {
    searched(search::choice(engines, objective))
}

/// A choice between two contenders, of which none is confirmed.
pub fn usual() -> Run {
    chosen(&["lmdb", "sqlite"], "p99<5ms")
}

fn alone() -> Run {
    chosen(&["lmdb"], "p99<5ms")
}

/// A choice in which one contender is confirmed and the other is not.
pub fn half_confirmed() -> Run {
    let mut run = searched(search::audited());
    run.trials.extend(confirmation(0, "lmdb"));
    run
}

/// A choice in which every trial of one contender at a rate was killed.
pub fn all_killed() -> Run {
    searched(with_failures(KILLED, &FALLING))
}

/// The same as a search for capacities.
pub fn as_capacities(mut run: Run) -> Run {
    search::as_capacities(&mut run.manifest);
    run
}

fn with(mut run: Run, change: impl FnOnce(&mut Run)) -> Run {
    change(&mut run);
    run
}

/// Choices, and others that resemble each.
pub fn situations() -> Vec<(Run, Vec<Situation>)> {
    let of_two = [ends(), rates(), orders(), promises()].concat();
    let unmeasured = (
        "better knobs that could not be measured",
        unmeasured_knobs(),
    );
    let of_one = [bounds(), vec![unmeasured]].concat();
    vec![
        (usual(), of_two),
        (alone(), of_one),
        (all_killed(), [failures(), wrong_results()].concat()),
    ]
}

/// Searches for capacities, and others that resemble each.
pub fn capacity_situations() -> Vec<(Run, Vec<Situation>)> {
    let unsafe_sqlite = with(usual(), |run| remove_barriers(&mut run.trials, "sqlite"));
    let of_two = vec![
        ("the storage of one has no barriers", unsafe_sqlite),
        ("one was killed at every rate", all_killed()),
    ];
    let groups = [
        (usual(), of_two),
        (alone(), bounds()),
        (all_killed(), [failures(), wrong_results()].concat()),
    ];
    let capacities = |(title, run)| (title, as_capacities(run));
    let groups = groups.into_iter().map(|(run, situations)| {
        let situations = situations.into_iter().map(capacities);
        (as_capacities(run), situations.collect())
    });
    groups.collect()
}

fn ends() -> Vec<Situation> {
    let ended = |end| with(usual(), |run| run.end.as_mut().unwrap().search_end = end);
    let interrupted = with(usual(), |run| run.end.as_mut().unwrap().complete = false);
    let before_holdout = with(interrupted.clone(), |run| {
        let of_winner = |purpose| purpose == TrialPurpose::Winner;
        run.trials
            .retain(|it| !of_winner(it.spec.role.unwrap().purpose));
    });
    let endless = with(before_holdout.clone(), |run| run.end = None);
    vec![
        ("time was up", ended(Some(SearchEnd::TimeUp))),
        (
            "nothing was left to try",
            ended(Some(SearchEnd::NothingLeft)),
        ),
        ("interrupted", interrupted),
        ("interrupted before the holdout", before_holdout),
        ("without an end, before the holdout", endless),
    ]
}

fn rates() -> Vec<Situation> {
    let one = with(usual(), |run| run.trials.extend(confirmation(0, "lmdb")));
    let both = with(one.clone(), |run| {
        run.trials.extend(confirmation(1, "sqlite"));
    });
    let contradicted = with(usual(), |run| {
        let times_ns = [1_000_000, SLOW_NS, SLOW_NS];
        let at_800 = times_ns.map(|p99_ns| probe_with(1, "sqlite", 800.0, p99_ns));
        run.trials.extend(at_800);
    });
    let failed_once = with(usual(), |run| {
        run.trials.push(probe_with(0, "lmdb", 850.0, 80_000_000));
        run.trials.extend(confirmation(0, "lmdb"));
    });
    vec![
        ("one is confirmed", one),
        ("both are confirmed", both),
        ("trials disagree above the capacity", contradicted),
        ("a trial failed below the capacity", failed_once),
    ]
}

/// Which of the two leads, and which trials tell it.
fn orders() -> Vec<Situation> {
    let both = || {
        with(usual(), |run| {
            run.trials.extend(confirmation(0, "lmdb"));
            run.trials.extend(confirmation(1, "sqlite"));
        })
    };
    let overruled = with(both(), |run| {
        let higher =
            (0..16).map(|it| probe_with(0, "lmdb", 960.0 + 10.0 * f64::from(it), 1_000_000));
        run.trials.extend(higher);
    });
    let led = with(usual(), |run| {
        choice_settings(&mut run.manifest).tuning = None;
        run.trials.extend(confirmation(0, "lmdb"));
        run.trials
            .retain(|it| it.spec.engine != "sqlite" || it.spec.conditions.rate.is_none());
        let slow = [300.0, 200.0, 150.0, 120.0].map(|it| probe_with(1, "sqlite", it, SLOW_NS));
        run.trials.extend(slow);
        run.trials.push(probe(1, "sqlite", Some(75.0)));
    });
    let led_in_slices = with(led.clone(), |run| {
        for spec in &mut run.manifest.trials {
            spec.conditions.time_slice_s = Some(0.5);
        }
    });
    let imprecise = with(usual(), |run| {
        let alternating = (0..40_u64).map(|trial| {
            let p99_ns = if trial % 2 == 0 { 1_000_000 } else { SLOW_NS };
            probe_with(1, "sqlite", 400.0 + 10.0 * trial as f64, p99_ns)
        });
        run.trials.extend(alternating);
    });
    let most_disturbed = with(usual(), |run| {
        run.trials.extend(confirmation(0, "lmdb"));
        run.trials.extend(disturbed(1, "sqlite"));
    });
    vec![
        ("the run-off is even", run_off(both(), [5, 5])),
        (
            "the run-off is even, and intervals are wide",
            with(run_off(both(), [5, 5]), |run| {
                choice_settings(&mut run.manifest).capacity.precision = 0.01;
            }),
        ),
        (
            "the run-off overrules the search",
            run_off(overruled, [2, 3]),
        ),
        (
            "the run-off points the same way",
            run_off(led.clone(), [5, 1]),
        ),
        ("most trials were disturbed", most_disturbed),
        ("one leads the other without tuning", led),
        ("one leads the other in time slices", led_in_slices),
        ("one is too imprecise", imprecise),
    ]
}

/// Adds a run-off, in which that with the highest capacity, and the other, kept the objective in so
/// many of the pairs, as many as the larger number.
fn run_off(mut run: Run, held: [u32; 2]) -> Run {
    let found = choice(&run.manifest, &run.trials).unwrap();
    let rate_per_s = found.run_off_rate_per_s.unwrap();
    let names = [(0, "lmdb"), (1, "sqlite")];
    for pair in 1..=held[0].max(held[1]) {
        for (contender, held) in names.into_iter().zip(held) {
            let p99_ns = if pair <= held { 1_000_000 } else { SLOW_NS };
            let trial = run_off_trial(contender, rate_per_s, pair, p99_ns);
            run.trials.push(trial);
        }
    }
    run
}

fn bounds() -> Vec<Situation> {
    let of_rates = |rates: &[(f64, bool)]| {
        with(alone(), |run| {
            run.trials
                .retain(|trial| trial.spec.conditions.rate.is_none());
            run.trials.extend(rates.iter().map(|&(rate_per_s, holds)| {
                let p99_ns = if holds { 1_000_000 } else { SLOW_NS };
                probe_with(0, "lmdb", rate_per_s, p99_ns)
            }));
        })
    };
    let (held, failed_above) = ((378.0, true), (412.0, false));
    let reopened = [(300.0, true), failed_above, (378.0, false), held];
    vec![
        ("a lower bound", of_rates(&[held])),
        ("a failure above", of_rates(&[held, failed_above])),
        ("a failure above and one there", of_rates(&reopened)),
        ("a failure there", of_rates(&[held, (378.0, false)])),
    ]
}

fn failures() -> Vec<Situation> {
    let full = "worker 0: IO error: No space left on device";
    let failed = |rates: &[f64]| searched(with_failures(full, rates));
    let slow = |run: Run| with(run, |run| slow_down_lmdb(&mut run.trials));
    let needing = with(all_killed(), |run| {
        choice_settings(&mut run.manifest).needed_per_s = Some(5_000.0);
    });
    vec![
        ("failed in 6 of 8 trials", failed(&FALLING[2..])),
        ("failed in 7 of 8 trials", failed(&FALLING[..7])),
        ("the other is slow", slow(all_killed())),
        ("both are slow", slow(failed(&[]))),
        ("more is needed", needing),
    ]
}

/// One contender did something wrong, and the other does not reach what is needed.
fn wrong_results() -> Vec<Situation> {
    let needing = || {
        with(searched(with_failures(KILLED, &[])), |run| {
            choice_settings(&mut run.manifest).needed_per_s = Some(5_000.0);
        })
    };
    let damaged = with(needing(), |run| {
        run.trials.last_mut().unwrap().outcome = Outcome::Invalid {
            reasons: vec!["reads: 1 damaged record of 10".to_owned()],
        };
    });
    let refuted = with(needing(), |run| {
        audit(run, "rocksdb", &[tried(StorageModel::Journal, 9, 1)]);
    });
    let slow = with(damaged.clone(), |run| slow_down_lmdb(&mut run.trials));
    vec![
        ("a wrong result", damaged),
        ("a refuted promise", refuted),
        ("a wrong result, and the other is slow", slow),
    ]
}

/// Has an audit try these states of a contender.
fn audit(run: &mut Run, engine: &str, models: &[ModelStanding]) {
    let trials = run.trials.iter_mut();
    for trial in trials.filter(|it| it.spec.engine == engine) {
        trial.audit = Some(standing(models.to_vec()));
    }
}

fn promises() -> Vec<Situation> {
    let audited = |models: &[ModelStanding]| with(usual(), |run| audit(run, "sqlite", models));
    let undecided = ModelStanding {
        undecided: true,
        ..tried(StorageModel::Journal, 314, 0)
    };
    let weaker = [
        tried(StorageModel::Kill, 314, 0),
        tried(StorageModel::Posix, 314, 12),
    ];
    vec![
        ("an undecided audit", audited(&[undecided])),
        ("damage on weaker storage", audited(&weaker)),
        ("the storage has no barriers", without_barriers()),
        ("marks of cells of one engine", marked()),
    ]
}

fn without_barriers() -> Run {
    with(usual(), |run| {
        remove_barriers(&mut run.trials, "lmdb");
        remove_barriers(&mut run.trials, "sqlite");
    })
}

/// Two cells of one engine: flushes of the second one, and of knobs that the search dropped, were
/// not counted.
fn marked() -> Run {
    let mut run = chosen(&["lmdb", "lmdb"], "p99<5ms");
    for trial in &mut run.trials {
        let role = trial.spec.role.unwrap();
        if role.contender == 1 {
            let knobs = &mut trial.spec.knobs;
            knobs.insert("cache".to_owned(), Value::Integer(5));
        }
        if role.contender == 1 || role.purpose == TrialPurpose::Tuning {
            uncount_flushes(trial);
        }
    }
    run.manifest.trials = run.trials.iter().map(|it| it.spec.clone()).collect();
    run
}

fn unmeasured_knobs() -> Run {
    let mut run = alone();
    let found = choice(&run.manifest, &run.trials).unwrap();
    let search = found.candidates[0].tuning.as_ref().unwrap();
    let better = search.better().unwrap();
    for rate_per_s in [None, Some(500.0), Some(250.0), Some(125.0)] {
        let mut tuned = probe(0, "lmdb", rate_per_s);
        tuned.spec.knobs.extend(better.changes.clone());
        tuned.spec.role.as_mut().unwrap().configuration = Some(better.number);
        if rate_per_s.is_some() {
            fail(&mut tuned, KILLED);
        }
        run.trials.push(tuned);
    }
    run
}

#[test]
fn the_page_of_a_tuned_contender_has_its_search_with_the_course_and_the_importance() {
    assert_has!(usual().page(), SEARCH, COURSE, IMPORTANCE);
}

#[test]
fn a_choice_without_tuning_has_no_search_for_knobs() {
    let mut run = usual();
    choice_settings(&mut run.manifest).tuning = None;
    for text in [terminal_line(&run), run.page()] {
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
        run.render_search(Style::default()).unwrap()
    };
    assert_has!(answer(&["lmdb"]), SEARCH, IMPORTANCE);
    assert!(!answer(&["lmdb", "sqlite"]).contains("the search for knobs"));
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

#[test]
fn what_has_no_point_has_no_line_and_no_name_in_the_legend() {
    let run = all_killed();
    for run in [run.clone(), as_capacities(run)] {
        let charts = charts(&run.page());
        let curve = charts.iter().find(|chart| chart["kind"] == "curve");
        let groups = curve.unwrap()["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(groups[0]["name"], "lmdb");
    }
}

#[test]
fn the_document_of_a_choice_has_its_states_and_failures() {
    let run = all_killed();
    let json = run.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let killed = &json["choice"]["candidates"][1]["default"];
    assert_eq!(killed["state"]["state"], "unmeasured");
    assert_eq!(killed["probes"][0]["failure"], KILLED);
    assert_eq!(killed["capacity_per_s"], serde_json::Value::Null);
    let measured = &json["choice"]["candidates"][0]["default"];
    let figure = |name: &str| measured["estimate"][name].as_f64().unwrap();
    let capacity_per_s = measured["capacity_per_s"].as_f64().unwrap();
    assert!(figure("low_per_s") < capacity_per_s && capacity_per_s < figure("high_per_s"));
    assert!((0.0..1.0).contains(&figure("disturbed_share")));
}

#[test]
fn an_answer_has_the_interval_the_share_of_disturbed_trials_and_no_empty_cell() {
    let confirmed = with(usual(), |run| run.trials.extend(confirmation(0, "lmdb")));
    let text = flat(&terminal(&as_capacities(confirmed), 120));
    assert_has!(
        text,
        "lmdb keeps p99<5ms up to ",
        "90 % interval 8",
        " % of 16 trials disturbed)."
    );
    for run in [as_capacities(all_killed()), all_killed()] {
        assert_has!(terminal(&run, 140), "not measured");
    }
    let slow = with(usual(), |run| {
        run.trials
            .retain(|it| it.spec.engine != "sqlite" || it.spec.conditions.rate.is_none());
        run.trials.push(probe_with(1, "sqlite", 200.0, SLOW_NS));
    });
    let text = terminal(&as_capacities(slow), 140);
    let row = text
        .lines()
        .find(|line| line.starts_with("sqlite"))
        .unwrap();
    assert!(row.contains(" <"), "what its capacity is below: {row}");
}

#[test]
fn a_cache_that_was_set_to_fit_is_said() {
    let run = with(all_killed(), |run| {
        let fitted = trueput_record::search::FittedCache {
            contender: 1,
            knob: "rocksdb.block_cache".to_owned(),
            default_bytes: 1 << 30,
            bytes: 32 << 20,
        };
        choice_settings(&mut run.manifest).capacity.fitted_caches = vec![fitted];
        for spec in &mut run.manifest.trials {
            spec.conditions.memory_bytes = Some(64 << 20);
        }
    });
    let said = "rocksdb.block_cache=32 MiB, because the default, 1 GiB, takes more than half of \
        the memory limit of 64 MiB.";
    assert_has!(flat(&terminal(&run, 120)), said);
    let of_capacities = flat(&terminal(&as_capacities(run), 120));
    assert_has!(of_capacities, said);
}

#[test]
fn a_page_says_that_its_storage_does_not_keep_the_level() {
    assert_has!(
        without_barriers().page(),
        "sync not kept (nothing survives lost power)",
        "No contender is recommended, because sync is not kept here",
    );
}

#[test]
fn an_answer_on_a_storage_model_names_it_in_its_heading_and_its_commands() {
    let model = "ebs-gp3";
    let on_it = |run: &mut Run| {
        let planned = run.manifest.trials.iter_mut();
        let ended = run.trials.iter_mut().map(|trial| &mut trial.spec);
        for spec in planned.chain(ended) {
            spec.conditions.storage_model = Some(model.to_owned());
        }
    };
    let untested = "The storage is a model: what survives lost power on such a device was not";
    let said = |run: &Run| flat(&run.render_search(STYLE).unwrap());
    let run = with(alone(), on_it);
    let text = said(&run);
    assert_has!(
        text,
        "on model ebs-gp3: choice at",
        "--storage-model ebs-gp3",
        untested
    );
    let capacities = said(&as_capacities(run));
    assert_has!(capacities, "on model ebs-gp3: capacity at", untested);
    // The control: this machine's own storage is named nowhere.
    let plain = said(&alone());
    assert!(
        !plain.contains("on model") && !plain.contains(untested),
        "{plain}"
    );
}

#[test]
fn a_full_report_says_all_that_the_answer_of_a_search_says() {
    let groups = [
        situations(),
        capacity_situations(),
        vec![tuning::situations()],
    ];
    for (title, run) in groups.into_iter().flatten().flat_map(|(_, others)| others) {
        let full = flat(&terminal(&run, 100));
        let answer = run.render_search(STYLE).unwrap();
        let paragraphs = answer.split("\n\n");
        // Headings differ, and tables have the columns that fit.
        for paragraph in paragraphs.filter(|it| !it.contains("\n--") && !it.contains("\n==")) {
            assert!(full.contains(&flat(paragraph)), "{title}: {paragraph}");
        }
    }
}

#[test]
fn commands_have_the_name_by_which_the_program_was_called() {
    let text = |mut run: Run| {
        run.manifest.host.program.command[0] = "./tp".to_owned();
        flat(&run.render_search(STYLE).unwrap())
    };
    let open = text(half_confirmed());
    let resume = "./tp choose --resume results/20261121T204459Z-first-look --budget TIME.";
    assert_has!(open, format!("Go on with more time: {resume}").as_str());
    assert!(!open.contains("RUN"), "{open}");
    assert_has!(text(alone()), "./tp capacity threen1 ", "./tp run threen1 ");
    // A bundle is a copy, which does not go on.
    let mut bundle = half_confirmed();
    bundle.shown_as = "a.tar.gz".into();
    let open = text(bundle);
    assert!(!open.contains("--resume"), "{open}");
}
