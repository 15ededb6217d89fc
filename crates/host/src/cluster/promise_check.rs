//! Whether the nodes run with the settings that the promise of the level needs.

use super::node::Node;
use super::{CHECK_INTERVAL, ClusterHost, log};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use trueput_engine::cluster::ANSWER_TIMEOUT;
use trueput_engine::{Error, SettingContradiction};

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
                    if began.elapsed() >= ANSWER_TIMEOUT || stop.load(Ordering::SeqCst) {
                        return log_event(&describe_silence(number, &error));
                    }
                    std::thread::sleep(CHECK_INTERVAL);
                }
            });
        }
    }

    /// Asks every node that runs what it runs with at the end: settings can change meanwhile.
    /// Returns what to log. Of the nodes that were available when the trial ended, one that does
    /// not say it in time is doubtful; the others are asked once. All are asked at the same time,
    /// so that none uses up the time of another.
    pub(super) fn check_promises_at_end(
        &mut self,
        available: &[u32],
        timeout: Duration,
    ) -> Vec<String> {
        let (cluster, site) = (self.cluster, &self.site);
        let spec = super::spec_of(self.assignment, self.knobs, &self.assignment.directory);
        let ask = &|number, node: &mut Node| {
            let is_needed = available.contains(&number);
            let until = Instant::now() + if is_needed { timeout } else { Duration::ZERO };
            let asked = || cluster.contradictions(number, site, &spec);
            match await_answer(asked, node, until) {
                Ok(found) => found.iter().map(SettingContradiction::to_string).collect(),
                Err(error) if is_needed && !node.has_ended() => {
                    vec![format!("node {number} {}: {error}", log::SILENCE)]
                }
                Err(error) => vec![describe_silence(number, &error)],
            }
        };
        let nodes = (1..).zip(&mut self.nodes);
        let nodes = nodes.filter(|(_, node)| node.is_available());
        std::thread::scope(|scope| {
            let asked = nodes.map(|(number, node)| scope.spawn(move || ask(number, node)));
            let asked: Vec<ScopedJoinHandle<'_, Vec<String>>> = asked.collect();
            let lines = asked.into_iter().flat_map(|asked| {
                let joined = asked.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            lines.collect()
        })
    }
}

/// Asks a node until it answers, has ended, or the time is over.
fn await_answer(
    ask: impl Fn() -> trueput_engine::Result<Vec<SettingContradiction>>,
    node: &mut Node,
    until: Instant,
) -> trueput_engine::Result<Vec<SettingContradiction>> {
    loop {
        let answer = ask();
        if answer.is_ok() || node.has_ended() || Instant::now() >= until {
            return answer;
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
}

fn log_contradictions(found: &[SettingContradiction]) {
    for contradiction in found {
        log_event(&contradiction.to_string());
    }
}

/// The silence of a node that may have been killed meanwhile.
fn describe_silence(number: u32, error: &Error) -> String {
    format!("node {number} did not say what it has set: {error}")
}

fn log_event(text: &str) {
    eprintln!("{}", log::line(jiff::Timestamp::now(), text));
}
