//! Searches: which trial to run next, from the results so far. Nothing here runs a trial, reads a
//! clock or names an engine, so a search that was interrupted goes on where it was.
//!
//! # Modules
//!
//! - `capacity`: the highest rate at which a contender keeps an objective

pub mod capacity;
