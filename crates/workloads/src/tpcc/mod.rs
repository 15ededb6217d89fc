//! The tpcc workload, after TPC-C revision 5.11: not an audited TPC-C result.
//!
//! `docs/workloads/tpcc.md` says, clause by clause, what is implemented and what is not.

pub mod rows;
pub mod tables;
pub mod text;
