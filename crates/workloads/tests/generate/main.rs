//! The generators against published figures, against YCSB's own code and against their own claims.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod distribution;
mod insert;
mod key;
mod permutation;
mod random;
mod statistics;
mod value;
mod ycsb;
