//! The progress of an audit on the terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use trueput_audit::{Progress, Stage};

/// A line that shows the states so far, their rate, and the time left.
pub struct ProgressLine {
    bar: ProgressBar,
    subject: String,
    /// The stage and its beginning.
    stage: Mutex<(Option<Stage>, Instant)>,
    deadline: Option<Instant>,
    states: u64,
}

impl ProgressLine {
    /// Creates the line for one subject, with the most states of each model.
    pub fn new(subject: String, states: u64, budget: Option<Duration>) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            subject,
            stage: Mutex::new((None, Instant::now())),
            deadline: budget.map(|budget| Instant::now() + budget),
            states,
        }
    }

    /// Shows how far the audit is.
    pub fn show(&self, progress: Progress) {
        let Ok(mut stage) = self.stage.lock() else {
            return;
        };
        if stage.0 != Some(progress.stage) {
            *stage = (Some(progress.stage), Instant::now());
        }
        let elapsed = stage.1.elapsed().as_secs_f64().max(0.001);
        let rate = progress.states as f64 / elapsed;
        let subject = &self.subject;
        self.bar.set_message(match progress.stage {
            Stage::Recording => format!("{subject}: recording a workload"),
            Stage::Shrinking(model) => {
                format!("{subject}, {model}: making the counterexample small")
            }
            Stage::Trying(model) => {
                let refuted = match progress.refuted {
                    0 => String::new(),
                    refuted => format!(", {refuted} REFUTED"),
                };
                let left = self.left_s(progress.states, rate);
                let states = progress.states;
                format!(
                    "{subject}, {model}: {states} states, {rate:.0}/s{refuted}, {left:.0} s left"
                )
            }
        });
    }

    fn left_s(&self, states: u64, rate: f64) -> f64 {
        let by_states = self.states.saturating_sub(states) as f64 / rate.max(0.001);
        match self.deadline {
            None => by_states,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                by_states.min(left.as_secs_f64())
            }
        }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
