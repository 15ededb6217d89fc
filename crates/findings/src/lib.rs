//! Analysis of a run folder: statistics, rankings, comparisons, bottlenecks, scaling, ablation and
//! published tables compared with ours. No engine and no runner is needed.
//!
//! [`Run::load`] reads a folder; the modules compute from it. The crate `report` puts the results
//! into words.
//!
//! # Modules
//!
//! - `ablation`: gain and cost of each step of a list of parameter changes
//! - `answer`: the answer of a run: leaders, differences, what to run next
//! - `audits`: audits of the promises behind a ranking
//! - `bottleneck`: the bottleneck of a trial second by second, with the evidence
//! - `builds`: the builds of engines in a ranking, and which of them are comparable
//! - `capacity`: the highest rate at which each contender keeps an objective
//! - `cells`: trials grouped into cells, the repeats of one combination
//! - `choice`: the contender that keeps an objective at the highest rate, and what it costs
//! - `compare`: comparison of two runs, or of two contenders of one run
//! - `contender`: the names of contenders
//! - `decision`: the verdicts of a run that goes on until its rankings are decided
//! - `disturbance`: use of the machine by other programs
//! - `eligibility`: trials that are ranked, compared and charted
//! - `findings`: rankings, answer, names and measured trials of a run, for every format
//! - `fixed_rate`: rankings of open loops at one rate
//! - `forest`: a regression that predicts scores with their uncertainty
//! - `gate`: whether the second side of a comparison keeps the limits of gates
//! - `history`: many runs of one plan, and changes of their rates
//! - `host_blocks`: pairs of repeats inside a host
//! - `integrity`: trials whose records contradict themselves
//! - `isolation`: the isolation levels that contenders state
//! - `knob_effects`: the effect of changing one knob on rate, memory and disk
//! - `latency_bands`: the latencies of a trial over time, by band
//! - `log_flush`: the trials of the workload `log-flush`, side by side
//! - `marks`: caveats about a contender, shown wherever it is named
//! - `multi_run`: the rates of each contender in several runs
//! - `objective`: whether the cells of a ranking kept the objective of the plan
//! - `over_time`: rate and latencies second by second, and their cliffs
//! - `power_loss`: what the storage leaves of the promise of a level at lost power
//! - `prediction`: the rate and latency expected for other numbers of clients, nodes and delays
//! - `published`: comparison with published tables
//! - `ranking_hosts`: what the hosts of a ranking say
//! - `rankings`: cells grouped into rankings
//! - `repeats`: the precision of the rates
//! - `representative`: the trial that represents a cell in charts
//! - `run`: a run folder, read
//! - `samples`: series with known change points, for unit tests
//! - `scaling`: the Universal Scalability Law, fitted to rates by number of workers
//! - `shell`: quoting for a shell
//! - `significance`: significance of a ranking's differences
//! - `site`: a run among many
//! - `statistics`: tests, intervals and estimates over repeats
//! - `storage_comparison`: contenders on several storage models
//! - `storage_faults`: how often faults of storage came
//! - `storage_models`: the storage models below trials
//! - `storage_over_time`: size, write amplification and tombstones second by second
//! - `storage_servers`: the cost of modeled storage itself
//! - `text`: findings that are text in JSON
//! - `threen1`: the line of output of the original 3n+1 program
//! - `trial_names`: one name for each trial and contender of a run
//! - `tuning`: the configurations of a search for knobs, and its holdout
//! - `units`: figures with units, for people
//! - `workload_cells`: the trials of one workload, by cell

pub mod ablation;
pub mod absence;
pub mod answer;
pub mod audits;
pub mod bottleneck;
pub mod builds;
pub mod capacity;
pub mod cells;
pub mod choice;
pub mod compare;
pub mod contender;
pub mod decision;
pub mod disturbance;
pub mod disturbed_repeats;
pub mod eligibility;
pub mod failover;
mod findings;
pub mod fixed_rate;
pub mod forest;
pub mod gate;
pub mod hardware_limits;
pub mod history;
mod host_blocks;
pub mod integrity;
pub mod isolation;
pub mod knob_effects;
pub mod latency_bands;
mod limits;
pub mod log_flush;
pub mod marks;
pub mod multi_run;
pub mod objective;
pub mod over_time;
pub mod power_loss;
pub mod prediction;
pub mod published;
pub mod ranking_hosts;
pub mod rankings;
pub mod repeats;
pub mod representative;
mod run;
#[cfg(test)]
mod samples;
pub mod scaling;
pub mod shell;
pub mod significance;
pub mod site;
pub mod statistics;
pub mod steadiness;
pub mod storage_comparison;
pub mod storage_faults;
pub mod storage_models;
pub mod storage_over_time;
pub mod storage_servers;
pub mod text;
pub mod threen1;
pub mod trial_names;
pub mod tuning;
pub mod units;
pub mod workload_cells;

pub use findings::Findings;
pub use run::{Run, TrialTotals};
