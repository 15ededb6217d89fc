//! The audit of durability: does this build of this engine, with these settings, keep the level
//! that its driver states?
//!
//! A workload runs on a file system that records ([`trueput_faultfs`]). From the recording, states
//! are rebuilt in which a power cut could have left the files, under several models of storage
//! ([`trueput_record::audit::StorageModel`]). In each state a fresh process opens the database and
//! checks what the level promises. A state that breaks the promise is reduced to a minimal
//! counterexample, which can be replayed.
//!
//! The method follows ALICE (Pillai et al., OSDI 2014), CrashMonkey (Mohan et al., OSDI 2018),
//! LazyFS (Ramos et al., VLDB 2024) and Pathfinder (OOPSLA 2025). An audit refutes, or does not
//! refute; it never proves.

mod audit;
mod block_form;
pub mod control;
mod counterexample;
mod coverage;
mod error;
mod exploration;
mod failure;
mod flush_scope;
mod guarantee;
mod history;
mod image;
mod journal;
mod judgment;
mod kill;
mod model_run;
mod options;
mod pending;
mod process;
mod recorded;
mod recovery;
mod replay;
mod session;
mod state_judge;
mod stored_replay;
mod subject;
mod transaction;
mod worker;
mod write_back_loop;

pub use audit::{Progress, Stage, audit};
pub use block_form::concerns_devices;
pub use error::Error;
pub use options::AuditOptions;
pub use replay::{Replay, ReplayError, StoredRecording, replay};
pub use session::{AuditEvent, AuditRequest, audit_all};
pub use stored_replay::ReplayRequest;
pub use subject::{Subject, SubjectError};
pub use worker::WORKER_TASK;
