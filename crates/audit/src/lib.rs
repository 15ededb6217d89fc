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
//!
//! # Modules
//!
//! What the user asks for:
//! - `audit_all`: the audits of one command: the folders, the controls, the record
//! - `subject`: the subject of an audit: a build of an engine, at a level, with knobs
//! - `options`: limits and folders of an audit
//! - `control`: a small log engine with faults that can be planted
//! - `fault_table`: the storage faults of one command: the controls, the record
//! - `audit`: the audit of one subject: record, explore, judge, shrink
//!
//! The recording of a workload:
//! - `recorded`: the recording, with the history of its commits
//! - `block_form`: a file system in an image, for the block form
//! - `worker_process`: worker processes, as their parent sees them
//! - `worker`: what runs in them: a workload is recorded or endures faults, or a state is inspected
//! - `transaction`: the transactions that they commit
//! - `history`: when each commit began and when it was acknowledged
//! - `write_back_loop`: writes back dirty pages of mapped files, so that they are recorded
//!
//! A workload under storage faults:
//! - `fault_trial`: one trial: the workload, and what is left of it
//! - `event_log`: what happens to the workload
//! - `fault_outcome`: the outcome, from what was seen
//!
//! The states in which a power cut could have left the files:
//! - `exploration`: the order in which states are tried
//! - `pending`: the changes that no flush had covered at a cut
//! - `coverage`: for each operation, the first flush that covers it
//! - `flush_scope`: what a flush covers
//! - `journal`: the activity of a file system's journal
//! - `image`: the files of a state, rebuilt from the recording
//! - `kill`: processes that are really killed
//! - `recovery`: crashes of recovery itself
//!
//! The verdict:
//! - `state_judge`: states, examined by fresh processes
//! - `judgment`: what a level promises, against what an inspection found
//! - `guarantee`: guarantees of levels after a failure
//! - `model_run`: the counts of one model of storage
//! - `counterexample`: counterexamples, made small and put into words
//! - `replay`: replays of counterexamples
//! - `stored_replay`: the replay of one that is in the folder of an audit
//! - `failure`: why an audit has no result
//! - `error`: why there is no audit

mod audit;
mod audit_all;
mod block_form;
pub mod control;
mod counterexample;
mod coverage;
mod error;
mod event_log;
mod exploration;
mod failure;
mod fault_outcome;
mod fault_table;
mod fault_trial;
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
mod recorded;
mod recovery;
mod replay;
mod state_judge;
mod stored_replay;
mod subject;
mod transaction;
mod worker;
mod worker_process;
mod write_back_loop;

pub use audit::{Progress, Stage, audit};
pub use audit_all::{AuditEvent, AuditRequest, audit_all};
pub use block_form::concerns_devices;
pub use error::Error;
pub use failure::{Failure, NoReport};
pub use fault_table::{EarlierFaults, FaultEvent, FaultRequest, try_faults};
pub use options::AuditOptions;
pub use replay::{ImpossibleState, Replay, ReplayError, StoredRecording, replay};
pub use stored_replay::ReplayRequest;
pub use subject::{Subject, SubjectError};
pub use worker::WORKER_TASK;
