//! Whether the nodes run with the settings that the promise of the level needs.

use super::{CHECK_INTERVAL, ClusterHost, log};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};
use trueput_engine::SettingContradiction;

/// The time that a node which was started or promoted may take to say what it runs with.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(20);

impl<'a> ClusterHost<'a> {
    /// Asks nodes that were started or promoted what they run with, without waiting for the
    /// answers. What contradicts the promise is logged.
    pub(super) fn check_promises<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        stop: &'scope AtomicBool,
    ) where
        'a: 'scope,
    {
        for number in std::mem::take(&mut self.unchecked) {
            let (cluster, site) = (self.cluster, self.site.clone());
            let (assignment, knobs) = (self.assignment, self.knobs);
            scope.spawn(move || {
                let began = Instant::now();
                loop {
                    let spec = super::spec_of(assignment, knobs, &assignment.directory);
                    let error = match cluster.contradictions(number, &site, &spec) {
                        Ok(found) => return log_contradictions(&found),
                        Err(error) => error,
                    };
                    if began.elapsed() >= ANSWER_LIMIT || stop.load(Ordering::SeqCst) {
                        return log_event(&in_words(number, &error.to_string()));
                    }
                    std::thread::sleep(CHECK_INTERVAL);
                }
            });
        }
    }

    /// Asks every node that runs what it runs with at the end: settings can change meanwhile.
    /// Returns what to log. Of the nodes that were available when the trial ended, one that does
    /// not say it in time is doubtful.
    pub(super) fn check_promises_at_end(
        &mut self,
        available: &[u32],
        limit: Duration,
    ) -> Vec<String> {
        let until = Instant::now() + limit;
        let mut lines = Vec::new();
        for number in self.numbers() {
            if !self.node(number).is_available() {
                continue;
            }
            let error = match self.ask_for_contradictions(number, until) {
                Ok(found) => {
                    lines.extend(found.iter().map(SettingContradiction::to_string));
                    continue;
                }
                Err(error) => error,
            };
            let is_doubtful = available.contains(&number) && !self.node(number).has_ended();
            if is_doubtful {
                lines.push(format!("node {number} {}: {error}", log::SILENCE));
            } else {
                lines.push(in_words(number, &error));
            }
        }
        lines
    }

    /// Asks a node until it answers, has ended, or the time is over.
    fn ask_for_contradictions(
        &mut self,
        number: u32,
        until: Instant,
    ) -> Result<Vec<SettingContradiction>, String> {
        loop {
            let spec = super::spec_of(self.assignment, self.knobs, &self.assignment.directory);
            let answer = self.cluster.contradictions(number, &self.site, &spec);
            if answer.is_ok() || self.node(number).has_ended() || Instant::now() >= until {
                return answer.map_err(|error| error.to_string());
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
    }
}

fn log_contradictions(found: &[SettingContradiction]) {
    for contradiction in found {
        log_event(&contradiction.to_string());
    }
}

/// The silence of a node that may have been killed meanwhile.
fn in_words(number: u32, error: &str) -> String {
    format!("node {number} did not say what it has set: {error}")
}

fn log_event(text: &str) {
    eprintln!("{}", log::line(jiff::Timestamp::now(), text));
}
