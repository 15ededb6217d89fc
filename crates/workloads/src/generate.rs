//! Random choices of a workload: item numbers by a distribution, the keys and values of items,
//! and the order in which they are written.
//!
//! Everything here is a function of a seed: the same seed gives the same operations and the same
//! bytes, on every machine. Nothing allocates, locks or asks the kernel once it is made. The one
//! exception to the first rule: the zipfian distributions use the C library's `pow`, whose last
//! bit may differ from one library to another.

pub mod distribution;
pub mod hash;
pub mod insert;
pub mod key;
pub mod permutation;
pub mod random;
pub mod value;
pub mod zipfian;
