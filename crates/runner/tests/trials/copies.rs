//! Later repeats begin with a copy of what the first one prepared.

use crate::claims::claims;
use crate::support::{Bench, doubts, is_empty_or_absent, on, spec, threads};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use trueput_record::{Durability, TrialRecord, TrialSpec};
use trueput_runner::{Event, Phase};

claims![
    later_repeats_begin_with_a_copy_of_the_prepared_database,
    a_copy_that_is_lost_is_given_up_and_the_repeat_prepares_its_own,
    a_run_that_goes_on_makes_its_copies_anew,
    what_a_killed_run_left_in_the_folder_of_a_trial_that_has_ended_goes_when_it_goes_on,
    a_trial_that_continues_another_one_takes_no_copy,
];

/// Three repeats of a cell, on an engine that has files.
fn repeats() -> Vec<TrialSpec> {
    let repeat = |repeat| TrialSpec {
        repeat,
        id: format!("r{repeat}"),
        durability: Durability::Sync,
        ..on("keeper", threads(spec("a", "store")))
    };
    [1, 2, 3].map(repeat).to_vec()
}

/// The folder of the copy, somewhere in the results.
fn find_copy(bench: &Bench) -> Option<PathBuf> {
    let mut folders = vec![bench.results()];
    while let Some(folder) = folders.pop() {
        if folder.file_name().is_some_and(|name| name == "r1-prepared") {
            return Some(folder);
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        folders.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path.is_dir()),
        );
    }
    None
}

fn all_are_valid(records: &[TrialRecord]) {
    assert_eq!(records.len(), 3);
    for record in records {
        assert!(doubts(record).is_empty(), "{record:?}");
        assert!(record.engine.is_some());
    }
}

fn later_repeats_begin_with_a_copy_of_the_prepared_database() {
    let bench = Bench::new();
    let made = bench.create(repeats()).unwrap();
    let mut had_copy = Vec::new();
    bench.run(&made, |event| {
        if let Event::TrialEnded { .. } = event {
            had_copy.push(find_copy(&bench).is_some_and(|copy| !is_empty_or_absent(&copy)));
        }
    });
    assert_eq!(had_copy, [true, true, true]);
    all_are_valid(&made.records());
    assert_eq!(find_copy(&bench), None, "the run has left its copy");
}

fn a_copy_that_is_lost_is_given_up_and_the_repeat_prepares_its_own() {
    let bench = Bench::new();
    let made = bench.create(repeats()).unwrap();
    let mut warnings = Vec::new();
    bench.run(&made, |event| match event {
        Event::TrialEnded { record } if record.spec.repeat == 1 => {
            fs::remove_dir_all(find_copy(&bench).unwrap()).unwrap();
        }
        Event::Warning { message } => warnings.push(message.clone()),
        _ => {}
    });
    all_are_valid(&made.records());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("trial r2 prepares its database anew"));
}

fn copy_folder(from: &Path, to: &Path) {
    let copy = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copy.unwrap().success());
}

fn a_run_that_goes_on_makes_its_copies_anew() {
    let bench = Bench::new();
    let made = bench.create(repeats()).unwrap();
    let (work, left) = (
        made.folder.path().join("work"),
        bench.folder.path().join("left"),
    );
    bench.run(&made, |event| {
        if let Event::TrialEnded { .. } = event {
            // What the run would leave if it were killed now.
            copy_folder(&work, &left);
            bench.options.stop.store(true, Relaxed);
        }
    });
    assert_eq!(made.ids(), ["r1"]);
    copy_folder(&left, &work);
    assert!(find_copy(&bench).is_some());
    bench.options.stop.store(false, Relaxed);
    bench.run(&made, |_| {});
    all_are_valid(&made.records());
    assert_eq!(find_copy(&bench), None, "the run has left an earlier copy");
}

/// The second repeat works on a copy in the folder of the first one.
fn what_a_killed_run_left_in_the_folder_of_a_trial_that_has_ended_goes_when_it_goes_on() {
    let bench = Bench::new();
    let compacting = repeats().into_iter().map(|spec| {
        let mut spec = on("compacts", spec);
        spec.durability = Durability::None;
        spec.conditions.compact = true;
        spec
    });
    let made = bench.create(compacting.collect()).unwrap();
    let run = made.folder.path();
    let (work, left) = (run.join("work"), bench.folder.path().join("left"));
    bench.run(&made, |event| {
        let now = Phase::Compact;
        let is_second =
            matches!(event, Event::TrialProgress { id, phase, .. } if *phase == now && id == "r2");
        if is_second && !left.exists() {
            // What the run would leave if it were killed now.
            copy_folder(&work, &left);
            bench.options.stop.store(true, Relaxed);
        }
    });
    assert_eq!(made.ids(), ["r1", "r2"]);
    copy_folder(&left, &work);
    let area = work.join(run.file_name().unwrap());
    assert!(area.join("r1").exists() && !area.join("r2").exists());
    bench.options.stop.store(false, Relaxed);
    bench.run(&made, |_| {});
    assert_eq!(made.ids(), ["r1", "r2", "r2", "r3"]);
    assert!(is_empty_or_absent(&work), "something is left");
}

/// Two repeats of a trial and of one that continues it.
fn continued_trials() -> Vec<TrialSpec> {
    let repeats = [1, 2].map(|repeat| ["begin", "continue"].map(|act| (act, repeat)));
    let trial = |(act, repeat): (&str, u32)| TrialSpec {
        repeat,
        cell: u32::from(act == "continue"),
        durability: Durability::Sync,
        ..on("keeper", threads(spec(&format!("{act}-r{repeat}"), act)))
    };
    repeats.into_iter().flatten().map(trial).collect()
}

fn a_trial_that_continues_another_one_takes_no_copy() {
    let bench = Bench::new();
    let made = bench.create(continued_trials()).unwrap();
    bench.run(&made, |event| {
        if let Event::TrialEnded { .. } = event {
            bench.options.stop.store(true, Relaxed);
        }
    });
    assert_eq!(made.ids(), ["begin-r1"]);
    // Nothing is there that the next trial could continue. It prepares that, and a copy is kept.
    bench.options.stop.store(false, Relaxed);
    let run = made.folder.path();
    let area = run.join("work").join(run.file_name().unwrap());
    let mut databases = Vec::new();
    bench.run(&made, |event| {
        if let Event::TrialEnded { record } = event {
            let id = record.spec.id.clone();
            let is_there = !is_empty_or_absent(&area.join(&id));
            databases.push((id, is_there));
        }
    });
    // The last one works in the folder of the one before it.
    let expected = [
        ("continue-r1", true),
        ("begin-r2", true),
        ("continue-r2", false),
    ];
    assert_eq!(databases, expected.map(|(id, it)| (id.to_owned(), it)));
    assert!(is_empty_or_absent(&run.join("work")));
}
