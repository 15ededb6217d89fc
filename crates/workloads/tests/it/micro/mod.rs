//! The microbenchmarks on the reference engine: what they do, and what their verification sees.

mod crashes;
mod faults;
mod harness;
mod settings;
mod tests;
