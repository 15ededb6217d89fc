//! Time slicing: the trials of one repeat that differ only in their contender run side by side.
//! Each has its database, its server and its workers ready, and while the processes of one run, all
//! processes of the others are stopped. A time slice is short compared with disturbances by other
//! programs, so that these fall on all contenders alike and leave the ratios unchanged.
//!
//! It is the idea of duet benchmarking (Bulej et al., "Duet Benchmarking: Improving Measurement
//! Accuracy in the Cloud", ICPE 2020), with time slices instead of two processors.

use crate::Phase;
use crate::concurrent_tasks::TaskThreads;
use crate::context::{RunContext, TrialError, explain_full_disk};
use crate::plan::disk_space::NoRoom;
use crate::trial::database_folder::begins_with_copy;
use crate::trial::environment::{Environment, finish_workers, start_workers};
use crate::trial::lifecycle::{TrialResult, TrialSetup, derive_outcome, list_reasons_for_doubt};
use crate::trial::measured_part::WorkerGroup;
use crate::trial::prepared_copy;
use crate::trial::server_lifecycle::ServerLifecycle;
use crate::trial::worker_group::WorkerGroupResult;
use std::thread;
use std::time::Duration;
use trueput_host as host;
use trueput_record::measurement::Outcome;
use trueput_record::random::{SplitMix64, mix};
use trueput_record::{Conditions, TrialSpec};

/// Runs the trials of a group in time slices. A failure affects only its own trial, and the others
/// continue. Each two repeats open them in opposite orders, and the one that was opened last does
/// not begin, so that an effect of the order cancels out (docs/METHOD.md, Time slices).
pub(crate) fn run_in_time_slices(
    context: &mut RunContext<'_>,
    specs: &[&TrialSpec],
) -> Vec<TrialResult> {
    let places = order_of_preparation(specs);
    let mut found = set_up_trials(context, specs, &places);
    if check_total_disk_space(specs, &found).is_err() {
        // The contenders of this group have theirs already.
        prepared_copy::remove_copies(context);
    }
    if let Err(error) = check_total_disk_space(specs, &found) {
        for (_, setup) in &mut found {
            *setup = Err(TrialError::from(error.to_string()));
        }
    }
    let mut slots: Vec<TimeSlot<'_>> = found
        .iter_mut()
        .zip(specs)
        .filter_map(|((trial, setup), spec)| match setup {
            Ok(setup) => Some(TimeSlot::new(spec, setup, trial)),
            Err(_) => None,
        })
        .collect();
    slots.sort_by_key(|slot| places.iter().position(|&place| specs[place] == slot.spec));
    thread::scope(|scope| run_slots(context, &TaskThreads::start(scope), slots));
    let ended = found.into_iter().map(|(mut trial, setup)| {
        if let Err(error) = setup {
            trial.record.outcome = derive_outcome(Err(error));
        }
        trial
    });
    ended.collect()
}

/// A trial of a group, and its folder if it could be made.
type FoundTrial = (TrialResult, Result<TrialSetup, TrialError>);

/// Sets the trials up in the order of these places: several at the same time if each begins with a
/// copy. Otherwise there are hardware limits to measure, and databases to be found.
fn set_up_trials(
    context: &mut RunContext<'_>,
    specs: &[&TrialSpec],
    places: &[usize],
) -> Vec<FoundTrial> {
    let begin = |&place: &usize| {
        let trial = TrialResult::without_measurement(specs[place], Outcome::Interrupted);
        (specs[place], (trial, Err(TrialError::Interrupted)))
    };
    let mut trials: Vec<(&TrialSpec, FoundTrial)> = places.iter().map(begin).collect();
    let has_copy = |spec: &&TrialSpec| spec.role.is_none() && begins_with_copy(context, spec);
    if specs.len() > 1 && specs.iter().all(has_copy) {
        // Nobody takes what was left for them.
        context.drop_reusable_except(&[]);
        trials = thread::scope(|scope| {
            let threads = TaskThreads::start(scope);
            threads.run(context, trials, |context, (spec, (trial, setup))| {
                *setup = TrialSetup::set_up(context, spec, trial);
            })
        });
    } else {
        for (spec, (trial, setup)) in &mut trials {
            *setup = TrialSetup::set_up(context, spec, trial);
        }
    }
    let mut found: Vec<_> = places.iter().zip(trials).collect();
    found.sort_by_key(|(place, _)| **place);
    found.into_iter().map(|(_, (_, trial))| trial).collect()
}

/// Prepares the contenders, gives them their time slices, and verifies their results.
fn run_slots<'scope>(
    context: &mut RunContext<'_>,
    threads: &TaskThreads<'scope>,
    mut slots: Vec<TimeSlot<'scope>>,
) {
    if slots.iter().all(TimeSlot::can_prepare_concurrently) {
        slots = threads.run(context, slots, |context, slot| {
            slot.attempt(context, TimeSlot::prepare);
        });
        for slot in &mut slots {
            slot.attempt(context, TimeSlot::start_workers);
        }
    } else {
        for slot in &mut slots {
            slot.attempt(context, TimeSlot::prepare);
            slot.attempt(context, TimeSlot::start_workers);
        }
    }
    let mut order = SliceOrder::of_repeat(slots.first().map(|slot| slot.spec));
    order.last = slots.len().checked_sub(1);
    run_slices(context, &mut slots, order);
    resume_if_interrupted(context, &mut slots);
    if slots.iter().all(TimeSlot::can_end_concurrently) {
        threads.run(context, slots, |context, slot| {
            slot.attempt(context, TimeSlot::verify);
            slot.finish(context);
        });
    } else {
        for place in 0..slots.len() {
            slots[place].attempt(context, TimeSlot::verify);
            resume_if_interrupted(context, &mut slots);
            slots[place].finish(context);
        }
    }
}

/// Lets all contenders go on if the user has stopped the run: a second Ctrl-C ends this program at
/// once, and nobody may be stopped then.
fn resume_if_interrupted(context: &mut RunContext<'_>, slots: &mut [TimeSlot<'_>]) {
    if context.stopped() {
        slots
            .iter_mut()
            .for_each(|slot| slot.attempt(context, TimeSlot::resume));
    }
}

/// Returns the order in which the trials of a group are prepared: drawn for each two repeats, the
/// second of which has the first one's order reversed. An effect of the order cancels out of the
/// mean of both, however few repeats there are.
fn order_of_preparation(specs: &[&TrialSpec]) -> Vec<usize> {
    let (seed, repeat) = specs
        .first()
        .map_or((0, 0), |spec| (spec.seed, spec.repeat));
    let mut order = SliceOrder::new(seed ^ u64::from(repeat.div_ceil(2)).rotate_left(32));
    let mut places = order.shuffle((0..specs.len()).collect());
    if repeat % 2 == 0 {
        places.reverse();
    }
    places
}

/// Checks the disk space for all databases of a group, which exist at once.
fn check_total_disk_space(specs: &[&TrialSpec], found: &[FoundTrial]) -> Result<(), NoRoom> {
    let mut needed_bytes: u64 = 0;
    let mut here = None;
    for (spec, (_, setup)) in specs.iter().zip(found) {
        if let Ok(setup) = setup {
            needed_bytes = needed_bytes.saturating_add(setup.needed_bytes(spec));
            here.get_or_insert(setup.directory.as_path());
        }
    }
    let free = here.and_then(host::read_free_bytes);
    match free.filter(|&free| free < needed_bytes) {
        None => Ok(()),
        Some(free_bytes) => Err(NoRoom::TimeSlices {
            needed_bytes,
            free_bytes,
        }),
    }
}

/// Gives every contender time slices until all have finished.
fn run_slices(context: &mut RunContext<'_>, slots: &mut [TimeSlot<'_>], mut order: SliceOrder) {
    loop {
        let at_work = (0..slots.len()).filter(|&index| slots[index].has_work());
        let at_work = at_work.map(|index| (index, slots[index].given));
        let next = order.shuffle(due(&at_work.collect::<Vec<_>>()));
        if next.is_empty() {
            return;
        }
        for index in next {
            if context.stopped() {
                return;
            }
            slots[index].attempt(context, TimeSlot::run_slice);
        }
    }
}

/// Returns those who have had the least time, of contenders with the time that each was given: who
/// has shorter slices than others has more of them.
fn due(at_work: &[(usize, Duration)]) -> Vec<usize> {
    let least = at_work.iter().map(|(_, given)| *given).min();
    let due = at_work.iter().filter(|(_, given)| Some(*given) == least);
    due.map(|(index, _)| *index).collect()
}

/// The order of time slices: randomized each round, so that no contender always follows the same
/// other one, and of several that are due none runs twice in a row, because its second slice would
/// find its caches warm.
struct SliceOrder {
    random: SplitMix64,
    last: Option<usize>,
}

impl SliceOrder {
    /// The order of a group's repeat. Another repeat has another one: an effect of the order would
    /// look like a difference otherwise, however many repeats there are.
    fn of_repeat(first: Option<&TrialSpec>) -> Self {
        Self::new(first.map_or(0, |spec| spec.seed ^ u64::from(spec.repeat)))
    }

    fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(mix(seed)),
            last: None,
        }
    }

    /// Returns these contenders in the order of their next slices.
    fn shuffle(&mut self, mut contenders: Vec<usize>) -> Vec<usize> {
        for index in (1..contenders.len()).rev() {
            let other = self.random.next_u64() % (index as u64 + 1);
            contenders.swap(index, other as usize);
        }
        if contenders.len() > 1 && contenders.first().copied() == self.last {
            contenders.rotate_left(1);
        }
        self.last = contenders.last().copied();
        contenders
    }
}

/// One contender's position among the time slices.
struct TimeSlot<'a> {
    spec: &'a TrialSpec,
    trial: &'a mut TrialResult,
    setup: &'a TrialSetup,
    /// Its workers, once they are ready. Dropped before the server: that goes on with them, and
    /// cannot end while it is stopped.
    workers: Option<(WorkerGroup<'a>, Environment)>,
    server: ServerLifecycle<'a>,
    /// The length of all slices that it had.
    given: Duration,
    /// The error that removed it.
    error: Option<TrialError>,
}

impl<'a> TimeSlot<'a> {
    fn new(spec: &'a TrialSpec, setup: &'a TrialSetup, trial: &'a mut TrialResult) -> Self {
        Self {
            server: ServerLifecycle::new(&setup.resolved, spec, &setup.directory),
            spec,
            trial,
            setup,
            given: Duration::ZERO,
            workers: None,
            error: None,
        }
    }

    /// Runs `act` unless the contender has dropped out; an error drops it out.
    fn attempt(
        &mut self,
        context: &mut RunContext<'_>,
        act: fn(&mut Self, &mut RunContext<'_>) -> Result<(), TrialError>,
    ) {
        if self.error.is_some() {
            return;
        }
        if let Err(error) = act(self, context) {
            let error = explain_full_disk(error, &self.setup.directory);
            // Its workers are killed, and its server, so that they disturb nobody. Their control
            // group is removed last: it tells whether its limit killed one, and has to be empty.
            let (workers, environment) = self.workers.take().unzip();
            drop(workers);
            let server = &mut self.server;
            let error = match &environment {
                Some(environment) => environment.explain(context, self.spec, server, error),
                // Whoever prepares, starts workers or verifies has added what became of the server.
                None => error,
            };
            if !matches!(error, TrialError::Interrupted) {
                server.kill();
            }
            self.error = Some(error);
        }
    }

    fn resume(&mut self, _: &mut RunContext<'_>) -> Result<(), TrialError> {
        match &mut self.workers {
            Some((workers, _)) => workers.resume(),
            None => Ok(()),
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let (spec, setup) = (self.spec, self.setup);
        self.server.start(context, None, Phase::Prepare)?;
        setup.prepare(context, spec, &mut self.server, self.trial)
    }

    fn start_workers(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let (spec, setup) = (self.spec, self.setup);
        let plan = setup.specify_workers(spec, self.trial);
        let started = start_workers(context, spec, &plan, &mut self.server)?;
        let (workers, _) = self.workers.insert(started);
        workers.stop(context)
    }

    fn has_work(&self) -> bool {
        let workers = self.workers.as_ref();
        workers.is_some_and(|(workers, _)| !workers.is_done())
    }

    fn run_slice(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let slice = Duration::from_secs_f64(self.spec.conditions.time_slice_s.unwrap_or_default());
        self.given += slice;
        match &mut self.workers {
            Some((workers, _)) => workers.run_slice(context, slice),
            None => Ok(()),
        }
    }

    /// Whether its server can start while others do: no load is measured, because its database is
    /// there already, or has none.
    fn can_prepare_concurrently(&self) -> bool {
        let has_load = !self.setup.has_copy() && self.setup.resolved.job.has_load();
        !has_load && self.can_end_concurrently()
    }

    /// Whether it can be verified while others are. A compaction and a recovery are measured, and
    /// what a search keeps for its next trial is kept by the run itself.
    fn can_end_concurrently(&self) -> bool {
        let Conditions {
            compact,
            crash_and_recover,
            hosts,
            ..
        } = &self.spec.conditions;
        !compact && !crash_and_recover && hosts.is_none() && self.spec.role.is_none()
    }

    /// Ends the workers, and verifies their results.
    fn verify(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        self.resume(context)?;
        let Some((workers, environment)) = self.workers.take() else {
            return Err(TrialError::Interrupted);
        };
        let result = finish_group(context, workers);
        let (spec, setup) = (self.spec, self.setup);
        let plan = setup.specify_workers(spec, self.trial);
        let result = finish_workers(context, spec, &plan, &mut self.server, result, environment)?;
        setup.verify(context, spec, &mut self.server, result, self.trial)
    }

    /// Stops the server, and records the trial's outcome.
    fn finish(&mut self, context: &mut RunContext<'_>) {
        let failed = self.error.take().map_or(Ok(()), Err);
        let stopped = self.server.stop_after(context, &failed);
        let ended = match failed.err() {
            // The first failure is the one to report.
            Some(error) => Err(error),
            None => stopped.map(|()| list_reasons_for_doubt(context, self.setup, self.trial)),
        };
        self.trial.record.outcome = derive_outcome(ended);
    }
}

/// Lets workers close their database and end.
fn finish_group(
    context: &mut RunContext<'_>,
    mut workers: WorkerGroup<'_>,
) -> Result<WorkerGroupResult, TrialError> {
    workers.follow(context)?;
    workers.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::Durability;

    #[test]
    fn nobody_has_two_slices_in_a_row_and_everybody_follows_everybody() {
        for contenders in [2, 3, 5] {
            let mut order = SliceOrder::new(7);
            let slices: Vec<usize> = (0..1_000)
                .flat_map(|_| order.shuffle((0..contenders).collect()))
                .collect();
            assert_eq!(slices.len(), 1_000 * contenders);
            for (before, after) in
                (0..contenders).flat_map(|a| (0..contenders).map(move |b| (a, b)))
            {
                let follows = slices
                    .windows(2)
                    .filter(|two| **two == [before, after])
                    .count();
                assert_eq!(
                    follows > 0,
                    before != after,
                    "{after} after {before}: {follows}"
                );
            }
        }
    }

    fn spec(repeat: u32) -> TrialSpec {
        let mut spec = trueput_record::testing::spec(0, "lmdb", Durability::Sync, repeat);
        spec.seed = 1;
        spec
    }

    #[test]
    fn each_two_repeats_prepare_contenders_in_opposite_orders() {
        let order = |repeat| order_of_preparation(&[&spec(repeat); 5]);
        let orders: Vec<_> = (1..=20).map(order).collect();
        for two in orders.chunks(2) {
            let reversed: Vec<usize> = two[1].iter().rev().copied().collect();
            assert_eq!(two[0], reversed);
        }
        assert_ne!(orders[0], orders[2]);
    }

    #[test]
    fn each_repeat_has_an_order_of_its_own() {
        let order = |repeat| {
            let mut order = SliceOrder::of_repeat(Some(&spec(repeat)));
            let rounds = (0..20).flat_map(move |_| order.shuffle((0..5).collect()));
            rounds.collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn who_has_shorter_slices_has_more_of_them() {
        let lengths = [50, 500, 50, 100].map(Duration::from_millis);
        let mut given = [Duration::ZERO; 4];
        let mut order = SliceOrder::new(7);
        let mut slices = Vec::new();
        let end = Duration::from_secs(10);
        while given.iter().any(|given| *given < end) {
            let at_work: Vec<_> = given.iter().copied().enumerate().collect();
            for index in order.shuffle(due(&at_work)) {
                given[index] += lengths[index];
                slices.push(index);
            }
            let (least, most) = (given.iter().min().unwrap(), given.iter().max().unwrap());
            assert!(*most - *least <= lengths[1], "{given:?}");
        }
        let of = |index| slices.iter().filter(|it| **it == index).count();
        assert_eq!([0, 1, 2, 3].map(of), [200, 20, 200, 100]);
    }

    #[test]
    fn one_who_is_left_goes_on_alone() {
        let mut order = SliceOrder::new(1);
        assert_eq!(order.shuffle(vec![2]), [2]);
        assert_eq!(order.shuffle(vec![2]), [2]);
        assert!(order.shuffle(Vec::new()).is_empty());
    }
}
