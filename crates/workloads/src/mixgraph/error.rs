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
    /// The key range that should be the hottest is less than cold.
    #[error(
        "keyrange_dist_a to keyrange_dist_d give the hottest key range the hotness {hotness:.3e}: \
         a e^(b x) + c e^(d x) must not be below 0 for x=1; give a larger keyrange_dist_a or \
         keyrange_dist_c"
    )]
    NegativeHotness {
        /// The hotness at x = 1.
        hotness: f64,
    },
    /// The power law leads all operations to one key.
    #[error(
        "key_dist_a={a} and key_dist_b={b} lead all operations to one key; give others, as in \
         key_dist_a=0.002312 and key_dist_b=0.3467, or key_dist_a=0 for keys all alike"
    )]
    OneKey {
        /// a.
        a: f64,
        /// b.
        b: f64,
    },
    /// Every length is beyond its bound.
    #[error(
        "{prefix}_theta={theta} is not below {bound_name}={bound}, so every length would be a \
         remainder; give a smaller {prefix}_theta or a larger {bound_name}"
    )]
    BeyondBound {
        /// What the names of the parameters begin with.
        prefix: &'static str,
        /// The location.
        theta: f64,
        /// The setting of the bound.
        bound_name: &'static str,
        /// The bound.
        bound: u64,
    },
    /// Hardly any length is above 0.
    #[error(
        "{prefix}_theta={theta} makes less than one length in a million greater than 0; give \
         {prefix}_theta=0, or a larger {prefix}_sigma"
    )]
    NoLength {
        /// What the names of the parameters begin with.
        prefix: &'static str,
        /// The location.
        theta: f64,
    },
    /// Most lengths are longer than any bound may be.
    #[error(
        "{prefix}_k={k} and {prefix}_sigma={sigma} make most lengths greater than {most}, the \
         largest {bound_name}, so they would be remainders; give smaller ones"
    )]
    EndlessLengths {
        /// What the names of the parameters begin with.
        prefix: &'static str,
        /// The shape.
        k: f64,
        /// The scale.
        sigma: f64,
        /// The setting of the bound.
        bound_name: &'static str,
        /// The largest bound.
        most: u64,
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
