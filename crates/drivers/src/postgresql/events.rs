//! The checkpoints of a private server, from its log.

use std::path::Path;
use std::time::{Duration, SystemTime};
use trueput_engine::EngineEvent;
use trueput_engine::sql::calendar::days_since_1970;

/// The checkpoints in this log since `since`; `None` if there is no log. Its times are in UTC, as
/// the driver configures.
pub(super) fn read_since(log: &Path, since: SystemTime) -> Option<Vec<EngineEvent>> {
    let text = std::fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&text);
    let events = text.lines().filter_map(checkpoint);
    Some(events.filter(|event| event.at >= since).collect())
}

/// Parses a line like `2026-11-22 04:35:53.123 UTC [1407] LOG:  checkpoint starting: wal`.
fn checkpoint(line: &str) -> Option<EngineEvent> {
    let (prefix, message) = line.split_once("LOG:  checkpoint ")?;
    let (kind, detail) = match message.split_once(": ")? {
        ("starting", reason) => (EngineEvent::CHECKPOINT, reason),
        ("complete", figures) => (EngineEvent::CHECKPOINT_ENDED, figures),
        _ => return None,
    };
    Some(EngineEvent {
        at: moment(prefix)?,
        kind,
        detail: detail.to_owned(),
    })
}

/// The moment that a line begins with: `2026-11-22 04:35:53.123 UTC`.
fn moment(prefix: &str) -> Option<SystemTime> {
    let mut words = prefix.split_whitespace();
    let (date, time, zone) = (words.next()?, words.next()?, words.next()?);
    if !["UTC", "GMT", "Etc/UTC"].contains(&zone) {
        return None;
    }
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (hours, rest) = time.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds: f64 = seconds.parse().ok()?;
    let days = u64::try_from(days_since_1970(year, month, day)).ok()?;
    let whole = Duration::from_secs(days * 86_400 + hours * 3_600 + minutes * 60);
    let rest = Duration::try_from_secs_f64(seconds).ok()?;
    Some(SystemTime::UNIX_EPOCH + whole + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: &str = "2026-11-22 04:35:53.123 UTC [1407] LOG:  checkpoint starting: wal";
    const ENDED: &str = "2026-11-22 04:36:20.5 UTC [1407] LOG:  checkpoint complete: wrote 77 \
                         buffers (0.5%)";

    #[test]
    fn a_checkpoint_is_read_when_it_begins_and_when_it_ends() {
        let begun = checkpoint(BEGUN).unwrap();
        assert_eq!(
            (begun.kind, begun.detail.as_str()),
            (EngineEvent::CHECKPOINT, "wal")
        );
        let since_epoch = begun.at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        // date -u -d '2026-11-22 04:35:53' +%s
        assert_eq!(since_epoch.as_millis(), 1_795_322_153_123);
        let ended = checkpoint(ENDED).unwrap();
        assert_eq!(ended.kind, EngineEvent::CHECKPOINT_ENDED);
        assert!(ended.detail.starts_with("wrote 77 buffers"));
    }

    #[test]
    fn other_lines_and_other_zones_are_left_out() {
        let elsewhere = BEGUN.replace("UTC", "CET");
        let other = BEGUN.replace("checkpoint starting", "automatic vacuum of table");
        for line in ["", &elsewhere, &other, "LOG:  checkpoint starting: wal"] {
            assert_eq!(checkpoint(line), None, "{line}");
        }
    }

    #[test]
    fn a_log_has_what_came_after_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        assert_eq!(read_since(&log, SystemTime::UNIX_EPOCH), None);
        std::fs::write(&log, format!("{BEGUN}\n{ENDED}\nstopped\n")).unwrap();
        let events = read_since(&log, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(events.len(), 2);
        assert_eq!(read_since(&log, events[1].at).unwrap(), events[1..]);
    }
}
