//! Worker processes: how they are started, what the runner and they tell each other, and what runs
//! in them.
//!
//! - `arrival_schedule`: when each unit of an open loop is due
//! - `attachment`: what a worker hands to the verification besides its findings
//! - `clock`: the clock of the measured part
//! - `delegated`: tasks of crates above the runner in worker processes
//! - `local`: worker processes on this host that work together
//! - `meter`: counting and timing in the measured loop
//! - `process`: the program of a worker process
//! - `protocol`: instructions and reports between runner and workers
//! - `task_process`: a task that runs in one process of its own
//! - `trace_file`: the requests of a trial, recorded
//! - `trial_workers`: the worker processes of a trial, on this host or on others
//! - `worker_process`: one worker process on this host

mod arrival_schedule;
pub(crate) mod attachment;
pub(crate) mod clock;
pub mod delegated;
pub(crate) mod local;
pub mod meter;
pub mod process;
pub(crate) mod protocol;
pub(crate) mod task_process;
pub(crate) mod trace_file;
pub(crate) mod trial_workers;
pub(crate) mod worker_process;
