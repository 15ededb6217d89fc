//! The units in which [`parameters!`](crate::parameters) takes a size, in bytes.
#![allow(
    non_upper_case_globals,
    reason = "they are written as people write them: `64 MiB`"
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
