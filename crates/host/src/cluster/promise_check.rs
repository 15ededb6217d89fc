//! Whether the nodes run with the settings that the promise of the level needs.

use super::{CHECK_INTERVAL, ClusterHost, log};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};
use trueput_engine::SettingContradiction;

/// The time that a node which was started or promoted may take to say what it runs with.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

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
                        return log_silence(number, &error.to_string());
                    }
                    std::thread::sleep(CHECK_INTERVAL);
                }
            });
        }
    }

    /// Asks every node that runs what it runs with at the end: settings can change meanwhile.
    pub(super) fn check_promises_at_end(&self) {
        let directory: &PathBuf = &self.assignment.directory;
        for (number, node) in self.numbers().zip(&self.nodes) {
            if !node.is_available() {
                continue;
            }
            let spec = self.spec(directory);
            match self.cluster.contradictions(number, &self.site, &spec) {
                Ok(found) => log_contradictions(&found),
                Err(error) => log_silence(number, &error.to_string()),
            }
        }
    }
}

fn log_contradictions(found: &[SettingContradiction]) {
    for contradiction in found {
        log_event(&contradiction.to_string());
    }
}

/// A node may have been killed meanwhile.
fn log_silence(number: u32, error: &str) {
    log_event(&format!(
        "node {number} did not say what it has set: {error}"
    ));
}

fn log_event(text: &str) {
    eprintln!("{}", log::line(jiff::Timestamp::now(), text));
}
