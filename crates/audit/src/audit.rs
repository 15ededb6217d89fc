//! The audit of one subject: record, explore, judge, shrink.

use crate::block_form::{REGION_BYTES, concerns_devices, mounts_several};
use crate::counterexample::{describe, describe_recovery, shrink};
use crate::exploration::Exploration;
use crate::failure::Failure;
use crate::flush_scope::Reading;
use crate::guarantee::Guarantee;
use crate::image::Image;
use crate::kill::kill_once;
use crate::model_run::{ModelRun, is_of_storage};
use crate::options::AuditOptions;
use crate::recorded::{RecordedWorkload, record_workload};
use crate::state_judge::{Images, StateJudge};
use crate::subject::Subject;
use crate::worker::Inspection;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use trueput_record::Survival;
use trueput_record::audit::{
    AuditResult, Counterexample, CrashState, Damage, ModelResult, RecoveryCrash, SeenFlushes,
    StorageModel,
};

/// The states that have shown nothing new, after which a model's exploration ends.
const STALE_STATES: u64 = 2_000;

/// The reservation of a refutation where calls were not watched.
const UNSEEN: &str = "unless it flushes by syncfs or sync, which was not seen";

/// In one of this many states, recovery itself is crashed.
const RECOVERY_EVERY: u64 = 8;

/// A stage of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The workload is being recorded.
    Recording,
    /// States of a model are being tried.
    Trying(StorageModel),
    /// A counterexample is being reduced.
    Shrinking(StorageModel),
}

/// The progress of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// The states tried in this stage.
    pub states: u64,
    /// The states that showed damage.
    pub refuted: u64,
}

/// Audits a subject. Its recording is kept in `folder`, from which counterexamples are replayed, or
/// is there already.
pub fn audit(
    subject: &Subject,
    id: &str,
    folder: &Path,
    options: &AuditOptions,
    progress: &(dyn Fn(Progress) + Sync),
) -> AuditResult {
    let mut result = AuditResult {
        id: id.to_owned(),
        contender: subject.contender(),
        version: String::new(),
        build: String::new(),
        durability: subject.durability,
        claim: (subject.claim != subject.durability).then_some(subject.claim),
        knobs: subject.knobs.clone(),
        given_knobs: subject.given_knobs.clone(),
        file_system: options.file_system.as_ref().map(ToString::to_string),
        seed: options.seed,
        commits_per_phase: options.commits,
        commits: 0,
        operations: 0,
        flushes: 0,
        seen_flushes: None,
        models: Vec::new(),
        failure: None,
        ended_at: String::new(),
    };
    let scratch = options.scratch.join(id);
    let done = try_models(subject, folder, &scratch, options, progress, &mut result);
    let removed = std::fs::remove_dir_all(&scratch);
    let done = done.and_then(|()| Ok(removed?));
    result.failure = done.err().map(|failure| failure.to_string());
    result.ended_at = jiff::Timestamp::now().to_string();
    result
}

fn try_models(
    subject: &Subject,
    folder: &Path,
    scratch: &Path,
    options: &AuditOptions,
    progress: &(dyn Fn(Progress) + Sync),
    result: &mut AuditResult,
) -> Result<(), Failure> {
    let deadline = options.budget.map(|budget| Instant::now() + budget);
    std::fs::create_dir_all(scratch)?;
    let models = choose_models(subject, options)?;
    let mut recorded = None;
    for (index, &model) in models.iter().enumerate() {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        if model.loses_power() && recorded.is_none() {
            progress(Progress {
                stage: Stage::Recording,
                states: 0,
                refuted: 0,
            });
            if !options.is_recorded {
                result.version = record_workload(subject, options, folder, scratch)?;
            }
            recorded = Some(read_recording(folder, options, result)?);
        }
        // Each model that is left has an equal share of the time that is left.
        let left = (models.len() - index) as u32;
        let until = deadline.map(|deadline| {
            let now = Instant::now();
            now + deadline.saturating_duration_since(now) / left
        });
        let attempt = Attempt {
            subject,
            options,
            scratch,
            model,
            reading: Reading::Generous,
            half: until.map(|until| {
                let now = Instant::now();
                now + until.saturating_duration_since(now) / 2
            }),
            until,
            progress,
        };
        let began = Instant::now();
        let mut run = ModelRun::default();
        let tried = match &recorded {
            Some(recorded) if model.loses_power() => {
                let doubt = result.seen_flushes.as_ref();
                attempt.try_readings(recorded, doubt, &mut run)
            }
            _ => attempt.try_kills(&mut run),
        };
        if let Some(counterexample) = &mut run.counterexample {
            counterexample.id = format!("{}-{model}", result.id);
        }
        if run.states > 0 {
            result.models.push(run.into_result(model, began.elapsed()));
        }
        tried?;
    }
    let place = |model| StorageModel::ALL.iter().position(|one| *one == model);
    result.models.sort_by_key(|tried| place(tried.model));
    check_tried(&models, &result.models, options)
}

/// Reads the recording, and notes in the result what it holds.
fn read_recording(
    folder: &Path,
    options: &AuditOptions,
    result: &mut AuditResult,
) -> Result<RecordedWorkload, Failure> {
    let read = RecordedWorkload::read(folder, options)?;
    result.commits = read.acknowledged();
    result.operations = (read.recording.operations.len() - read.recording.base) as u64;
    result.flushes = read.flushes();
    let is_folder = options.file_system.is_none();
    result.seen_flushes = is_folder.then(|| read.seen_flushes());
    Ok(read)
}

/// Returns the models that test what the subject promises.
pub(crate) fn choose_models(
    subject: &Subject,
    options: &AuditOptions,
) -> Result<Vec<StorageModel>, Failure> {
    let by_model = |model: &&StorageModel| subject.guarantee(**model).survival != Survival::Nothing;
    let by_form =
        |model: &&StorageModel| options.file_system.is_none() || concerns_devices(**model);
    let models = options.models.iter().filter(by_model).filter(by_form);
    let mut models: Vec<StorageModel> = models.copied().collect();
    // Kills last: a recovery that waits for the killed process (GT.M, a minute) would take the time
    // of the others.
    models.sort_by_key(|model| !model.loses_power());
    if models.is_empty() {
        Err(Failure::NoModel {
            claim: subject.claim,
        })
    } else {
        Ok(models)
    }
}

/// Returns a failure if a model is missing without which nothing can be said of the promise: an
/// engine that never flushes passes `prefix`, so `journal` is needed where it was asked for.
fn check_tried(
    wanted: &[StorageModel],
    tried: &[ModelResult],
    options: &AuditOptions,
) -> Result<(), Failure> {
    let was_tried = |model: &StorageModel| tried.iter().any(|result| result.model == *model);
    let is_missing = if wanted.contains(&StorageModel::Journal) {
        !was_tried(&StorageModel::Journal)
    } else {
        !wanted.iter().any(was_tried)
    };
    if !is_missing {
        Ok(())
    } else if options.is_stopped() {
        Err(Failure::Interrupted)
    } else {
        Err(Failure::TimeOver)
    }
}

/// The attempt to refute a subject under one model.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    subject: &'a Subject,
    options: &'a AuditOptions,
    scratch: &'a Path,
    model: StorageModel,
    /// How flushes are read of which the part is not known.
    reading: Reading,
    until: Option<Instant>,
    /// The end of the first reading, if a second one is to follow.
    half: Option<Instant>,
    progress: &'a (dyn Fn(Progress) + Sync),
}

/// The states of a model, shared by the threads that try them.
struct SharedStates<'a> {
    exploration: Exploration<'a>,
    /// By hash, what an inspection of equal files found.
    known: HashMap<u64, Inspection>,
    run: &'a mut ModelRun,
    /// The first states that showed damage, with fewest losses first.
    refuting: Option<(CrashState, Damage)>,
    /// The first state whose recovery did not survive a crash.
    recovery: Option<(CrashState, RecoveryCrash, Damage)>,
    failure: Option<Failure>,
    /// The states whose files are new and whose examination has begun.
    begun: u64,
    /// The states since the last one whose files were new.
    stale: u64,
}

/// A state whose files are new.
struct NextState {
    state: CrashState,
    image: Image,
    hash: u64,
    /// Its number among these. The same recording and seed give the same, however many threads
    /// examine states.
    number: u64,
}

impl Attempt<'_> {
    fn try_kills(&self, run: &mut ModelRun) -> Result<(), Failure> {
        // A kill takes a fifth of a second, and differs from another one only by chance.
        for number in 0..self.options.states.div_ceil(10) {
            if self.is_over() {
                break;
            }
            kill_once(self.subject, self.options, self.scratch, number, run)?;
            self.report(Stage::Trying(self.model), run);
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        let one_at_a_time = self.options.file_system.as_ref();
        if one_at_a_time.is_some_and(|kind| !mounts_several(kind)) {
            1
        } else {
            self.options.threads
        }
    }

    fn is_over(&self) -> bool {
        self.options.is_stopped() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn report(&self, stage: Stage, run: &ModelRun) {
        (self.progress)(Progress {
            stage,
            states: run.states,
            refuted: run.refuted,
        });
    }

    /// Tries states. If nothing refutes the promise, though it is not known what some flushes
    /// covered, tries states again as if they covered nothing.
    fn try_readings(
        &self,
        recorded: &RecordedWorkload,
        seen: Option<&SeenFlushes>,
        run: &mut ModelRun,
    ) -> Result<(), Failure> {
        run.has_unknown_flush = seen.is_some_and(|seen| seen.unknown > 0);
        self.try_states(recorded, run)?;
        if run.refuted > 0 {
            if seen.is_some_and(|seen| !seen.watched) {
                let words = run.counterexample.iter_mut();
                words.for_each(|example| example.words.push(UNSEEN.to_owned()));
            }
            return Ok(());
        }
        if !self.needs_strict_reading(run) {
            return Ok(());
        }
        let mut strict_run = ModelRun {
            was_cut_off: self.is_over(),
            ..ModelRun::default()
        };
        let strict = Self {
            reading: Reading::Strict,
            ..*self
        };
        if !strict_run.was_cut_off {
            strict.try_states(recorded, &mut strict_run)?;
        }
        run.undecided = strict_run.into_doubt(recorded);
        Ok(())
    }

    /// Whether it is not known what some flush covered, and this matters: nothing depends on
    /// flushes if all that came before a cut is there.
    fn needs_strict_reading(&self, run: &ModelRun) -> bool {
        run.has_unknown_flush && self.model != StorageModel::Prefix
    }

    /// Whether the time of this reading is over. The first one leaves half of it to a second one.
    fn is_reading_over(&self, run: &ModelRun) -> bool {
        let is_first = self.reading == Reading::Generous && self.needs_strict_reading(run);
        let half = self.half.filter(|_| is_first);
        self.is_over() || half.is_some_and(|half| Instant::now() >= half)
    }

    fn try_states(&self, recorded: &RecordedWorkload, run: &mut ModelRun) -> Result<(), Failure> {
        let images = Images::of(recorded);
        let exploration = Exploration::new(
            &recorded.recording,
            &recorded.commits,
            self.model,
            self.options.seed,
            self.options.file_system.as_ref().map(|_| REGION_BYTES),
            self.reading,
        );
        let shared = Mutex::new(SharedStates {
            exploration,
            known: HashMap::new(),
            run,
            refuting: None,
            recovery: None,
            failure: None,
            begun: 0,
            stale: 0,
        });
        let judge = StateJudge::new(self.subject, self.options, self.scratch, recorded, &images)?;
        std::thread::scope(|scope| {
            for _ in 0..self.threads() {
                scope.spawn(|| {
                    while self.try_one(&judge, &shared) {
                        let shared = lock(&shared);
                        self.report(Stage::Trying(self.model), shared.run);
                    }
                });
            }
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut refuting) = shared.refuting {
            if shared.failure.is_none() {
                self.report(Stage::Shrinking(self.model), shared.run);
                let how = (self.model, self.reading);
                refuting = shrink(&judge, recorded, how, self.guarantee(), refuting);
            }
            let (state, damage) = refuting;
            shared.run.counterexample = Some(Counterexample {
                id: String::new(),
                words: describe(recorded, &state),
                state,
                recovery: None,
                damage,
            });
        } else if let Some((state, crash, damage)) = shared.recovery {
            let mut words = describe(recorded, &state);
            words.push(describe_recovery(&crash));
            shared.run.counterexample = Some(Counterexample {
                id: String::new(),
                state,
                recovery: Some(crash),
                damage,
                words,
            });
        }
        shared.failure.map_or(Ok(()), Err)
    }

    fn guarantee(&self) -> Guarantee {
        self.subject.guarantee(self.model)
    }

    /// Tries the next state. Returns whether there may be more.
    fn try_one(&self, judge: &StateJudge<'_>, shared: &Mutex<SharedStates<'_>>) -> bool {
        let Some(NextState {
            state,
            image,
            hash,
            number,
        }) = self.next_state(judge, shared)
        else {
            return false;
        };
        match judge.inspect(&image) {
            Ok(Some(inspection)) => {
                {
                    let mut shared = lock(shared);
                    shared.known.insert(hash, inspection.clone());
                    self.note(judge, &mut shared, state.clone(), &inspection, true);
                }
                // In the block form, the file system's own recovery would be cut, too.
                let is_sampled =
                    number.is_multiple_of(RECOVERY_EVERY) && self.options.file_system.is_none();
                if is_sampled && inspection.damage.is_none() {
                    self.crash_recovery(judge, shared, &state, number)
                } else {
                    true
                }
            }
            Ok(None) => {
                lock(shared).run.was_cut_off = true;
                false
            }
            Err(error) => {
                lock(shared).failure = Some(error);
                false
            }
        }
    }

    /// Crashes the recovery of a state. Returns whether there may be more states.
    fn crash_recovery(
        &self,
        judge: &StateJudge<'_>,
        shared: &Mutex<SharedStates<'_>>,
        state: &CrashState,
        number: u64,
    ) -> bool {
        let how = (self.model, self.reading);
        let attempts = judge.crash_recovery(how, state, number, self.guarantee());
        let mut shared = lock(shared);
        match attempts {
            Ok(attempts) => {
                shared.run.recoveries += u64::from(!attempts.is_empty());
                for attempt in attempts {
                    shared.run.has_unknown_flush |= attempt.has_unknown_flush;
                    shared.run.count(true, attempt.damage.as_ref());
                    if let (Some(damage), None) = (attempt.damage, &shared.recovery) {
                        shared.recovery = Some((state.clone(), attempt.crash, damage));
                    }
                }
                true
            }
            Err(error) => {
                shared.failure = Some(error);
                false
            }
        }
    }

    /// Returns the next state whose files are new. Those whose files are known are judged on the
    /// way: another cut may demand more.
    fn next_state(
        &self,
        judge: &StateJudge<'_>,
        shared: &Mutex<SharedStates<'_>>,
    ) -> Option<NextState> {
        loop {
            let mut shared = lock(shared);
            // One state is enough to show that the promise depends on what some flushes covered.
            let is_shown = self.reading == Reading::Strict && shared.run.refuted > 0;
            let enough = shared.run.states >= self.options.states || shared.stale > STALE_STATES;
            let enough = enough || is_shown;
            if enough || shared.failure.is_some() {
                return None;
            }
            if self.is_reading_over(shared.run) {
                shared.run.was_cut_off = true;
                return None;
            }
            let state = shared.exploration.next()?;
            let image = judge.image(&state);
            let hash = image.hash();
            match shared.known.get(&hash).cloned() {
                Some(inspection) => self.note(judge, &mut shared, state, &inspection, false),
                None => {
                    shared.begun += 1;
                    return Some(NextState {
                        state,
                        image,
                        hash,
                        number: shared.begun - 1,
                    });
                }
            }
        }
    }

    fn note(
        &self,
        judge: &StateJudge<'_>,
        shared: &mut SharedStates<'_>,
        state: CrashState,
        inspection: &Inspection,
        is_distinct: bool,
    ) {
        shared.stale = if is_distinct { 0 } else { shared.stale + 1 };
        let damage = judge.judge(&state, inspection, self.guarantee());
        shared.run.count(is_distinct, damage.as_ref());
        let Some(damage) = damage.filter(|damage| !is_of_storage(Some(damage))) else {
            return;
        };
        let is_smaller = shared
            .refuting
            .as_ref()
            .is_none_or(|(smallest, _)| state.losses() < smallest.losses());
        if is_smaller {
            shared.refuting = Some((state, damage));
        }
    }
}

fn lock<'a, 'b>(shared: &'a Mutex<SharedStates<'b>>) -> MutexGuard<'a, SharedStates<'b>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
