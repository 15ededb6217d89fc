//! Memory aligned to a page, as direct input and output require.

/// Larger than or equal to the block of every storage device in use.
const ALIGNMENT: usize = 4_096;

/// Bytes that begin at a multiple of 4,096.
#[derive(Debug)]
pub struct PageBuffer {
    room: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// Creates a buffer of this many zeros.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        let room = vec![0; length + ALIGNMENT];
        let start = room.as_ptr().align_offset(ALIGNMENT);
        Self {
            room,
            start,
            length,
        }
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.room[self.start..self.start + self.length]
    }

    /// Returns the bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_page_and_has_its_length() {
        for length in [1, 512, 65_536] {
            let mut buffer = PageBuffer::zeroed(length);
            assert_eq!(buffer.bytes().as_ptr().align_offset(ALIGNMENT), 0);
            assert_eq!(buffer.bytes_mut().len(), length);
        }
    }
}
