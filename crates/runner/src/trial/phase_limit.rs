//! The limits of a trial's phases: how long each may go on without progress before the trial fails.
//!
//! A limit is derived from what the phase is expected to do: bytes of the database, the time that
//! the same data took to load, the duration of the trial. Progress extends it, so that a phase that
//! is only slow is not ended. Time in which the runner itself did not run does not count.

use std::time::{Duration, Instant};
use trueput_faultfs::model_prediction::ModelPrediction;
use trueput_faultfs::named_model::find_model;
use trueput_host::process::describe_stuck;
use trueput_record::Conditions;

/// The time that any phase of a trial may go on without progress, however little it has to do,
/// unless the user says otherwise.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// A configuration that a search tries may take a part of that beside the trial's duration: some
/// engines never end with some knobs.
const CANDIDATE_DIVISOR: u32 = 2;

/// The limit for a cluster with planned faults: longer than workers look for a leader themselves,
/// which gives the better reason.
const FAULTS_TIMEOUT: Duration = Duration::from_secs(75);

/// The conformance suite reports no progress, and flushes thousands of times: it may take so many
/// times as long as any phase may be silent.
const CONFORMANCE_FACTOR: u32 = 3;

/// A phase may be silent for so many times as long as it is expected to take.
const FACTOR: u32 = 3;

/// A recovery may take so many times as long as the work before the crash.
const RECOVERY_FACTOR: u32 = 10;

/// The slowest storage of a machine at which a database is expected to be read or written, bytes a
/// second.
const MIN_BYTES_PER_S: f64 = 10e6;

/// The bytes of a request of [`ModelPrediction::read_median_ns`].
const PAGE_BYTES: f64 = 4096.0;

/// A phase of a trial that has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitedPhase {
    /// The conformance suite.
    Conformance,
    /// The anomaly suite.
    Isolation,
    /// Measuring the hardware limits.
    HardwareLimits,
    /// Starting the engine's server.
    StartServer,
    /// Making and filling the database.
    Prepare,
    /// Opening the database by the workers.
    Open,
    /// The released workers.
    Run,
    /// Closing the database by the workers.
    Close,
    /// Stopping the engine's server.
    StopServer,
    /// Opening the database after a deliberate crash.
    Recover,
    /// The engine's compaction of the database.
    Compact,
    /// Verifying the results.
    Verify,
    /// Removing the database.
    Remove,
}

impl LimitedPhase {
    /// Returns what it does, as the beginning of a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Conformance => "the conformance suite",
            Self::Isolation => "the anomaly suite",
            Self::HardwareLimits => "measuring the hardware limits",
            Self::StartServer => "starting the server",
            Self::Prepare => "preparing the database",
            Self::Open => "opening the database",
            Self::Run => "the measured run",
            Self::Close => "closing the database",
            Self::StopServer => "stopping the server",
            Self::Recover => "opening the database after the crash",
            Self::Compact => "compacting the database",
            Self::Verify => "verification",
            Self::Remove => "removing the database",
        }
    }

    /// Returns what a sentence says of it when its limit is exceeded.
    fn complaint(self) -> &'static str {
        match self {
            Self::Run => "no operation ended",
            _ => "no progress",
        }
    }
}

/// What a trial is expected to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExpectedWork {
    /// The time that any phase may go on without progress.
    pub hang_limit: Duration,
    /// The time that the same data took to load; zero if that is unknown.
    pub load: Duration,
    /// The bytes of its database.
    pub bytes: u64,
    /// The bytes that its storage reads or writes in a second at least.
    pub bytes_per_s: f64,
    /// The duration of the run with its warm-up; zero if it has none.
    pub run: Duration,
    /// The time that its workers have worked on the database so far: before a resume, and once they
    /// have ended.
    pub worked: Duration,
    /// Whether a search tries its configuration.
    pub is_candidate: bool,
    /// Whether faults are planned.
    pub has_faults: bool,
    /// How many trials are prepared or verified at the same time.
    pub at_once: u32,
}

/// Returns the bytes that the storage of a trial reads or writes in a second at least: pages at
/// random positions where a model of storage is slower than the slowest of machines.
pub(crate) fn expected_bytes_per_s(conditions: &Conditions) -> f64 {
    let named = [&conditions.storage_model, &conditions.log_storage_model];
    let models = named.into_iter().flatten();
    let models = models.filter_map(|name| find_model(name).ok());
    let page_s = models.map(|model| ModelPrediction::of(&model).read_median_ns as f64 / 1e9);
    page_s.fold(MIN_BYTES_PER_S, |slowest, page_s| {
        slowest.min(PAGE_BYTES / page_s.max(1e-9))
    })
}

impl ExpectedWork {
    /// Returns how long a phase may go on without progress.
    fn allowed_silence(&self, phase: LimitedPhase) -> Duration {
        let storage = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_s);
        let whole = self.load.saturating_mul(FACTOR).max(storage);
        // A trial without a duration has only the time that it really took. That of the parts
        // before this one, and of disturbed attempts, is no reason to wait longer for an operation.
        let run = if phase == LimitedPhase::Run {
            self.run
        } else {
            self.run.max(self.worked)
        };
        let work = self.load.saturating_add(run);
        let floor = if self.is_candidate {
            (self.hang_limit / CANDIDATE_DIVISOR).saturating_add(run)
        } else {
            self.hang_limit
        };
        let expected = match phase {
            LimitedPhase::Conformance | LimitedPhase::Isolation => {
                self.hang_limit.saturating_mul(CONFORMANCE_FACTOR)
            }
            LimitedPhase::HardwareLimits => floor,
            // Operations may be as far apart as the trial is long: a workload has think times.
            LimitedPhase::Run if self.has_faults => FAULTS_TIMEOUT,
            LimitedPhase::Run if self.is_candidate => floor,
            // One operation may wait while an engine writes back all of its pages.
            LimitedPhase::Run if self.bytes_per_s < MIN_BYTES_PER_S => self.run.max(whole),
            LimitedPhase::Run => self.run.max(self.load.saturating_mul(FACTOR)),
            LimitedPhase::Open | LimitedPhase::Close if self.is_candidate => floor,
            LimitedPhase::Recover | LimitedPhase::StartServer | LimitedPhase::Compact => {
                whole.max(work.saturating_mul(RECOVERY_FACTOR))
            }
            LimitedPhase::Verify | LimitedPhase::Close | LimitedPhase::StopServer => {
                whole.max(work.saturating_mul(FACTOR))
            }
            // A database that is resumed may have to be recovered first.
            LimitedPhase::Prepare | LimitedPhase::Open => {
                whole.max(self.worked.saturating_mul(RECOVERY_FACTOR))
            }
            LimitedPhase::Remove => whole,
        };
        let alone = expected.max(floor);
        match phase {
            // Nothing runs beside a time slice, and a suite that ends here runs again alone.
            LimitedPhase::Run | LimitedPhase::Conformance | LimitedPhase::Isolation => alone,
            // All write to one disk.
            _ => alone.saturating_mul(self.at_once),
        }
    }
}

/// Watches a phase for progress.
#[derive(Debug, Clone)]
pub(crate) struct PhaseClock {
    phase: LimitedPhase,
    /// The time that it may go on without progress, at the beginning.
    silence: Duration,
    /// The time that it may take in all; `None` as long as there is progress.
    total: Option<Duration>,
    began: Instant,
    progressed_at: Instant,
    checked_at: Instant,
    /// The part that was done at the last sign of progress.
    fraction: f64,
}

impl PhaseClock {
    /// The runner did not run if so much time passes between two checks of a limit, which are made
    /// twenty times a second.
    pub const OWN_PAUSE: Duration = Duration::from_secs(1);

    /// Begins to watch a phase with this work.
    pub fn begin(phase: LimitedPhase, work: &ExpectedWork, total: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            phase,
            silence: work.allowed_silence(phase),
            total,
            began: now,
            progressed_at: now,
            checked_at: now,
            fraction: 0.0,
        }
    }

    /// Begins again now.
    pub fn restart(&mut self) {
        let now = Instant::now();
        (self.began, self.progressed_at, self.checked_at) = (now, now, now);
    }

    /// Notes that the phase has got on.
    pub fn note_progress(&mut self) {
        self.progressed_at = Instant::now();
    }

    /// Notes a report of the part that is done, which is progress only if it has changed.
    pub fn note_fraction(&mut self, fraction: f64) {
        if fraction != self.fraction {
            self.fraction = fraction;
            self.note_progress();
        }
    }

    /// Leaves out a time that has just ended, in which nothing was to happen.
    pub fn skip(&mut self, time: Duration) {
        self.checked_at += time;
        self.shift(time);
    }

    fn shift(&mut self, time: Duration) {
        self.began += time;
        self.progressed_at += time;
    }

    /// Returns the time for which the phase may be silent now.
    pub fn silence(&self) -> Duration {
        // At the end of a load, files are flushed and indexes built.
        match self.phase {
            LimitedPhase::Run => self.silence,
            _ => self
                .silence
                .max(self.progressed_at.duration_since(self.began)),
        }
    }

    /// Returns why the phase is to be ended, with those of its processes that do not run; `None` if
    /// it may go on.
    pub fn check(&mut self, pids: &[u32]) -> Option<String> {
        let now = Instant::now();
        let unseen = now.duration_since(std::mem::replace(&mut self.checked_at, now));
        if unseen > Self::OWN_PAUSE {
            self.shift(unseen);
        }
        let (title, silence) = (self.phase.title(), self.silence());
        let total = self.total;
        let over = total.filter(|total| now.duration_since(self.began) >= *total);
        let reason = match over {
            Some(total) => format!("{title}: no answer within {} s", total.as_secs()),
            None if now.duration_since(self.progressed_at) >= silence => {
                let (complaint, limit_s) = (self.phase.complaint(), silence.as_secs());
                format!("{title}: {complaint} for {limit_s} s, the limit of this phase")
            }
            None => return None,
        };
        Some(match describe_stuck(pids) {
            Some(stuck) => format!("{reason}; {stuck}"),
            None => reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    const NOTHING: ExpectedWork = ExpectedWork {
        hang_limit: HANG_TIMEOUT,
        load: Duration::ZERO,
        bytes: 0,
        bytes_per_s: MIN_BYTES_PER_S,
        run: Duration::ZERO,
        worked: Duration::ZERO,
        is_candidate: false,
        has_faults: false,
        at_once: 1,
    };

    #[test]
    fn a_short_trial_has_a_minute_and_a_long_one_a_multiple_of_what_it_is_expected_to_take() {
        let short = ExpectedWork {
            bytes: 20 << 20,
            run: S(8),
            ..NOTHING
        };
        let long = ExpectedWork {
            load: S(600),
            bytes: 10_000_000_000,
            run: S(120),
            ..NOTHING
        };
        for phase in [
            LimitedPhase::Prepare,
            LimitedPhase::Open,
            LimitedPhase::Run,
            LimitedPhase::Close,
            LimitedPhase::Verify,
            LimitedPhase::StopServer,
            LimitedPhase::Remove,
        ] {
            assert_eq!(short.allowed_silence(phase), HANG_TIMEOUT, "{phase:?}");
            assert!(long.allowed_silence(phase) >= S(1_000), "{phase:?}");
        }
        assert_eq!(short.allowed_silence(LimitedPhase::Recover), S(80));
        // It rewrites the database without a sign of progress.
        assert!(long.allowed_silence(LimitedPhase::Compact) >= S(7_200));
    }

    #[test]
    fn a_trial_on_a_slow_model_has_the_time_in_which_its_pages_are_written() {
        let mut conditions = Conditions::default();
        assert!((expected_bytes_per_s(&conditions) - MIN_BYTES_PER_S).abs() < 1.0);
        conditions.storage_model = Some("nvme-datacenter".to_owned());
        assert!((expected_bytes_per_s(&conditions) - MIN_BYTES_PER_S).abs() < 1.0);
        conditions.log_storage_model = Some("hdd-7200".to_owned());
        // A disk reads some hundred pages a second.
        let disk = expected_bytes_per_s(&conditions);
        assert!((200e3..1e6).contains(&disk), "{disk}");
        let work = ExpectedWork {
            bytes: 100 << 20,
            bytes_per_s: disk,
            ..NOTHING
        };
        for phase in [LimitedPhase::Run, LimitedPhase::Close, LimitedPhase::Verify] {
            assert!(work.allowed_silence(phase) > S(100), "{phase:?}");
        }
    }

    #[test]
    fn a_trial_without_a_duration_is_given_the_time_that_its_work_took() {
        let work = ExpectedWork {
            worked: S(3_600),
            ..NOTHING
        };
        assert_eq!(work.allowed_silence(LimitedPhase::Close), S(10_800));
        assert_eq!(work.allowed_silence(LimitedPhase::StopServer), S(10_800));
        assert_eq!(work.allowed_silence(LimitedPhase::Verify), S(10_800));
        assert_eq!(work.allowed_silence(LimitedPhase::StartServer), S(36_000));
        assert_eq!(work.allowed_silence(LimitedPhase::Recover), S(36_000));
        // A part before this one is no reason to wait longer for an operation.
        assert_eq!(work.allowed_silence(LimitedPhase::Run), HANG_TIMEOUT);
        let candidate = ExpectedWork {
            run: S(8),
            is_candidate: true,
            ..work
        };
        assert_eq!(candidate.allowed_silence(LimitedPhase::Run), S(38));
        assert_eq!(candidate.allowed_silence(LimitedPhase::Close), S(3_630));
    }

    #[test]
    fn trials_that_are_verified_at_the_same_time_share_the_disk() {
        let work = ExpectedWork {
            at_once: 4,
            ..NOTHING
        };
        assert_eq!(work.allowed_silence(LimitedPhase::Close), 4 * HANG_TIMEOUT);
        assert_eq!(work.allowed_silence(LimitedPhase::Verify), 4 * HANG_TIMEOUT);
        // Nobody else runs meanwhile.
        assert_eq!(work.allowed_silence(LimitedPhase::Run), HANG_TIMEOUT);
    }

    #[test]
    fn a_candidate_of_a_search_has_half_a_minute_beside_its_duration() {
        let work = ExpectedWork {
            run: S(8),
            is_candidate: true,
            ..NOTHING
        };
        assert_eq!(work.allowed_silence(LimitedPhase::Run), S(38));
        assert_eq!(work.allowed_silence(LimitedPhase::Open), S(38));
    }

    /// A clock whose last check was just now, but whose phase began so long ago.
    fn clock(phase: LimitedPhase, ago: Duration, total: Option<Duration>) -> PhaseClock {
        let mut clock = PhaseClock::begin(phase, &NOTHING, total);
        clock.began = clock.began.checked_sub(ago).unwrap();
        clock.progressed_at = clock.began;
        clock
    }

    #[test]
    fn a_phase_without_progress_is_ended_and_one_that_gets_on_is_not() {
        let mut hanging = clock(LimitedPhase::Prepare, S(61), None);
        let reason = hanging.check(&[]).unwrap();
        assert_eq!(
            reason,
            "preparing the database: no progress for 60 s, the limit of this phase"
        );
        let mut slow = clock(LimitedPhase::Prepare, S(5_000), None);
        slow.note_fraction(0.3);
        assert_eq!(slow.check(&[]), None);
        // What repeats itself is no progress.
        let mut stuck = clock(LimitedPhase::Prepare, S(61), None);
        stuck.fraction = 1.0;
        stuck.note_fraction(1.0);
        assert!(stuck.check(&[]).is_some());
    }

    #[test]
    fn the_end_of_a_long_phase_may_take_as_long_as_the_phase() {
        let mut clock = clock(LimitedPhase::Prepare, S(1_000), None);
        clock.progressed_at += S(600);
        assert_eq!(clock.silence(), S(600));
        assert_eq!(clock.check(&[]), None);
    }

    #[test]
    fn a_total_ends_a_phase_that_gets_on() {
        let mut clock = clock(LimitedPhase::Verify, S(20), Some(S(10)));
        clock.note_fraction(0.5);
        let reason = clock.check(&[]).unwrap();
        assert_eq!(reason, "verification: no answer within 10 s");
    }

    #[test]
    fn a_pause_is_left_out_once() {
        let mut clock = clock(LimitedPhase::Run, S(65), None);
        clock.checked_at = clock.checked_at.checked_sub(S(30)).unwrap();
        clock.skip(S(30));
        assert_eq!(clock.check(&[]), None);
        clock.progressed_at = clock.progressed_at.checked_sub(S(26)).unwrap();
        assert!(clock.check(&[]).is_some());
    }

    #[test]
    fn time_in_which_the_runner_did_not_run_does_not_count() {
        let mut clock = clock(LimitedPhase::Open, S(100), None);
        clock.checked_at = clock.checked_at.checked_sub(S(99)).unwrap();
        assert_eq!(clock.check(&[]), None);
        assert!(Instant::now().duration_since(clock.progressed_at) < S(2));
    }
}
