//! Background activity of an engine: checkpoints, flushes, compactions, stalls. Watches its files
//! for them during a measurement, for engines that keep no record that could be read afterwards.

use std::path::Path;
use std::time::SystemTime;
use trueput_record::recovery::EventRecord;

/// Background activity that an engine's log or counters report, such as a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineEvent {
    /// Time of the event.
    pub at: SystemTime,
    /// One of the constants of this type; those of an end have the suffix ` ended`.
    pub kind: &'static str,
    /// An excerpt of the engine's own message; may be empty.
    pub detail: String,
}

impl EngineEvent {
    /// A checkpoint begins: committed changes move from the log to the database files.
    pub const CHECKPOINT: &'static str = "checkpoint";
    /// A checkpoint has ended.
    pub const CHECKPOINT_ENDED: &'static str = "checkpoint ended";
    /// A flush begins: a table in memory is written to a file.
    pub const FLUSH: &'static str = "flush";
    /// A flush has ended.
    pub const FLUSH_ENDED: &'static str = "flush ended";
    /// A compaction begins: files are merged.
    pub const COMPACTION: &'static str = "compaction";
    /// A compaction has ended.
    pub const COMPACTION_ENDED: &'static str = "compaction ended";
    /// A node of a cluster is ordered to fail, ends, leads or is started.
    pub const NODE: &'static str = EventRecord::NODE;
    /// The log continues in another file.
    pub const LOG_SWITCH: &'static str = "log switch";
}

/// Derives events from an engine's files while workers are measured.
///
/// It reads the starting state when it is made.
pub trait EventWatcher: Send {
    /// Returns the events since the last poll, with the time of this one. It reads files only and
    /// does not call the engine.
    fn poll(&mut self) -> Vec<EngineEvent>;
}

/// Positions of an engine's checkpoints and log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// A number that changes with each checkpoint.
    pub checkpoint: u64,
    /// A number that grows by one when the log continues in another file or starts again; 0 if
    /// unknown.
    pub log: u64,
}

/// Turns changes of [`LogPosition`] between polls into events. A checkpoint that several
/// consecutive polls see is one event; it ends at the first poll that does not see it.
#[derive(Debug)]
pub struct EventProgress<R> {
    read: R,
    last: Option<LogPosition>,
    is_in_checkpoint: bool,
}

impl<R: FnMut() -> Option<LogPosition> + Send> EventProgress<R> {
    /// Reads the first position with `read`, which returns `None` as long as the files do not show
    /// one.
    pub fn new(mut read: R) -> Self {
        let last = read();
        Self {
            read,
            last,
            is_in_checkpoint: false,
        }
    }
}

impl<R: FnMut() -> Option<LogPosition> + Send> EventWatcher for EventProgress<R> {
    fn poll(&mut self) -> Vec<EngineEvent> {
        let mut events = Vec::new();
        let Some(now) = (self.read)() else {
            return events;
        };
        let Some(last) = self.last.replace(now) else {
            return events;
        };
        let at = SystemTime::now();
        let mut record = |kind, detail: String| events.push(EngineEvent { at, kind, detail });
        let is_in_checkpoint = now.checkpoint != last.checkpoint;
        match (self.is_in_checkpoint, is_in_checkpoint) {
            (false, true) => record(EngineEvent::CHECKPOINT, "since the last look".to_owned()),
            (true, false) => record(
                EngineEvent::CHECKPOINT_ENDED,
                "none since the last look".to_owned(),
            ),
            _ => {}
        }
        self.is_in_checkpoint = is_in_checkpoint;
        match now.log.wrapping_sub(last.log) {
            0 => {}
            1 => record(EngineEvent::LOG_SWITCH, String::new()),
            times => record(
                EngineEvent::LOG_SWITCH,
                format!("{times} since the last look"),
            ),
        }
        events
    }
}

/// Returns the highest number of the files in a folder whose names are `prefix` and a decimal
/// number; `None` if there are none.
#[must_use]
pub fn highest(folder: &Path, prefix: &str) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?;
    let numbers = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(prefix)?.parse().ok()
    });
    numbers.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(steps: &[Option<(u64, u64)>]) -> Vec<Vec<&'static str>> {
        let mut steps = steps.iter();
        let mut watcher = EventProgress::new(move || {
            let step = steps.next().copied().flatten();
            step.map(|(checkpoint, log)| LogPosition { checkpoint, log })
        });
        let polls = (0..4).map(|_| watcher.poll());
        polls
            .map(|seen| seen.into_iter().map(|one| one.kind).collect())
            .collect()
    }

    #[test]
    fn a_checkpoint_over_several_looks_is_one_and_ends() {
        let steps = [(1, 0), (2, 0), (5, 0), (5, 0), (5, 0)].map(Some);
        let none: Vec<&str> = Vec::new();
        assert_eq!(
            kinds(&steps),
            [
                vec![EngineEvent::CHECKPOINT],
                none.clone(),
                vec![EngineEvent::CHECKPOINT_ENDED],
                none
            ]
        );
    }

    #[test]
    fn a_log_that_goes_on_in_another_file_is_a_switch_and_standing_still_is_nothing() {
        let steps = [
            Some((1, 7)),
            Some((1, 8)),
            Some((1, 8)),
            None,
            Some((1, 10)),
        ];
        let none: Vec<&str> = Vec::new();
        let switch = vec![EngineEvent::LOG_SWITCH];
        assert_eq!(kinds(&steps), [switch.clone(), none.clone(), none, switch]);
    }

    #[test]
    fn files_are_counted_by_the_number_in_their_names() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(highest(folder.path(), "log."), None);
        for name in ["log.0000000009", "log.0000000010", "log.tmp", "other.11"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(highest(folder.path(), "log."), Some(10));
    }
}
