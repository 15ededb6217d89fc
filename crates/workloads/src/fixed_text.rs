//! Text of bounded length without an allocation: the measured loop builds and decodes rows.

use std::fmt;

/// Up to `N` bytes of UTF-8, held in place.
#[derive(Clone, Copy)]
pub struct FixedText<const N: usize> {
    length: u16,
    bytes: [u8; N],
}

impl<const N: usize> FixedText<N> {
    /// No text.
    pub const EMPTY: Self = Self {
        length: 0,
        bytes: [0; N],
    };

    /// This text; `None` if it is longer than `N` bytes: nothing is cut in silence.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut made = Self::EMPTY;
        made.push(text).then_some(made)
    }

    /// The first `N` bytes of a text, fewer if that would cut a character.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        let mut made = Self::EMPTY;
        made.push(&text[..text.floor_char_boundary(N)]);
        made
    }

    /// Appends a text; returns `false`, and appends nothing, if it does not fit.
    pub fn push(&mut self, text: &str) -> bool {
        let (start, end) = (self.len(), self.len() + text.len());
        if end > N || end > usize::from(u16::MAX) {
            return false;
        }
        self.bytes[start..end].copy_from_slice(text.as_bytes());
        self.length = end as u16;
        true
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Bytes in it.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.length)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> fmt::Write for FixedText<N> {
    /// Appends a text if it fits whole; otherwise it is an error.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.push(text) {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

impl<const N: usize> PartialEq for FixedText<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<const N: usize> Eq for FixedText<N> {}

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl<const N: usize> fmt::Display for FixedText<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_cut_only_where_that_is_asked() {
        assert_eq!(FixedText::<3>::new("abcd"), None);
        assert_eq!(
            FixedText::<3>::new("abc").map(|text| text.to_string()),
            Some("abc".to_owned())
        );
        assert_eq!(FixedText::<3>::cut("abcd").as_str(), "abc");
        assert_eq!(FixedText::<2>::cut("a\u{e9}").as_str(), "a");
        let mut text = FixedText::<4>::cut("abc");
        assert!(!text.push("de") && text.push("d"));
        assert_eq!(text.as_str(), "abcd");
    }
}
