//! Searches: which trial to run next, from the results so far. Nothing here runs a trial, reads a
//! clock or names an engine, so a search that was interrupted goes on where it was.
//!
//! # Modules
//!
//! - `of_run`: the search of a run
//! - `trial_search`: what all searches have in common: they propose trials from the results so far
//! - `budget`: the time of a search, and its parts
//! - `capacity`: the highest rate at which a contender keeps an objective
//! - `tuning`: the knobs of a contender that serve it best
//! - `choice`: the contender that keeps an objective at the highest rate, by default and tuned
//! - `decision`: the repeats of a plan until its rankings are decided
//! - `error`: why a search cannot be made, and why a configuration may not run
//! - `fence`: which configurations keep the promise that was asked for
//! - `space`: the parameters that a search may change, as a unit cube
//! - `rounds`: the state machine that proposes rounds of trials and keeps their archive
//! - `holdout`: whether the winner of a search is better, from trials that the search has not seen
//! - `ablation`: what each changed parameter of a winner contributes
//! - `presets`: published advice on the knobs of an engine
//! - `samples`: trials of simulated engines, for unit tests
//! - `sobol`: points that fill the cube evenly

pub mod ablation;
pub mod budget;
pub mod capacity;
pub mod choice;
pub mod decision;
pub mod error;
pub mod fence;
pub mod holdout;
mod of_run;
pub mod presets;
pub mod rounds;
#[cfg(test)]
mod samples;
mod sobol;
pub mod space;
mod trial_search;
pub mod tuning;

pub use of_run::search_of;
pub use trial_search::{SearchNews, TrialSearch};
