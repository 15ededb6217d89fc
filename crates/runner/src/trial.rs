//! A trial, from its engine's suites to what is written when it has ended.
//!
//! - `compaction`: the engine's own compaction of its database after the measured part
//! - `conformance`, `conformance_cache`, `conformance_result`: the conformance suite before a trial
//! - `contender_stop`: stops a contender between its time slices
//! - `crash_recovery`: deliberate crashes, and the time until the database serves again
//! - `database_folder`: the folder of a trial's database, and what is in it
//! - `database_reuse`: a database that the next trial uses
//! - `environment`: a cold database, a memory limit
//! - `fault_injector`: causes planned faults at their times
//! - `group`: a trial, or those that share time slices, with the suites before them
//! - `isolation_check`: the anomaly suite before a trial
//! - `kept_server`: servers that stay up between the probes of a search
//! - `lifecycle`: one trial: prepare, run, measure, verify
//! - `measured_part`: the measured part of a trial: its workers released, watched and collected
//! - `phase_limit`: how long each phase of a trial may go on without progress
//! - `prepared_copy`: copies of prepared databases, for later repeats
//! - `prepared_database`: the prepared databases that a run keeps
//! - `run_watch`: the limits of released workers
//! - `server_lifecycle`: the server of a trial's engine
//! - `store`: what is written of a trial that has ended
//! - `time_slicing`: contenders that run side by side in slices
//! - `trace_folder`: the folder of a trial's recorded requests
//! - `trial_storage`: the storage that a trial's conditions ask for
//! - `worker_group`: the work of a trial's workers, and its results

mod compaction;
pub(crate) mod conformance;
pub(crate) mod conformance_cache;
pub(crate) mod conformance_result;
mod contender_stop;
mod crash_recovery;
pub(crate) mod database_folder;
pub(crate) mod database_reuse;
mod environment;
pub(crate) mod fault_injector;
pub(crate) mod group;
pub(crate) mod isolation_check;
pub(crate) mod kept_server;
pub(crate) mod lifecycle;
pub(crate) mod measured_part;
pub(crate) mod phase_limit;
pub(crate) mod prepared_copy;
pub(crate) mod prepared_database;
mod run_watch;
mod server_lifecycle;
pub(crate) mod store;
mod time_slicing;
pub(crate) mod trace_folder;
mod trial_storage;
pub(crate) mod worker_group;
