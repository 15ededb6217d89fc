//! Whether a node flushes its log. No request of etcd's tells: a private node is asked by the way
//! it was started, and any node by what it counts.

use super::address::{ServerAddress, socket_in};
use super::metrics;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueput_engine::setting_contradiction::NeededSettings;
use trueput_engine::unix_socket::{CONNECT_TIMEOUT, connect_within};
use trueput_engine::{Durability, Error, Result, SettingContradiction, Value};

/// The option that leaves flushes out.
const OPTION: &str = "unsafe-no-fsync";

/// What etcd reads it from in its environment, and the file from which it reads everything.
const VARIABLE: &str = "ETCD_UNSAFE_NO_FSYNC";
const FILE_OPTION: &str = "config-file";
const FILE_VARIABLE: &str = "ETCD_CONFIG_FILE";

/// The counters of a node: flushes of its log, and bytes written to it.
const FLUSHES: &str = "etcd_disk_wal_fsync_duration_seconds_count";
const WRITTEN: &str = "etcd_disk_wal_write_bytes_total";

/// The interval between two looks at the counters.
const FLUSH_PAUSE: Duration = Duration::from_millis(50);

/// Bytes of the log that no node writes without a flush between them: several of the largest
/// requests together.
const UNFLUSHED_BYTES: i64 = 64 << 20;

/// Returns the settings of a private node that contradict a level, by how its process was started.
///
/// # Errors
/// [`Error::Disconnected`] if it does not run, or its process cannot be looked at.
pub(super) fn check_node(
    folder: &Path,
    server: &str,
    durability: Durability,
) -> Result<Vec<SettingContradiction>> {
    let failed = |error: std::io::Error| {
        Error::Disconnected(format!("the node in {}: {error}", folder.display()))
    };
    let process = process_of(folder).map_err(failed)?;
    let is_unsafe = leaves_flushes_out(&process).map_err(failed)?;
    let mut needed = NeededSettings::of(durability);
    needed.add(OPTION, (durability == Durability::Process).to_string());
    Ok(needed.contradictions(server, |_| Some(is_unsafe.to_string())))
}

/// Returns the folder in `/proc` of the process that listens at the socket of a node. The process
/// that was started may be another one.
fn process_of(folder: &Path) -> std::io::Result<PathBuf> {
    let folder = File::open(folder)?;
    let stream = connect_within(&socket_in(&folder), CONNECT_TIMEOUT)?;
    let peer = getsockopt(&stream, PeerCredentials)?;
    Ok(PathBuf::from(format!("/proc/{}", peer.pid())))
}

/// Whether a process of etcd was told not to flush: by an option, else by a variable; a file of
/// settings makes it ignore both.
fn leaves_flushes_out(process: &Path) -> std::io::Result<bool> {
    let texts = |name: &str| -> std::io::Result<Vec<String>> {
        let bytes = std::fs::read(process.join(name))?;
        let texts = bytes.split(|byte| *byte == 0);
        Ok(texts
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect())
    };
    let (arguments, variables) = (texts("cmdline")?, texts("environ")?);
    let variable = |name: &str| {
        let mut values = variables.iter().filter_map(|text| text.split_once('='));
        values.find_map(|(known, value)| (known == name).then(|| value.to_owned()))
    };
    let file = option(&arguments, FILE_OPTION).or_else(|| variable(FILE_VARIABLE));
    if let Some(file) = file.filter(|file| !file.is_empty()) {
        let root = process.join("cwd").join(file);
        return Ok(is_set_in_file(&std::fs::read_to_string(root)?));
    }
    let value = option(&arguments, OPTION).or_else(|| variable(VARIABLE));
    Ok(value.is_some_and(|value| is_true(&value)))
}

/// The last value of an option, as Go reads options: `-name`, `--name`, each perhaps with `=value`.
/// Only that of a switch may be left out.
fn option(arguments: &[String], name: &str) -> Option<String> {
    let mut found = None;
    for (index, argument) in arguments.iter().enumerate() {
        let Some(text) = argument
            .strip_prefix("--")
            .or_else(|| argument.strip_prefix('-'))
        else {
            continue;
        };
        match text.split_once('=') {
            Some((known, value)) if known == name => found = Some(value.to_owned()),
            None if text == name && name == OPTION => found = Some("true".to_owned()),
            None if text == name => found = arguments.get(index + 1).cloned(),
            _ => {}
        }
    }
    found
}

/// What Go takes for true.
fn is_true(value: &str) -> bool {
    ["1", "t", "T", "true", "TRUE", "True"].contains(&value)
}

/// Whether a file of etcd's settings, in YAML or JSON, leaves flushes out.
fn is_set_in_file(text: &str) -> bool {
    let quotes = ['"', '\'', ' ', '\t', ',', '{', '}'];
    let pairs = text
        .split(['\n', ','])
        .filter_map(|line| line.split_once(':'));
    pairs
        .filter(|(name, _)| name.trim_matches(quotes) == OPTION)
        .any(|(_, value)| {
            let value = value.split('#').next().unwrap_or_default();
            is_true(value.trim().trim_matches(quotes))
        })
}

/// What a node has counted of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogCounts {
    flushes: i64,
    written_bytes: i64,
}

impl LogCounts {
    /// Reads the counters of a node; `None` if it does not show them.
    pub fn read(address: &ServerAddress) -> Option<Self> {
        Self::of(&metrics::read(address).ok()?)
    }

    fn of(counters: &BTreeMap<String, Value>) -> Option<Self> {
        let number = |name: &str| match counters.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        Some(Self {
            flushes: number(FLUSHES)?,
            written_bytes: number(WRITTEN)?,
        })
    }

    /// Whether the node has written to its log since then.
    pub fn has_written_since(self, before: Self) -> bool {
        self.written_bytes > before.written_bytes
    }

    /// Whether it has flushed nothing since then of what was written.
    pub fn has_not_flushed_since(self, before: Self) -> bool {
        self.has_written_since(before) && self.flushes == before.flushes
    }

    /// Whether it has written much more than its flushes can cover since it was started.
    pub fn is_hardly_flushed(self) -> bool {
        self.written_bytes / UNFLUSHED_BYTES > self.flushes
    }
}

/// What the counters of a node say of its flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushSign {
    /// It flushes, or shows no counters.
    Flushed,
    /// It has written nothing.
    Nothing,
    /// It has written its log, and not flushed it.
    Unflushed,
}

/// Returns what the counters say in the end. It is no proof at first: a flush that is under way is
/// counted at its end, and etcd writes without a flush that a commit is known, some milliseconds
/// after it. So `commit`, which needs a flush, precedes every look but the first.
///
/// # Errors
/// Those of `look` and `commit`.
pub(super) fn await_flush(
    limit: Duration,
    mut look: impl FnMut() -> Result<FlushSign>,
    mut commit: impl FnMut() -> Result<()>,
) -> Result<FlushSign> {
    let began = Instant::now();
    let mut has_committed = false;
    loop {
        let sign = look()?;
        if sign == FlushSign::Flushed || has_committed && began.elapsed() >= limit {
            return Ok(sign);
        }
        commit()?;
        has_committed = true;
        std::thread::sleep(FLUSH_PAUSE);
    }
}

/// Returns what a node contradicts that has written to its log and not flushed it.
pub(super) fn unflushed(server: &str, durability: Durability) -> SettingContradiction {
    SettingContradiction {
        server: server.to_owned(),
        setting: FLUSHES.to_owned(),
        value: "unchanged while its log was written".to_owned(),
        needed: "more with each commit, so no unsafe-no-fsync".to_owned(),
        durability,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// A folder like that of a process.
    fn process(arguments: &[&str], variables: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, texts: &[&str]| {
            std::fs::write(folder.path().join(name), texts.join("\0")).unwrap();
        };
        write("cmdline", arguments);
        write("environ", variables);
        std::fs::create_dir(folder.path().join("cwd")).unwrap();
        folder
    }

    #[test]
    fn a_process_that_was_told_not_to_flush_is_found_however_it_was_told() {
        let flushes_not = |arguments: &[&str], variables: &[&str]| {
            leaves_flushes_out(process(arguments, variables).path()).unwrap()
        };
        assert!(flushes_not(&["etcd", "--unsafe-no-fsync"], &[]));
        assert!(flushes_not(&["etcd", "-unsafe-no-fsync=true"], &[]));
        assert!(flushes_not(&["etcd"], &["ETCD_UNSAFE_NO_FSYNC=1"]));
        assert!(!flushes_not(&["etcd", "--name=x"], &["PATH=/bin"]));
        // The last option counts, and an option counts more than a variable.
        let twice = ["etcd", "--unsafe-no-fsync", "--unsafe-no-fsync=false"];
        assert!(!flushes_not(&twice, &["ETCD_UNSAFE_NO_FSYNC=true"]));
    }

    #[test]
    fn a_file_of_settings_is_read_in_place_of_options() {
        let folder = process(
            &["etcd", "--config-file", "own.yml", "--unsafe-no-fsync"],
            &[],
        );
        let write = |text: &str| {
            std::fs::write(folder.path().join("cwd/own.yml"), text).unwrap();
            leaves_flushes_out(folder.path()).unwrap()
        };
        assert!(write("name: a\nunsafe-no-fsync: true # fast\n"));
        assert!(write("{\"name\": \"a\", \"unsafe-no-fsync\": true}"));
        assert!(!write("name: a\nunsafe-no-fsync: false\n"));
        assert!(!write("name: a\n# unsafe-no-fsync: true\n"));
    }

    #[test]
    fn the_value_of_an_option_may_follow_it() {
        let file = option(&texts(&["etcd", "--config-file", "a.yml"]), FILE_OPTION);
        assert_eq!(file.as_deref(), Some("a.yml"));
        assert_eq!(option(&texts(&["etcd", "--name", "x"]), FILE_OPTION), None);
    }

    #[test]
    fn a_quiet_node_is_asked_to_commit_before_it_counts_as_one_that_does_not_flush() {
        let watch = |flushes: bool| {
            let commits = std::cell::Cell::new(0);
            let look = || {
                let is_flushed = flushes && commits.get() > 0;
                Ok(if is_flushed {
                    FlushSign::Flushed
                } else {
                    FlushSign::Unflushed
                })
            };
            let commit = || {
                commits.set(commits.get() + 1);
                Ok(())
            };
            await_flush(Duration::ZERO, look, commit).unwrap()
        };
        assert_eq!(watch(true), FlushSign::Flushed);
        assert_eq!(watch(false), FlushSign::Unflushed);
    }

    #[test]
    fn a_log_that_is_written_and_never_flushed_is_told_from_one_at_rest() {
        let counts = |flushes, written_bytes| LogCounts {
            flushes,
            written_bytes,
        };
        let before = counts(2, 1152);
        assert!(counts(2, 1632).has_not_flushed_since(before));
        assert!(!counts(3, 1632).has_not_flushed_since(before));
        assert!(!counts(2, 1152).has_not_flushed_since(before));
        assert!(counts(2, 1 << 30).is_hardly_flushed());
        assert!(!counts(2, 100 << 20).is_hardly_flushed());
    }
}
