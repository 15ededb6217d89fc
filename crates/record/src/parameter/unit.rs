//! The units in which [`parameters!`](crate::parameters) takes a size, in bytes, or a
//! duration, in seconds.
#![allow(
    non_upper_case_globals,
    reason = "they are written as people write them: `64 MiB`, `10 ms`"
)]

/// One byte.
pub const B: u64 = 1;
/// 1,024 bytes.
pub const KiB: u64 = 1 << 10;
/// 1,024 KiB.
pub const MiB: u64 = 1 << 20;
/// 1,024 MiB.
pub const GiB: u64 = 1 << 30;
/// 1,024 GiB.
pub const TiB: u64 = 1 << 40;
/// One millisecond.
pub const ms: f64 = 1e-3;
/// One second.
pub const s: f64 = 1.0;
/// 60 seconds.
pub const min: f64 = 60.0;
/// 3,600 seconds.
pub const h: f64 = 3_600.0;
