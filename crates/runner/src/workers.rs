//! Worker processes: how they are started, what the runner and they tell each other, and what runs
//! in them.
//!
//! In the runner:
//! - `delegated`: tasks of crates above the runner in worker processes
//! - `local`: worker processes on this host that work together
//! - `task_process`: a task that runs in one process of its own
//! - `trial_workers`: the worker processes of a trial, on this host or on others
//! - `worker_process`: one worker process on this host
//!
//! In a worker:
//! - `arrival_schedule`: when each unit of an open loop is due
//! - `interval_latencies`: the latencies of an interval, read while workers count
//! - `latency_counts`: the latencies of one kind of operation of one worker
//! - `meter`: counting and timing in the measured loop
//! - `worker_main`: the program of a worker process
//!
//! On both sides:
//! - `attachment`: what a worker hands to the verification besides its findings
//! - `clock`: the clock of the measured part
//! - `protocol`: instructions and reports between runner and workers
//! - `stopped_time`: for how long a contender was stopped between its time slices
//! - `trace_file`: the requests of a trial, recorded

mod arrival_schedule;
pub(crate) mod attachment;
pub(crate) mod clock;
pub mod delegated;
pub(crate) mod interval_latencies;
pub(crate) mod latency_counts;
pub(crate) mod local;
pub mod meter;
pub(crate) mod protocol;
pub(crate) mod stopped_time;
pub(crate) mod task_process;
pub(crate) mod trace_file;
pub(crate) mod trial_workers;
pub mod worker_main;
pub(crate) mod worker_process;
