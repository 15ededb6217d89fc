//! Searches: which trial to run next, from the results so far. Nothing here runs a trial, reads a
//! clock or names an engine, so a search that was interrupted goes on where it was.
//!
//! # Modules
//!
//! - `capacity`: the highest rate at which a contender keeps an objective
//! - `fence`: which configurations keep the promise that was asked for
//! - `space`: the parameters that a search may change, as a unit cube
//! - `search`: the state machine that proposes rounds of trials and keeps their archive
//! - `holdout`: whether the winner of a search is better, from trials that the search has not seen
//! - `ablation`: what each changed parameter of a winner contributes
//! - `presets`: published advice on the knobs of an engine
//! - `sobol`: points that fill the cube evenly

pub mod ablation;
pub mod capacity;
pub mod fence;
pub mod holdout;
pub mod presets;
pub mod search;
mod sobol;
pub mod space;
