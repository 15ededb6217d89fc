//! The contents and the order of a ranking, and the trials that it leaves out.

use crate::support::{contenders, contest, rank, run_of};
use std::path::Path;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_findings::eligibility::{Ineligibility, UnrankedStatus};
use trueput_findings::power_loss::violates_durability;
use trueput_findings::rankings::{Ranking, rankings};
use trueput_findings::scaling::series;
use trueput_record::conditions::{Allocator, NumaPolicy, Start};
use trueput_record::filesystem::{FileSystem, FileSystemKind, MountedFileSystem};
use trueput_record::folder::RankingSplit;
use trueput_record::host::FileSystemFacts;
use trueput_record::measurement::{Check, LatencySummary, Verification};
use trueput_record::testing::{
    append_with_histograms, everything, failed, invalid, manifest, null, settings, spec, valid,
    whole,
};
use trueput_record::{
    Conditions, Durability, Isolation, Outcome, RunFolder, TrialRecord, Value, VerifyLevel,
    WorkerKind,
};

#[test]
fn contenders_stand_in_the_order_of_the_ratios_of_their_repeats() {
    let rankings = rank(&everything());
    let sync = rankings
        .iter()
        .find(|ranking| ranking.durability == Durability::Sync)
        .unwrap();
    // As the verdict does, which claims nothing here, and not as the medians do.
    assert_eq!(contenders(sync), ["lmdb", "redb"]);
    let lmdb = &sync.cells[0].figures.headline_per_s;
    assert_eq!(
        (lmdb.median, lmdb.min, lmdb.max),
        (2_100.0, 2_000.0, 9_000.0)
    );
    let redb = &sync.cells[1];
    let estimate = redb.against_best.unwrap().ratio.unwrap().estimate;
    assert_eq!(redb.relative_to_best, Some(estimate));
    assert_eq!(sync.cells[0].relative_to_best, Some(1.0));
}

#[test]
fn levels_of_durability_never_share_a_ranking() {
    let rankings = rank(&everything());
    let levels: Vec<_> = rankings.iter().map(|ranking| ranking.durability).collect();
    assert_eq!(
        levels,
        [Durability::Sync, Durability::Async, Durability::None]
    );
    assert_eq!(contenders(&rankings[1]), ["lmdb", "redb"]);
}

#[test]
fn ranges_commits_keys_and_numbers_of_workers_never_share_a_ranking() {
    let base = spec(0, "lmdb", Durability::Sync, 1);
    let mut others = vec![base.clone(); 4];
    others[0].settings = settings(1_000);
    others[1]
        .settings
        .insert("commit".to_owned(), Value::from("start"));
    others[2]
        .settings
        .insert("keys".to_owned(), Value::from("words"));
    others[3].workers = 2;
    let mut trials = vec![valid(base, 1_000.0)];
    for (cell, spec) in (1..).zip(&mut others) {
        spec.cell = cell;
        trials.push(valid(spec.clone(), 2_000.0));
    }
    let rankings = rank(&trials);
    assert_eq!(rankings.len(), 5);
    assert!(rankings.iter().all(|ranking| ranking.cells.len() == 1));
}

#[test]
fn what_is_invalid_or_failed_is_never_ranked_and_its_reason_is_kept() {
    let rankings = rank(&everything());
    let unranked = &rankings[1].unranked;
    assert_eq!(unranked[0].status, UnrankedStatus::Invalid);
    assert!(
        unranked[0]
            .reason
            .to_string()
            .contains("expected 350, found 349")
    );
    assert_eq!(
        unranked[0].headline_per_s, None,
        "a doubtful number is not shown"
    );
    assert_eq!(
        (unranked[1].status, unranked[1].contender.as_str()),
        (UnrankedStatus::Failed, "sqlite")
    );
    assert!(unranked.iter().all(|trial| trial.status.is_bad()));
}

#[test]
fn the_null_engine_stands_apart_even_where_another_engine_promises_nothing_either() {
    let trials = [
        valid(spec(0, "memory", Durability::None, 1), 1_000.0),
        null(spec(1, "null", Durability::None, 1), 9_000_000.0),
    ];
    let rankings = rank(&trials);
    assert_eq!(contenders(&rankings[0]), ["memory"]);
    assert_eq!(rankings[0].cells[0].relative_to_best, Some(1.0));
    let harness = &rankings[0].harness[0];
    let cpu_s = 1.5 * 217_211.0 / 9_000_000.0;
    let expected_ns = cpu_s * 1e9 / f64::from(217_211 + 317_211);
    assert!((harness.figures.cpu_ns_per_operation.unwrap() - expected_ns).abs() < 1e-6);
}

#[test]
fn a_null_trial_on_a_debug_build_does_not_count_either() {
    let spec = spec(0, "null", Durability::None, 1);
    let rankings = rank(&[invalid(spec, 1_000.0, "a debug build")]);
    assert!(rankings[0].harness.is_empty());
    assert_eq!(rankings[0].unranked[0].reason.to_string(), "a debug build");
}

#[test]
fn resumed_and_unverified_trials_are_shown_apart_with_their_rate() {
    let resumed = TrialRecord {
        resumed: true,
        ..valid(spec(0, "lmdb", Durability::Sync, 1), 1_000.0)
    };
    let unverified = null(spec(1, "redb", Durability::Sync, 1), 2_000.0);
    let rankings = rank(&[resumed, unverified]);
    assert!(rankings[0].cells.is_empty());
    let shown: Vec<_> = rankings[0]
        .unranked
        .iter()
        .map(|trial| (trial.status, trial.headline_per_s))
        .collect();
    assert_eq!(
        shown,
        [
            (UnrankedStatus::Resumed, Some(1_000.0)),
            (UnrankedStatus::Unverified, Some(2_000.0))
        ]
    );
}

#[test]
fn a_line_that_says_valid_but_whose_checks_failed_is_not_believed() {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 1_000.0);
    let check = Check::equal("largest number", &7, &8);
    trial.verification = Some(Verification::from_checks(
        VerifyLevel::Full,
        vec![check],
        0.1,
    ));
    let rankings = rank(&[trial]);
    assert_eq!(rankings[0].unranked[0].status, UnrankedStatus::Invalid);
    assert!(
        rankings[0].unranked[0]
            .reason
            .to_string()
            .contains("expected 7, found 8")
    );
}

#[test]
fn an_interrupted_trial_that_was_run_again_is_spoken_for_by_the_later_line() {
    let spec = spec(0, "lmdb", Durability::Sync, 1);
    let stopped = TrialRecord {
        outcome: Outcome::Interrupted,
        measurement: None,
        ..valid(spec.clone(), 1.0)
    };
    let alone = rank(std::slice::from_ref(&stopped));
    assert_eq!(alone[0].unranked[0].status, UnrankedStatus::Interrupted);
    assert!(
        run_of(vec![stopped.clone()]).missing().len() == 1,
        "it is to be run again"
    );
    let again = rank(&[stopped, valid(spec, 1_000.0)]);
    assert!(again[0].unranked.is_empty());
    assert_eq!(again[0].cells[0].repeats, 1);
}

#[test]
fn a_trial_whose_histograms_are_gone_has_a_mark_and_no_place() {
    let native = |mut trial: TrialRecord| {
        for operation in &mut trial.measurement.as_mut().unwrap().operations {
            operation.latency = LatencySummary::default();
        }
        trial
    };
    let specs = [
        spec(0, "lmdb", Durability::Sync, 1),
        spec(1, "redb", Durability::Sync, 1),
    ];
    let third = spec(2, "mdbx", Durability::Sync, 1);
    let trials = [
        valid(specs[0].clone(), 1_000.0),
        valid(specs[1].clone(), 9_000.0),
        native(valid(third, 500.0)),
    ];
    let results = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(results.path(), &manifest(&trials)).unwrap();
    append_with_histograms(&folder, &trials[0]);
    append_with_histograms(&folder, &trials[1]);
    // It timed nothing, so it needs no histograms.
    folder.append(&whole(&trials[2])).unwrap();
    let ranked = || {
        let report = Run::load(folder.path()).unwrap();
        rankings(&report.manifest, &report.trials).remove(0)
    };
    let all = ranked();
    assert_eq!(contenders(&all), ["redb", "lmdb", "mdbx"]);
    assert!(all.cells.iter().all(|cell| cell.marks.is_empty()));
    std::fs::remove_file(folder.histogram_path(&trials[1].spec.id)).unwrap();
    let left = ranked();
    assert_eq!(contenders(&left), ["lmdb", "mdbx"]);
    assert_eq!(left.unranked[0].status, UnrankedStatus::Unverified);
    assert_eq!(left.unranked[0].marks[0].label, "record not verified");
    assert!(matches!(
        left.unranked[0].reason,
        Ineligibility::NoHistograms
    ));
}

#[test]
fn a_failed_trial_that_was_run_again_is_spoken_for_by_the_later_line() {
    let spec = spec(0, "lmdb", Durability::Sync, 1);
    let stopped = |reason: &str| TrialRecord {
        outcome: Outcome::Failed {
            reason: reason.to_owned(),
            bad_input: false,
        },
        measurement: None,
        verification: None,
        ..valid(spec.clone(), 1.0)
    };
    let again = valid(spec.clone(), 1_000.0);
    let results = tempfile::tempdir().unwrap();
    let first = stopped("the disk is full");
    let folder =
        RunFolder::create(results.path(), &manifest(std::slice::from_ref(&first))).unwrap();
    folder.append(&first).unwrap();
    folder.append(&stopped("the disk is full again")).unwrap();
    let ranked = |folder: &Path| {
        let run = Run::load(folder).unwrap();
        rankings(&run.manifest, &run.trials).remove(0)
    };
    let reasons = |ranking: &Ranking| -> Vec<String> {
        let unranked = ranking.unranked.iter();
        unranked.map(|trial| trial.reason.to_string()).collect()
    };
    assert_eq!(reasons(&ranked(folder.path())), ["the disk is full again"]);
    append_with_histograms(&folder, &again);
    let ranking = ranked(folder.path());
    assert_eq!((ranking.cells.len(), ranking.unranked.len()), (1, 0));
    // The control: a second line of one that ended is one too many.
    append_with_histograms(&folder, &again);
    let doubled = reasons(&ranked(folder.path())).join("; ");
    assert!(doubled.contains("more than one line"), "{doubled}");
}

#[test]
fn cells_of_one_engine_are_told_apart_by_the_knob_that_differs() {
    let small = spec(0, "lmdb", Durability::Sync, 1);
    let mut large = spec(1, "lmdb", Durability::Sync, 1);
    large.knobs.insert("map_size".to_owned(), Value::Integer(7));
    let mut threads = spec(2, "redb", Durability::Sync, 1);
    threads.worker_kind = WorkerKind::Threads;
    let processes = spec(3, "redb", Durability::Sync, 1);
    let trials = [(small, 4.0), (large, 3.0), (threads, 2.0), (processes, 1.0)];
    let rankings = rank(&trials.map(|(spec, rate)| valid(spec, rate)));
    let expected = [
        "lmdb (map_size=1073741824)",
        "lmdb (map_size=7)",
        "redb (threads)",
        "redb (processes)",
    ];
    assert_eq!(contenders(&rankings[0]), expected);
}

#[test]
fn without_a_stated_headline_the_first_kind_of_operation_ranks() {
    let trials = everything();
    let mut manifest = manifest(&trials);
    manifest.headlines.clear();
    assert!(
        rankings(&manifest, &trials)
            .iter()
            .all(|ranking| ranking.headline == "read")
    );
    manifest
        .headlines
        .insert("threen1".to_owned(), "delete".to_owned());
    let rankings = rankings(&manifest, &trials);
    assert!(
        rankings.iter().all(|ranking| ranking.cells.is_empty()),
        "no trial has it"
    );
}

#[test]
fn a_failed_trial_takes_no_part_in_its_cells_figures() {
    let trials = [
        valid(spec(0, "lmdb", Durability::Sync, 1), 1_000.0),
        failed(spec(0, "lmdb", Durability::Sync, 2), "no space left"),
    ];
    let rankings = rank(&trials);
    assert_eq!(rankings[0].cells[0].repeats, 1);
    assert_eq!(rankings[0].unranked.len(), 1);
}

/// A trial at a level on a file system of its own.
fn on(cell: u32, kind: &str, level: Durability, per_s: f64) -> TrialRecord {
    let mut trial = valid(spec(cell, "lmdb", level, 1), per_s);
    let file_system = match kind {
        "tmpfs" => FileSystemKind::Tmpfs,
        made => FileSystemKind::Made(made.to_owned()),
    };
    trial.spec.conditions.file_system = Some(FileSystem {
        kind: file_system,
        ..FileSystem::default()
    });
    let mut stood_on = MountedFileSystem::default();
    stood_on.mounted.kind = kind.to_owned();
    trial.file_system = Some(stood_on);
    trial
}

#[test]
fn what_lay_in_memory_never_stands_among_what_survives_lost_power() {
    let both = |level| {
        rank(&[
            on(0, "tmpfs", level, 9_000.0),
            on(1, "ext4", level, 1_000.0),
            on(2, "xfs", level, 2_000.0),
        ])
    };
    let kept = both(Durability::Sync);
    let held = ["lmdb (filesystem=xfs)", "lmdb (filesystem=ext4)"];
    assert_eq!(
        (contenders(&kept[0]), kept[0].in_memory),
        (held.to_vec(), false)
    );
    assert_eq!(
        (contenders(&kept[1]), kept[1].in_memory),
        (vec!["lmdb"], true)
    );
    assert_eq!(kept[1].cells[0].relative_to_best, Some(1.0));
    // A level that promises nothing of lost power is as good in memory.
    let promised = both(Durability::Process);
    assert_eq!((promised.len(), promised[0].in_memory), (1, false));
    assert_eq!(promised[0].cells.len(), 3);
}

#[test]
fn a_log_in_memory_or_a_failed_request_for_memory_violates_a_level_that_survives_power_loss() {
    let disk = FileSystemFacts {
        kind: "ext4".to_owned(),
        ..FileSystemFacts::default()
    };
    let violates = |change: fn(&mut TrialRecord)| {
        let mut trial = on(0, "ext4", Durability::Sync, 1_000.0);
        change(&mut trial);
        violates_durability(&trial, &disk)
    };
    assert!(!violates(|_| {}));
    assert!(violates(|trial| {
        let mut log = MountedFileSystem::default();
        log.mounted.kind = "ramfs".to_owned();
        trial.log_file_system = Some(log);
    }));
    let fail_before_mounting = |trial: &mut TrialRecord| {
        trial.spec.conditions.log_file_system = Some(FileSystem {
            kind: FileSystemKind::Tmpfs,
            ..FileSystem::default()
        });
        trial.log_file_system = None;
    };
    assert!(violates(fail_before_mounting));
    let mut weaker = on(0, "tmpfs", Durability::Process, 1_000.0);
    assert!(!violates_durability(&weaker, &disk));
    weaker.spec.durability = Durability::Async;
    assert!(violates_durability(&weaker, &disk));
}

#[test]
fn a_series_over_workers_in_memory_is_one_of_its_own() {
    let trial = |cell: u32, kind: &str, workers: u32| {
        let mut trial = on(cell, kind, Durability::Sync, 1_000.0 * f64::from(workers));
        trial.spec.workers = workers;
        trial
    };
    let kinds = ["ext4", "tmpfs"];
    let cells = (0..).zip(kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 2)]));
    let trials: Vec<_> = cells
        .map(|(cell, (kind, workers))| trial(cell, kind, workers))
        .collect();
    let names: Vec<_> = series(&rank(&trials))
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["lmdb sync update", "lmdb sync update in memory"]);
}

#[test]
fn a_median_has_an_interval_from_six_repeats_on() {
    let interval = |repeats: u32| {
        let rates: Vec<_> = (1..=repeats)
            .map(|repeat| 1_000.0 + f64::from(10 * repeat))
            .collect();
        let run = contest(&[("lmdb", &rates)]);
        rank(&run.trials)[0].cells[0].figures.headline_interval
    };
    assert!(interval(5).is_none() && interval(6).is_some());
}

fn under(cell: u32, engine: &str, change: impl Fn(&mut Conditions)) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Sync, 1);
    change(&mut spec.conditions);
    valid(spec, 1_000.0 + f64::from(cell))
}

#[test]
fn a_condition_that_varies_tells_every_contender_apart() {
    let trials = [
        under(0, "lmdb", |_| {}),
        under(1, "lmdb", |of| of.allocator = Allocator::Jemalloc),
        under(2, "redb", |_| {}),
        under(3, "redb", |of| of.allocator = Allocator::Jemalloc),
    ];
    let rankings = rank(&trials);
    let names = [
        "redb (allocator=jemalloc)",
        "redb (allocator=libc)",
        "lmdb (allocator=jemalloc)",
        "lmdb (allocator=libc)",
    ];
    assert_eq!(rankings.len(), 1);
    assert_eq!(contenders(&rankings[0]), names);
}

#[test]
fn every_condition_can_be_told_and_one_that_does_not_vary_is_not_named() {
    let trials = [
        under(0, "lmdb", |of| of.duration_s = Some(5.0)),
        under(1, "lmdb", |of| {
            of.duration_s = Some(5.0);
            of.start = Start::Cold;
            of.cpus = Some("0-1".to_owned());
            of.numa = Some(NumaPolicy::Interleave(vec![0, 1]));
            of.memory_bytes = Some(1 << 30);
        }),
    ];
    let names = [
        "lmdb (start=cold, cpus=0-1, numa=interleave:0,1, memory=1 GiB)",
        "lmdb (start=warm, cpus=all, numa=none, memory=none)",
    ];
    assert_eq!(contenders(&rank(&trials)[0]), names);
}

#[test]
fn conditions_that_are_the_same_everywhere_are_not_named() {
    let cold = |cell, engine| under(cell, engine, |of| of.start = Start::Cold);
    let rankings = rank(&[cold(0, "lmdb"), cold(1, "redb")]);
    assert_eq!(contenders(&rankings[0]), ["redb", "lmdb"]);
}

#[test]
fn the_length_of_a_time_slice_is_not_named_but_that_one_contender_had_none_is() {
    let sliced = |cell, engine, length_s| under(cell, engine, |of| of.time_slice_s = length_s);
    let trials = [sliced(0, "lmdb", Some(0.1)), sliced(1, "redb", Some(1.0))];
    assert_eq!(contenders(&rank(&trials)[0]), ["redb", "lmdb"]);
    let trials = [sliced(0, "lmdb", None), sliced(1, "redb", Some(1.0))];
    let names = ["redb (time_slice=shared)", "lmdb (time_slice=none)"];
    assert_eq!(contenders(&rank(&trials)[0]), names);
}

#[test]
fn settings_that_differ_make_a_scaling_series_of_their_own() {
    let trial = |cell: u32, workers: u32, finish: i64| {
        let mut spec = spec(cell, "lmdb", Durability::Sync, 1);
        (spec.workers, spec.settings) = (workers, settings(finish));
        spec.id = format!("{cell}");
        valid(spec, f64::from(workers) * finish as f64)
    };
    let one = [1, 2, 4, 8].map(|workers| trial(workers, workers, 100));
    let both = [one.to_vec(), [1, 2].map(|n| trial(10 + n, n, 7_000)).into()].concat();
    let names = |trials: &[TrialRecord]| -> Vec<(String, usize)> {
        let series = series(&rank(trials)).into_iter();
        series.map(|one| (one.name, one.points.len())).collect()
    };
    let alone = "lmdb sync update".to_owned();
    assert_eq!(names(&one), [(alone.clone(), 4)]);
    let apart = |finish: u32| format!("{alone} finish={finish}");
    assert_eq!(names(&both), [(apart(100), 4), (apart(7_000), 2)]);
    let fitted = series(&rank(&both));
    assert!(fitted[0].fit.is_ok() && fitted[0].curve.len() == 50);
    let unfit = fitted[1].fit.as_ref().unwrap_err().to_string();
    assert!(unfit.contains("too few points"), "{unfit}");
}

/// A trial of that contender, whose driver states this isolation.
fn isolated(cell: u32, engine: &str, isolation: Option<Isolation>, rate: f64) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, Durability::Sync, 1), rate);
    if let Some(engine) = &mut trial.engine {
        engine.isolation = isolation;
    }
    trial
}

fn of_two_levels() -> Run {
    let serializable = Some(Isolation::Serializable);
    run_of(vec![
        isolated(0, "rocksdb", Some(Isolation::ReadCommitted), 300.0),
        isolated(1, "lmdb", serializable, 200.0),
        isolated(2, "sqlite", serializable, 100.0),
    ])
}

#[test]
fn a_leader_of_weaker_isolation_is_named_with_those_of_stronger() {
    let weaker = |run: &Run| Answer::of(run).rankings[0].weaker_isolation.clone();
    let found = weaker(&of_two_levels()).unwrap();
    assert_eq!(
        (found.contender.as_str(), found.level.as_str()),
        ("rocksdb", "read-committed")
    );
    assert_eq!(found.stronger, ["lmdb", "sqlite"]);
    let stronger = run_of(vec![
        isolated(0, "lmdb", Some(Isolation::Serializable), 300.0),
        isolated(1, "rocksdb", Some(Isolation::ReadCommitted), 200.0),
        isolated(2, "unknown", None, 100.0),
    ]);
    let unknown = run_of(vec![
        isolated(0, "unknown", None, 300.0),
        isolated(1, "lmdb", Some(Isolation::Serializable), 200.0),
    ]);
    assert_eq!((weaker(&stronger), weaker(&unknown)), (None, None));
}

#[test]
fn rankings_can_be_split_by_isolation_the_strongest_first() {
    let mut split = of_two_levels();
    // One that did not come to opening its engine goes with its cell's other repeats.
    let mut failing = failed(spec(0, "rocksdb", Durability::Sync, 2), "killed");
    failing.engine = None;
    split.trials.push(failing);
    assert_eq!(rankings(&split.manifest, &split.trials).len(), 1);
    split.manifest.split_by = Some(RankingSplit::Isolation);
    let rankings = rankings(&split.manifest, &split.trials);
    let told: Vec<_> = rankings
        .iter()
        .map(|one| (one.isolation, one.cells.len(), one.unranked.len()))
        .collect();
    let expected = [
        (Some(Isolation::Serializable), 2, 0),
        (Some(Isolation::ReadCommitted), 1, 1),
    ];
    assert_eq!(told, expected);
    let answer = Answer::of(&split);
    assert!(
        answer
            .rankings
            .iter()
            .all(|one| one.weaker_isolation.is_none())
    );
}

#[test]
fn what_fails_only_with_several_writers_is_said_to_be_a_conflict_that_a_driver_must_report() {
    let trial = |cell: u32, workers: u32, repeat: u32| {
        let mut spec = spec(cell, "canopydb", Durability::Sync, repeat);
        spec.workers = workers;
        spec.id = format!("{cell}-r{repeat}");
        spec
    };
    let told = |alone: TrialRecord, reason: &str| {
        let report = run_of(vec![alone, failed(trial(1, 4, 1), reason)]);
        let found = rankings(&report.manifest, &report.trials);
        let mut all = found.into_iter().flat_map(|ranking| ranking.unranked);
        let of_several = all.find(|unranked| unranked.id == "1-r1").unwrap();
        of_several.reason.to_string()
    };
    let reason = "worker 2: put: the transaction was given up";
    let passed = || valid(trial(0, 1, 1), 1_000.0);
    let said = told(passed(), reason);
    assert!(
        said.starts_with(&format!("{reason}; fails only with several writers: ")),
        "{said}"
    );
    assert!(said.contains("must return Error::Conflict"), "{said}");
    // The hint is left out if one writer fails too, and for failures that are not the engine's.
    assert_eq!(told(failed(trial(0, 1, 1), reason), reason), reason);
    let killed = "worker 2 was killed by SIGKILL";
    assert_eq!(told(passed(), killed), killed);
    let mut other_level = passed();
    other_level.spec.durability = Durability::Async;
    assert_eq!(told(other_level, reason), reason);
}
