//! Whether a server, and a session there, run with what the promise of a level needs.

use super::connection::client_error;
use super::knobs::{MariaDbKnobs, StorageEngine};
use super::settings;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use trueput_engine::setting_contradiction::NeededSettings;
use trueput_engine::{Durability, OpenSpec, Result, SettingContradiction};

/// The name by which messages call the server of a trial.
pub(super) const SERVER: &str = "the server";

/// The variable with the options of Galera's library, and the start of their names here.
const PROVIDER_OPTIONS: &str = "wsrep_provider_options";

/// Variables of a server on which promises rest, beside those of the level.
const OF_SERVERS: [&str; 7] = [
    "log_bin",
    "sync_binlog",
    "innodb_flush_method",
    "innodb_flush_log_at_timeout",
    "rocksdb_wal_recovery_mode",
    "wsrep_on",
    PROVIDER_OPTIONS,
];

/// The ways of InnoDB that flush its files. With others pages that were written may be lost with
/// the power although the log that repeats them is gone.
const FLUSH_METHODS: [&str; 3] = ["fsync", "O_DSYNC", "O_DIRECT"];

/// Whose a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// It was started for the trial, with all settings.
    Private,
    /// It is a node of a cluster that was started for the trial.
    Node,
    /// It is a user's, as its owner set it.
    External,
}

/// Asks a server what it runs with.
///
/// # Errors
/// Those of the connection; [`trueput_engine::Error::Unsupported`] for a level that does not exist.
pub(super) fn check_server(
    connection: &mut Conn,
    kind: ServerKind,
    server: &str,
    spec: &OpenSpec<'_>,
) -> Result<Vec<SettingContradiction>> {
    let of_level = settings::levels(spec.durability, spec.knobs)?;
    let names = of_level.iter().map(|(name, _)| *name).chain(OF_SERVERS);
    let reported = variables(connection, "GLOBAL", names)?;
    let mut needed = NeededSettings::of(spec.durability);
    for (name, value) in of_level {
        needed.add(name, in_words(name, value));
    }
    add_binary_log(&mut needed, kind, spec.durability, &reported);
    match MariaDbKnobs::from(spec.knobs).storage_engine {
        StorageEngine::Innodb => add_innodb(&mut needed, kind, spec, &reported),
        StorageEngine::Rocksdb if kind == ServerKind::Private => {
            needed.add("rocksdb_wal_recovery_mode", settings::WAL_RECOVERY_MODE);
        }
        StorageEngine::Rocksdb => {}
    }
    if kind == ServerKind::Node {
        needed.add("wsrep_on", "ON");
        for option in ["pc.ignore_quorum", "pc.ignore_sb"] {
            needed.add(format!("{PROVIDER_OPTIONS}.{option}"), "false");
        }
    }
    Ok(needed.contradictions(server, |name| value_of(&reported, name)))
}

/// Asks a session for variables by which it could keep less than its server.
///
/// # Errors
/// Those of the connection.
pub(super) fn check_session(
    connection: &mut Conn,
    kind: ServerKind,
    durability: Durability,
) -> Result<Vec<SettingContradiction>> {
    let names = ["rocksdb_write_disable_wal", "wsrep_on"];
    let reported = variables(connection, "SESSION", names.into_iter())?;
    let mut needed = NeededSettings::of(durability);
    if reported.contains_key(names[0]) {
        needed.add(names[0], "OFF");
    }
    if kind == ServerKind::Node {
        needed.add(names[1], "ON");
    }
    Ok(needed.contradictions("a session", |name| value_of(&reported, name)))
}

/// A transaction that the binary log has lost is rolled back by the recovery. Servers that are
/// started for a trial have none.
fn add_binary_log(
    needed: &mut NeededSettings,
    kind: ServerKind,
    durability: Durability,
    reported: &BTreeMap<String, String>,
) {
    let has_log = reported.get("log_bin").is_some_and(|value| value == "ON");
    if kind != ServerKind::External {
        needed.add("log_bin", "OFF");
    } else if has_log && durability == Durability::Sync {
        needed.add("sync_binlog", "1");
    }
}

/// Adds how InnoDB flushes its files, and how often its log where a commit does not.
fn add_innodb(
    needed: &mut NeededSettings,
    kind: ServerKind,
    spec: &OpenSpec<'_>,
    reported: &BTreeMap<String, String>,
) {
    let (method, period) = ("innodb_flush_method", "innodb_flush_log_at_timeout");
    if let Some(found) = reported.get(method) {
        let flushes = FLUSH_METHODS.contains(&found.as_str());
        if kind != ServerKind::External {
            needed.add(method, MariaDbKnobs::from(spec.knobs).innodb_flush_method);
        } else if !flushes && spec.durability != Durability::Process {
            needed.add(method, FLUSH_METHODS.join(" or "));
        }
    }
    let waits = matches!(spec.durability, Durability::Async | Durability::Buffered);
    if waits && reported.get(period).is_some_and(|found| found != "0") {
        needed.add(period, "1");
    }
}

/// The value of a variable as the server shows it.
fn in_words(name: &str, value: &str) -> String {
    let is_boolean = ["innodb_doublewrite", "rocksdb_manual_wal_flush"].contains(&name);
    match (is_boolean, value) {
        (true, "1") => "ON".to_owned(),
        (true, "0") => "OFF".to_owned(),
        _ => value.to_owned(),
    }
}

/// The value of a variable, or of an option of Galera's library.
fn value_of(reported: &BTreeMap<String, String>, name: &str) -> Option<String> {
    if let Some(value) = reported.get(name) {
        return Some(value.clone());
    }
    let option = name.strip_prefix(PROVIDER_OPTIONS)?.strip_prefix('.')?;
    let mut options = reported.get(PROVIDER_OPTIONS)?.split(';');
    options.find_map(|text| {
        let (name, value) = text.split_once('=')?;
        (name.trim() == option).then(|| value.trim().to_owned())
    })
}

/// Returns variables of the server or of the session that exist.
fn variables<'n>(
    connection: &mut Conn,
    scope: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<BTreeMap<String, String>> {
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    let statement = format!(
        "SHOW {scope} VARIABLES WHERE Variable_name IN ({})",
        names.join(", ")
    );
    let rows: Vec<(String, String)> = connection.query(statement).map_err(client_error)?;
    Ok(rows.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_galeras_library_is_found_among_the_others() {
        let options = "base_dir = /x; pc.ignore_quorum = true; pc.ignore_sb=false; pc.weight = 1";
        let reported = BTreeMap::from([(PROVIDER_OPTIONS.to_owned(), options.to_owned())]);
        let value = |option: &str| value_of(&reported, &format!("{PROVIDER_OPTIONS}.{option}"));
        assert_eq!(value("pc.ignore_quorum").as_deref(), Some("true"));
        assert_eq!(value("pc.ignore_sb").as_deref(), Some("false"));
        assert_eq!(value("pc.ignore"), None);
    }
}
