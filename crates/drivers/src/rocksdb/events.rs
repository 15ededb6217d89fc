//! The events that RocksDB logs: the event lines of its LOG files.

use std::path::Path;
use std::time::{Duration, SystemTime};
use trueput_engine::EngineEvent;

/// The text before the JSON of an event.
const MARK: &str = "EVENT_LOG_v1 ";

/// The flushes and compactions of the database in this folder since `since`, from `LOG` and from
/// the `LOG.old.…` files that each opening leaves; `None` if there is no such file.
pub(crate) fn read_since(directory: &Path, since: SystemTime) -> Option<Vec<EngineEvent>> {
    let entries = std::fs::read_dir(directory).ok()?;
    let logs = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name == "LOG" || name.starts_with("LOG.old.")
    });
    let mut found = None;
    for log in logs {
        let Ok(text) = std::fs::read(log.path()) else {
            continue;
        };
        let events = found.get_or_insert_with(Vec::new);
        events.extend(
            String::from_utf8_lossy(&text)
                .lines()
                .filter_map(event)
                .filter(|event| event.at >= since),
        );
    }
    found
}

/// Parses the event in a line, if it is of a reported kind.
fn event(line: &str) -> Option<EngineEvent> {
    let (_, json) = line.split_once(MARK)?;
    let kind = match text(json, "event")? {
        "flush_started" => EngineEvent::FLUSH,
        "flush_finished" => EngineEvent::FLUSH_ENDED,
        "compaction_started" => EngineEvent::COMPACTION,
        "compaction_finished" => EngineEvent::COMPACTION_ENDED,
        _ => return None,
    };
    let time_us: u64 = number(json, "time_micros")?.parse().ok()?;
    let detail = ["flush_reason", "compaction_reason"];
    let detail = detail.iter().find_map(|name| text(json, name));
    let job = number(json, "job").map(|job| format!("job {job}"));
    let words: Vec<String> = job.into_iter().chain(detail.map(str::to_owned)).collect();
    Some(EngineEvent {
        at: SystemTime::UNIX_EPOCH + Duration::from_micros(time_us),
        kind,
        detail: words.join(", "),
    })
}

/// Returns the text after a name in RocksDB's JSON, which it writes as `"name": value`.
fn text_after<'l>(json: &'l str, name: &str) -> Option<&'l str> {
    let at = json.find(&format!("\"{name}\":"))?;
    Some(json[at + name.len() + 3..].trim_start())
}

fn text<'l>(json: &'l str, name: &str) -> Option<&'l str> {
    let quoted = text_after(json, name)?.strip_prefix('"')?;
    quoted.split('"').next()
}

fn number<'l>(json: &'l str, name: &str) -> Option<&'l str> {
    let value = text_after(json, name)?;
    let digits = value.find(|c: char| !c.is_ascii_digit());
    let digits = &value[..digits.unwrap_or(value.len())];
    (!digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLUSH: &str = "2026/11/22-04:35:53.123456 1407 EVENT_LOG_v1 {\"time_micros\": \
        1795300553123456, \"job\": 2, \"event\": \"flush_started\", \"num_memtables\": 1, \
        \"flush_reason\": \"Write Buffer Full\"}";

    #[test]
    fn flushes_and_compactions_are_read_with_time_job_and_reason() {
        let flush = event(FLUSH).unwrap();
        assert_eq!(flush.kind, EngineEvent::FLUSH);
        assert_eq!(flush.detail, "job 2, Write Buffer Full");
        let since_epoch = flush.at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(since_epoch.as_micros(), 1_795_300_553_123_456);
        let ended = FLUSH.replace("flush_started", "compaction_finished");
        assert_eq!(event(&ended).unwrap().kind, EngineEvent::COMPACTION_ENDED);
    }

    #[test]
    fn other_lines_and_torn_ones_tell_nothing() {
        let other = FLUSH.replace("flush_started", "table_file_creation");
        for line in [
            "",
            "2026/11/22 RocksDB version: 8.9.1",
            &other,
            &FLUSH[..60],
        ] {
            assert_eq!(event(line), None, "{line}");
        }
    }

    #[test]
    fn the_logs_of_earlier_openings_count_and_a_folder_without_any_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(read_since(folder.path(), epoch), None);
        std::fs::write(folder.path().join("LOG"), "").unwrap();
        assert_eq!(read_since(folder.path(), epoch), Some(Vec::new()));
        std::fs::write(folder.path().join("LOG.old.17"), FLUSH).unwrap();
        assert_eq!(
            read_since(folder.path(), epoch).map(|events| events.len()),
            Some(1)
        );
        let later = epoch + Duration::from_secs(1_795_300_554);
        assert_eq!(read_since(folder.path(), later), Some(Vec::new()));
    }
}
