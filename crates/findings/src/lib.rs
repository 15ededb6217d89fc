//! What a run shows, computed once from its folder: statistics, rankings, comparisons, bottlenecks,
//! scaling, ablation and published tables compared with ours. No engine and no runner is needed.
//!
//! [`Run::load`] reads a folder; the modules compute from it. What they find is worded elsewhere.
//!
//! # Modules
//!
//! - `ablation`: what each step of a list of parameter changes gained and cost
//! - `answer`: the answer of a run: leaders, differences, what to run next
//! - `bottleneck`: what limited the rate in each second of a trial, with the evidence
//! - `builds`: the builds of engines in a ranking, and which of them are comparable
//! - `cells`: trials grouped into cells, the repeats of one combination
//! - `compare`: two runs, or two contenders of one run
//! - `contender`: the names of contenders
//! - `disturbance`: signs that something else used the machine
//! - `eligibility`: which trials count, and for what
//! - `fixed_rate`: rankings of open loops at one rate
//! - `history`: many runs of one plan, and where rates changed
//! - `in_memory`: databases in memory
//! - `integrity`: trials whose records contradict themselves
//! - `isolation`: the isolation levels that contenders state
//! - `knob_effects`: what changing one knob does to rate, memory and disk
//! - `log_flush`: the trials of the workload `log-flush`, side by side
//! - `marks`: what a reader must know of a contender wherever it is named
//! - `multi_run`: the rates of each contender in several runs
//! - `over_time`: the rate second by second, and where it dropped
//! - `published`: published tables, and what comes nearest to them in a run
//! - `rankings`: cells grouped into rankings
//! - `repeats`: how precisely the rates are known
//! - `representative`: the trial that stands for a cell in charts
//! - `run`: a run folder, read
//! - `samples`: series with known change points, for unit tests
//! - `scaling`: the Universal Scalability Law, fitted to rates by number of workers
//! - `shell`: quoting for a shell
//! - `significance`: which differences of a ranking are significant
//! - `statistics`: tests, intervals and estimates over repeats
//! - `text`: findings that JSON has as text
//! - `threen1`: the line of output of the original 3n+1 program
//! - `trial_names`: one name for each trial and contender of a run
//! - `units`: figures with units, for people
//! - `workload_cells`: the trials of one workload, by cell
//! - `writers`: failures that occur only with several writers

pub mod ablation;
pub mod answer;
pub mod bottleneck;
pub mod builds;
pub mod cells;
pub mod compare;
pub mod contender;
pub mod disturbance;
pub mod eligibility;
pub mod fixed_rate;
pub mod hardware_limits;
pub mod history;
pub mod in_memory;
pub mod integrity;
pub mod isolation;
pub mod knob_effects;
pub mod log_flush;
pub mod marks;
pub mod multi_run;
pub mod over_time;
pub mod published;
pub mod rankings;
pub mod repeats;
pub mod representative;
mod run;
#[cfg(test)]
mod samples;
pub mod scaling;
pub mod shell;
pub mod significance;
pub mod statistics;
pub mod steadiness;
pub mod text;
pub mod threen1;
pub mod trial_names;
pub mod units;
pub mod workload_cells;
mod writers;

pub use run::{Run, TrialTotals};
