//! The log of a node: a line of JSON for each event.

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use trueput_engine::Value;

/// The text of the line with the settings.
const STARTING: &str = "starting an etcd server";

/// The settings in it that a knob sets, or a level.
const SETTINGS: [&str; 10] = [
    "heartbeat-interval",
    "election-timeout",
    "pre-vote",
    "snapshot-count",
    "quota-backend-bytes",
    "max-request-bytes",
    "auto-compaction-mode",
    "auto-compaction-retention",
    "max-wals",
    "max-snapshots",
];

/// Returns the settings with which a node was started last; none if its log does not tell.
pub(super) fn settings(log: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| line.contains(STARTING));
    let fields: Option<Json> = line.and_then(|line| serde_json::from_str(line).ok());
    let value = |name: &str| {
        Some(match fields.as_ref()?.get(name)? {
            Json::Bool(is_on) => Value::Boolean(*is_on),
            Json::Number(number) => Value::Integer(number.as_i64()?),
            Json::String(text) => Value::from(text.as_str()),
            _ => return None,
        })
    };
    SETTINGS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), value(name)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_start_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        let line = |count: u32| {
            format!("{{\"msg\":\"{STARTING}\",\"snapshot-count\":{count},\"pre-vote\":false}}\n")
        };
        let text = format!("{}noise\n{}more\n", line(1), line(2));
        std::fs::write(&path, text).unwrap();
        let settings = settings(&path);
        assert_eq!(settings.len(), 2);
        assert_eq!(settings["snapshot-count"], Value::Integer(2));
        assert!(super::settings(&folder.path().join("none")).is_empty());
    }
}
