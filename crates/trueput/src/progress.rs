//! Shows the progress of a run, from the runner's events only: a bar on a terminal, plain lines
//! elsewhere, JSON lines for programs.

mod search_news;
mod table;
mod time_left;

use crate::output;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use table::LiveTable;
use time_left::TimeLeftEstimator;
use trueput_findings::answer::{Round, Standings};
use trueput_record::measurement::OperationSummary;
use trueput_record::text::counted;
use trueput_record::{Outcome, TrialRecord, TrialSpec};
use trueput_report::answer::{decided_lines, round_lines};
use trueput_runner::{Event, Phase};
use trueput_tuner::SearchNews;

/// The interval between plain lines that say how far a trial is.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The time that the other repeats need is printed after the first if it is longer than this.
const WORTH_SAYING: Duration = Duration::from_secs(60);

/// The most columns of a line of rankings.
const LINE_WIDTH: usize = 100;

/// Steps of the bar.
const STEPS: u64 = 1_000;

/// Shows the progress of a run.
pub struct Progress {
    style: ProgressStyle,
    time_left: TimeLeftEstimator,
    /// Trials that earlier parts of a resumed run ended.
    done_before: usize,
    /// Running trials and their names; several if contenders share time slices.
    trials: Vec<(String, String)>,
    /// When a plain line last said how far a trial is.
    last_line_at: Instant,
    /// Whether a note said that conformance of earlier runs counts.
    has_noted_remembered: bool,
    standings: Option<Standings>,
    /// A round that was completed while trials of it were under way.
    completed: Option<Round>,
    /// Whether any round was completed.
    has_round: bool,
    /// The rankings whose decision was announced, by place.
    announced: BTreeSet<usize>,
}

enum ProgressStyle {
    Bar(Box<LiveTable>),
    Lines,
    Json,
}

impl Progress {
    /// A bar if standard error is a terminal, else plain lines there.
    pub fn for_people() -> Self {
        let style = if std::io::stderr().is_terminal() {
            ProgressStyle::Bar(Box::new(LiveTable::new(STEPS)))
        } else {
            ProgressStyle::Lines
        };
        Self::with_style(style)
    }

    /// Every event as one JSON line on standard output.
    pub fn json() -> Self {
        Self::with_style(ProgressStyle::Json)
    }

    fn with_style(style: ProgressStyle) -> Self {
        let now = Instant::now();
        Self {
            style,
            time_left: TimeLeftEstimator::new(now),
            done_before: 0,
            trials: Vec::new(),
            last_line_at: now,
            has_noted_remembered: false,
            standings: None,
            completed: None,
            has_round: false,
            announced: BTreeSet::new(),
        }
    }

    /// Shows after each round of repeats how the rankings stand: in place on a terminal, in lines
    /// elsewhere.
    pub fn with_standings(mut self, standings: Standings) -> Self {
        self.standings = Some(standings);
        self
    }

    /// Takes the trials that a search adds to the plan.
    pub fn add_trials(&mut self, trials: &[TrialSpec]) {
        if let Some(standings) = &mut self.standings {
            standings.add_trials(trials);
        }
    }

    /// Shows one event.
    pub fn observe(&mut self, event: &Event) {
        if matches!(self.style, ProgressStyle::Json) {
            if let Ok(line) = serde_json::to_string(event) {
                // A closed standard output must not stop the run.
                let _ = output::json_lines(&line);
            }
            return;
        }
        let now = Instant::now();
        match event {
            Event::RunStarted {
                folder,
                trials,
                done_before,
            } => {
                self.time_left.begin_run(*trials, now);
                self.done_before = *done_before;
                let before = match done_before {
                    0 => String::new(),
                    done => format!(" ({done} done earlier)"),
                };
                let folder = folder.display();
                self.say(&format!(
                    "{} to run{before}, results in {folder}",
                    counted(*trials as u64, "trial")
                ));
            }
            Event::ConformanceChecked { .. } | Event::IsolationChecked { .. } => {
                self.time_left.end_conformance(now);
                self.observe_checks(event);
            }
            Event::TrialStarted { number, of, spec } => {
                let (number, of) = (number + self.done_before, of + self.done_before);
                // Nobody knows how many trials a search takes.
                let name = if spec.role.is_some() || self.is_decision() {
                    format!("trial {}", spec.id)
                } else {
                    format!("trial {number} of {of}, {}", spec.id)
                };
                self.begin_trial(&name, spec.cell, now);
                self.trials.push((spec.id.clone(), name));
            }
            Event::TrialProgress {
                id,
                phase,
                fraction,
                rate_per_s,
            } => {
                self.advance(id, *phase, *fraction, *rate_per_s, now);
            }
            Event::TrialEnded { record } => {
                self.time_left.end_trial(record.spec.cell, now);
                self.trials.retain(|(id, _)| *id != record.spec.id);
                let host = record.host.iter().map(|host| format!(" on {host}"));
                let host: String = host.collect();
                self.say(&format!("{}{host}: {}", record.spec.id, ending(record)));
                self.print_standings(record);
            }
            Event::Warning { message } => self.say(&format!("warning: {message}")),
            Event::RunEnded { interrupted, .. } => self.end(*interrupted),
        }
    }

    /// Tells the result of a suite that an engine went through before its first trial.
    fn observe_checks(&mut self, event: &Event) {
        match event {
            Event::ConformanceChecked {
                contender,
                durability,
                passed,
                failures,
                remembered_from,
            } => {
                let subject = format!("{contender} {durability}");
                match remembered_from {
                    Some(from) => self.remembered_conformance(&subject, from),
                    None => self.conformance(&subject, *passed, failures),
                }
            }
            Event::IsolationChecked {
                contender,
                schedules,
                refutations,
                not_run,
                remembered_from: None,
            } => self.isolation(contender, *schedules, refutations, not_run.as_deref()),
            _ => {}
        }
    }

    fn conformance(&self, subject: &str, passed: usize, failures: &[String]) {
        for failure in failures {
            self.say(&format!("{subject}: conformance FAILED: {failure}"));
        }
        if failures.is_empty() && matches!(self.style, ProgressStyle::Lines) {
            self.say(&format!("{subject}: {passed} conformance checks passed"));
        }
    }

    fn isolation(
        &self,
        contender: &str,
        schedules: usize,
        refutations: &[String],
        not_run: Option<&str>,
    ) {
        for refutation in refutations {
            self.say(&format!("{contender}: isolation REFUTED: {refutation}"));
        }
        if let Some(reason) = not_run {
            self.say(&format!("{contender}: isolation not checked: {reason}"));
        } else if refutations.is_empty() && matches!(self.style, ProgressStyle::Lines) {
            self.say(&format!(
                "{contender}: no anomaly against its stated isolation in {schedules} schedules"
            ));
        }
    }

    /// Notes conformance that was passed in an earlier run: in full the first time, then only
    /// where plain lines are written.
    fn remembered_conformance(&mut self, subject: &str, passed_at: &str) {
        let day = passed_at.split('T').next().unwrap_or(passed_at);
        let is_first = !std::mem::replace(&mut self.has_noted_remembered, true);
        let how = if is_first {
            "; --check-again runs the checks again"
        } else {
            ""
        };
        if is_first || matches!(self.style, ProgressStyle::Lines) {
            self.say(&format!(
                "{subject}: conformance passed on {day} with this program and library{how}"
            ));
        }
    }

    /// Prints the preliminary rankings, unless a trial is running, which must not lose the time.
    fn print_standings(&mut self, record: &TrialRecord) {
        let Some(standings) = &mut self.standings else {
            return;
        };
        let round = standings.add(record.clone());
        self.completed = round.or(self.completed);
        if !self.trials.is_empty() {
            return;
        }
        let completed = self.completed.take();
        // The first round's table grows by each contender.
        let is_growing = !self.has_round && matches!(self.style, ProgressStyle::Bar(_));
        self.has_round |= completed.is_some();
        if completed.is_none() && !is_growing {
            return;
        }
        let is_decision = standings.is_decision();
        let answer = standings.answer();
        let mut lines = Vec::new();
        if is_decision && completed.is_some() {
            let mut new = decided_lines(&answer.rankings);
            new.retain(|(place, _)| self.announced.insert(*place));
            lines.extend(new.into_iter().map(|(_, line)| line));
        }
        match (&mut self.style, completed) {
            (ProgressStyle::Bar(live), _) => live.show(answer),
            (ProgressStyle::Lines, Some(round)) if round.of != Some(1) && !is_decision => {
                lines = round_lines(round, &answer, LINE_WIDTH);
            }
            _ => {}
        }
        for line in lines {
            self.say(&line);
        }
    }

    /// Whether the run goes on until its rankings are decided.
    fn is_decision(&self) -> bool {
        self.standings.as_ref().is_some_and(Standings::is_decision)
    }

    /// The remaining time of the run; `None` if its results end it.
    fn run_left(&self, now: Instant) -> Option<Duration> {
        let left = self.time_left.run_left(now);
        left.filter(|_| !self.is_decision())
    }

    fn begin_trial(&mut self, name: &str, cell: u32, now: Instant) {
        let is_first_again = self.time_left.begin_trial(cell, now);
        self.last_line_at = now;
        let left = self.run_left(now);
        if let Some(left) = left.filter(|&left| is_first_again && left >= WORTH_SAYING) {
            self.say(&format!("first repeat done: about {} left", duration(left)));
        }
        match &self.style {
            ProgressStyle::Bar(live) => {
                live.bar().set_position(0);
                live.set_message(name);
            }
            ProgressStyle::Lines | ProgressStyle::Json => self.say(name),
        }
    }

    fn end(&self, interrupted: bool) {
        if let ProgressStyle::Bar(live) = &self.style {
            live.clear();
        }
        if interrupted {
            self.say("interrupted; finished trials are kept");
        }
    }

    fn advance(&mut self, id: &str, phase: Phase, fraction: f64, rate_per_s: f64, now: Instant) {
        self.time_left.advance(phase, fraction, now);
        let known = self.trials.iter().find(|(trial, _)| trial == id);
        let name = known.map_or(id, |(_, name)| name);
        let mut text = format!("{name}, {}", doing(phase));
        // No engine says how far its compaction is.
        if phase != Phase::Compact {
            text.push_str(&format!(" {:.0} %", fraction * 100.0));
        }
        if rate_per_s > 0.0 {
            text.push_str(&format!(", {}/s", rounded(rate_per_s)));
        }
        if let Some(left) = self.time_left.trial_left(now) {
            text.push_str(&format!(", {} left", duration(left)));
        }
        if let Some(left) = self.run_left(now) {
            text.push_str(&format!(", {} for the run", duration(left)));
        }
        match &mut self.style {
            ProgressStyle::Bar(live) => {
                live.redraw_if_resized();
                live.bar()
                    .set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
                live.set_message(&text);
            }
            ProgressStyle::Lines if now.duration_since(self.last_line_at) >= LINE_EVERY => {
                self.last_line_at = now;
                self.say(&text);
            }
            ProgressStyle::Lines | ProgressStyle::Json => {}
        }
    }

    /// Shows what a search has found.
    pub fn show_news(&self, news: &[SearchNews]) {
        for line in news.iter().filter_map(search_news::line) {
            self.say(&line);
        }
    }

    fn say(&self, text: &str) {
        match &self.style {
            ProgressStyle::Bar(live) => live.suspend(|| output::note(text)),
            ProgressStyle::Lines => output::note(text),
            ProgressStyle::Json => {}
        }
    }

    /// Runs `write` while the bar is hidden, so that lines on standard output do not run into it.
    pub fn with_hidden_bar<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.style {
            ProgressStyle::Bar(live) => live.suspend(write),
            ProgressStyle::Lines | ProgressStyle::Json => write(),
        }
    }
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Prepare => "preparing",
        Phase::Run => "running",
        Phase::Compact => "compacting",
        Phase::Verify => "verifying",
    }
}

/// The outcome of a trial in one line.
fn ending(record: &TrialRecord) -> String {
    let figures = match &record.measurement {
        Some(measured) => {
            // Claims and commits of blocks are hundreds among millions: they have no rate worth
            // showing.
            let most = measured.operations.iter().map(|kind| kind.count).max();
            let counts = measured
                .operations
                .iter()
                .filter(|kind| kind.count >= most.unwrap_or(0) / 100)
                .map(operation)
                .collect::<Vec<_>>()
                .join(", ");
            format!(" in {:.2} s: {counts}", measured.elapsed_s)
        }
        None => String::new(),
    };
    match &record.outcome {
        Outcome::Valid => format!("valid{figures}"),
        Outcome::Invalid { reasons } => format!("INVALID ({}){figures}", reasons.join("; ")),
        Outcome::Failed { reason, .. } => format!("FAILED: {reason}"),
        Outcome::Interrupted => "interrupted".to_owned(),
    }
}

fn operation(operation: &OperationSummary) -> String {
    format!("{} {}/s", operation.kind, rounded(operation.per_s))
}

/// A rate as people read it: whole, thousands separated.
fn rounded(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a time as people do: `4 min 10 s`.
pub fn duration(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_read_as_people_write_them() {
        assert_eq!(rounded(1_234_567.4), "1,234,567");
        assert_eq!(rounded(999.0), "999");
        assert_eq!(duration(Duration::from_secs(61)), "1 min 1 s");
        assert_eq!(duration(Duration::from_secs(7_260)), "2 h 1 min");
    }
}
