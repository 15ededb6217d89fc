//! A round: the trials of one repeat that differ in their contender only, side by side. Each has its
//! database, its server and its workers ready, and while those of one work, all others rest. A turn
//! is short beside what neighbours of the machine do, so that their noise falls on all contenders
//! alike and leaves the ratios alone.
//!
//! It is the idea of duet benchmarking (Bulej et al., "Duet Benchmarking: Improving Measurement
//! Accuracy in the Cloud", ICPE 2020), with turns instead of two processors.

use crate::Phase;
use crate::context::{Context, Halt};
use crate::execution::{Ran, Running};
use crate::hosting::Hosting;
use crate::limits::{Under, end_within, start_within};
use crate::trial::{Place, Trial, outcome, reasons_for_doubt};
use std::time::Duration;
use trueput_record::measurement::Outcome;
use trueput_record::{Conditions, TrialSpec};

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
pub(crate) fn run_round(context: &mut Context<'_>, specs: &[&TrialSpec]) -> Vec<Trial> {
    let mut found = Vec::new();
    for spec in specs {
        let mut trial = Trial::without_measurement(spec, Outcome::Interrupted);
        let place = Place::find(context, spec, &mut trial);
        found.push((trial, place));
    }
    let mut seats: Vec<Seat<'_>> = found
        .iter_mut()
        .zip(specs)
        .filter_map(|((trial, place), spec)| match place {
            Ok(place) => Some(Seat::new(spec, place, trial)),
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

/// Gives every contender its turns, forth and back, so that none always follows the same other one,
/// until all have done their share.
fn take_turns(context: &mut Context<'_>, seats: &mut [Seat<'_>]) {
    let mut forth = true;
    while !context.stopped() && seats.iter().any(Seat::has_work) {
        let mut order: Vec<&mut Seat<'_>> = seats.iter_mut().collect();
        if !forth {
            order.reverse();
        }
        forth = !forth;
        for seat in order {
            if seat.has_work() && !context.stopped() {
                seat.attempt(|seat| seat.take_turn(context));
            }
        }
    }
}

/// One contender's place in a round.
struct Seat<'a> {
    spec: &'a TrialSpec,
    trial: &'a mut Trial,
    place: &'a Place,
    hosting: Hosting<'a>,
    /// Its workers, from when they are ready.
    running: Option<(Running<'a>, Under)>,
    /// Why it has left the round, where it has.
    halt: Option<Halt>,
}

impl<'a> Seat<'a> {
    fn new(spec: &'a TrialSpec, place: &'a Place, trial: &'a mut Trial) -> Self {
        Self {
            hosting: Hosting::new(&place.bound, spec, &place.directory),
            spec,
            trial,
            place,
            running: None,
            halt: None,
        }
    }

    /// Does something unless the contender has left the round; it leaves where that fails.
    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> Result<(), Halt>) {
        if self.halt.is_some() {
            return;
        }
        if let Err(halt) = act(self) {
            // Its workers are killed, so that they disturb nobody.
            self.running = None;
            self.halt = Some(self.hosting.explained(halt));
        }
    }

    fn prepare(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
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

    fn take_turn(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        let turn = Duration::from_secs_f64(self.spec.conditions.turn_s.unwrap_or_default());
        match &mut self.running {
            Some((running, _)) => running.take_turn(context, turn),
            None => Ok(()),
        }
    }

    /// Has the workers end, and checks what they did.
    fn conclude(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        let Some((running, under)) = self.running.take() else {
            return Err(Halt::Interrupted);
        };
        let ran = ended(context, running);
        let (spec, place) = (self.spec, self.place);
        let work = place.work(spec, self.trial);
        let ran = end_within(context, spec, &work, &mut self.hosting, ran, under)?;
        place.conclude(context, spec, &mut self.hosting, ran, self.trial)
    }

    /// Stops the server, and notes how the trial ended.
    fn close(&mut self, context: &mut Context<'_>) {
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
fn ended(context: &mut Context<'_>, mut running: Running<'_>) -> Result<Ran, Halt> {
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
    fn without_turns_each_trial_runs_by_itself() {
        let trials = [spec("a", 1, 1, None), spec("b", 1, 1, None)];
        assert_eq!(ids(&trials), [["a-1-1"], ["b-1-1"]]);
    }
}
