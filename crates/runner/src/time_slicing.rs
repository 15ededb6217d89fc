//! A round: the trials of one repeat that differ in their contender only, side by side. Each has its
//! database, its server and its workers ready, and while those of one work, all others rest. A turn
//! is short beside what neighbours of the machine do, so that their noise falls on all contenders
//! alike and leaves the ratios alone.
//!
//! It is the idea of duet benchmarking (Bulej et al., "Duet Benchmarking: Improving Measurement
//! Accuracy in the Cloud", ICPE 2020), with turns instead of two processors.

use crate::Phase;
use crate::context::{RunContext, TrialError};
use crate::environment::{Environment, end_within, start_within};
use crate::execution::{ExecutionResult, WorkerGroup};
use crate::server_lifecycle::ServerLifecycle;
use crate::trial::{TrialResult, TrialSetup, outcome, reasons_for_doubt};
use std::time::Duration;
use trueput_host as host;
use trueput_record::measurement::Outcome;
use trueput_record::value::format_bytes;
use trueput_record::{Conditions, TrialSpec};
use trueput_workloads::generate::random::{mix, splitmix64};

/// What the trials of a round have in common; `None` for a trial that runs by itself.
pub(crate) fn round_key(spec: &TrialSpec) -> Option<String> {
    spec.conditions.turn_s?;
    let TrialSpec {
        repeat,
        workload,
        settings,
        durability,
        workers,
        ..
    } = spec;
    let conditions = Conditions::named(&spec.conditions);
    Some(format!(
        "{repeat} {workload} {settings:?} {durability} {workers} {conditions:?}"
    ))
}

/// The trials in rounds, each at the place of its first one; those that run by themselves are rounds
/// of their own.
pub(crate) fn rounds<'a>(trials: &[&'a TrialSpec]) -> Vec<Vec<&'a TrialSpec>> {
    let mut rounds: Vec<(Option<String>, Vec<&TrialSpec>)> = Vec::new();
    for &spec in trials {
        let key = round_key(spec);
        let known = rounds
            .iter_mut()
            .find(|(of, _)| key.is_some() && *of == key);
        match known {
            Some((_, round)) => round.push(spec),
            None => rounds.push((key, vec![spec])),
        }
    }
    rounds.into_iter().map(|(_, round)| round).collect()
}

/// Runs the trials of a round in turns. Whatever goes wrong with one is its own outcome, and the
/// others go on.
pub(crate) fn run_round(context: &mut RunContext<'_>, specs: &[&TrialSpec]) -> Vec<TrialResult> {
    let mut found = Vec::new();
    for spec in specs {
        let mut trial = TrialResult::without_measurement(spec, Outcome::Interrupted);
        let place = TrialSetup::find(context, spec, &mut trial);
        found.push((trial, place));
    }
    if let Err(why) = check_room_together(specs, &found) {
        for (_, place) in &mut found {
            *place = Err(TrialError::Failed(why.clone()));
        }
    }
    let mut seats: Vec<TimeSlot<'_>> = found
        .iter_mut()
        .zip(specs)
        .filter_map(|((trial, place), spec)| match place {
            Ok(place) => Some(TimeSlot::new(spec, place, trial)),
            Err(_) => None,
        })
        .collect();
    for seat in &mut seats {
        seat.attempt(|seat| seat.prepare(context));
    }
    take_turns(context, &mut seats);
    for seat in &mut seats {
        seat.attempt(|seat| seat.conclude(context));
        seat.close(context);
    }
    drop(seats);
    let ended = found.into_iter().map(|(mut trial, place)| {
        if let Err(halt) = place {
            trial.record.outcome = outcome(Err(halt));
        }
        trial
    });
    ended.collect()
}

/// The databases of a round are there at once.
fn check_room_together(
    specs: &[&TrialSpec],
    found: &[(TrialResult, Result<TrialSetup, TrialError>)],
) -> Result<(), String> {
    let mut needed: u64 = 0;
    let mut here = None;
    for (spec, (_, place)) in specs.iter().zip(found) {
        if let Ok(place) = place {
            needed = needed.saturating_add(place.needed_bytes(spec));
            here.get_or_insert(place.directory.as_path());
        }
    }
    let free = here.and_then(host::free_bytes);
    match free.filter(|&free| free < needed) {
        None => Ok(()),
        Some(free) => Err(format!(
            "too little disk space for all contenders that take turns: {} needed, {} free",
            format_bytes(needed),
            format_bytes(free)
        )),
    }
}

/// Gives every contender its turns until all have done their share.
fn take_turns(context: &mut RunContext<'_>, seats: &mut [TimeSlot<'_>]) {
    let seed = seats.first().map_or(0, |seat| seat.spec.seed);
    let mut order = SliceOrder::new(seed);
    loop {
        let at_work = (0..seats.len()).filter(|&index| seats[index].has_work());
        let next = order.of(at_work.collect());
        if next.is_empty() {
            return;
        }
        for index in next {
            if context.stopped() {
                return;
            }
            seats[index].attempt(|seat| seat.take_turn(context));
        }
    }
}

/// In which order contenders take turns: drawn anew each time, so that none always follows the same
/// other one, and never one twice in a row, for a second turn finds the caches as the first left
/// them.
struct SliceOrder {
    random: u64,
    last: Option<usize>,
}

impl SliceOrder {
    fn new(seed: u64) -> Self {
        Self {
            random: mix(seed),
            last: None,
        }
    }

    /// These contenders in the order of their next turns.
    fn of(&mut self, mut contenders: Vec<usize>) -> Vec<usize> {
        for index in (1..contenders.len()).rev() {
            let other = splitmix64(&mut self.random) % (index as u64 + 1);
            contenders.swap(index, other as usize);
        }
        if contenders.len() > 1 && contenders.first().copied() == self.last {
            contenders.rotate_left(1);
        }
        self.last = contenders.last().copied();
        contenders
    }
}

/// One contender's place in a round.
struct TimeSlot<'a> {
    spec: &'a TrialSpec,
    trial: &'a mut TrialResult,
    place: &'a TrialSetup,
    hosting: ServerLifecycle<'a>,
    /// Its workers, from when they are ready.
    running: Option<(WorkerGroup<'a>, Environment)>,
    /// Why it has left the round, where it has.
    halt: Option<TrialError>,
}

impl<'a> TimeSlot<'a> {
    fn new(spec: &'a TrialSpec, place: &'a TrialSetup, trial: &'a mut TrialResult) -> Self {
        Self {
            hosting: ServerLifecycle::new(&place.bound, spec, &place.directory),
            spec,
            trial,
            place,
            running: None,
            halt: None,
        }
    }

    /// Does something unless the contender has left the round; it leaves where that fails.
    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> Result<(), TrialError>) {
        if self.halt.is_some() {
            return;
        }
        if let Err(halt) = act(self) {
            // Its workers are killed, so that they disturb nobody.
            self.running = None;
            self.halt = Some(self.hosting.explained(halt));
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let (spec, place) = (self.spec, self.place);
        self.hosting.start(context, None, Phase::Prepare)?;
        place.prepare(context, spec, &mut self.hosting, self.trial)?;
        let work = place.work(spec, self.trial);
        self.running = Some(start_within(context, spec, &work, &mut self.hosting)?);
        Ok(())
    }

    fn has_work(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|(running, _)| !running.is_done())
    }

    fn take_turn(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let turn = Duration::from_secs_f64(self.spec.conditions.turn_s.unwrap_or_default());
        match &mut self.running {
            Some((running, _)) => running.take_turn(context, turn),
            None => Ok(()),
        }
    }

    /// Has the workers end, and checks what they did.
    fn conclude(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let Some((running, under)) = self.running.take() else {
            return Err(TrialError::Interrupted);
        };
        let ran = ended(context, running);
        let (spec, place) = (self.spec, self.place);
        let work = place.work(spec, self.trial);
        let ran = end_within(context, spec, &work, &mut self.hosting, ran, under)?;
        place.conclude(context, spec, &mut self.hosting, ran, self.trial)
    }

    /// Stops the server, and notes how the trial ended.
    fn close(&mut self, context: &mut RunContext<'_>) {
        let stopped = self.hosting.stop(context, Phase::Verify);
        let ended = match self.halt.take() {
            // The first failure is the one to tell.
            Some(halt) => Err(halt),
            None => stopped.map(|()| reasons_for_doubt(&self.place.bound, self.trial)),
        };
        self.trial.record.outcome = outcome(ended);
    }
}

/// Lets workers close their database and end.
fn ended(
    context: &mut RunContext<'_>,
    mut running: WorkerGroup<'_>,
) -> Result<ExecutionResult, TrialError> {
    running.leave();
    running.follow(context)?;
    running.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::{Durability, VerifyLevel, WorkerKind};

    fn spec(engine: &str, repeat: u32, workers: u32, turn_s: Option<f64>) -> TrialSpec {
        TrialSpec {
            id: format!("{engine}-{workers}-{repeat}"),
            cell: 0,
            repeat,
            workload: "micro".to_owned(),
            settings: trueput_record::trial::Settings::new(),
            engine: engine.to_owned(),
            build: None,
            durability: Durability::Process,
            knobs: trueput_record::trial::Settings::new(),
            workers,
            worker_kind: WorkerKind::Processes,
            verify: VerifyLevel::Full,
            seed: 1,
            conditions: Conditions {
                turn_s,
                ..Conditions::default()
            },
            note: None,
            step: None,
        }
    }

    fn ids(trials: &[TrialSpec]) -> Vec<Vec<&str>> {
        let all: Vec<&TrialSpec> = trials.iter().collect();
        let rounds = rounds(&all).into_iter();
        rounds
            .map(|round| round.iter().map(|spec| spec.id.as_str()).collect())
            .collect()
    }

    #[test]
    fn contenders_of_one_repeat_and_one_number_of_workers_make_a_round() {
        let turn = Some(0.01);
        let mut trials = Vec::new();
        for repeat in [1, 2] {
            for engine in ["a", "b"] {
                trials.extend([1, 4].map(|workers| spec(engine, repeat, workers, turn)));
            }
        }
        let expected = [
            ["a-1-1", "b-1-1"],
            ["a-4-1", "b-4-1"],
            ["a-1-2", "b-1-2"],
            ["a-4-2", "b-4-2"],
        ];
        assert_eq!(ids(&trials), expected);
    }

    #[test]
    fn nobody_has_two_turns_in_a_row_and_everybody_follows_everybody() {
        for contenders in [2, 3, 5] {
            let mut order = SliceOrder::new(7);
            let turns: Vec<usize> = (0..1_000)
                .flat_map(|_| order.of((0..contenders).collect()))
                .collect();
            assert_eq!(turns.len(), 1_000 * contenders);
            for (before, after) in
                (0..contenders).flat_map(|a| (0..contenders).map(move |b| (a, b)))
            {
                let follows = turns
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

    #[test]
    fn one_who_is_left_goes_on_alone() {
        let mut order = SliceOrder::new(1);
        assert_eq!(order.of(vec![2]), [2]);
        assert_eq!(order.of(vec![2]), [2]);
        assert!(order.of(Vec::new()).is_empty());
    }

    #[test]
    fn without_turns_each_trial_runs_by_itself() {
        let trials = [spec("a", 1, 1, None), spec("b", 1, 1, None)];
        assert_eq!(ids(&trials), [["a-1-1"], ["b-1-1"]]);
    }
}
