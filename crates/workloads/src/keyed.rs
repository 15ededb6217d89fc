//! The core that the workloads on keys and values share: a new one brings settings and a mix.
//!
//! A keyed workload draws operations by weight, chooses a record for each, does the operation in a
//! transaction that is retried after conflicts, and validates every read. The parts:
//!
//! | part | here | its choices |
//! |---|---|---|
//! | operations | [`kinds::KindSet`], [`draws::OperationMix`] | their weights |
//! | keys | [`Chooser`](crate::generate::distribution::Chooser) | distribution, key format |
//! | lengths of keys | [`record::RecordKeys`] | all the same, or [`sized_keys::SizedKeys`] |
//! | order of keys | [`partition::Partitions`] | that of all records, or by worker |
//! | values | [`record::RecordMaker`] | [`draws::ValueLengths`], [`draws::RecordLengths`] |
//! | versions | [`versions::TrialVersions`] | none |
//! | expected | [`write_tracker::WriteTracker`], [`update_counts::UpdateValidator`] | one each |
//! | checks | [`read_check::ReadValidator`], [`read_check::ReadCounts`] | what a read may return |
//! | reads | [`record_reader::RecordReader`] | alone or in a transaction |
//! | after the trial | [`final_check::verify`] | [`expected_state::ReplayableJob`] |
//! | transactions | [`executor::TransactionExecutor`], of `custom` and `trace` | their operations |
//! | work | [`units::run_units`], [`transaction::transact`], [`load::load_unless_loaded`] | none |
//!
//! `micro` and `ycsb` have a loop of their own, which knows their few operations.
//!
//! Nothing here allocates, locks or formats within the measured loop, except to report an error.

pub(crate) mod action;
pub(crate) mod backoff;
pub(crate) mod capacity;
pub(crate) mod changing_writes;
pub(crate) mod depletion;
pub(crate) mod draws;
pub(crate) mod error;
pub(crate) mod executor;
pub(crate) mod expected_state;
pub(crate) mod final_check;
pub(crate) mod inserts;
pub(crate) mod kinds;
pub(crate) mod load;
pub(crate) mod partition;
pub(crate) mod queue_scan;
pub(crate) mod rate_limiter;
pub(crate) mod read_check;
pub(crate) mod record;
pub(crate) mod record_reader;
pub(crate) mod scan;
pub(crate) mod shared_state;
pub(crate) mod sized_keys;
pub(crate) mod static_text;
pub(crate) mod transaction;
pub(crate) mod units;
pub(crate) mod update_counts;
pub(crate) mod versions;
pub(crate) mod write_tracker;
