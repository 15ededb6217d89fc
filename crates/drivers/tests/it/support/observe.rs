//! An engine's background events are visible from outside, and an idle engine shows none.

use crate::support::{TestDatabase, resolve, write};
use trueput_engine::{Durability, Engine, EngineEvent, OpenSpec};

/// Bytes of each record that is written.
const BYTES: usize = 10_000;

/// The kinds of event that an observer of the engine sees after this many records were written, and
/// after a requested checkpoint; then those after no activity.
pub fn seen(
    engine: &dyn Engine,
    level: Durability,
    knobs: &str,
    records: u32,
) -> [Vec<&'static str>; 3] {
    let database = TestDatabase::open(engine, level, knobs);
    let spec = OpenSpec {
        directory: database.path(),
        durability: level,
        knobs: &resolve(engine, knobs),
        sessions: 4,
    };
    write(&*database, b"first", b"value");
    database.checkpoint().unwrap();
    let mut observer = engine.event_watcher(&spec).unwrap();
    let mut look = || -> Vec<_> {
        let seen = observer.poll().into_iter();
        seen.map(|event| event.kind).collect()
    };
    for number in 0..records {
        write(&*database, &number.to_be_bytes(), &vec![7; BYTES]);
    }
    let written = look();
    write(&*database, b"last", b"value");
    database.checkpoint().unwrap();
    let asked = look();
    [written, asked, look()]
}

/// A checkpoint that is asked for is seen, and ends; before it there is none, and after it nothing.
pub fn a_checkpoint_is_seen(engine: &dyn Engine, level: Durability, knobs: &str) {
    let name = engine.info().name;
    let [written, asked, nothing] = seen(engine, level, knobs, 1);
    let is_checkpoint = |kind: &&str| kind.starts_with(EngineEvent::CHECKPOINT);
    assert!(!written.iter().any(is_checkpoint), "{name}: {written:?}");
    assert_eq!(asked, [EngineEvent::CHECKPOINT], "{name}");
    assert_eq!(nothing, [EngineEvent::CHECKPOINT_ENDED], "{name}");
}
