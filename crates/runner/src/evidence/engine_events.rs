//! Events of an engine while its workers were measured: checkpoints, compactions, stalls.

use crate::plan::resolution::ResolvedTrial;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueput_engine::{EngineEvent, EventWatcher, OpenSpec};
use trueput_host::cluster;
use trueput_record::TrialSpec;
use trueput_record::recovery::EventRecord;

/// The maximum number of events in a trial record.
const MAX_EVENTS: usize = 10_000;

/// The maximum length of an event's detail.
const MAX_DETAIL_CHARACTERS: usize = 160;

/// Collects the events that an engine reports while its workers are measured.
pub(crate) struct EventCollector {
    observer: Option<Box<dyn EventWatcher>>,
    collected: Vec<EngineEvent>,
}

impl EventCollector {
    /// Notes the current position of the engine's event source.
    pub fn start(resolved: &ResolvedTrial, spec: &TrialSpec, directory: &Path) -> Self {
        Self {
            observer: resolved
                .engine
                .event_watcher(&open_spec(resolved, spec, directory)),
            collected: Vec::new(),
        }
    }

    /// Collects the new events.
    pub fn poll(&mut self) {
        if let Some(observer) = self
            .observer
            .as_mut()
            .filter(|_| self.collected.len() < MAX_EVENTS)
        {
            self.collected.extend(observer.poll());
        }
    }

    /// Returns the events; `None` if the engine has no event source.
    pub fn finish(self) -> Option<Vec<EngineEvent>> {
        self.observer.map(|_| self.collected)
    }
}

fn open_spec<'a>(
    resolved: &'a ResolvedTrial,
    spec: &TrialSpec,
    directory: &'a Path,
) -> OpenSpec<'a> {
    OpenSpec {
        directory,
        durability: spec.durability,
        knobs: &resolved.knobs,
        sessions: 1,
    }
}

/// Returns the events that the engine of a trial reports of the `elapsed_s` seconds from
/// `started_at` on (RFC 3339); `None` if it has no event source. It is asked after the measured
/// time; the events `collected` within that are added.
pub(crate) fn list_events(
    resolved: &ResolvedTrial,
    spec: &TrialSpec,
    directory: &Path,
    (started_at, elapsed_s): (&str, f64),
    collected: Option<Vec<EngineEvent>>,
) -> Option<Vec<EventRecord>> {
    let start: jiff::Timestamp = started_at.parse().ok()?;
    let start = SystemTime::from(start);
    let reported = resolved
        .engine
        .events(&open_spec(resolved, spec, directory), start);
    let is_cluster = resolved.engine.cluster().is_some();
    let of_cluster = is_cluster.then(|| cluster::read_log(directory, start));
    let sources = [reported, of_cluster, collected];
    if sources.iter().all(Option::is_none) {
        return None;
    }
    let all = sources.into_iter().flatten().flatten().collect();
    Some(select_events(all, start, elapsed_s))
}

/// Returns the events of the interval in order.
fn select_events(
    reported: Vec<EngineEvent>,
    start: SystemTime,
    elapsed_s: f64,
) -> Vec<EventRecord> {
    let length = Duration::from_secs_f64(elapsed_s.max(0.0));
    let mut events: Vec<EventRecord> = reported
        .into_iter()
        .filter_map(|event| {
            let at = event.at.duration_since(start).ok()?;
            (at <= length).then(|| EventRecord {
                at_s: at.as_secs_f64(),
                kind: event.kind.to_owned(),
                detail: event.detail.chars().take(MAX_DETAIL_CHARACTERS).collect(),
            })
        })
        .collect();
    events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    events.truncate(MAX_EVENTS);
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_in_the_interval_is_kept_and_in_order() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let at = |time_s: f64| EngineEvent {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs_f64(time_s),
            kind: EngineEvent::FLUSH,
            detail: "x".repeat(500),
        };
        let kept = select_events(
            vec![at(1_002.5), at(999.0), at(1_011.0), at(1_000.5)],
            start,
            10.0,
        );
        let times: Vec<_> = kept.iter().map(|event| event.at_s).collect();
        assert_eq!(times, [0.5, 2.5]);
        assert_eq!(kept[0].detail.len(), MAX_DETAIL_CHARACTERS);
    }
}
