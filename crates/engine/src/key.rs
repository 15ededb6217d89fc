//! Keys whose byte order is the order of the encoded values.
//!
//! Integers are big-endian with the sign bit, if any, flipped; text and byte strings end
//! in a terminator that sorts below every continuation. So composite keys sort field by field in
//! every engine that compares bytes, whatever the machine's own byte order.

/// Longest key that a [`KeyBuffer`] holds, bytes. LMDB's default limit is 511.
pub const MAX_KEY_BYTES: usize = 511;

/// A key under construction, on the stack: the measured loop must not allocate.
#[derive(Debug, Clone)]
pub struct KeyBuffer {
    bytes: [u8; MAX_KEY_BYTES],
    length: usize,
}

impl Default for KeyBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyBuffer {
    /// Creates an empty key.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_KEY_BYTES],
            length: 0,
        }
    }

    /// Starts anew.
    pub fn clear(&mut self) -> &mut Self {
        self.length = 0;
        self
    }

    /// Returns the key so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Appends bytes as they are: for prefixes of fixed length.
    ///
    /// # Panics
    /// If the key would grow beyond [`MAX_KEY_BYTES`].
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        let end = self.length + bytes.len();
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
        self
    }

    /// Appends an unsigned number in one byte.
    pub fn u8(&mut self, number: u8) -> &mut Self {
        self.raw(&[number])
    }

    /// Appends an unsigned number in two bytes.
    pub fn u16(&mut self, number: u16) -> &mut Self {
        self.raw(&number.to_be_bytes())
    }

    /// Appends an unsigned number in four bytes.
    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&number.to_be_bytes())
    }

    /// Appends an unsigned number in eight bytes.
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.raw(&number.to_be_bytes())
    }

    /// Appends a signed number in eight bytes; negative ones sort first.
    pub fn i64(&mut self, number: i64) -> &mut Self {
        self.u64(number as u64 ^ (1 << 63))
    }

    /// Appends a byte string of any content and ends it: a zero byte becomes `00 FF`, the end is
    /// `00 00`, so that a string sorts before its own continuations.
    ///
    /// # Panics
    /// As [`KeyBuffer::raw`].
    pub fn bytes(&mut self, string: &[u8]) -> &mut Self {
        for &byte in string {
            if byte == 0 {
                self.raw(&[0, 0xFF]);
            } else {
                self.raw(&[byte]);
            }
        }
        self.raw(&[0, 0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &[u8], signed: i64, unsigned: u64) -> Vec<u8> {
        KeyBuffer::new()
            .bytes(text)
            .i64(signed)
            .u64(unsigned)
            .as_bytes()
            .to_vec()
    }

    proptest! {
        #[test]
        fn the_order_of_keys_is_the_order_of_their_fields(
            a in (proptest::collection::vec(0_u8..3, 0..6), any::<i64>(), any::<u64>()),
            b in (proptest::collection::vec(0_u8..3, 0..6), any::<i64>(), any::<u64>()),
        ) {
            prop_assert_eq!(a.cmp(&b), key(&a.0, a.1, a.2).cmp(&key(&b.0, b.1, b.2)));
        }

        #[test]
        fn narrow_integers_keep_their_order(
            a in any::<(u8, u16, u32)>(),
            b in any::<(u8, u16, u32)>(),
        ) {
            let key = |(x, y, z)| KeyBuffer::new().u8(x).u16(y).u32(z).as_bytes().to_vec();
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
        }
    }
}
