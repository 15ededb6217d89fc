//! Every workload and the generators, as one program: a test's name begins with its workload.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod changing_commits;
mod counting_meter;
mod custom;
mod data_source;
mod generate;
mod history;
mod insert_benchmark;
mod job_bench;
mod micro;
mod mixgraph;
mod not_found;
mod pgbench;
mod read_bytes;
mod statement_session;
mod storage;
mod support;
mod sysbench;
mod threen1;
mod tpcc;
mod trace;
mod user_bytes;
mod ycsb;
