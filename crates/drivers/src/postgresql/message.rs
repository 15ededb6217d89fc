//! The parts of messages: lengths, texts, the columns of a row, statement descriptions (PostgreSQL
//! documentation, "Message Formats").

use trueput_engine::{Error, Result};

/// Writes the length of a message, itself included, in the four bytes at `start`.
pub(super) fn end_message(out: &mut [u8], start: usize) -> Result<()> {
    let bytes = length(out.len() - start)?.to_be_bytes();
    out[start..start + 4].copy_from_slice(&bytes);
    Ok(())
}

pub(super) fn push_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::Unsupported("a zero byte in a text".to_owned()));
    }
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

/// A length as the protocol writes it.
pub(super) fn length(bytes: usize) -> Result<i32> {
    i32::try_from(bytes).map_err(|_| Error::Unsupported("a message of 2 GiB or more".to_owned()))
}

/// The error for bytes that are not a message of the protocol.
pub(super) fn invalid_message() -> Error {
    Error::engine("the server sent what is not of its protocol")
}

/// The bytes of a value of fixed length.
pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| invalid_message())
}

/// The number at the end of a command's tag: `INSERT 0 1`, `UPDATE 3`.
pub(super) fn rows_of(tag: &[u8]) -> u64 {
    let text = std::str::from_utf8(tag)
        .unwrap_or_default()
        .trim_end_matches('\0');
    text.rsplit(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_default()
}

/// A field of an error, by its letter.
pub(super) fn field(body: &[u8], letter: u8) -> Option<String> {
    let mut fields = body.split(|&byte| byte == 0);
    let found = fields.find(|field| field.first() == Some(&letter))?;
    Some(String::from_utf8_lossy(&found[1..]).into_owned())
}

/// The columns of a row, one after the other.
pub(super) struct RowColumns<'a> {
    rest: &'a [u8],
}

impl<'a> RowColumns<'a> {
    /// Of the body of a row's message.
    ///
    /// # Errors
    /// [`Error::Engine`], if the bytes are not valid.
    pub fn of(row: &'a [u8]) -> Result<Self> {
        let (_count, rest) = row.split_first_chunk::<2>().ok_or_else(invalid_message)?;
        Ok(Self { rest })
    }

    /// The bytes of the next column; `None` for NULL.
    ///
    /// # Errors
    /// [`Error::Engine`], if there is none.
    pub fn next_column(&mut self) -> Result<Option<&'a [u8]>> {
        let (size, rest) = self
            .rest
            .split_first_chunk::<4>()
            .ok_or_else(invalid_message)?;
        let Ok(size) = usize::try_from(i32::from_be_bytes(*size)) else {
            self.rest = rest;
            return Ok(None);
        };
        let (column, rest) = rest.split_at_checked(size).ok_or_else(invalid_message)?;
        self.rest = rest;
        Ok(Some(column))
    }
}

/// The types of parameters, of the body of a ParameterDescription.
///
/// # Errors
/// [`Error::Engine`], if the bytes are not valid.
pub(super) fn parameter_types(body: &[u8]) -> Result<Vec<u32>> {
    let (_count, rest) = body.split_first_chunk::<2>().ok_or_else(invalid_message)?;
    let types = rest.chunks_exact(4);
    Ok(types
        .map(|id| u32::from_be_bytes([id[0], id[1], id[2], id[3]]))
        .collect())
}

/// The types of columns, of the body of a RowDescription.
///
/// # Errors
/// [`Error::Engine`], if the bytes are not valid.
pub(super) fn column_types(body: &[u8]) -> Result<Vec<u32>> {
    Ok(parse_description(body)?
        .into_iter()
        .map(|(_, id)| id)
        .collect())
}

/// The names of columns, likewise.
///
/// # Errors
/// [`Error::Engine`], if the bytes are not valid.
pub(super) fn column_names(body: &[u8]) -> Result<Vec<String>> {
    Ok(parse_description(body)?
        .into_iter()
        .map(|(name, _)| name)
        .collect())
}

/// Of each column a name that ends in zero, then 18 bytes, of which 6 to 10 are the type's id.
fn parse_description(body: &[u8]) -> Result<Vec<(String, u32)>> {
    let (_count, mut rest) = body.split_first_chunk::<2>().ok_or_else(invalid_message)?;
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let end = rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(invalid_message)?;
        let name = String::from_utf8_lossy(&rest[..end]).into_owned();
        let (facts, after) = rest[end + 1..]
            .split_at_checked(18)
            .ok_or_else(invalid_message)?;
        columns.push((name, u32::from_be_bytes(fixed(&facts[6..10])?)));
        rest = after;
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_command_stand_at_the_end_of_its_tag() {
        assert_eq!(rows_of(b"INSERT 0 12\0"), 12);
        assert_eq!(rows_of(b"UPDATE 3\0"), 3);
        assert_eq!(rows_of(b"BEGIN\0"), 0);
    }

    #[test]
    fn a_text_with_a_zero_byte_is_refused() {
        let mut out = Vec::new();
        assert!(push_text(&mut out, "a\0b").is_err());
        push_text(&mut out, "ab").unwrap();
        assert_eq!(out, b"ab\0");
    }
}
