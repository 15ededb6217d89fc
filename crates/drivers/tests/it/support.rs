//! Helpers of the drivers' tests: engines, databases, and transactions in one line.

pub mod observe;
pub mod overlap;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::Path;
use tempfile::TempDir;
pub use trueput_engine::testing::database::{begin, get, open, read, refusal, resolve, write};
pub use trueput_engine::testing::{deadlock, sql};
use trueput_engine::{
    Database, Direction, Durability, Engine, KeyRange, Mode, OpenSpec, Session, Value, conformance,
    isolation,
};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::Conditions;
use trueput_record::measurement::Check;

/// The engine of that name.
pub fn engine(name: &str) -> &'static dyn Engine {
    let mut engines = trueput_drivers::registry().iter();
    *engines.find(|engine| engine.info().name == name).unwrap()
}

/// The engine, where this machine has it; where not, says why.
pub fn installed<E: Engine + ?Sized>(engine: &'static E) -> Option<&'static E> {
    match engine.build() {
        Ok(_) => Some(engine),
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// Every library of the engine on this machine that this program can use.
pub fn builds(engine: &dyn Engine) -> Vec<Box<dyn Engine>> {
    let mut builds = Vec::new();
    for path in engine.library_files() {
        match engine.with_library(&path) {
            Ok(build) => builds.push(build),
            Err(reason) => eprintln!("skipped: {reason}"),
        }
    }
    if builds.is_empty() {
        let info = engine.info();
        let (title, install) = (info.title, info.install);
        eprintln!("skipped: no {title} on this machine; {install} installs one");
    }
    builds
}

/// The levels that the engine promises.
pub fn levels(engine: &dyn Engine) -> impl Iterator<Item = Durability> {
    let is_promised = |level: &Durability| engine.promise(*level).is_some();
    Durability::ALL.into_iter().filter(is_promised)
}

/// An open database, with its folder and the server that the engine needs, where it needs one.
pub struct TestDatabase {
    // Closed before its server is stopped.
    database: Box<dyn Database>,
    place: TestDirectory,
}

impl TestDatabase {
    /// A new database.
    pub fn open(engine: &dyn Engine, durability: Durability, knobs: &str) -> Self {
        TestDirectory::of(engine, durability, knobs).open(engine, durability, knobs)
    }

    /// The same, closed in good order and opened again.
    pub fn reopen(self, engine: &dyn Engine, durability: Durability, knobs: &str) -> Self {
        self.close().open(engine, durability, knobs)
    }

    /// Closes it; its folder and its server stay.
    pub fn close(self) -> TestDirectory {
        drop(self.database);
        self.place
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

impl Deref for TestDatabase {
    type Target = dyn Database;

    fn deref(&self) -> &Self::Target {
        &*self.database
    }
}

impl DerefMut for TestDatabase {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.database
    }
}

/// A folder for databases, with the server that the engine needs for them, where it needs one. It
/// runs for as long as this lives.
pub struct TestDirectory {
    server: Option<Server>,
    folder: TempDir,
}

impl TestDirectory {
    /// Starts the server, as the runner would.
    pub fn of(engine: &dyn Engine, durability: Durability, knobs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = start(engine, folder.path(), durability, knobs);
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

    /// Opens a database in it.
    pub fn open(self, engine: &dyn Engine, durability: Durability, knobs: &str) -> TestDatabase {
        let database = open(engine, self.path(), durability, knobs).unwrap();
        TestDatabase {
            database,
            place: self,
        }
    }

    /// Stops the server in good order and starts it again with other settings.
    pub fn restart(&mut self, engine: &dyn Engine, durability: Durability, knobs: &str) {
        if let Some(server) = self.server.take() {
            server.stop(&mut || true).unwrap();
        }
        self.server = start(engine, self.folder.path(), durability, knobs);
    }
}

/// Starts the server that an engine needs for databases in a folder, where it needs one.
pub fn start(
    engine: &dyn Engine,
    folder: &Path,
    durability: Durability,
    knobs: &str,
) -> Option<Server> {
    let service = engine.service()?;
    let spec = ServerSpec {
        service: &*service,
        database: &OpenSpec {
            directory: folder,
            durability,
            knobs: &resolve(engine, knobs),
            sessions: 16,
        },
        conditions: &Conditions::default(),
        group_entry: None,
    };
    Some(Server::start(&spec, &mut || true).unwrap())
}

/// The engine reports these settings, written as knobs are.
pub fn reports(settings: &BTreeMap<String, Value>, expected: &str) {
    for setting in expected.split_whitespace() {
        let (name, value) = setting.split_once('=').unwrap();
        assert_eq!(settings[name], Value::parse(value), "{name}");
    }
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

/// There are checks, and each has passed.
pub fn all_passed(checks: &[Check]) {
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    assert!(!checks.is_empty() && failed.is_empty(), "{failed:?}");
}

/// The engine keeps the contract at `durability` with these knobs.
pub fn keeps_the_contract(engine: &dyn Engine, durability: Durability, knobs: &str) {
    let place = TestDirectory::of(engine, durability, knobs);
    keeps_the_contract_in(engine, place.path(), durability, knobs);
}

/// The same, in a folder for whose databases the server runs.
pub fn keeps_the_contract_in(engine: &dyn Engine, folder: &Path, level: Durability, knobs: &str) {
    let knobs = resolve(engine, knobs);
    all_passed(&conformance::run(engine, folder, level, &knobs));
}

/// No anomaly occurs that the isolation which the engine states proscribes, with its default knobs.
pub fn is_isolated_as_stated(engine: &dyn Engine, durability: Durability) {
    let place = TestDirectory::of(engine, durability, "");
    let report = isolation::observe(engine, place.path(), durability, &resolve(engine, ""));
    all_passed(&report.checks());
}

/// Bytes that cannot be compressed, always the same.
pub fn random_bytes(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The number of surviving commits, of those that put `committed` under their number: the first
/// ones, without a gap. The database takes new ones.
pub fn commits_left(database: &dyn Database) -> u64 {
    let mut session = begin(database, Mode::Read);
    let mut left = 0_u64;
    let shown = session.scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
        assert_eq!((key, value), (&left.to_be_bytes()[..], &b"committed"[..]));
        left += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(shown, Ok(left));
    session.commit().unwrap();
    write(database, b"afterwards", b"works");
    assert_eq!(read(database, b"afterwards").unwrap(), b"works");
    left
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
    let mut session = begin(database, Mode::Write);
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
        let words: Vec<_> = given.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let given = words.join(" ");
        let knobs = resolve(engine, &given);
        let mut levels = Durability::ALL.into_iter().rev();
        let Some(level) = levels.find(|level| engine.promise_with(*level, &knobs).is_ok()) else {
            eprintln!("{name} refuses {given}");
            continue;
        };
        let place = TestDirectory::of(engine, level, &given);
        let report = isolation::observe(engine, place.path(), level, &knobs);
        let stated = report.stated.map(|stated| stated.name());
        let strongest = report.strongest().map(|level| level.name());
        eprintln!("{name} {given}: stated {stated:?}, not refuted {strongest:?}");
        let checks = report.checks();
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
        assert!(failed.is_empty(), "{name} {given}: {failed:?}");
    }
}
