//! One file per subcommand.

pub mod audit;
pub mod bundle;
pub mod capacity;
pub mod check;
pub mod choose;
pub mod clean;
pub mod cluster_host;
pub mod compare;
pub mod compare_gate;
pub mod completions;
pub mod engines;
pub mod export;
pub mod faultfs;
pub mod history;
pub mod knobs;
pub mod ledger;
pub mod man;
pub mod plan;
pub mod predict;
pub mod published;
pub mod report;
pub mod run;
pub mod threen1;
pub mod tune;
pub mod workloads;
pub mod ycsb;
