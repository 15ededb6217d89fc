//! The limits of memory: bytes copied, and dependent reads, each of which must end before the
//! location of the next one is known.

use super::rate;
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;
use trueput_record::hardware_limits::MemoryBandwidth;

/// The region that is read: beyond any cache of a processor's own.
const REGION_BYTES: usize = 64 << 20;

/// Bytes copied at once by each thread.
const COPY_BYTES: usize = 4 << 20;

/// So few lines still make a ring.
const MIN_LINES: usize = 64;

/// The size of a cache line, accurately enough for this purpose.
const LINE_BYTES: usize = 64;

/// Words from the start of a line to the start of the next.
const STRIDE: usize = LINE_BYTES / size_of::<u32>();

/// Measures both on this many threads, in half of the permitted memory.
pub(super) fn measure(threads: u32, memory_bytes: Option<u64>) -> MemoryBandwidth {
    let quarter = memory_bytes.map_or(usize::MAX, |bytes| {
        usize::try_from(bytes / 4).unwrap_or(usize::MAX)
    });
    let lines = quarter.min(REGION_BYTES) / LINE_BYTES;
    let lines = lines.max(MIN_LINES);
    let copy_bytes = (quarter / (2 * threads.max(1) as usize)).clamp(LINE_BYTES, COPY_BYTES);
    let ring = ring(lines);
    let reads = rate(
        threads,
        |thread| Ok(thread as usize * 7_919 % lines),
        |place, stop| {
            let mut reads = 0;
            while !stop.load(Relaxed) {
                for _ in 0..1_024 {
                    *place = ring[*place * STRIDE] as usize;
                }
                reads += 1_024;
            }
            black_box(*place);
            Ok(reads)
        },
    );
    let copies = rate(
        threads,
        |_| Ok((vec![1_u8; copy_bytes], vec![0_u8; copy_bytes])),
        |(from, to), stop| {
            let mut copied = 0;
            while !stop.load(Relaxed) {
                to.copy_from_slice(black_box(from));
                black_box(&mut *to);
                copied += copy_bytes as u64;
            }
            Ok(copied)
        },
    );
    MemoryBandwidth {
        region_bytes: (lines * LINE_BYTES) as u64,
        copied_bytes_per_s: copies.unwrap_or_default(),
        dependent_reads_per_s: reads.unwrap_or_default(),
    }
}

/// Returns a random cycle through all lines, each with the number of the next one to read (Sattolo,
/// 1986).
fn ring(lines: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut state = 1_u64;
    for last in (1..lines).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, ((state >> 33) % last as u64) as usize);
    }
    let mut ring = vec![0; lines * STRIDE];
    for (line, next) in order.into_iter().enumerate() {
        ring[line * STRIDE] = next;
    }
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_passes_every_line_once() {
        let ring = ring(1_000);
        let mut place = 0;
        let mut seen = vec![false; 1_000];
        for _ in 0..1_000 {
            assert!(!std::mem::replace(&mut seen[place], true));
            place = ring[place * STRIDE] as usize;
        }
        assert_eq!(place, 0);
    }
}
