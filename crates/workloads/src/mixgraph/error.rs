//! The mistakes in the settings of `mixgraph`.

use crate::generate::key::KeyError;
use crate::generate::value::MIN_VALUE_BYTES;

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MixgraphError {
    /// No operation has a share.
    #[error("no operation has a share; give one of mix_get_ratio, mix_put_ratio, mix_seek_ratio")]
    NoShare,
    /// A loaded value has no room for its check.
    #[error(
        "values of {bytes} bytes have no room for the {MIN_VALUE_BYTES} bytes by which reads are \
         verified; give value_size={MIN_VALUE_BYTES} or more, or 0"
    )]
    ShortValue {
        /// Its length.
        bytes: u64,
    },
    /// There are more key ranges than records.
    #[error(
        "keyrange_num={ranges} is more than the {records} records of num; give fewer key ranges"
    )]
    FewRecords {
        /// The key ranges.
        ranges: u64,
        /// The records.
        records: u64,
    },
    /// A random number below the number of records cannot choose every kind.
    #[error(
        "num={records} is less than the {numbers} numbers by which one draw chooses among the \
         kinds; give more records, or one_draw=off"
    )]
    FewNumbers {
        /// The records.
        records: u64,
        /// The numbers.
        numbers: u64,
    },
    /// No key range is ever chosen.
    #[error(
        "keyrange_dist_a to keyrange_dist_d leave no key range a chance to be chosen: \
         a e^(b x) + c e^(d x) must exceed 1e-16 for some x from 1 to {ranges}; give others, or \
         four zeros for none"
    )]
    NoHotRange {
        /// The key ranges.
        ranges: u64,
    },
    /// The hottest key range is so much hotter than the coldest that a whole number of operations
    /// for each takes more than all keys.
    #[error(
        "keyrange_dist_a to keyrange_dist_d give the hottest key range too many times the \
         operations of the coldest for num={records}; give more records, or fewer key ranges"
    )]
    UnevenRanges {
        /// The records.
        records: u64,
    },
    /// Both the sine and the run, or a search for a rate, set a rate.
    #[error(
        "sine_mix_rate=on states the rate itself, so no other can be given or searched: give \
         sine_mix_rate=off"
    )]
    SineAtRate,
    /// Keys or values that are longer than an engine takes.
    #[error(
        "{subject} of {bytes} bytes are longer than the {max_bytes} that this engine takes; give \
         {setting}={max_bytes} or less"
    )]
    TooLong {
        /// What is too long.
        subject: &'static str,
        /// Its length.
        bytes: usize,
        /// The engine's limit.
        max_bytes: usize,
        /// The setting of the length.
        setting: &'static str,
    },
    /// The key format cannot be made.
    #[error(transparent)]
    Key(#[from] KeyError),
}
