//! The engine of docs/ADDING_AN_ENGINE.md does what the document says of it.

#[path = "../../../trueput/examples/own_engine/toy.rs"]
mod toy;

use crate::support::{keeps_the_contract, open, write};
use toy::Toy;
use trueput_engine::{Durability, Error, Mode, Value};

#[test]
fn the_toy_engine_passes_the_conformance_suite() {
    keeps_the_contract(&Toy, Durability::None, &[]);
}

#[test]
fn a_knob_that_is_turned_takes_effect_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let capacity = [("capacity", Value::Integer(1))];
    let database = open(&Toy, folder.path(), Durability::None, &capacity).unwrap();
    assert_eq!(database.settings().unwrap()["capacity"], Value::Integer(1));
    write(database.as_ref(), b"first", b"fits");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    session.put(b"first", b"again").unwrap();
    assert!(matches!(
        session.put(b"second", b"does not"),
        Err(Error::Full(_))
    ));
}
