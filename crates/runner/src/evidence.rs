//! What is observed around a trial: samples, events, storage, flushes, faults and stalls, and the
//! measurement that is made of them.
//!
//! - `aggregate`: a trial's measurement, from the results of its workers
//! - `audit_store`: the audits that this user made
//! - `contradictions`: settings, and lost nodes, that contradict the promise of a trial's level
//! - `database_size`: the size of a database's files
//! - `engine_events`: checkpoints, compactions and stalls during a trial
//! - `failover`: what planned faults did to the workers of a cluster
//! - `flush_evidence`: whether the device's flushes explain the commits
//! - `hardware_limits`: rates of the machine without an engine
//! - `sampler`: samples of processes and machine once a second
//! - `second_latencies`: the latencies of a trial second by second
//! - `stalls`: parts of a trial that did not run
//! - `storage_stack`: the storage below a trial
//! - `summaries`: counts and latencies of several processes together
//! - `timeline`: a trial second by second
//! - `user_folder`: a folder of entries that belongs to this user alone

pub(crate) mod aggregate;
pub(crate) mod audit_store;
pub(crate) mod contradictions;
pub(crate) mod database_size;
pub(crate) mod engine_events;
pub(crate) mod failover;
pub(crate) mod flush_evidence;
pub(crate) mod hardware_limits;
pub(crate) mod sampler;
pub(crate) mod second_latencies;
pub(crate) mod stalls;
pub(crate) mod storage_stack;
pub(crate) mod summaries;
pub(crate) mod timeline;
pub(crate) mod user_folder;
