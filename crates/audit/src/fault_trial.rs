//! One trial of a storage fault: a workload on a faulty folder, and what is left of it.

use crate::event_log::{EventLog, WorkloadEvent};
use crate::failure::{Failure, NoReport};
use crate::fault_outcome::decide;
use crate::history::{AcknowledgedCommits, History};
use crate::judgment::judge;
use crate::options::AuditOptions;
use crate::recorded::DATABASE;
use crate::subject::Subject;
use crate::transaction::{LARGE_BYTES, LargeValues};
use crate::worker::{Assignment, NewMachine, Task};
use crate::worker_process::{MIN_ROOM_BYTES, Worker, inspect, inspect_repeatedly};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueput_faultfs::faulty_folder::{FaultyFolder, FaultyFolders, InjectedFault};
use trueput_host::process_tree::await_no_users;
use trueput_host::read_free_bytes;
use trueput_record::audit::{Damage, StorageModel};
use trueput_record::fault_record::{
    FaultCourse, FaultOutcome, FaultTrial, ReportedError, WorkloadEnd,
};
use trueput_record::storage_fault::{FailedFlush, FaultEffect, FaultTrigger, StorageFault};
use trueput_record::value::format_bytes;

/// The commits of each session before faults come.
const COMMITS_BEFORE: u64 = 24;

/// The commits of each session at a time under faults, at least and at most. More of them are made
/// where a fault comes at a later request.
const MIN_COMMITS: u64 = 24;
const MAX_COMMITS: u64 = 1_000;

/// The large values that a workload commits where a device is full beyond a size: as much as it
/// holds, but so much at most.
const MAX_GROWTH_BYTES: u64 = 256 << 20;

/// The same at least, and where a device is full at once: an engine may have some room in its files
/// that it fills first.
const MIN_GROWTH_BYTES: u64 = 8 << 20;

/// A workload commits so often under faults at most: before the database is opened again, and
/// after.
const PARTS: u64 = 2;

/// The time until faults may come.
const START_TIMEOUT: Duration = Duration::from_secs(300);

/// The time that the files of killed processes may take to be closed.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which a workload is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// A storage fault to try on a subject.
pub(crate) struct FaultCase<'a> {
    pub(crate) subject: &'a Subject,
    /// The fault; `None` for a rehearsal, which ends with lost power.
    pub(crate) fault: Option<StorageFault>,
    pub(crate) failed_flush: FailedFlush,
    pub(crate) course: FaultCourse,
    /// The longest time without progress, stalls aside.
    pub(crate) hang_limit: Duration,
}

/// The files of a trial.
struct TrialFiles {
    /// The folder of all of them.
    folder: PathBuf,
    history: PathBuf,
    events: PathBuf,
    gate: PathBuf,
}

impl FaultCase<'_> {
    /// Lets a workload run under the fault, and examines what is left after reopening.
    ///
    /// # Errors
    /// A [`Failure`] that says nothing of the engine under the fault.
    pub(crate) fn run(&self, options: &AuditOptions) -> Result<FaultTrial, Failure> {
        let folder = options.scratch.join("trial");
        let files = TrialFiles {
            history: folder.join("history.bin"),
            events: folder.join("events.jsonl"),
            gate: folder.join("armed"),
            folder,
        };
        let tried = self.run_in(&files, options);
        let removed = fs::remove_dir_all(&files.folder);
        let tried = tried?;
        removed.map_err(Failure::of_file(&files.folder))?;
        Ok(tried)
    }

    fn run_in(&self, files: &TrialFiles, options: &AuditOptions) -> Result<FaultTrial, Failure> {
        let mut mounted = self.mount(files, options)?;
        let tried = self.run_on(&mut mounted, files, options);
        let is_interrupted = matches!(tried, Err(Failure::Interrupted));
        if mounted.has_ended() && !is_interrupted {
            return Err(Failure::ServerEnded);
        }
        let mut seen = tried?;
        let report = mounted.stop()?;
        seen.injected = report.injected_count;
        seen.first_injected = report.injected.first().map(describe_injected);
        seen.outcome = decide(&seen, self.is_lie());
        Ok(seen)
    }

    /// As [`FaultCase::run`], on the mounted folder, up to the report of its server.
    fn run_on(
        &self,
        mounted: &mut FaultyFolder,
        files: &TrialFiles,
        options: &AuditOptions,
    ) -> Result<FaultTrial, Failure> {
        let under = self.commits_under_fault(options.workers);
        let capacity = COMMITS_BEFORE + PARTS * under;
        let history = History::create(&files.history, options.workers, capacity)
            .map_err(Failure::of_file(&files.history))?;
        EventLog::create(&files.events).map_err(Failure::of_file(&files.events))?;
        let mut assignment = Assignment {
            subject: self.subject.clone(),
            directory: mounted.path().join(DATABASE),
            seed: options.seed,
            workers: options.workers,
            memory_bytes: options.memory_bytes,
            // What a flush loses then is more than the page that the next commit writes again.
            large: if self.growth_bytes().is_some() {
                LargeValues::GROWING
            } else {
                LargeValues::ALWAYS
            },
            task: Task::Endure {
                history: files.history.clone(),
                capacity,
                events: files.events.clone(),
                gate: files.gate.clone(),
                before: COMMITS_BEFORE,
                under,
                course: self.course,
            },
        };
        let mut worker = Worker::start(&options.program, &assignment)?;
        await_readiness(&mut worker, files, options)?;
        mounted.arm()?;
        pause(self.wait_before(), options)?;
        fs::File::create(&files.gate).map_err(Failure::of_file(&files.gate))?;
        let end = self.await_end(&mut worker, files, &history, options)?;
        // It is killed, with its descendants.
        drop(worker);
        let is_free = await_no_users(mounted.path(), KILL_TIMEOUT);
        mounted.disarm()?;
        // Who was killed in a stall ends no sooner than that.
        if !is_free && !await_no_users(mounted.path(), KILL_TIMEOUT) {
            return Err(Failure::StillUsed(mounted.path().to_owned()));
        }
        if read_free_bytes(&options.scratch).is_some_and(|free| free < MIN_ROOM_BYTES) {
            return Err(Failure::WorkFull(options.scratch.clone()));
        }
        if self.loses_power() {
            mounted.lose_power()?;
        } else {
            mounted.lose_caches()?;
        }
        let events = EventLog::read(&files.events).map_err(Failure::of_file(&files.events))?;
        let mut seen = self.describe(&events, end);
        let damage = self.inspect(&mut assignment, &history, &mut seen.errors, options)?;
        seen.damage.extend(damage);
        let commits = AcknowledgedCommits::at(&history.commits(), u64::MAX);
        seen.acknowledged = commits.acknowledged.iter().sum();
        Ok(seen)
    }

    fn mount(&self, files: &TrialFiles, options: &AuditOptions) -> Result<FaultyFolder, Failure> {
        let folders = FaultyFolders {
            backing: files.folder.join("backing"),
            mount_point: files.folder.join("mount"),
            report: files.folder.join("report.json"),
            faults: self.fault.into_iter().collect(),
            failed_flush: self.failed_flush,
            can_lose: true,
            seed: options.seed,
        };
        // A server must own its folder, and the root of a file system is not always its user's.
        for folder in [&folders.backing.join(DATABASE), &folders.mount_point] {
            fs::create_dir_all(folder).map_err(Failure::of_file(folder))?;
        }
        let command = folders.server_command(&options.program);
        Ok(FaultyFolder::start(command, folders)?)
    }

    /// Returns the commits of each session at a time under the fault: enough that a fault comes
    /// whose request has a number, or that waits until the files have a size.
    fn commits_under_fault(&self, workers: u32) -> u64 {
        if let Some(bytes) = self.growth_bytes() {
            return bytes.div_ceil(u64::from(workers) * LARGE_BYTES as u64) + MIN_COMMITS;
        }
        let request = match self.fault.map(|fault| fault.trigger) {
            Some(FaultTrigger::Request(number) | FaultTrigger::RequestsFrom(number)) => number,
            _ => 0,
        };
        request.clamp(MIN_COMMITS, MAX_COMMITS)
    }

    /// Returns the bytes by which the database is to grow under a fault of a full device; `None`
    /// under another one.
    fn growth_bytes(&self) -> Option<u64> {
        let size = full_size_bytes(self.fault?)?;
        Some(size.clamp(MIN_GROWTH_BYTES, MAX_GROWTH_BYTES))
    }

    /// Returns the time after which the fault comes.
    fn wait_before(&self) -> Duration {
        match self.fault.map(|fault| fault.trigger) {
            Some(FaultTrigger::Time(time)) => time,
            _ => Duration::ZERO,
        }
    }

    fn is_lie(&self) -> bool {
        let mut fault = self.fault.iter();
        fault.any(|fault| fault.effect == FaultEffect::Lie)
    }

    /// Returns whether the power is lost in the end: only so a lie shows, or that there is none.
    fn loses_power(&self) -> bool {
        self.is_lie() || self.fault.is_none()
    }

    /// Waits until the workload has done all that it was to do, and returns how it ended otherwise.
    fn await_end(
        &self,
        worker: &mut Worker,
        files: &TrialFiles,
        history: &History,
        options: &AuditOptions,
    ) -> Result<Option<WorkloadEnd>, Failure> {
        let stall = match self.fault.map(|fault| fault.effect) {
            Some(FaultEffect::Stall { length }) => length,
            _ => Duration::ZERO,
        };
        let limit = self.hang_limit + stall;
        let mut last = (0, 0);
        let mut since = Instant::now();
        loop {
            let events = EventLog::read(&files.events).map_err(Failure::of_file(&files.events))?;
            if events.last() == Some(&WorkloadEvent::Done) {
                return Ok(None);
            }
            match worker.poll() {
                Ok(None) => {}
                Ok(Some(_)) => return Err(Failure::OtherReport),
                Err(NoReport::Ended(words)) => return Ok(Some(WorkloadEnd::Crashed(words))),
                Err(none) => return Err(none.into()),
            }
            let progress = (history.events(), events.len());
            if progress != last {
                (last, since) = (progress, Instant::now());
            }
            if since.elapsed() > limit {
                let words = format!("no progress for {} s", limit.as_secs());
                return Ok(Some(WorkloadEnd::Hung(words)));
            }
            pause(PAUSE, options)?;
        }
    }

    /// Describes what a workload noted, and how it ended.
    fn describe(&self, events: &[WorkloadEvent], end: Option<WorkloadEnd>) -> FaultTrial {
        let mut seen = FaultTrial {
            course: self.course,
            outcome: FaultOutcome::NotRun,
            errors: Vec::new(),
            damage: Vec::new(),
            end: None,
            acknowledged: 0,
            injected: 0,
            first_injected: None,
        };
        for event in events {
            match event {
                WorkloadEvent::Ready | WorkloadEvent::Done => {}
                WorkloadEvent::Error { during, text } => add_error(&mut seen.errors, during, text),
                WorkloadEvent::Damage(damage) => seen.damage.push(damage.clone()),
                // The first one says why the others followed.
                WorkloadEvent::Crash { text } => {
                    let crash = || WorkloadEnd::Crashed(text.clone());
                    seen.end.get_or_insert_with(crash);
                }
            }
        }
        seen.end = seen.end.or(end);
        seen
    }

    /// Lets a fresh process examine what is left, as after a start of the machine, and judges it.
    fn inspect(
        &self,
        assignment: &mut Assignment,
        history: &History,
        errors: &mut Vec<ReportedError>,
        options: &AuditOptions,
    ) -> Result<Option<Damage>, Failure> {
        let is_root = rustix::process::geteuid().is_root();
        assignment.task = Task::Inspect {
            machine: is_root.then(|| NewMachine {
                state: assignment.directory.clone(),
                image: None,
            }),
            after_lost_power: true,
            was_open: true,
        };
        let assignment = &*assignment;
        let (program, limit) = (&options.program, options.state_limit);
        let inspect_once = || inspect(program, assignment, limit, &options.stop);
        let inspected = inspect_repeatedly(&options.scratch, inspect_once)?;
        let inspection = inspected.ok_or(Failure::Interrupted)?;
        if let Some(text) = &inspection.close_error {
            add_error(errors, "close", text);
        }
        let commits = history.commits();
        let demand = AcknowledgedCommits::at(&commits, u64::MAX);
        // A machine that is shut down in good order loses no more than killed processes do.
        let model = if self.loses_power() {
            StorageModel::Journal
        } else {
            StorageModel::Kill
        };
        let guarantee = self.subject.guarantee(model);
        Ok(judge(&inspection, &commits, &demand, guarantee))
    }
}

/// Returns the size beyond which a device is full under a fault; `None` if it never is.
fn full_size_bytes(fault: StorageFault) -> Option<u64> {
    match (fault.effect, fault.trigger) {
        (FaultEffect::NoSpace, FaultTrigger::Bytes(size)) => Some(size),
        (FaultEffect::NoSpace, _) => Some(0),
        _ => None,
    }
}

/// Returns why a fault may never come on an engine whose values have so many bytes at most: the
/// workload ends before; `None` if it is long enough.
pub(crate) fn describe_limit(fault: StorageFault, max_value_bytes: usize) -> Option<String> {
    if let Some(size) = full_size_bytes(fault) {
        let wanted = size.max(MIN_GROWTH_BYTES);
        let value = LARGE_BYTES.min(max_value_bytes) as u64;
        // As many values as of the usual length are written.
        let written = wanted.min(MAX_GROWTH_BYTES) * value / LARGE_BYTES as u64;
        let reason = if max_value_bytes < LARGE_BYTES {
            let value = format_bytes(value);
            format!(": the engine takes values of {value} at most")
        } else {
            String::new()
        };
        return (written < wanted).then(|| {
            let written = format_bytes(written);
            format!("the workload writes records of {written} at most{reason}")
        });
    }
    match fault.trigger {
        FaultTrigger::Request(number) | FaultTrigger::RequestsFrom(number)
            if number > MAX_COMMITS =>
        {
            Some(format!(
                "the workload makes {} commits of each session under a fault at most",
                PARTS * MAX_COMMITS
            ))
        }
        _ => None,
    }
}

/// Waits until there are commits that can be lost.
fn await_readiness(
    worker: &mut Worker,
    files: &TrialFiles,
    options: &AuditOptions,
) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let events = EventLog::read(&files.events).map_err(Failure::of_file(&files.events))?;
        if events.contains(&WorkloadEvent::Ready) {
            return Ok(());
        }
        if let Some(reason) = worker.end_reason() {
            return Err(Failure::NoCommit(reason));
        }
        if began.elapsed() > START_TIMEOUT {
            return Err(Failure::NoCommitWithin(START_TIMEOUT));
        }
        pause(PAUSE, options)?;
    }
}

/// Waits for a time, or until the user stops it.
fn pause(length: Duration, options: &AuditOptions) -> Result<(), Failure> {
    let until = Instant::now() + length;
    loop {
        if options.is_stopped() {
            return Err(Failure::Interrupted);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(PAUSE));
    }
}

fn add_error(errors: &mut Vec<ReportedError>, during: &str, text: &str) {
    let mut known = errors.iter_mut();
    match known.find(|known| known.during == during && known.text == text) {
        Some(known) => known.count += 1,
        None => errors.push(ReportedError {
            during: during.to_owned(),
            text: text.to_owned(),
            count: 1,
        }),
    }
}

fn describe_injected(injected: &InjectedFault) -> String {
    let InjectedFault {
        operation,
        file,
        request,
        at_s,
        ..
    } = injected;
    let file: &Path = file.as_ref();
    let file = file.strip_prefix(DATABASE).unwrap_or(file).display();
    format!("{operation} {request} of '{file}', {at_s:.3} s after the arming")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commits of each of three sessions under a fault, and their large values.
    fn growth(fault: &str) -> (u64, Option<u64>) {
        let subject = serde_json::from_str(SUBJECT).unwrap();
        let case = FaultCase {
            subject: &subject,
            fault: Some(fault.parse().unwrap()),
            failed_flush: FailedFlush::default(),
            course: FaultCourse::Kill,
            hang_limit: Duration::ZERO,
        };
        (case.commits_under_fault(3), case.growth_bytes())
    }

    const SUBJECT: &str = r#"{"engine": "lmdb", "library": null, "durability": "sync",
        "claim": "sync", "knobs": {}, "given_knobs": {}, "window_commits": null}"#;

    #[test]
    fn a_workload_outgrows_the_device_that_is_full_beyond_a_size() {
        const MIB: u64 = 1 << 20;
        for (fault, mib) in [
            ("write:enospc", 8),
            ("write:enospc@1KiB", 8),
            ("write:enospc@64MiB", 64),
            ("write:enospc@1GiB", 256),
        ] {
            let (commits, bytes) = growth(fault);
            assert_eq!(bytes, Some(mib * MIB), "{fault}");
            assert!(3 * commits * LARGE_BYTES as u64 > mib * MIB, "{fault}");
        }
        // The control: other faults need no growth.
        assert_eq!(growth("fsync:eio@3"), (MIN_COMMITS, None));
        assert_eq!(growth("write:eio@500"), (500, None));
    }

    #[test]
    fn a_fault_beyond_the_end_of_the_workload_has_its_reason() {
        let limit = |fault: &str| describe_limit(fault.parse().unwrap(), usize::MAX);
        let words = limit("write:enospc@1GiB").unwrap();
        assert_eq!(words, "the workload writes records of 256 MiB at most");
        let words = limit("fsync:eio@1001").unwrap();
        assert!(words.contains("2000 commits of each session"), "{words}");
        for fault in ["write:enospc@256MiB", "fsync:eio@1000..", "read:flip@1e-9"] {
            assert_eq!(limit(fault), None, "{fault}");
        }
        // The same number of smaller values does not fill the device.
        let limited = |bytes| describe_limit("write:enospc@64MiB".parse().unwrap(), bytes);
        assert_eq!(
            limited(LARGE_BYTES / 4).unwrap(),
            "the workload writes records of 16 MiB at most: the engine takes values of 5 KiB at \
             most"
        );
        assert_eq!(limited(LARGE_BYTES), None);
    }

    #[test]
    fn an_error_that_is_repeated_is_listed_once_with_its_number() {
        let mut errors = Vec::new();
        for during in ["commit", "commit", "checkpoint"] {
            add_error(&mut errors, during, "EIO");
        }
        let counts = errors
            .iter()
            .map(|error| (error.during.as_str(), error.count));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [("commit", 2), ("checkpoint", 1)]
        );
    }
}
