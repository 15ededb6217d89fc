//! Choices between contenders, and the capacities that they are made of.

use trueput_findings::audits::{AuditState, audit_state};
use trueput_findings::capacity::{Capacity, CapacityState, Violation, capacities, comparisons};
use trueput_findings::choice::{Choice, NoOrderReason, choice};
use trueput_findings::tuning::TuningFindings;
use trueput_record::accounting::OtherPrograms;
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::ModelStanding;
use trueput_record::placement::Placement;
use trueput_record::testing::search::{
    FALLING, KILLED, RunRecords, SLOW_NS, as_capacities, audited, choice as chosen,
    choice_settings, confirmation, disturbed, fail, probe, probe_with, remove_barriers,
    run_off_trial, slow_down_lmdb, with_failures,
};
use trueput_record::testing::{standing, tried, with_stall};
use trueput_record::{Outcome, TrialRecord};

const OBJECTIVE: &str = "p99<5ms";

fn of((manifest, trials): &RunRecords) -> Choice {
    choice(manifest, trials).unwrap()
}

/// The capacities of two contenders with their default knobs, in the order of the plan; a search
/// for capacities finds the same.
fn both(records: &RunRecords) -> [Capacity; 2] {
    let mut candidates = of(records).candidates;
    candidates.sort_by_key(|it| it.default.contender);
    let found: Vec<_> = candidates.into_iter().map(|it| it.default).collect();
    let (mut manifest, trials) = records.clone();
    as_capacities(&mut manifest);
    assert_eq!(capacities(&manifest, &trials), found);
    found.try_into().unwrap()
}

fn unmeasured(message: &str) -> CapacityState {
    let message = message.to_owned();
    CapacityState::Unmeasured { message }
}

#[test]
fn the_contender_that_was_tuned_has_its_search_and_the_other_none() {
    let (mut manifest, trials) = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    let tunings = |found: Choice| -> Vec<Option<TuningFindings>> {
        let candidates = found.candidates.into_iter();
        candidates.map(|it| it.tuning).collect()
    };
    let found = tunings(of(&(manifest.clone(), trials.clone())));
    let search = found[0].as_ref().unwrap();
    assert_eq!((search.search_trials, found[1].is_none()), (54, true));
    let knobs = &search.importance.as_ref().unwrap().knobs;
    let most = knobs
        .iter()
        .max_by(|one, other| one.share.total_cmp(&other.share));
    assert_eq!(most.unwrap().knob, "cache");
    choice_settings(&mut manifest).tuning = None;
    assert_eq!(tunings(of(&(manifest, trials))), [None, None]);
}

#[test]
fn a_capacity_is_confirmed_once_its_interval_is_narrow() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    let unconfirmed = |found: &Capacity| {
        assert_eq!(found.state, CapacityState::Unconfirmed);
        let estimate = found.estimate.unwrap();
        assert!(
            estimate.high_per_s > 1.5 * estimate.low_per_s,
            "{estimate:?}"
        );
        let per_s = found.capacity_per_s.unwrap();
        assert!((500.0..950.0).contains(&per_s), "{per_s}");
    };
    let confirmed = |found: &Capacity| {
        assert_eq!(found.state, CapacityState::Confirmed);
        let estimate = found.estimate.unwrap();
        assert!(
            estimate.low_per_s <= 900.0 && 900.0 <= estimate.high_per_s,
            "{estimate:?}"
        );
        assert!(
            (880.0..=920.0).contains(&found.capacity_per_s.unwrap()),
            "{estimate:?}"
        );
        assert!(estimate.disturbed_share < 0.03, "{estimate:?}");
    };
    let [lmdb, sqlite] = both(&records);
    unconfirmed(&lmdb);
    unconfirmed(&sqlite);
    records.1.extend(confirmation(0, "lmdb"));
    let [lmdb, sqlite] = both(&records);
    confirmed(&lmdb);
    unconfirmed(&sqlite);
    let failed = lmdb.nearest_failure_above().unwrap();
    assert_eq!(failed.rate_per_s, 905.0);
    let [Violation::Limit(figure)] = &failed.judgement.violations[..] else {
        panic!("{failed:?}");
    };
    assert_eq!((figure.kind.as_str(), figure.metric), ("update", "p99"));
    assert_eq!((figure.value, figure.below), (0.009, 0.005));
    assert_eq!(lmdb.nearest_held().unwrap().rate_per_s, 895.0);
    records.1.extend(confirmation(1, "sqlite"));
    both(&records).iter().for_each(confirmed);
}

#[test]
fn a_trial_that_failed_far_below_a_capacity_is_disturbed_and_hardly_lowers_it() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    for rate_per_s in [500.0, 850.0] {
        records
            .1
            .push(probe_with(0, "lmdb", rate_per_s, 80_000_000));
    }
    records.1.extend(confirmation(0, "lmdb"));
    let [lmdb, _] = both(&records);
    let per_s = lmdb.capacity_per_s.unwrap();
    assert!((860.0..=910.0).contains(&per_s), "{per_s}");
    let disturbed = lmdb.estimate.unwrap().disturbed_share;
    assert!((0.08..0.16).contains(&disturbed), "2 of 14: {disturbed}");
}

#[test]
fn a_contender_serves_a_rate_at_which_most_trials_held_or_that_is_below_its_capacity() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    let serves = |records: &RunRecords, rate_per_s| both(records)[0].serves(rate_per_s);
    assert!(serves(&records, 300.0) && serves(&records, 895.0));
    assert!(!serves(&records, 905.0) && !serves(&records, 2_000.0));
    for p99_ns in [1_000_000, 1_000_000, SLOW_NS] {
        records.1.push(probe_with(0, "lmdb", 2_000.0, p99_ns));
    }
    assert!(serves(&records, 2_000.0));
}

#[test]
fn better_knobs_that_no_trial_at_a_rate_could_measure_did_not_fail_the_objective() {
    let mut records = chosen(&["lmdb"], OBJECTIVE);
    let found = of(&records);
    let search = found.candidates[0].tuning.as_ref().unwrap();
    let better = search.better().unwrap().clone();
    for rate_per_s in [None, Some(500.0), Some(250.0), Some(125.0)] {
        let mut tuned = probe(0, "lmdb", rate_per_s);
        tuned.spec.knobs.extend(better.changes.clone());
        tuned.spec.role.as_mut().unwrap().configuration = Some(better.number);
        if rate_per_s.is_some() {
            fail(&mut tuned, KILLED);
        }
        records.1.push(tuned);
    }
    let found = of(&records);
    let candidate = &found.candidates[0];
    let tuned = candidate.tuned.as_ref().unwrap();
    assert_eq!(tuned.state, unmeasured(KILLED));
    assert!(!candidate.is_tuned_better());
}

#[test]
fn a_contender_that_failed_at_the_lowest_rates_is_not_one_that_failed_the_objective() {
    let [lmdb, rocksdb] = both(&with_failures(KILLED, &FALLING));
    assert_eq!(rocksdb.state, unmeasured(KILLED));
    let failed = rocksdb.failed_trials().unwrap();
    assert_eq!(
        (&*failed.message, failed.failed, failed.all),
        (KILLED, 8, 8)
    );
    assert_eq!(lmdb.failed_trials(), None);
    let full = "worker 0: IO error: No space left on device";
    let [_, rocksdb] = both(&with_failures(full, &FALLING[2..]));
    let failed = rocksdb.failed_trials().unwrap();
    assert_eq!((&*failed.message, failed.failed, failed.all), (full, 6, 8));
    // One that was measured at the lowest rate, and too slow there, failed the objective.
    let [_, rocksdb] = both(&with_failures(full, &FALLING[..7]));
    assert_eq!(rocksdb.state, CapacityState::NothingHolds);
    assert_eq!(rocksdb.failed_trials(), None);
}

#[test]
fn a_contender_with_wrong_results_was_measured_and_is_not_considered() {
    let damaged = "reads: 1 damaged record of 10";
    let (manifest, mut trials) = with_failures(KILLED, &[]);
    let mut refuted = trials.clone();
    trials.last_mut().unwrap().outcome = Outcome::Invalid {
        reasons: vec![damaged.to_owned()],
    };
    let own = refuted.iter_mut().filter(|it| it.spec.engine == "rocksdb");
    for trial in own {
        trial.audit = Some(standing(vec![tried(StorageModel::Journal, 9, 1)]));
    }
    let promise = "an audit refuted its promise at this level";
    for (trials, reason) in [(trials, damaged), (refuted, promise)] {
        let [lmdb, rocksdb] = both(&(manifest.clone(), trials));
        assert_eq!(
            (lmdb.rejection(), rocksdb.rejection()),
            (None, Some(reason))
        );
        assert_eq!(
            (rocksdb.capacity_per_s, rocksdb.failed_trials()),
            (None, None)
        );
        assert_eq!(rocksdb.estimate, None);
    }
}

#[test]
fn the_run_off_overrules_the_search() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    let higher = [960.0, 980.0, 1_000.0, 1_020.0].map(|it| probe_with(0, "lmdb", it, 1_000_000));
    records.1.extend(higher);
    records.1.extend(confirmation(1, "sqlite"));
    let before = of(&records);
    assert_eq!(
        (before.candidates[0].default.contender, before.run_off),
        (0, None)
    );
    let rate_per_s = before.run_off_rate_per_s.unwrap();
    let searched_per_s = before.candidates[0].best().capacity_per_s.unwrap();
    for pair in 1..=5 {
        for (contender, engine, p99_ns) in [(0, "lmdb", SLOW_NS), (1, "sqlite", 1_000_000)] {
            let contender = (contender, engine);
            records
                .1
                .push(run_off_trial(contender, rate_per_s, pair, p99_ns));
        }
    }
    let after = of(&records);
    let run_off = after.run_off.unwrap();
    assert_eq!((run_off.first_held, run_off.second_held), (0, 5));
    assert_eq!(
        after.run_off_rate_per_s,
        Some(rate_per_s),
        "the same for the next pair"
    );
    assert_eq!(after.recommended, Some(1));
    let after_per_s = after.candidates[0].best().capacity_per_s.unwrap();
    assert!(
        after_per_s < searched_per_s,
        "{after_per_s} after {searched_per_s}"
    );
}

#[test]
fn a_run_off_moves_capacities_without_changing_how_many_trials_of_the_search_were_disturbed() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    records.1.extend(confirmation(1, "sqlite"));
    let before = of(&records);
    let rate_per_s = before.run_off_rate_per_s.unwrap();
    for pair in 1..=5 {
        for contender in [(0, "lmdb"), (1, "sqlite")] {
            let p99_ns = if contender.0 == 0 { 1_000_000 } else { SLOW_NS };
            records
                .1
                .push(run_off_trial(contender, rate_per_s, pair, p99_ns));
        }
    }
    let after = of(&records);
    let estimate = |found: &Choice, contender: u32| {
        let mut candidates = found.candidates.iter();
        let own = candidates.find(|it| it.default.contender == contender);
        own.unwrap().best().estimate.unwrap()
    };
    assert!(estimate(&after, 0).median_per_s > estimate(&before, 0).median_per_s);
    assert!(estimate(&after, 1).median_per_s < estimate(&before, 1).median_per_s);
    for found in [estimate(&after, 0), estimate(&after, 1)] {
        assert!(found.disturbed_share < 0.05, "{found:?}");
    }
    let run_off = after.run_off.unwrap();
    assert_eq!((run_off.first_held, run_off.second_held), (5, 0));
    assert_eq!((after.inconclusive, after.recommended), (None, Some(0)));
}

/// Three contenders, of which a run-off compared the first two: in all its pairs the second missed
/// the objective, and the first, too, if it `misses`.
fn run_off_of_three(are_all_confirmed: bool, misses: bool) -> Choice {
    let mut records = chosen(&["lmdb", "sqlite", "redb"], OBJECTIVE);
    let engines = [(0, "lmdb"), (1, "sqlite"), (2, "redb")];
    let confirmed = if are_all_confirmed { 3 } else { 2 };
    for (contender, engine) in &engines[..confirmed] {
        records.1.extend(confirmation(*contender, engine));
    }
    let rate_per_s = of(&records).run_off_rate_per_s.unwrap();
    for (pair, contender) in (1..=5).flat_map(|pair| [(pair, engines[0]), (pair, engines[1])]) {
        let is_held = contender.0 == 0 && !misses;
        let p99_ns = if is_held { 1_000_000 } else { SLOW_NS };
        let trial = run_off_trial(contender, rate_per_s, pair, p99_ns);
        records.1.push(trial);
    }
    of(&records)
}

#[test]
fn one_that_was_not_in_the_run_off_and_reaches_up_to_the_best_may_take_as_much() {
    let found = run_off_of_three(false, false);
    assert_eq!((found.inconclusive, found.recommended), (None, Some(0)));
    let rivals: Vec<_> = found
        .rivals()
        .iter()
        .map(|it| it.default.contender)
        .collect();
    assert_eq!(rivals, [2]);
    let found = run_off_of_three(true, true);
    assert_eq!(found.inconclusive, Some(NoOrderReason::Outsider));
    assert_eq!((found.recommended, found.rivals().len()), (None, 0));
}

#[test]
fn pairs_of_a_run_off_that_something_disturbed_do_not_count_up_to_a_limit() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    records.1.extend(confirmation(1, "sqlite"));
    let rate_per_s = of(&records).run_off_rate_per_s.unwrap();
    let mut add = |pair: u32, is_disturbed: bool| {
        for contender in [(0, "lmdb"), (1, "sqlite")] {
            let p99_ns = if contender.0 == 1 || is_disturbed {
                SLOW_NS
            } else {
                1_000_000
            };
            let mut trial = run_off_trial(contender, rate_per_s, pair, p99_ns);
            if is_disturbed {
                steal(&mut trial);
            }
            records.1.push(trial);
        }
        of(&records).run_off.map(|it| (it.pairs, it.first_held))
    };
    assert_eq!((1..=3).map(|pair| add(pair, true)).last(), Some(None));
    let mut later = (4..=8).map(|pair| add(pair, pair == 8));
    assert_eq!(later.nth(3), Some(Some((4, 4))));
    assert_eq!(
        later.next(),
        Some(Some((5, 4))),
        "the machine is always busy"
    );
}

#[test]
fn no_contender_is_recommended_if_the_run_off_leaves_it_open_and_the_intervals_overlap() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    records.1.extend(confirmation(1, "sqlite"));
    let rate_per_s = of(&records).run_off_rate_per_s.unwrap();
    for pair in 1..=5 {
        let before = of(&records);
        let reason = Some(NoOrderReason::Overlap);
        assert_eq!((before.inconclusive, before.recommended), (reason, None));
        for contender in [(0, "lmdb"), (1, "sqlite")] {
            let trial = run_off_trial(contender, rate_per_s, pair, 1_000_000);
            records.1.push(trial);
        }
    }
    for (precision, reason) in [(0.1, NoOrderReason::Equal), (0.01, NoOrderReason::Overlap)] {
        choice_settings(&mut records.0).capacity.precision = precision;
        let found = of(&records);
        assert_eq!(found.inconclusive, Some(reason));
        assert_eq!((found.first(), found.recommended), (None, None));
    }
}

#[test]
fn no_contender_is_recommended_if_most_trials_of_one_of_the_best_were_disturbed() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    records.1.extend(disturbed(1, "sqlite"));
    let found = of(&records);
    assert_eq!(found.inconclusive, Some(NoOrderReason::Disturbance));
    assert_eq!(found.recommended, None);
    let [lmdb, sqlite] = both(&records);
    assert!(lmdb.estimate.unwrap().disturbed_share < 0.1);
    assert!(sqlite.estimate.unwrap().disturbed_share > 0.5);
    // A clear run-off tells even so.
    let rate_per_s = found.run_off_rate_per_s.unwrap();
    let [first, second] = found.highest_two().unwrap().map(|it| it.default.contender);
    for (pair, contender) in (1..=5).flat_map(|pair| [(pair, first), (pair, second)]) {
        let p99_ns = if contender == first {
            1_000_000
        } else {
            SLOW_NS
        };
        let engine = ["lmdb", "sqlite"][contender as usize];
        let trial = run_off_trial((contender, engine), rate_per_s, pair, p99_ns);
        records.1.push(trial);
    }
    let found = of(&records);
    assert_eq!((found.inconclusive, found.recommended), (None, Some(first)));
}

/// Has the hypervisor take 1.5 % of the processors of a trial.
fn steal(trial: &mut TrialRecord) {
    let measured = trial.measurement.as_mut().unwrap();
    measured.neighbors = Some(OtherPrograms {
        cpu_s: 0.0,
        kernel_s: Some(0.0),
        steal_s: 0.03 * measured.elapsed_s,
    });
    measured.placement = Some(Placement {
        cpus: "0-1".to_owned(),
        ..Placement::default()
    });
}

#[test]
fn a_trial_that_others_disturbed_does_not_count_up_to_a_limit() {
    let mut records = chosen(&["lmdb"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    let quiet = of(&records).candidates[0].default.clone();
    let mut stolen = probe_with(0, "lmdb", 300.0, SLOW_NS);
    steal(&mut stolen);
    records.1.extend(vec![stolen.clone(); 6]);
    let busy = of(&records).candidates[0].default.clone();
    let [before, after] = [&quiet, &busy].map(|it| it.estimate.unwrap());
    assert_eq!(before.median_per_s, after.median_per_s);
    assert!(after.disturbed_share > before.disturbed_share);
    let share_of_counted = busy.disturbed_share_of_counted();
    assert!((share_of_counted - before.disturbed_share).abs() < 1e-9);
    assert_eq!(busy.counted().count(), quiet.probes.len());
    // One of which a part stood still says as little.
    let mut stalled = records.clone();
    stalled.1.truncate(records.1.len() - 6);
    stalled
        .1
        .push(with_stall(probe_with(0, "lmdb", 300.0, SLOW_NS)));
    let estimate = of(&stalled).candidates[0].default.estimate.unwrap();
    assert_eq!(estimate.median_per_s, before.median_per_s);
    // A machine that is always busy is what the contenders run on.
    records.1.push(stolen);
    let always = of(&records).candidates[0].default.clone();
    assert_eq!(always.counted().count(), quiet.probes.len() + 1);
}

#[test]
fn a_contender_that_another_one_leads_is_not_searched_further_if_it_was_beside_it() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    records.1.extend(confirmation(0, "lmdb"));
    let is_of_sqlite = |trial: &TrialRecord| trial.spec.engine == "sqlite";
    let in_closed_loop = |trial: &TrialRecord| trial.spec.conditions.rate.is_none();
    records
        .1
        .retain(|trial| !is_of_sqlite(trial) || in_closed_loop(trial));
    let slow = |rate_per_s| probe_with(1, "sqlite", rate_per_s, SLOW_NS);
    records.1.extend([300.0, 200.0].map(slow));
    let state = |records: &RunRecords| of(records).candidates[1].default.state.clone();
    let put_in_slices = |records: &mut RunRecords| {
        for spec in &mut records.0.trials {
            spec.conditions.time_slice_s = Some(0.5);
        }
    };
    let mut few = records.clone();
    put_in_slices(&mut few);
    assert_eq!(state(&few), CapacityState::Unconfirmed);
    records.1.extend([150.0, 120.0].map(slow));
    records.1.push(probe(1, "sqlite", Some(75.0)));
    assert_eq!(state(&records), CapacityState::Unconfirmed);
    put_in_slices(&mut records);
    let by = "lmdb".to_owned();
    assert_eq!(state(&records), CapacityState::Led { by });
    // Tuned knobs do not gain so much either.
    let found = of(&records);
    let [lmdb, sqlite] = [0, 1].map(|place| found.is_out_of_reach(&found.candidates[place]));
    assert_eq!((lmdb, sqlite), (false, true));
}

#[test]
fn none_is_first_where_none_keeps_the_objective() {
    for failed in [&[][..], &FALLING] {
        let mut records = with_failures(KILLED, failed);
        slow_down_lmdb(&mut records.1);
        let [lmdb, rocksdb] = both(&records);
        assert_eq!(lmdb.state, CapacityState::NothingHolds);
        let expected = if failed.is_empty() {
            CapacityState::NothingHolds
        } else {
            unmeasured(KILLED)
        };
        assert_eq!(rocksdb.state, expected);
        let found = of(&records);
        assert_eq!((found.first(), found.recommended), (None, None));
    }
}

/// What is known of the promise of sqlite, after an audit with these results.
fn state_after(models: &[ModelStanding]) -> AuditState {
    let (_, mut trials) = audited();
    trials.retain(|trial| trial.spec.engine == "sqlite");
    for trial in &mut trials {
        trial.audit = Some(standing(models.to_vec()));
    }
    audit_state(&trials.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn an_undecided_audit_says_nothing_and_damage_on_weaker_storage_refutes_nothing() {
    let undecided = ModelStanding {
        undecided: true,
        ..tried(StorageModel::Journal, 314, 0)
    };
    assert_eq!(state_after(&[undecided]), AuditState::Undecided);
    let models = [
        tried(StorageModel::Kill, 314, 0),
        tried(StorageModel::Posix, 314, 12),
    ];
    let AuditState::NotRefuted {
        states, refuted_by, ..
    } = state_after(&models)
    else {
        panic!("usual storage refuted it");
    };
    assert_eq!((states, refuted_by), (314, vec![StorageModel::Posix]));
}

#[test]
fn nothing_is_recommended_at_a_level_that_the_storage_does_not_keep() {
    let mut records = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    remove_barriers(&mut records.1, "lmdb");
    assert_eq!(of(&records).recommended, Some(1), "sqlite has the barriers");
    remove_barriers(&mut records.1, "sqlite");
    let found = of(&records);
    assert_eq!(found.recommended, None);
    assert!(found.candidates.iter().all(|it| it.is_lost()));
}

#[test]
fn a_capacity_on_storage_without_barriers_is_compared_with_no_other() {
    let (mut manifest, mut trials) = chosen(&["lmdb", "sqlite"], OBJECTIVE);
    as_capacities(&mut manifest);
    let groups = |trials: &[TrialRecord]| comparisons(capacities(&manifest, trials)).len();
    assert_eq!(groups(&trials), 1);
    remove_barriers(&mut trials, "sqlite");
    assert_eq!(groups(&trials), 2);
}
