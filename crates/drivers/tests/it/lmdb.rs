//! The LMDB driver keeps its promises.

use crate::support::{self, TestDatabase};
use trueput_drivers::Lmdb;
use trueput_engine::{Durability, Engine, Error, Mode};

static LMDB: Lmdb = Lmdb::new();

#[test]
fn knobs_reach_lmdb() {
    let knobs = "map_size=16MiB max_readers=9 writemap=true no_read_ahead=true no_mem_init=true";
    let database = TestDatabase::open(&LMDB, Durability::Process, knobs);
    let settings = database.settings().unwrap();
    let flags = "MDB_NOSYNC+MDB_WRITEMAP+MDB_NOTLS+MDB_NORDAHEAD+MDB_NOMEMINIT";
    let longest = LMDB.capabilities().max_key_bytes;
    let expected =
        format!("me_mapsize=16777216 me_maxreaders=9 flags={flags} maxkeysize={longest}");
    support::reports(&settings, &expected);
}

#[test]
fn a_second_writer_on_the_same_thread_is_a_conflict_instead_of_a_deadlock() {
    let database = TestDatabase::open(&LMDB, Durability::Process, "");
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    first.begin(Mode::Write).unwrap();
    assert!(second.begin(Mode::Write).unwrap_err().is_conflict());
    second.begin(Mode::Read).unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    second.begin(Mode::Write).unwrap();
    second.commit().unwrap();
}

#[test]
fn keys_beyond_the_limits_are_unsupported() {
    let database = TestDatabase::open(&LMDB, Durability::Process, "");
    let mut session = database.session().unwrap();
    let limit = LMDB.capabilities().max_key_bytes;
    assert_eq!(limit, 511);
    session.begin(Mode::Write).unwrap();
    session.put(&vec![1; limit], b"value").unwrap();
    for key in [vec![], vec![1; limit + 1]] {
        let refused = session.put(&key, b"value");
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    }
    session.commit().unwrap();
}

#[test]
fn the_version_is_the_librarys_own() {
    let version = LMDB.build().unwrap().version;
    assert!(version.starts_with("0.9."), "{version}");
}
