//! The progress of an audit on the terminal.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use trueput_audit::{AuditEvent, Progress, Stage};
use trueput_record::audit::{AuditResult, AuditVerdict};
use trueput_report::audit_report;

/// The progress of the audits of a command: a line that moves, and one for each result.
pub struct AuditProgress {
    line: Mutex<Option<ProgressLine>>,
    is_quiet: bool,
}

impl AuditProgress {
    /// Shows nothing yet. A quiet one writes no line for a result.
    pub fn new(is_quiet: bool) -> Self {
        Self {
            line: Mutex::new(None),
            is_quiet,
        }
    }

    /// Shows an event.
    pub fn show(&self, event: AuditEvent<'_>) {
        let Ok(mut line) = self.line.lock() else {
            return;
        };
        match event {
            AuditEvent::Began(subject, options) => {
                let name = format!("{} {}", subject.contender(), subject.durability);
                *line = Some(ProgressLine::new(name, options.states, options.budget));
            }
            AuditEvent::Progress(progress) => {
                if let Some(line) = &mut *line {
                    line.show(progress);
                }
            }
            AuditEvent::Ended(result) => {
                if let Some(line) = line.take() {
                    line.bar.finish_and_clear();
                }
                if !self.is_quiet {
                    output::note(&describe_result(result));
                }
            }
            AuditEvent::Warning(message) => output::note(&message),
        }
    }
}

/// A line that shows the states so far, their rate, and the time left.
struct ProgressLine {
    bar: ProgressBar,
    subject: String,
    /// The stage and its beginning.
    stage: (Option<Stage>, Instant),
    deadline: Option<Instant>,
    states: u64,
}

impl ProgressLine {
    /// Creates the line for one subject, with the most states of each model.
    fn new(subject: String, states: u64, budget: Option<Duration>) -> Self {
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
            stage: (None, Instant::now()),
            deadline: budget.map(|budget| Instant::now() + budget),
            states,
        }
    }

    /// Shows how far the audit is.
    fn show(&mut self, progress: Progress) {
        if self.stage.0 != Some(progress.stage) {
            self.stage = (Some(progress.stage), Instant::now());
        }
        let elapsed = self.stage.1.elapsed().as_secs_f64().max(0.001);
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
}

/// Describes a result in one line.
fn describe_result(result: &AuditResult) -> String {
    let name = audit_report::subject(result);
    let models: Vec<_> = result
        .models
        .iter()
        .map(|model| match model.refuted {
            0 if model.undecided.is_some() => {
                format!("{} UNDECIDED in {}", model.model, model.states)
            }
            0 => format!("{} {}", model.model, model.states),
            refuted => format!("{} REFUTED in {refuted} of {}", model.model, model.states),
        })
        .collect();
    let models = models.join(", ");
    match (&result.failure, result.verdict_on_tried_models()) {
        (Some(failure), AuditVerdict::Failed) => format!("{name}: no result: {failure}"),
        (_, AuditVerdict::Refuted | AuditVerdict::Undecided) => format!("{name}: {models}"),
        _ => format!("{name}: not refuted ({models})"),
    }
}
