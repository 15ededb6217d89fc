//! The model `kill`: the engine's processes are really killed, at a random moment.

use crate::failure::Failure;
use crate::history::{AcknowledgedCommits, History};
use crate::judgment::judge;
use crate::model_run::ModelRun;
use crate::options::AuditOptions;
use crate::subject::Subject;
use crate::transaction::{LargeValues, mix};
use crate::worker::{Assignment, Task};
use crate::worker_process::{Worker, inspect, inspect_repeatedly};
use std::path::Path;
use std::time::{Duration, Instant};
use trueput_record::audit::{Counterexample, CrashState, StorageModel};

/// The most commits of one worker before it is killed.
const CAPACITY: u64 = 3_000;

/// The longest time until a commit is acknowledged.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest time from the first commit to the kill.
const RUN_MILLISECONDS: u64 = 150;

/// Kills the engine once, and judges what is left.
pub(crate) fn kill_once(
    subject: &Subject,
    options: &AuditOptions,
    scratch: &Path,
    number: u64,
    run: &mut ModelRun,
) -> Result<(), Failure> {
    let folder = scratch.join(format!("kill-{number}"));
    let directory = folder.join("database");
    std::fs::create_dir_all(&directory)?;
    let path = folder.join("history.bin");
    let history = History::create(&path, options.workers, CAPACITY)?;
    let mut assignment = Assignment {
        subject: subject.clone(),
        directory,
        seed: options.seed,
        workers: options.workers,
        memory_bytes: options.memory_bytes,
        large: LargeValues::OF_AUDIT,
        task: Task::Record {
            history: path,
            capacity: CAPACITY,
            log: None,
            commits: None,
        },
    };
    let mut worker = Worker::start(&options.program, &assignment)?;
    wait_for_commit(&mut worker, &history, options)?;
    let pause = mix(&[options.seed, number]) % RUN_MILLISECONDS;
    std::thread::sleep(Duration::from_millis(pause));
    // It is killed, with its descendants.
    drop(worker);
    let commits = history.commits();
    let demand = AcknowledgedCommits::at(&commits, u64::MAX);
    assignment.task = Task::Inspect {
        machine: None,
        after_lost_power: false,
        was_open: false,
    };
    let inspect_once = || {
        inspect(
            &options.program,
            &assignment,
            options.state_limit,
            &options.stop,
        )
    };
    let inspected = inspect_repeatedly(scratch, inspect_once)?;
    let inspection = inspected.ok_or(Failure::Interrupted)?;
    let guarantee = subject.guarantee(StorageModel::Kill);
    let damage = judge(&inspection, &commits, &demand, guarantee);
    run.count(true, damage.as_ref());
    if let (Some(damage), None) = (damage, &run.counterexample) {
        let total: u64 = demand.acknowledged.iter().sum();
        run.counterexample = Some(Counterexample {
            id: String::new(),
            state: CrashState::default(),
            recovery: None,
            damage,
            words: vec![format!(
                "the process was killed after {total} acknowledged commits"
            )],
        });
    }
    Ok(std::fs::remove_dir_all(&folder)?)
}

fn wait_for_commit(
    worker: &mut Worker,
    history: &History,
    options: &AuditOptions,
) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let is_busy = history.commits().iter().any(|commits| !commits.is_empty());
        if is_busy {
            return Ok(());
        }
        if options.is_stopped() {
            return Err(Failure::Interrupted);
        }
        if let Some(reason) = worker.end_reason() {
            return Err(Failure::NoCommit(reason));
        }
        if began.elapsed() > START_TIMEOUT {
            return Err(Failure::NoCommitWithin(START_TIMEOUT));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
