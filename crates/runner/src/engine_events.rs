//! What an engine did by itself while its workers were measured.

use crate::resolution::ResolvedTrial;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueput_engine::{EngineEvent, EventWatcher, OpenSpec};
use trueput_record::TrialSpec;
use trueput_record::recovery::EventRecord;

/// The most events that a trial keeps: an engine that compacts without end fills no record.
const MOST: usize = 10_000;

/// The most characters that are kept of an engine's words.
const CHARACTERS: usize = 160;

/// What was seen of an engine's doings while its workers were measured.
pub(crate) struct EventCollector {
    observer: Option<Box<dyn EventWatcher>>,
    seen: Vec<EngineEvent>,
}

impl EventCollector {
    /// Notes where an engine's doings stand in the database of that folder.
    pub fn begin(bound: &ResolvedTrial, spec: &TrialSpec, directory: &Path) -> Self {
        Self {
            observer: bound.engine.event_watcher(&opened(bound, spec, directory)),
            seen: Vec::new(),
        }
    }

    /// Looks once more.
    pub fn poll(&mut self) {
        if let Some(observer) = self.observer.as_mut().filter(|_| self.seen.len() < MOST) {
            self.seen.extend(observer.poll());
        }
    }

    /// What was seen; `None` where there is nothing to look at.
    pub fn end(self) -> Option<Vec<EngineEvent>> {
        self.observer.map(|_| self.seen)
    }
}

fn opened<'a>(bound: &'a ResolvedTrial, spec: &TrialSpec, directory: &'a Path) -> OpenSpec<'a> {
    OpenSpec {
        directory,
        durability: spec.durability,
        knobs: &bound.knobs,
        sessions: 1,
    }
}

/// What the engine of a trial tells of the `elapsed_s` seconds from `started_at` on (RFC 3339);
/// `None` where it does not tell. It is asked after the measured time; what was `seen` within that
/// joins it.
pub(crate) fn events(
    bound: &ResolvedTrial,
    spec: &TrialSpec,
    directory: &Path,
    (started_at, elapsed_s): (&str, f64),
    seen: Option<Vec<EngineEvent>>,
) -> Option<Vec<EventRecord>> {
    let began: jiff::Timestamp = started_at.parse().ok()?;
    let began = SystemTime::from(began);
    let told = bound.engine.events(&opened(bound, spec, directory), began);
    if told.is_none() && seen.is_none() {
        return None;
    }
    let all = told.into_iter().chain(seen).flatten().collect();
    Some(within(all, began, elapsed_s))
}

/// Those of the interval, in their order.
fn within(told: Vec<EngineEvent>, began: SystemTime, elapsed_s: f64) -> Vec<EventRecord> {
    let length = Duration::from_secs_f64(elapsed_s.max(0.0));
    let mut events: Vec<EventRecord> = told
        .into_iter()
        .filter_map(|event| {
            let at = event.at.duration_since(began).ok()?;
            (at <= length).then(|| EventRecord {
                at_s: at.as_secs_f64(),
                kind: event.kind.to_owned(),
                detail: event.detail.chars().take(CHARACTERS).collect(),
            })
        })
        .collect();
    events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    events.truncate(MOST);
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_in_the_interval_is_kept_and_in_order() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let at = |time_s: f64| EngineEvent {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs_f64(time_s),
            kind: EngineEvent::FLUSH,
            detail: "x".repeat(500),
        };
        let kept = within(
            vec![at(1_002.5), at(999.0), at(1_011.0), at(1_000.5)],
            began,
            10.0,
        );
        let times: Vec<_> = kept.iter().map(|event| event.at_s).collect();
        assert_eq!(times, [0.5, 2.5]);
        assert_eq!(kept[0].detail.len(), CHARACTERS);
    }
}
