//! The keys of items: hexadecimal or binary numbers of any width, and YCSB's names. None allocates.

use super::hash::ycsb_hash;

/// Longest key, bytes.
pub const MAX_KEY_BYTES: usize = 1_000;

/// Shortest plain key, bytes: any item number fits.
pub const MIN_KEY_BYTES: usize = 8;

/// Digits of a number in hexadecimal: a plain key of this width or more is text.
const HEX_DIGITS: usize = 16;

/// The prefix of YCSB's keys.
const YCSB_PREFIX: &[u8] = b"user";

/// Digits of the greatest 64-bit number.
const MAX_DECIMAL_DIGITS: usize = 20;

/// Room for one key under construction.
#[derive(Debug, Clone)]
pub struct KeyBuffer([u8; MAX_KEY_BYTES]);

impl Default for KeyBuffer {
    fn default() -> Self {
        Self([0; MAX_KEY_BYTES])
    }
}

/// The format of item numbers as keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFormat(KeyShape);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyShape {
    Binary { bytes: usize },
    Hexadecimal { bytes: usize },
    YcsbHashed { digits: usize },
    YcsbOrdered { digits: usize },
}

/// The reasons why a key format is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A plain key's width is out of range.
    #[error("keys of {given} bytes cannot be made; give {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes")]
    Width {
        /// The bytes asked for.
        given: usize,
    },
    /// YCSB's padding is out of range.
    #[error(
        "a zeropadding of {given} cannot be made; give 0 to {}",
        MAX_KEY_BYTES - YCSB_PREFIX.len()
    )]
    Padding {
        /// The digits asked for.
        given: usize,
    },
}

impl KeyFormat {
    /// Keys of `bytes` bytes, in the order of the items. From 16 bytes on they are lower-case
    /// hexadecimal with zeros before it (C's `%016lx`, as in db_bench and Symas's tests); shorter
    /// ones are binary, the highest byte first, with zero bytes before it.
    ///
    /// # Errors
    /// If the width is not [`MIN_KEY_BYTES`] to [`MAX_KEY_BYTES`].
    pub fn plain(bytes: usize) -> Result<Self, KeyError> {
        match bytes {
            MIN_KEY_BYTES..HEX_DIGITS => Ok(Self(KeyShape::Binary { bytes })),
            HEX_DIGITS..=MAX_KEY_BYTES => Ok(Self(KeyShape::Hexadecimal { bytes })),
            given => Err(KeyError::Width { given }),
        }
    }

    /// YCSB's keys with `insertorder=hashed`, its default: `user` and the hash of the item in at
    /// least `zero_padding` digits (YCSB's `zeropadding`, 1 unless set).
    ///
    /// # Errors
    /// If keys would grow beyond [`MAX_KEY_BYTES`].
    pub fn ycsb_hashed(zero_padding: usize) -> Result<Self, KeyError> {
        let digits = padding(zero_padding)?;
        Ok(Self(KeyShape::YcsbHashed { digits }))
    }

    /// YCSB's keys with `insertorder=ordered`: `user` and the item in at least `zero_padding`
    /// digits.
    ///
    /// # Errors
    /// If keys would grow beyond [`MAX_KEY_BYTES`].
    pub fn ycsb_ordered(zero_padding: usize) -> Result<Self, KeyError> {
        let digits = padding(zero_padding)?;
        Ok(Self(KeyShape::YcsbOrdered { digits }))
    }

    /// The key of an item.
    #[inline]
    pub fn write<'b>(&self, item: u64, buffer: &'b mut KeyBuffer) -> &'b [u8] {
        let bytes = &mut buffer.0;
        match self.0 {
            KeyShape::Binary { bytes: width } => {
                let key = &mut bytes[..width];
                let (zeros, number) = key.split_at_mut(width - MIN_KEY_BYTES);
                zeros.fill(0);
                number.copy_from_slice(&item.to_be_bytes());
                key
            }
            KeyShape::Hexadecimal { bytes: width } => {
                let key = &mut bytes[..width];
                let (zeros, number) = key.split_at_mut(width - HEX_DIGITS);
                zeros.fill(b'0');
                write_hexadecimal(item, number);
                key
            }
            KeyShape::YcsbHashed { digits } => write_name(ycsb_hash(item), digits, bytes),
            KeyShape::YcsbOrdered { digits } => write_name(item, digits, bytes),
        }
    }

    /// The item of a key, if this format writes one to it. Of YCSB's hashed keys it is never known;
    /// the item is in the value: see [`super::value::Values::owner`].
    #[must_use]
    pub fn read(&self, key: &[u8]) -> Option<u64> {
        match self.0 {
            KeyShape::Binary { bytes } => {
                let number = number_part(key, bytes, MIN_KEY_BYTES, 0)?;
                Some(u64::from_be_bytes(number.try_into().ok()?))
            }
            KeyShape::Hexadecimal { bytes } => {
                let digits = number_part(key, bytes, HEX_DIGITS, b'0')?;
                digits.iter().try_fold(0_u64, |number, digit| {
                    let value = match digit {
                        b'0'..=b'9' => digit - b'0',
                        b'a'..=b'f' => digit - b'a' + 10,
                        _ => return None,
                    };
                    Some((number << 4) | u64::from(value))
                })
            }
            KeyShape::YcsbHashed { .. } => None,
            KeyShape::YcsbOrdered { digits } => read_name(key, digits),
        }
    }

    /// Length of the longest key, bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        match self.0 {
            KeyShape::Binary { bytes } | KeyShape::Hexadecimal { bytes } => bytes,
            // A hash has no sign bit, and so a digit less.
            KeyShape::YcsbHashed { digits } => {
                YCSB_PREFIX.len() + digits.max(MAX_DECIMAL_DIGITS - 1)
            }
            KeyShape::YcsbOrdered { digits } => YCSB_PREFIX.len() + digits.max(MAX_DECIMAL_DIGITS),
        }
    }

    /// Whether the keys of the items below `items` sort as the items do.
    #[must_use]
    pub fn sorts_as_items(&self, items: u64) -> bool {
        match self.0 {
            KeyShape::Binary { .. } | KeyShape::Hexadecimal { .. } => true,
            KeyShape::YcsbHashed { .. } => items <= 1,
            KeyShape::YcsbOrdered { digits } => {
                let longest = items.saturating_sub(1).checked_ilog10().unwrap_or(0) + 1;
                longest as usize <= digits.max(1)
            }
        }
    }
}

fn padding(given: usize) -> Result<usize, KeyError> {
    if given <= MAX_KEY_BYTES - YCSB_PREFIX.len() {
        Ok(given)
    } else {
        Err(KeyError::Padding { given })
    }
}

/// The last `digits` bytes of a key of `width` bytes, if nothing but `zero` is before them.
fn number_part(key: &[u8], width: usize, digits: usize, zero: u8) -> Option<&[u8]> {
    let (before, number) = key.split_at_checked(width.checked_sub(digits)?)?;
    (number.len() == digits && before.iter().all(|byte| *byte == zero)).then_some(number)
}

fn write_hexadecimal(number: u64, digits: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

fn write_name(number: u64, digits: usize, bytes: &mut [u8; MAX_KEY_BYTES]) -> &[u8] {
    let needed = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let end = YCSB_PREFIX.len() + needed.max(digits);
    bytes[..YCSB_PREFIX.len()].copy_from_slice(YCSB_PREFIX);
    let mut rest = number;
    for digit in bytes[YCSB_PREFIX.len()..end].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    &bytes[..end]
}

fn read_name(key: &[u8], digits: usize) -> Option<u64> {
    let number = key.strip_prefix(YCSB_PREFIX)?;
    // Leading zeros are valid only if they fill the width.
    let padded = number.len() == digits.max(1);
    if number.is_empty() || number.len() < digits || (number[0] == b'0' && !padded) {
        return None;
    }
    number.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
