//! What the drivers' tests share: opening, one-line transactions, and a process that dies.

pub mod deadlock;
pub mod observe;
pub mod odbc;
pub mod overlap;
pub mod sql;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use tempfile::TempDir;
use trueput_engine::{
    Database, Direction, Durability, Engine, KeyRange, Mode, OpenSpec, Result, Session, Value,
    conformance, isolation, parameter,
};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::Conditions;

/// Settings for [`open`] from pairs.
pub fn settings(pairs: &[(&str, Value)]) -> BTreeMap<String, Value> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

/// Opens a database, as the runner would.
pub fn open(
    engine: &dyn Engine,
    directory: &Path,
    durability: Durability,
    given: &[(&str, Value)],
) -> Result<Box<dyn Database>> {
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &settings(given)).unwrap();
    engine.open(&OpenSpec {
        directory,
        durability,
        knobs: &knobs,
        sessions: 8,
    })
}

/// A folder for databases, with the server that the engine needs for them, where it needs one. It
/// runs for as long as this lives.
pub struct TestDirectory {
    server: Option<Server>,
    folder: TempDir,
}

impl TestDirectory {
    /// Starts the server, as the runner would.
    pub fn of(engine: &dyn Engine, durability: Durability, given: &[(&str, Value)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = start(engine, folder.path(), durability, given);
        Self { server, folder }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The server, where there is one.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Stops the server in good order and starts it again with other settings.
    pub fn restart(&mut self, engine: &dyn Engine, level: Durability, given: &[(&str, Value)]) {
        let server = self.server.take();
        server
            .map_or(Ok(()), |server| server.stop(&mut || true))
            .unwrap();
        self.server = start(engine, self.folder.path(), level, given);
    }
}

/// Starts the server that an engine needs for databases in a folder, where it needs one.
pub fn start(
    engine: &dyn Engine,
    folder: &Path,
    durability: Durability,
    given: &[(&str, Value)],
) -> Option<Server> {
    let service = engine.service()?;
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &settings(given)).unwrap();
    let site = ServerSpec {
        service: &*service,
        database: &OpenSpec {
            directory: folder,
            durability,
            knobs: &knobs,
            sessions: 16,
        },
        conditions: &Conditions::default(),
        group_entry: None,
    };
    Some(Server::start(&site, &mut || true).unwrap())
}

/// No other user can enter these folders of a private server's.
pub fn are_closed_to_others(place: &Path, folders: &[&str]) {
    use std::os::unix::fs::PermissionsExt;
    for folder in folders {
        let mode = std::fs::metadata(place.join(folder)).unwrap();
        let mode = mode.permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{folder} has mode {mode:o}");
    }
}

/// The engine keeps the contract at `durability` with settings other than its defaults.
pub fn keeps_the_contract(engine: &dyn Engine, durability: Durability, given: &[(&str, Value)]) {
    let place = TestDirectory::of(engine, durability, given);
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &settings(given)).unwrap();
    let checks = conformance::run(engine, place.path(), durability, &knobs);
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    assert!(!checks.is_empty() && failed.is_empty(), "{failed:?}");
}

/// No anomaly occurs that the isolation which the engine states proscribes, with its default knobs.
pub fn is_isolated_as_stated(engine: &dyn Engine, durability: Durability) {
    let place = TestDirectory::of(engine, durability, &[]);
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &settings(&[])).unwrap();
    let report = isolation::observe(engine, place.path(), durability, &knobs);
    let checks = report.checks();
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    assert!(!checks.is_empty() && failed.is_empty(), "{failed:?}");
}

/// The value of `key` in the open transaction.
pub fn get(session: &mut dyn Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let is_there = session
        .get(key, &mut |value| found = Some(value.to_vec()))
        .unwrap();
    assert_eq!(is_there, found.is_some());
    found
}

/// The value of `key` in a read transaction of its own.
pub fn read(database: &dyn Database, key: &[u8]) -> Option<Vec<u8>> {
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let found = get(session.as_mut(), key);
    session.commit().unwrap();
    found
}

/// Stores one record in a write transaction of its own.
pub fn write(database: &dyn Database, key: &[u8], value: &[u8]) {
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(key, value).unwrap();
    session.commit().unwrap();
}

/// The keys of a scan in the open transaction, at most `limit`.
pub fn keys(
    session: &mut dyn Session,
    range: KeyRange<'_>,
    direction: Direction,
    limit: usize,
) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let shown = session.scan(range, direction, &mut |key, value| {
        assert_eq!(key, value, "these tests store each key under itself");
        keys.push(key.to_vec());
        if keys.len() == limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(shown.unwrap(), keys.len() as u64);
    keys
}

/// The bounds in every combination give what a model gives, in both directions.
pub fn scans_keep_to_their_bounds(database: &dyn Database) {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let stored: Vec<&[u8]> = vec![b"a", b"b", b"b\0", b"c", b"d", b"\xff\xff"];
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    for key in &stored {
        session.put(key, key).unwrap();
    }
    // Once over the transaction's own writes, once over the committed records.
    for mode in [Mode::Write, Mode::Read] {
        let ends: [&[u8]; 4] = [b"a", b"b", b"bb", b"d"];
        let lowers = ends.iter().flat_map(|end| [Included(*end), Excluded(*end)]);
        for lower in lowers.chain([Unbounded]) {
            let uppers = ends.iter().flat_map(|end| [Included(*end), Excluded(*end)]);
            for upper in uppers.chain([Unbounded]) {
                let range = KeyRange { lower, upper };
                let mut expected: Vec<Vec<u8>> = stored
                    .iter()
                    .filter(|key| range.admits_from_below(key) && range.admits_from_above(key))
                    .map(|key| key.to_vec())
                    .collect();
                let session = session.as_mut();
                assert_eq!(
                    keys(session, range, Direction::Forward, 99),
                    expected,
                    "{range:?}"
                );
                expected.reverse();
                assert_eq!(
                    keys(session, range, Direction::Backward, 99),
                    expected,
                    "{range:?}"
                );
                expected.truncate(2);
                assert_eq!(
                    keys(session, range, Direction::Backward, 2),
                    expected,
                    "{range:?}"
                );
            }
        }
        session.commit().unwrap();
        if mode == Mode::Write {
            session.begin(Mode::Read).unwrap();
        }
    }
}

/// No anomaly occurs that the isolation which the engine states proscribes, at anything that its
/// isolation can be set to.
pub fn is_isolated_as_stated_with_every_setting(engine: &dyn Engine) {
    let name = engine.info().name;
    for given in isolation::settings(engine) {
        let knobs = parameter::resolve(name, engine.knobs(), &given).unwrap();
        let mut levels = Durability::ALL.into_iter().rev();
        let Some(level) = levels.find(|level| engine.promise_with(*level, &knobs).is_ok()) else {
            eprintln!("{name} refuses {given:?}");
            continue;
        };
        let pairs: Vec<_> = given.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        let place = TestDirectory::of(engine, level, &pairs);
        let report = isolation::observe(engine, place.path(), level, &knobs);
        let stated = report.stated.map(|stated| stated.name());
        let strongest = report.strongest().map(|level| level.name());
        eprintln!("{name} {given:?}: stated {stated:?}, not refuted {strongest:?}");
        let checks = report.checks();
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
        assert!(failed.is_empty(), "{name} {given:?}: {failed:?}");
    }
}
