//! What a private server tells of its own doings: the checkpoints in its log.

use std::path::Path;
use std::time::{Duration, SystemTime};
use trueput_engine::EngineEvent;

/// The checkpoints of which this log tells since then; `None` if there is no log. Its times are
/// in UTC, as the driver has it.
pub(super) fn since(log: &Path, since: SystemTime) -> Option<Vec<EngineEvent>> {
    let text = std::fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&text);
    let told = text.lines().filter_map(checkpoint);
    Some(told.filter(|event| event.at >= since).collect())
}

/// A line such as `2026-11-22 04:35:53.123 UTC [1407] LOG:  checkpoint starting: wal`.
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

/// Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `days_from_civil`).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: &str = "2026-11-22 04:35:53.123 UTC [1407] LOG:  checkpoint starting: wal";
    const ENDED: &str = "2026-11-22 04:36:20.5 UTC [1407] LOG:  checkpoint complete: wrote 77 \
                         buffers (0.5%)";

    #[test]
    fn a_checkpoint_is_told_when_it_begins_and_when_it_ends() {
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
    fn days_are_counted_over_leap_years() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
        assert_eq!(days_since_1970(2026, 11, 22), 20_779);
    }

    #[test]
    fn other_lines_and_other_zones_tell_nothing() {
        let elsewhere = BEGUN.replace("UTC", "CET");
        let other = BEGUN.replace("checkpoint starting", "automatic vacuum of table");
        for line in ["", &elsewhere, &other, "LOG:  checkpoint starting: wal"] {
            assert_eq!(checkpoint(line), None, "{line}");
        }
    }

    #[test]
    fn a_log_tells_of_what_came_after_a_moment_and_no_log_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        assert_eq!(since(&log, SystemTime::UNIX_EPOCH), None);
        std::fs::write(&log, format!("{BEGUN}\n{ENDED}\nstopped\n")).unwrap();
        let told = since(&log, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(told.len(), 2);
        assert_eq!(since(&log, told[1].at).unwrap(), told[1..]);
    }
}
