//! Hashes that others published and that results must agree with.

/// FNV-1a in 64 bits, as its authors define it: <http://www.isthe.com/chongo/tech/comp/fnv/>.
#[must_use]
pub fn fnv1a_64(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// YCSB's `Utils.fnvhash64`: FNV-1a of the number's eight bytes, the lowest first, and of that the
/// absolute value as a signed number. It scatters YCSB's keys and its popular items.
#[must_use]
pub fn ycsb_hash(number: u64) -> u64 {
    fnv1a_64(&number.to_le_bytes()).cast_signed().unsigned_abs()
}
