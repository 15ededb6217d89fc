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

/// The start of a time slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceStart {
    /// When it was.
    pub at: SystemTime,
    /// For how long the trial had been measured by then.
    pub measured: Duration,
}

/// Collects the events that an engine reports while its workers are measured.
pub(crate) struct EventCollector {
    observer: Option<Box<dyn EventWatcher>>,
    collected: Vec<EngineEvent>,
}

impl EventCollector {
    /// Notes the current position of the engine's event source. A trial with a fault of its storage
    /// has none: this process would meet the fault, too, when it reads the engine's files, and stop
    /// in a stall.
    pub fn start(resolved: &ResolvedTrial, spec: &TrialSpec, directory: &Path) -> Self {
        let is_watched = spec.conditions.fault.is_none();
        let open_spec = open_spec(resolved, spec, directory);
        let watcher = || resolved.engine.event_watcher(&open_spec);
        Self {
            observer: is_watched.then(watcher).flatten(),
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
    slices: &[SliceStart],
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
    Some(select_events(all, start, slices, elapsed_s))
}

/// Returns the events of the interval in order, at the trial's own time.
fn select_events(
    reported: Vec<EngineEvent>,
    start: SystemTime,
    slices: &[SliceStart],
    elapsed_s: f64,
) -> Vec<EventRecord> {
    let length = Duration::from_secs_f64(elapsed_s.max(0.0));
    let mut events: Vec<EventRecord> = reported
        .into_iter()
        .filter_map(|event| {
            let at = own_time(event.at, start, slices)?;
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

/// Returns how long the trial had been measured at a moment; `None` before its start. Between two
/// time slices the engine is stopped, so that nothing happens.
fn own_time(at: SystemTime, start: SystemTime, slices: &[SliceStart]) -> Option<Duration> {
    let since_start = at.duration_since(start).ok()?;
    let next = slices.partition_point(|slice| slice.at <= at);
    let own = match next.checked_sub(1).map(|place| slices[place]) {
        Some(slice) => slice.measured + at.duration_since(slice.at).unwrap_or_default(),
        None => since_start,
    };
    // The engine may date what it has just noticed a little late.
    Some(slices.get(next).map_or(own, |next| own.min(next.measured)))
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
            &[],
            10.0,
        );
        let times: Vec<_> = kept.iter().map(|event| event.at_s).collect();
        assert_eq!(times, [0.5, 2.5]);
        assert_eq!(kept[0].detail.len(), MAX_DETAIL_CHARACTERS);
    }

    #[test]
    fn an_event_has_the_time_of_the_trial_not_that_of_the_machine() {
        let at = |time_s: f64| SystemTime::UNIX_EPOCH + Duration::from_secs_f64(time_s);
        let slice = |at_s: f64, measured_s: f64| SliceStart {
            at: at(at_s),
            measured: Duration::from_secs_f64(measured_s),
        };
        // Slices of 1 s, in every third second.
        let slices = [slice(103.0, 1.0), slice(106.0, 2.0)];
        let own_s = |at_s: f64| {
            let own = own_time(at(at_s), at(100.0), &slices)?;
            Some(own.as_secs_f64())
        };
        assert_eq!(own_s(99.0), None);
        assert_eq!(own_s(100.5), Some(0.5));
        assert_eq!(own_s(101.5), Some(1.0), "it was stopped then");
        assert_eq!(own_s(103.25), Some(1.25));
        assert_eq!(own_s(106.75), Some(2.75));
    }
}
