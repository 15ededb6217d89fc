//! A plan, expanded into its trials, and what is checked and estimated before any of them runs.
//!
//! - `audited_only`: skips trials whose promise was not audited
//! - `cautions`: what the workloads of trials warn of
//! - `changed_parameters`: which parameters the trials of a run change
//! - `disk_space`: the space that trials need
//! - `log_directory`: the folder of an engine's log
//! - `matrix`: a plan, expanded into its trials
//! - `preflight`: checks before any work starts
//! - `refusal`: why a trial cannot be run as it is
//! - `repeats`: repeats until the result is precise enough
//! - `resolution`: a trial's names and settings, resolved to engine and workload
//! - `resume`: checks of a run folder before a run continues in it
//! - `storage_models`: the storage models that trials name
//! - `time_estimate`: how long a run takes
//! - `time_slice_group`: the trials that share time slices

pub(crate) mod audited_only;
pub(crate) mod cautions;
pub(crate) mod changed_parameters;
pub mod disk_space;
pub(crate) mod log_directory;
pub mod matrix;
pub(crate) mod preflight;
pub(crate) mod refusal;
pub(crate) mod repeats;
pub(crate) mod resolution;
pub(crate) mod resume;
pub(crate) mod storage_models;
pub(crate) mod time_estimate;
pub(crate) mod time_slice_group;
