//! What happens to a workload under faults, in a file: it outlives the process of the workload.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use trueput_record::audit::Damage;

/// An event of a workload under faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum WorkloadEvent {
    /// There are commits that can be lost: faults may come.
    Ready,
    /// The engine reported an error.
    Error {
        /// The step that failed.
        during: String,
        /// The engine's words.
        text: String,
    },
    /// What was read is not what was committed, and no error was reported.
    Damage(Damage),
    /// A process of the engine ended by itself.
    Crash {
        /// How, in words.
        text: String,
    },
    /// The workload has done all that it was to do.
    Done,
}

/// The file of the events, a line for each.
#[derive(Debug)]
pub(crate) struct EventLog {
    file: File,
}

impl EventLog {
    /// Creates the file.
    pub(crate) fn create(path: &Path) -> io::Result<()> {
        File::create_new(path).map(drop)
    }

    /// Opens the file, to add events to it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { file })
    }

    /// Adds an event. Threads may do so at once.
    pub(crate) fn note(&self, event: &WorkloadEvent) {
        // Without room for its notes a workload ends as one that hangs.
        if let Ok(mut line) = serde_json::to_string(event) {
            line.push('\n');
            let _ = (&self.file).write_all(line.as_bytes());
        }
    }

    /// Reads the events so far.
    pub(crate) fn read(path: &Path) -> io::Result<Vec<WorkloadEvent>> {
        let bytes = std::fs::read(path)?;
        // The last line may be under way, and end within a character.
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let whole = lines.filter(|line| line.ends_with(b"\n"));
        whole
            .map(|line| serde_json::from_slice(line).map_err(io::Error::from))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::audit::DamageKind;

    #[test]
    fn events_are_read_up_to_the_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        EventLog::create(&path).unwrap();
        let log = EventLog::open(&path).unwrap();
        let damage = Damage {
            kind: DamageKind::TornValue,
            detail: "a\nb".to_owned(),
        };
        let events = [WorkloadEvent::Ready, WorkloadEvent::Damage(damage)];
        events.iter().for_each(|event| log.note(event));
        (&log.file).write_all(b"{\"event\":\"\xc3").unwrap();
        assert_eq!(EventLog::read(&path).unwrap(), events);
    }
}
