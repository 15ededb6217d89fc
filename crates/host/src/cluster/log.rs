//! The log of a cluster's host: a line for each change, with its time.

use std::path::Path;
use std::time::SystemTime;
use trueput_engine::EngineEvent;
use trueput_engine::setting_contradiction::RUNS_WITH;

/// What is between the time and the text of a line.
const MARK: &str = " cluster: ";

/// What the log says of a node that has ended without an order.
pub(super) const UNORDERED_END: &str = "has ended by itself";

/// What the log says of a node that could answer and did not say at the end what it runs with.
pub(super) const SILENCE: &str = "did not say at the end what it runs with";

/// Returns a line of the log.
pub(super) fn line(at: jiff::Timestamp, text: &str) -> String {
    format!("{at}{MARK}{text}")
}

/// Returns the changes of the cluster in a folder since a time, from the log of its host.
#[must_use]
pub fn read_log(cluster: &Path, since: SystemTime) -> Vec<EngineEvent> {
    let text = std::fs::read(cluster.join("server.log")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let events = text.lines().filter_map(event);
    events.filter(|event| event.at >= since).collect()
}

/// Returns the lines about nodes of the cluster in a folder that have ended without an order since
/// a time, that did not keep the promise, or that did not say whether they keep it; each once.
#[must_use]
pub fn list_doubtful_changes(cluster: &Path, since: SystemTime) -> Vec<String> {
    let texts = read_log(cluster, since).into_iter();
    let texts = texts.map(|event| event.detail);
    let texts = texts.filter(|text| is_doubtful(text));
    let mut doubtful = Vec::new();
    for text in texts {
        if !doubtful.contains(&text) {
            doubtful.push(text);
        }
    }
    doubtful
}

/// Whether a line is about a node that makes the figures of a trial invalid.
pub(super) fn is_doubtful(text: &str) -> bool {
    let signs = [UNORDERED_END, RUNS_WITH, SILENCE];
    signs.iter().any(|sign| text.contains(sign))
}

fn event(line: &str) -> Option<EngineEvent> {
    let (at, text) = line.split_once(MARK)?;
    let at: jiff::Timestamp = at.parse().ok()?;
    Some(EngineEvent {
        at: at.into(),
        kind: EngineEvent::NODE,
        detail: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_and_what_nodes_print_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let at: jiff::Timestamp = "2026-11-25T10:00:05Z".parse().unwrap();
        let log = format!("{}\nnoise\n", line(at, "node 2 leads"));
        std::fs::write(folder.path().join("server.log"), log).unwrap();
        let since = |text: &str| {
            let since: jiff::Timestamp = text.parse().unwrap();
            read_log(folder.path(), since.into())
        };
        let events = since("2026-11-25T10:00:00Z");
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].detail, "node 2 leads");
        assert!(since("2026-11-25T10:01:00Z").is_empty());
    }

    #[test]
    fn ends_without_an_order_are_told_from_other_lines() {
        let folder = tempfile::tempdir().unwrap();
        let at = |time: &str| -> jiff::Timestamp { time.parse().unwrap() };
        let end = |number| format!("node {number} {UNORDERED_END}: killed by signal 9");
        let lines = [
            line(at("2026-11-25T10:00:01Z"), &end(2)),
            line(at("2026-11-25T10:00:05Z"), "order: kill=leader: nodes [1]"),
            line(at("2026-11-25T10:00:06Z"), &end(3)),
        ];
        std::fs::write(folder.path().join("server.log"), lines.join("\n")).unwrap();
        let ends = list_doubtful_changes(folder.path(), at("2026-11-25T10:00:02Z").into());
        assert_eq!(ends, [end(3)]);
    }

    #[test]
    fn a_node_that_does_not_keep_the_promise_is_listed_once() {
        let folder = tempfile::tempdir().unwrap();
        let at: jiff::Timestamp = "2026-11-25T10:00:01Z".parse().unwrap();
        let broken = format!("node 2{RUNS_WITH}fsync=off; durability 'sync' needs fsync=on");
        let lines = [&broken, "node 2 leads", &broken].map(|text| line(at, text));
        std::fs::write(folder.path().join("server.log"), lines.join("\n")).unwrap();
        assert_eq!(list_doubtful_changes(folder.path(), at.into()), [broken]);
    }
}
