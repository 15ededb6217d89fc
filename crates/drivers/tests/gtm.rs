//! The GT.M driver does what it promises.

mod support;

use support::{keeps_the_contract, open, read, write};
use trueput_drivers::Gtm;
use trueput_engine::{Durability, Engine, Error, Mode, Value};

static ENGINE: Gtm = Gtm::new();
const LEVELS: [Durability; 3] = [Durability::Sync, Durability::Buffered, Durability::None];

/// Whether there is a GT.M to test; where not, why.
fn is_here() -> bool {
    match ENGINE.build() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

#[test]
fn the_contract_is_kept_at_every_level() {
    if !is_here() {
        return;
    }
    for durability in LEVELS {
        keeps_the_contract(&ENGINE, durability, &[]);
    }
}

#[test]
fn the_contract_is_kept_with_a_mapped_file() {
    if !is_here() {
        return;
    }
    for durability in LEVELS {
        let knobs = [("access_method", Value::from("MM"))];
        keeps_the_contract(&ENGINE, durability, &knobs);
    }
}
