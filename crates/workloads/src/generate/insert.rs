//! Numbers for new items, and how many items may be chosen while others are still being written.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};

/// Most items that may be on their way at once: YCSB's `AcknowledgedCounterGenerator.WINDOW_SIZE`.
pub const WINDOW: u64 = 1 << 20;

/// The number of items to choose from, while it grows: the items below the count exist.
pub trait ItemCount: Send + Sync {
    /// The items that are surely there have the numbers below this one.
    fn count(&self) -> u64;
}

impl ItemCount for AtomicU64 {
    fn count(&self) -> u64 {
        self.load(SeqCst)
    }
}

/// Hands out the numbers of new items in order. An item can be chosen once it and all before it
/// are acknowledged, as with YCSB's `AcknowledgedCounterGenerator`; it is shared by the threads of
/// a process and takes no lock.
pub struct InsertSequence {
    next: AtomicU64,
    /// The items below this number are acknowledged.
    count: AtomicU64,
    /// In the place of each item modulo the window: the generation (see [`generation`]) of the last
    /// acknowledged item there.
    acknowledged: Box<[AtomicU8]>,
}

/// An insert was acknowledged while another, [`WINDOW`] items before it, is still on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("item {item} is acknowledged while item {waiting_for} is still being inserted")]
pub struct InsertWindowError {
    /// The item acknowledged.
    pub item: u64,
    /// The oldest item that is not.
    pub waiting_for: u64,
}

impl InsertSequence {
    /// A sequence whose first new item has this number; all below can be chosen at once.
    #[must_use]
    pub fn new(first: u64) -> Self {
        Self {
            next: AtomicU64::new(first),
            count: AtomicU64::new(first),
            acknowledged: (0..WINDOW).map(|_| AtomicU8::new(0)).collect(),
        }
    }

    /// The number of the next new item, which nobody else gets.
    pub fn claim(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    /// The item is in the database. As in YCSB, one whose insert failed is acknowledged as well,
    /// lest the rest wait for it for ever.
    ///
    /// # Errors
    /// If an item [`WINDOW`] or more before it is not acknowledged yet.
    pub fn acknowledge(&self, item: u64) -> Result<(), InsertWindowError> {
        let waiting_for = self.count();
        if item < waiting_for {
            return Ok(());
        }
        if item - waiting_for >= WINDOW {
            return Err(InsertWindowError { item, waiting_for });
        }
        self.slot(item).store(generation(item), SeqCst);
        // A thread that finds the oldest item acknowledged advances. One that stores the mark of an
        // item just after another has looked for it will find the count at that item itself.
        let mut oldest = waiting_for;
        while self.slot(oldest).load(SeqCst) == generation(oldest) {
            match self
                .count
                .compare_exchange(oldest, oldest + 1, SeqCst, SeqCst)
            {
                Ok(_) => oldest += 1,
                Err(now) => oldest = now,
            }
        }
        Ok(())
    }

    fn slot(&self, item: u64) -> &AtomicU8 {
        &self.acknowledged[(item % WINDOW) as usize]
    }
}

impl ItemCount for InsertSequence {
    fn count(&self) -> u64 {
        self.count.load(SeqCst)
    }
}

/// The lap around the window that an item belongs to: 1 to 255, then 1 again. Two items that can be
/// in the same slot at the same time are one lap apart.
fn generation(item: u64) -> u8 {
    ((item / WINDOW) % 255 + 1) as u8
}
