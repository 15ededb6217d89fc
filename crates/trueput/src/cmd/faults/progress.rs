//! The progress of `trueput faults`: a line that moves on a terminal, and one for each result.

use crate::output;
use crate::progress::duration;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use trueput_audit::FaultEvent;
use trueput_record::fault_record::FAULT_CONTROLS;
use trueput_record::text::counted;
use trueput_report::fault_report;

/// The progress of the faults of a command.
pub struct FaultProgress {
    /// The line that moves.
    pub line: ProgressBar,
    is_quiet: bool,
    /// The end of the time for all.
    deadline: Option<Instant>,
    /// The controls that began.
    controls: Cell<usize>,
    results: Cell<ResultCount>,
}

impl FaultProgress {
    /// Shows nothing yet. A quiet one writes no lines. The budget is the time for all.
    pub fn new(is_quiet: bool, budget: Option<Duration>) -> Self {
        let line = if std::io::stderr().is_terminal() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            line.set_style(style);
        }
        let now = Instant::now();
        Self {
            line,
            is_quiet,
            deadline: budget.map(|budget| now + budget),
            controls: Cell::default(),
            results: Cell::new(ResultCount::of(0, now)),
        }
    }

    /// Shows an event.
    pub fn show(&self, event: &FaultEvent<'_>) {
        match event {
            FaultEvent::Control(control) => {
                let (number, of) = (self.controls.get() + 1, FAULT_CONTROLS.len());
                self.controls.set(number);
                if number == 1 && self.line.is_hidden() {
                    self.note(&format!("trying {of} controls first"));
                }
                let does = control.does;
                self.line.set_message(format!(
                    "control {number} of {of}: the log engine that {does}"
                ));
            }
            FaultEvent::Planned(results) => {
                self.results.set(ResultCount::of(*results, Instant::now()));
                let results = counted(*results as u64, "result");
                self.note(&format!(
                    "the controls came out as they must; {results} to come"
                ));
            }
            FaultEvent::Began(subject, fault) => {
                let (contender, level) = (subject.contender(), subject.durability);
                let fault = fault.map_or_else(|| "without a fault".to_owned(), |it| it.to_string());
                let left = self.words_of_rest();
                self.line
                    .set_message(format!("{contender} {level}, {fault}{left}"));
            }
            FaultEvent::Ended(result) => {
                let count = self.results.get();
                self.results.set(ResultCount {
                    ended: count.ended + 1,
                    ..count
                });
                let (subject, fault) = (fault_report::subject(result), fault_report::fault(result));
                let (outcome, left) = (result.outcome, self.words_of_rest());
                self.note(&format!("{subject}, {fault}: {outcome}{left}"));
            }
        }
    }

    /// Writes a line, unless it is quiet.
    fn note(&self, text: &str) {
        if !self.is_quiet {
            self.line.suspend(|| output::note(text));
        }
    }

    /// How many results there are, and about how long the others take: ` (3 of 45, about 4 min 10 s
    /// left)`.
    fn words_of_rest(&self) -> String {
        let now = Instant::now();
        let count = self.results.get();
        let left = count.time_left(now).map(|left| match self.deadline {
            Some(deadline) => left.min(deadline.saturating_duration_since(now)),
            None => left,
        });
        let left = left.filter(|left| !left.is_zero());
        let left = left.map(|left| format!(", about {} left", duration(left)));
        let ResultCount { ended, planned, .. } = count;
        format!(" ({ended} of {planned}{})", left.unwrap_or_default())
    }
}

/// The results so far, and all that are to come.
#[derive(Debug, Clone, Copy)]
struct ResultCount {
    began: Instant,
    planned: usize,
    ended: usize,
}

impl ResultCount {
    /// None of so many, from now on.
    fn of(planned: usize, now: Instant) -> Self {
        Self {
            began: now,
            planned,
            ended: 0,
        }
    }

    /// Returns about how long the rest takes: each as long as those so far. `None` before the first
    /// result.
    fn time_left(self, now: Instant) -> Option<Duration> {
        let ended = u32::try_from(self.ended).ok().filter(|ended| *ended > 0)?;
        let rest = u32::try_from(self.planned.saturating_sub(self.ended)).ok()?;
        let mean = now.saturating_duration_since(self.began) / ended;
        Some(mean * rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_the_results_so_far() {
        let began = Instant::now();
        let now = began + Duration::from_secs(30);
        let count = ResultCount::of(45, began);
        assert_eq!(count.time_left(now), None);
        let with = |ended| ResultCount { ended, ..count };
        assert_eq!(with(3).time_left(now), Some(Duration::from_secs(420)));
        assert_eq!(with(45).time_left(now), Some(Duration::ZERO));
    }
}
