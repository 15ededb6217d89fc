//! The redb driver keeps its promises.

use crate::support::{self, TestDatabase, open, read, write};
use trueput_drivers::Redb;
use trueput_engine::{Durability, Error, Mode};

#[test]
fn settings_other_than_the_defaults_keep_the_contract() {
    let knobs = "cache_size=1MiB quick_repair=true commits_per_sync=2";
    for durability in support::levels(&Redb) {
        support::keeps_the_contract(&Redb, durability, knobs);
    }
}

#[test]
fn calls_out_of_turn_are_refused_and_leave_the_session_usable() {
    let database = TestDatabase::open(&Redb, Durability::Sync, "");
    let mut session = database.session().unwrap();
    assert!(session.commit().is_err() && session.abort().is_err());
    assert!(session.get(b"key", &mut |_| ()).is_err());
    session.begin(Mode::Read).unwrap();
    assert!(session.begin(Mode::Read).is_err());
    let refused = session.put(b"key", b"value");
    assert!(matches!(refused, Err(Error::Unsupported(_))));
    assert!(matches!(session.delete(b"key"), Err(Error::Unsupported(_))));
    session.commit().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(b"key", b"value").unwrap();
    session.commit().unwrap();
}

#[test]
fn the_file_says_its_page_size_and_how_it_was_committed() {
    for two_phase in [false, true] {
        let knobs = &format!("two_phase_commit={two_phase}");
        let database = TestDatabase::open(&Redb, Durability::Sync, knobs);
        write(&*database, b"key", b"value");
        let settings = database.settings().unwrap();
        let expected = format!("page_size=4096 last_commit_two_phase={two_phase}");
        support::reports(&settings, &expected);
        support::reports(&database.counters().unwrap(), "len=1");
    }
}

#[test]
fn a_checkpoint_makes_buffered_commits_durable() {
    let copy = tempfile::tempdir().unwrap();
    let database = TestDatabase::open(&Redb, Durability::Buffered, "");
    let snapshot = || {
        // What a crash at this moment would leave: the file as it is, without the process.
        let [from, to] = [database.path(), copy.path()].map(|folder| folder.join("data.redb"));
        std::fs::copy(from, to).unwrap();
        let crashed = open(&Redb, copy.path(), Durability::Sync, "").unwrap();
        read(&*crashed, b"key")
    };
    write(&*database, b"key", b"value");
    // The control: before the checkpoint the commit is lost.
    assert_eq!(snapshot(), None);
    database.checkpoint().unwrap();
    assert_eq!(snapshot().unwrap(), b"value");
}
