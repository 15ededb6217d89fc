//! Whether a server, and a session there, run with what the promise of a level needs.

use super::cluster_knobs::CommitWait;
use super::knobs::{PostgresqlKnobs, WalSettings};
use super::wire::PostgresqlConnection;
use std::collections::BTreeMap;
use trueput_engine::setting_contradiction::NeededSettings;
use trueput_engine::{Durability, OpenSpec, Result, SettingContradiction};

/// The name by which messages call the server of a trial.
pub(super) const SERVER: &str = "the server";

/// The settings that a level needs of a server.
#[derive(Debug, Clone)]
pub(super) struct NeededOfServer(NeededSettings);

impl NeededOfServer {
    /// Returns those of a private server.
    ///
    /// # Errors
    /// As [`WalSettings::of`].
    pub fn private(spec: &OpenSpec<'_>) -> Result<Self> {
        let knobs = PostgresqlKnobs::from(spec.knobs);
        let wal = WalSettings::of(&knobs, spec.durability)?;
        let mut needed = Self::of(wal, spec.durability);
        needed.add_log_knobs(&knobs, spec.durability);
        Ok(needed)
    }

    /// Returns those of the node of a private cluster.
    ///
    /// # Errors
    /// As [`CommitWait::of`].
    pub fn node(spec: &OpenSpec<'_>) -> Result<Self> {
        let mut needed = Self::private(spec)?;
        let wait = CommitWait::of(spec.knobs, spec.durability)?;
        needed
            .0
            .add("synchronous_standby_names", wait.standby_names());
        Ok(needed)
    }

    /// Returns the fsync and whole pages that a level needs of any server.
    pub fn of(wal: WalSettings, durability: Durability) -> Self {
        let mut needed = NeededSettings::of(durability);
        needed.add("fsync", word(wal.fsync));
        needed.add("full_page_writes", word(wal.full_page_writes));
        Self(needed)
    }

    /// Adds the knobs on which the flushes of the log rest: how it is flushed, and at 'buffered'
    /// how soon.
    fn add_log_knobs(&mut self, knobs: &PostgresqlKnobs, durability: Durability) {
        self.0.add("wal_sync_method", knobs.wal_sync_method);
        if durability == Durability::Buffered {
            let delay_ms = knobs.wal_writer_delay;
            self.0.add("wal_writer_delay", format!("{delay_ms} ms"));
        }
    }

    /// Asks a server what it runs with.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn check(
        &self,
        server: &str,
        connection: &mut PostgresqlConnection,
    ) -> Result<Vec<SettingContradiction>> {
        let reported = reported(connection, self.0.names())?;
        Ok(self
            .0
            .contradictions(server, |name| reported.get(name).cloned()))
    }
}

/// Asks a session what its commits wait for. A role, a database or a pooler of connections may set
/// it over what was asked for.
///
/// # Errors
/// Those of the connection.
pub(super) fn check_session(
    connection: &mut PostgresqlConnection,
    durability: Durability,
    synchronous_commit: &str,
) -> Result<Vec<SettingContradiction>> {
    let mut needed = NeededSettings::of(durability);
    needed.add("synchronous_commit", synchronous_commit);
    let reported = reported(connection, needed.names())?;
    Ok(needed.contradictions("a session", |name| reported.get(name).cloned()))
}

/// Returns the values of settings, times in milliseconds.
fn reported<'n>(
    connection: &mut PostgresqlConnection,
    names: impl Iterator<Item = &'n str>,
) -> Result<BTreeMap<String, String>> {
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    let statement = format!(
        "SELECT name, CASE unit WHEN 'ms' THEN setting || ' ms' ELSE setting END AS value \
         FROM pg_settings WHERE name IN ({})",
        names.join(", ")
    );
    let (mut values, mut named) = (BTreeMap::new(), String::new());
    connection.simple(&statement, &mut |column, text| match column {
        "name" => text.clone_into(&mut named),
        _ => {
            values.insert(named.clone(), text.to_owned());
        }
    })?;
    Ok(values)
}

fn word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
