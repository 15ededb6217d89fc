//! What a search proposes keeps the promise: for every engine and level, by the fence over the
//! whole space of its knobs. `read_back.rs` asks the engines themselves.

use crate::random_point;
use trueput_engine::Engine;
use trueput_engine::parameter::resolve;
use trueput_odbc::Odbc;
use trueput_record::value::Settings;
use trueput_record::{ClusterSurvival, Durability, Isolation, Promise, Value, Window};
use trueput_tuner::fence::{CONDITIONS, check_promise, knob_space};
use trueput_tuner::space::{Restrictions, Space};

static ODBC: Odbc = Odbc::new();

/// The engines of the program.
fn engines() -> impl Iterator<Item = &'static dyn Engine> {
    let odbc: &dyn Engine = &ODBC;
    trueput_drivers::registry().iter().copied().chain([odbc])
}

/// Sizes are searched up to this, as on a machine with 16 GiB.
const MAX_BYTES: f64 = 8_589_934_592.0;
/// Spaces of up to so many combinations of levels are tried whole.
const WHOLE_SPACE: usize = 20_000;
/// Random points where the space is larger, beside all pairs of levels.
const RANDOM_POINTS: u64 = 4_000;
/// Parts of each axis at whose ends a knob is changed alone.
const GRID: usize = 24;

/// Values of knobs that weaken what a level promises, as the engines' manuals say.
const UNSAFE: [(&str, Durability, &str, &str); 29] = [
    ("sqlite", Durability::Sync, "journal_mode", "off"),
    ("sqlite", Durability::Sync, "journal_mode", "memory"),
    ("sqlite", Durability::Async, "journal_mode", "off"),
    ("sqlite", Durability::Async, "wal_autocheckpoint", "0"),
    ("sqlite", Durability::Process, "journal_mode", "off"),
    ("redb", Durability::Buffered, "commits_per_sync", "100000"),
    ("rocksdb", Durability::Buffered, "preset", "prefix"),
    (
        "rocksdb",
        Durability::Buffered,
        "max_write_buffer_number",
        "64",
    ),
    ("berkeleydb", Durability::Buffered, "log_buffer", "114688"),
    ("wiredtiger", Durability::Buffered, "table", "lsm"),
    ("wiredtiger", Durability::Buffered, "checkpoint_wait", "0"),
    ("mariadb", Durability::Sync, "innodb_doublewrite", "off"),
    ("mariadb", Durability::Async, "innodb_doublewrite", "off"),
    ("mariadb", Durability::Buffered, "innodb_doublewrite", "off"),
    ("mariadb", Durability::Process, "storage_engine", "rocksdb"),
    ("mariadb", Durability::Sync, "isolation", "read-committed"),
    ("galera", Durability::Sync, "innodb_doublewrite", "off"),
    ("galera", Durability::Async, "innodb_doublewrite", "off"),
    ("galera", Durability::Buffered, "innodb_doublewrite", "off"),
    ("gtm", Durability::Sync, "journaling", "off"),
    ("gtm", Durability::Buffered, "journaling", "off"),
    ("postgresql", Durability::Sync, "full_page_writes", "false"),
    (
        "postgresql",
        Durability::Buffered,
        "full_page_writes",
        "false",
    ),
    (
        "postgresql",
        Durability::Sync,
        "isolation",
        "read-committed",
    ),
    (
        "postgresql-cluster",
        Durability::Sync,
        "full_page_writes",
        "false",
    ),
    (
        "postgresql-cluster",
        Durability::Sync,
        "cluster_commit",
        "local",
    ),
    (
        "postgresql-cluster",
        Durability::Sync,
        "cluster_commit",
        "remote-write",
    ),
    ("etcd", Durability::Sync, "nodes", "1"),
    ("etcd", Durability::Process, "nodes", "1"),
];

/// The space of an engine's knobs at a level that it promises; `None` without a knob to search.
pub fn space(engine: &'static dyn Engine, level: Durability) -> Option<Space> {
    let (fixed, all) = (Settings::new(), Restrictions::default());
    knob_space(engine, level, &fixed, None, MAX_BYTES, all).ok()
}

pub fn engine(name: &str) -> &'static dyn Engine {
    engines().find(|engine| engine.info().name == name).unwrap()
}

/// What an engine says of a configuration at a level.
struct Statement {
    promise: Promise,
    isolation: Option<Isolation>,
}

/// `None` if the engine refuses the configuration at that level.
fn statement(engine: &dyn Engine, level: Durability, settings: &Settings) -> Option<Statement> {
    let knobs = resolve(engine.info().name, engine.knobs(), settings).unwrap();
    Some(Statement {
        promise: engine.promise_with(level, &knobs).ok()?,
        isolation: engine.isolation(&knobs),
    })
}

impl Statement {
    /// Whether it promises less than the default does.
    fn is_weaker(&self, default: &Self) -> bool {
        let figures = |promise: &Promise| {
            let window = promise.window.as_ref();
            let number = |count: Option<u64>| count.map(|count| count as f64);
            [
                window.and_then(|it| it.time_s),
                window.and_then(|it| number(it.bytes)),
                window.and_then(|it| number(it.commits)),
            ]
        };
        // What is no cluster survives no failure of nodes.
        let failures = |promise: &Promise| {
            let cluster = promise.cluster.as_ref();
            cluster.map_or([false; 4], |it| {
                [it.process, it.machine, it.majority_power, it.all_power]
            })
        };
        let is_wider = match (&self.promise.window, &default.promise.window) {
            (Some(_), None) => true,
            (None, _) => false,
            (Some(_), Some(_)) => figures(&default.promise)
                .iter()
                .zip(figures(&self.promise))
                .any(|(limit, own)| limit.is_some_and(|limit| own.is_none_or(|own| own > limit))),
        };
        let survives_less = failures(&default.promise)
            .iter()
            .zip(failures(&self.promise))
            .any(|(wanted, own)| *wanted && !own);
        let is_isolated_less = default.isolation.is_some_and(|wanted| {
            self.isolation
                .is_none_or(|own| own.lacks(wanted).next().is_some())
        });
        let is_other_level = self.promise.durability != default.promise.durability;
        is_other_level || is_wider || survives_less || is_isolated_less
    }
}

/// Calls `test` with every combination of levels of a small space; of a large one with each level
/// and a grid of each axis alone, each pair of levels, and random points.
fn visit(space: &Space, mut test: impl FnMut(&Settings)) {
    let default = space.point(&Settings::new());
    let levels: Vec<_> = (0..default.len()).map(|axis| space.levels(axis)).collect();
    let mut changed = |changes: &[(usize, f64)]| {
        let mut point = default.clone();
        for (axis, level) in changes {
            point[*axis] = *level;
        }
        test(&space.settings(&point));
    };
    for axis in 0..default.len() {
        let grid = (0..=GRID).map(|part| part as f64 / GRID as f64);
        for level in levels[axis].iter().copied().chain(grid) {
            changed(&[(axis, level)]);
        }
        for other in axis + 1..default.len() {
            for level in &levels[axis] {
                for other_level in &levels[other] {
                    changed(&[(axis, *level), (other, *other_level)]);
                }
            }
        }
    }
    let combinations = levels
        .iter()
        .map(|levels| levels.len() as f64)
        .product::<f64>();
    if combinations > WHOLE_SPACE as f64 {
        for number in 0..RANDOM_POINTS {
            test(&space.settings(&random_point(number, default.len())));
        }
        return;
    }
    for number in 0..combinations as usize {
        let mut rest = number;
        let coordinate = |levels: &Vec<f64>| {
            let level = levels[rest % levels.len()];
            rest /= levels.len();
            level
        };
        let point: Vec<f64> = levels.iter().map(coordinate).collect();
        test(&space.settings(&point));
    }
}

/// Everything that the space proposes keeps the promise, and what keeps it is proposed.
fn only_what_keeps_the_promise_is_proposed(name: &str) {
    let engine = engine(name);
    let levels = Durability::ALL.into_iter();
    for level in levels.filter(|level| engine.promise(*level).is_some()) {
        let Some(space) = space(engine, level) else {
            println!("{name} at {level}: no knob to search");
            continue;
        };
        let default = statement(engine, level, &Settings::new()).unwrap();
        let (mut proposed, mut weaker, mut impossible) = (0, 0, 0);
        visit(&space, |settings| {
            let own = statement(engine, level, settings);
            let keeps = own.as_ref().is_some_and(|own| !own.is_weaker(&default));
            let fence = space.check(settings);
            assert_eq!(
                fence.is_ok(),
                keeps,
                "{name} at {level}: {settings:?}: {fence:?}"
            );
            match own {
                Some(_) if keeps => proposed += 1,
                Some(_) => weaker += 1,
                None => impossible += 1,
            }
        });
        println!(
            "{name} at {level}: {proposed} proposed, {weaker} refused as weaker, {impossible} that \
             the engine refuses at this level"
        );
        let rows = UNSAFE.iter().filter(|row| (row.0, row.1) == (name, level));
        assert!(
            weaker == 0 || UNSAFE.iter().any(|row| row.0 == name),
            "add {name} to UNSAFE"
        );
        for (_, _, knob, value) in rows {
            is_met_and_refused(&space, knob, value);
        }
        random_points_lead_to_proposals(&space);
    }
}

/// Where some knobs fit only some values of others, a random point seldom has them all.
fn random_points_lead_to_proposals(space: &Space) {
    let mut proposals = Vec::new();
    for number in 0..100 {
        let point = random_point(number, space.dimensions());
        let settings = space.allowed_settings(&point);
        assert_eq!(space.check(&settings), Ok(()), "{settings:?}");
        let drawn = space.settings(&point);
        let is_part = settings
            .iter()
            .all(|(name, value)| drawn.get(name) == Some(value));
        assert!(is_part, "{settings:?} of {drawn:?}");
        if space.check(&drawn).is_ok() {
            assert_eq!(settings, drawn);
        }
        if !proposals.contains(&settings) {
            proposals.push(settings);
        }
    }
    let combinations = (0..space.dimensions()).map(|axis| space.levels(axis).len());
    let most = combinations.product::<usize>().min(100);
    assert!(
        2 * proposals.len() >= most,
        "only {} of 100 differ",
        proposals.len()
    );
}

/// The space has the value, so a search would come across it.
fn is_met_and_refused(space: &Space, knob: &str, value: &str) {
    let as_text = Settings::from([(knob.to_owned(), Value::from(value))]);
    let parsed = Settings::from([(knob.to_owned(), Value::parse(value))]);
    let given = [as_text, parsed];
    let mut is_met = false;
    visit(space, |settings| is_met |= given.contains(settings));
    assert!(is_met, "no point of the space is {knob}={value}");
    let refusals = given.iter().map(|settings| space.check(settings));
    assert!(
        refusals.into_iter().all(|refusal| refusal.is_err()),
        "{knob}={value}"
    );
}

macro_rules! tests {
    ($($test:ident: $engine:literal,)*) => {
        $(
            #[test]
            fn $test() {
                only_what_keeps_the_promise_is_proposed($engine);
            }
        )*

        const TESTED: &[&str] = &[$($engine,)*];
    };
}

tests! {
    null: "null",
    lmdb: "lmdb",
    sqlite: "sqlite",
    redb: "redb",
    fjall: "fjall",
    rocksdb: "rocksdb",
    leveldb: "leveldb",
    berkeleydb: "berkeleydb",
    wiredtiger: "wiredtiger",
    tokudb: "tokudb",
    mdbx: "mdbx",
    mariadb: "mariadb",
    gtm: "gtm",
    postgresql: "postgresql",
    postgresql_cluster: "postgresql-cluster",
    etcd: "etcd",
    galera: "galera",
    odbc: "odbc",
}

#[test]
fn every_engine_of_the_registry_has_a_test() {
    let names = engines().map(|engine| engine.info().name);
    assert_eq!(names.collect::<Vec<_>>(), TESTED);
}

/// What is no value of a knob cannot be proposed either.
#[test]
fn a_flush_cannot_be_turned_off_by_a_knob() {
    for (name, knob, value) in [
        ("postgresql", "fsync", "off"),
        ("postgresql-cluster", "fsync", "off"),
        ("mariadb", "innodb_flush_method", "nosync"),
        ("fjall", "persist_mode", "buffer"),
    ] {
        let space = space(engine(name), Durability::Sync).unwrap();
        let settings = Settings::from([(knob.to_owned(), Value::from(value))]);
        assert!(space.names().any(|own| own == knob), "{name} has {knob}");
        assert!(space.admit(&settings).is_err(), "{name}: {knob}={value}");
    }
}

#[test]
fn conditions_of_a_measurement_are_not_searched_unless_they_are_named() {
    for name in CONDITIONS {
        let has_it = |engine: &&dyn Engine| engine.knobs().iter().any(|knob| knob.name == name);
        let engine = engines().find(has_it).unwrap();
        let is_searched = |restrictions| {
            let (level, fixed) = (Durability::Sync, Settings::new());
            let space = knob_space(engine, level, &fixed, None, MAX_BYTES, restrictions);
            space.unwrap().names().any(|known| known == name)
        };
        assert!(!is_searched(Restrictions::default()), "{name}");
        let named = Restrictions {
            only: Some([name.to_owned()].into()),
            ..Restrictions::default()
        };
        assert!(is_searched(named), "{name}");
    }
}

fn promise(window: Option<Window>, cluster: Option<ClusterSurvival>) -> Promise {
    Promise {
        cluster,
        ..Promise::new(Durability::Buffered, "", window, "")
    }
}

fn window(time_s: Option<f64>, bytes: Option<u64>) -> Option<Window> {
    Some(Window {
        time_s,
        bytes,
        commits: None,
        until: String::new(),
    })
}

#[test]
fn a_limit_of_the_window_replaces_the_time_of_the_default_and_not_its_bytes() {
    let default = promise(window(Some(60.0), Some(4096)), None);
    for (limit_s, time_s, bytes, is_kept) in [
        (None, Some(60.0), Some(4096), true),
        (None, Some(61.0), Some(4096), false),
        (None, None, Some(4096), false),
        (Some(100.0), Some(99.0), Some(4096), true),
        (Some(100.0), Some(100.0), Some(4096), false),
        (Some(100.0), None, Some(4096), false),
        (Some(100.0), Some(99.0), Some(8192), false),
        (Some(100.0), Some(99.0), None, false),
        (Some(10.0), Some(9.0), Some(4096), true),
        (Some(10.0), Some(60.0), Some(4096), false),
    ] {
        let found = check_promise(&default, limit_s, &promise(window(time_s, bytes), None));
        assert_eq!(
            found.is_ok(),
            is_kept,
            "{limit_s:?}, {time_s:?}, {bytes:?}: {found:?}"
        );
    }
}

#[test]
fn a_window_is_refused_where_the_default_has_none() {
    let (none, short) = (promise(None, None), promise(window(Some(0.1), None), None));
    for limit_s in [None, Some(1.0)] {
        assert!(check_promise(&none, limit_s, &short).is_err());
        assert_eq!(check_promise(&short, limit_s, &none), Ok(()));
    }
}

#[test]
fn a_promise_without_a_cluster_is_weaker_than_one_of_a_cluster() {
    let survival = ClusterSurvival {
        process: true,
        machine: true,
        majority_power: true,
        all_power: false,
    };
    let (cluster, single) = (promise(None, Some(survival)), promise(None, None));
    assert!(check_promise(&cluster, None, &single).is_err());
    assert_eq!(check_promise(&single, None, &cluster), Ok(()));
    assert_eq!(check_promise(&cluster, None, &cluster), Ok(()));
}

#[test]
fn a_default_that_is_not_below_the_limit_of_the_window_is_refused() {
    let engine = engine("wiredtiger");
    let space = |level, limit_s| {
        let (fixed, all) = (Settings::new(), Restrictions::default());
        knob_space(engine, level, &fixed, Some(limit_s), MAX_BYTES, all)
    };
    let reason = space(Durability::Buffered, 60.0).unwrap_err().to_string();
    assert!(reason.contains("may take 60 s of commits"), "{reason}");
    assert!(space(Durability::Sync, 1.0).is_ok(), "it has no window");
    let space = space(Durability::Buffered, 61.0).unwrap();
    let check = |wait_s: i64| {
        let wait = Value::from(wait_s);
        space.check(&Settings::from([("checkpoint_wait".to_owned(), wait)]))
    };
    assert_eq!(check(10), Ok(()));
    assert!(check(61).is_err() && check(0).is_err());
}
