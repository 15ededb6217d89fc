//! The generators against published figures, against YCSB's own code and against their own claims.

mod distribution;
mod insert;
mod key;
mod permutation;
mod random;
mod statistics;
mod value;
mod ycsb;
