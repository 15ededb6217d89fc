//! Bytes as text, for a data source that has no bytes in an index. The order stays.

use trueput_engine::{Error, Result};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes `bytes` into `text`, which is emptied before.
pub(super) fn write(bytes: &[u8], text: &mut String) {
    text.clear();
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Reads bytes out of `text` into `room`.
///
/// # Errors
/// A text that [`write()`] did not write.
pub(super) fn read<'r>(text: &str, room: &'r mut Vec<u8>) -> Result<&'r [u8]> {
    let digit = |letter: u8| char::from(letter).to_digit(16);
    let invalid = || Error::engine(format!("'{text}' is not a record of this program's"));
    room.clear();
    for pair in text.as_bytes().chunks(2) {
        let byte = match pair {
            [high, low] => digit(*high).zip(digit(*low)),
            _ => None,
        };
        let (high, low) = byte.ok_or_else(invalid)?;
        room.push((high * 16 + low) as u8);
    }
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_their_order_stays() {
        let (mut text, mut room) = (String::new(), Vec::new());
        let all: Vec<u8> = (0..=255).collect();
        write(&all, &mut text);
        assert_eq!(text.len(), 512);
        assert_eq!(read(&text, &mut room), Ok(all.as_slice()));
        let written = |bytes: &[u8]| {
            let mut text = String::new();
            write(bytes, &mut text);
            text
        };
        assert!(written(b"\x09") < written(b"\x0a") && written(b"a") < written(b"a\0"));
        assert!(written(b"\x7f") < written(b"\x80") && written(b"").is_empty());
        assert!(read("abc", &mut room).is_err() && read("zz", &mut room).is_err());
    }
}
