//! The microbenchmarks on the reference engine: their operations, and the faults that verification
//! finds.

mod crashes;
mod faults;
pub mod harness;
pub mod settings;
mod tests;
