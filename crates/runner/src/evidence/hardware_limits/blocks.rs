//! Reads and writes of 4 KiB blocks, bypassing the page cache if the file system permits.

use super::rate;
use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use trueput_record::hardware_limits::BlockLimit;

const BLOCK: usize = 4_096;

/// Blocks of the file: 32 MiB, enough that a device cannot reorder them all.
const BLOCKS: u64 = 8_192;

/// A block that is where direct I/O wants it.
#[repr(align(4096))]
struct AlignedBlock([u8; BLOCK]);

/// Measures four rates in a separate file.
///
/// # Errors
/// The error of the operating system.
pub(super) fn measure(folder: &Path, threads: u32) -> std::io::Result<BlockLimit> {
    let path = folder.join("blocks");
    let file = File::create_new(&path)?;
    let blank = vec![0xA5; BLOCK * 256];
    for part in 0..BLOCKS / 256 {
        file.write_all_at(&blank, part * blank.len() as u64)?;
    }
    file.sync_all()?;
    let direct = open(&path, true).is_ok();
    let measured = |work: AccessPattern| {
        rate(
            threads,
            |thread| {
                Ok((
                    open(&path, direct)?,
                    BlockSequence::new(thread, threads, work.random),
                ))
            },
            |(file, sequence), stop| blocks(file, sequence, stop, work.write),
        )
    };
    Ok(BlockLimit {
        direct,
        sequential_writes_per_s: measured(AccessPattern {
            write: true,
            random: false,
        })?,
        sequential_reads_per_s: measured(AccessPattern {
            write: false,
            random: false,
        })?,
        random_writes_per_s: measured(AccessPattern {
            write: true,
            random: true,
        })?,
        random_reads_per_s: measured(AccessPattern {
            write: false,
            random: true,
        })?,
    })
}

#[derive(Clone, Copy)]
struct AccessPattern {
    write: bool,
    random: bool,
}

fn open(path: &Path, direct: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if direct {
        options.custom_flags(OFlag::O_DIRECT.bits());
    }
    options.open(path)
}

fn blocks(
    file: &File,
    sequence: &mut BlockSequence,
    stop: &AtomicBool,
    write: bool,
) -> std::io::Result<u64> {
    let mut block = Box::new(AlignedBlock([0xA5; BLOCK]));
    let mut done = 0;
    while !stop.load(Relaxed) {
        let place = sequence.next() * BLOCK as u64;
        if write {
            file.write_all_at(&block.0, place)?;
        } else {
            file.read_exact_at(&mut block.0, place)?;
        }
        done += 1;
    }
    Ok(done)
}

/// The choice of the next block: sequential from the thread's own position, or random.
struct BlockSequence {
    next: u64,
    random: bool,
}

impl BlockSequence {
    fn new(thread: u32, threads: u32, random: bool) -> Self {
        let next = BLOCKS * u64::from(thread) / u64::from(threads.max(1));
        Self { next, random }
    }

    fn next(&mut self) -> u64 {
        if self.random {
            // Knuth's linear congruential generator; its upper bits are good enough for places.
            let multiplier = 6_364_136_223_846_793_005_u64;
            self.next = self
                .next
                .wrapping_mul(multiplier)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.next >> 33) % BLOCKS
        } else {
            self.next = (self.next + 1) % BLOCKS;
            self.next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_order_wrap_around_and_random_ones_spread() {
        let mut ordered = BlockSequence::new(1, 2, false);
        assert_eq!(ordered.next(), BLOCKS / 2 + 1);
        let mut random = BlockSequence::new(0, 1, true);
        let seen: std::collections::BTreeSet<u64> = (0..1_000).map(|_| random.next()).collect();
        assert!(seen.len() > 900 && seen.iter().all(|place| *place < BLOCKS));
    }
}
