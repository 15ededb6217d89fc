//! The engine of docs/ADDING_AN_ENGINE.md behaves as the document says.

#[path = "../../../trueput/examples/own_engine/toy.rs"]
mod toy;

use crate::support::{TestDatabase, begin, keeps_the_contract, write};
use toy::Toy;
use trueput_engine::{Durability, Error, Mode, Value};

#[test]
fn the_toy_engine_passes_the_conformance_suite() {
    keeps_the_contract(&Toy, Durability::None, "");
}

#[test]
fn a_knob_that_is_set_takes_effect_and_is_reported() {
    let database = TestDatabase::open(&Toy, Durability::None, "capacity=1");
    assert_eq!(database.settings().unwrap()["capacity"], Value::Integer(1));
    write(&*database, b"first", b"fits");
    let mut session = begin(&*database, Mode::Write);
    session.put(b"first", b"again").unwrap();
    let refused = session.put(b"second", b"does not");
    assert!(matches!(refused, Err(Error::Full(_))));
}
