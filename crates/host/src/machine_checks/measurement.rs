//! The checks that take seconds: neighbors of this program on the machine, and the time of a flush.

use crate::machine_checks::judged_folder;
use crate::pressure::{CpuSet, read_processor_times};
use crate::process::read_own_usage;
use nix::libc;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueput_record::machine_check::CheckSeverity::{Fine, LimitsFigures, VoidsPromises};
use trueput_record::machine_check::{CheckSubject, MachineCheck};

/// Processor time beyond this part that others take shows in each figure.
const MAX_SHARE: f64 = 0.02;

/// A thread that spins reads the clock again after less than a microsecond, unless it is
/// interrupted.
const INTERRUPTION: Duration = Duration::from_micros(50);

/// No device that keeps data at lost power is known to flush within this: an Optane drive takes
/// about 10 us and a file system its own time.
const MIN_FLUSH: Duration = Duration::from_micros(8);

/// Flushes that are timed at most.
const MAX_FLUSHES: usize = 500;

/// The time that flushes may take.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// What a spinning thread saw.
#[derive(Debug, Clone, Copy, Default)]
struct Interruptions {
    count: u64,
    total: Duration,
    longest: Duration,
}

/// Measures for a time how much of the processors others take, with a thread on each that spins.
/// Ends early if `stop` is set.
#[must_use]
pub fn measure_neighbors(length: Duration, stop: &AtomicBool) -> Vec<MachineCheck> {
    let cpus = CpuSet::all();
    let before = read_processor_times(&cpus);
    let own_before = read_own_usage().map_or(0.0, |usage| usage.cpu_s());
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seen: Vec<Interruptions> = std::thread::scope(|scope| {
        let spinners: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| spin(began + length, stop)))
            .collect();
        let ended = spinners
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join);
        ended.filter_map(Result::ok).collect()
    });
    let all_s = began.elapsed().as_secs_f64() * threads as f64;
    let own_s = read_own_usage().map_or(0.0, |usage| usage.cpu_s()) - own_before;
    let mut checks = vec![jitter(&seen, all_s)];
    if let Some((before, after)) = before.zip(read_processor_times(&cpus)) {
        let others_s = (after.busy_s - before.busy_s - own_s).max(0.0);
        checks.push(share(CheckSubject::Neighbors, others_s, all_s));
        checks.push(share(
            CheckSubject::Steal,
            after.steal_s - before.steal_s,
            all_s,
        ));
    }
    checks
}

fn spin(until: Instant, stop: &AtomicBool) -> Interruptions {
    let mut seen = Interruptions::default();
    let mut last = Instant::now();
    while last < until && !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        let gap = now - last;
        if gap > INTERRUPTION {
            seen.count += 1;
            seen.total += gap;
            seen.longest = seen.longest.max(gap);
        }
        last = now;
    }
    seen
}

fn jitter(seen: &[Interruptions], all_s: f64) -> MachineCheck {
    let total_s: f64 = seen.iter().map(|it| it.total.as_secs_f64()).sum();
    let count: u64 = seen.iter().map(|it| it.count).sum();
    let longest = seen.iter().map(|it| it.longest).max().unwrap_or_default();
    let part = total_s / all_s.max(1e-9);
    let found = format!(
        "a spinning thread was interrupted for {:.1} % of the time, {:.0} times a second, at most \
         for {:.1} ms",
        100.0 * part,
        count as f64 / all_s.max(1e-9),
        longest.as_secs_f64() * 1e3
    );
    let severity = if part > MAX_SHARE {
        LimitsFigures
    } else {
        Fine
    };
    MachineCheck::new(CheckSubject::Jitter, severity, found)
}

fn share(subject: CheckSubject, taken_s: f64, all_s: f64) -> MachineCheck {
    let part = taken_s / all_s.max(1e-9);
    let severity = if part > MAX_SHARE {
        LimitsFigures
    } else {
        Fine
    };
    let found = format!("{:.1} % of the processors' time", 100.0 * part);
    MachineCheck::new(subject, severity, found)
}

/// Times flushes of single pages in a file without a name in a folder, or in the nearest one that
/// exists.
///
/// # Errors
/// The file system's own.
pub fn measure_flush(folder: &Path, stop: &AtomicBool) -> io::Result<MachineCheck> {
    // Without a name: whatever ends this program, nothing is left.
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    let file = options
        .custom_flags(libc::O_TMPFILE)
        .open(judged_folder(folder))?;
    let times = time_flushes(&file, stop)?;
    Ok(flush(&times))
}

fn time_flushes(mut file: &File, stop: &AtomicBool) -> io::Result<Vec<Duration>> {
    let page = [0x5a_u8; 4_096];
    let until = Instant::now() + FLUSH_TIME;
    let mut times = Vec::new();
    while times.len() < MAX_FLUSHES && Instant::now() < until && !stop.load(Ordering::Relaxed) {
        file.write_all(&page)?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed());
    }
    Ok(times)
}

fn flush(times: &[Duration]) -> MachineCheck {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let found = format!(
        "{:.0} us, the median of {}",
        median.as_secs_f64() * 1e6,
        times.len()
    );
    let is_too_fast = !times.is_empty() && median < MIN_FLUSH;
    let severity = if is_too_fast { VoidsPromises } else { Fine };
    MachineCheck::new(CheckSubject::Flush, severity, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_that_is_too_fast_voids_promises() {
        let of = |us: u64| flush(&[Duration::from_micros(us); 9]).severity;
        assert_eq!(of(2), VoidsPromises);
        assert_eq!(of(60), Fine);
        assert_eq!(flush(&[]).severity, Fine);
    }

    #[test]
    fn interruptions_are_a_part_of_the_time_of_all_processors() {
        let seen = |total_ms: u64| {
            let total = Duration::from_millis(total_ms);
            let one = Interruptions {
                count: 10,
                total,
                longest: total,
            };
            jitter(&[one, Interruptions::default()], 2.0)
        };
        assert_eq!(seen(100).severity, LimitsFigures);
        assert!(
            seen(100)
                .found
                .contains("5.0 % of the time, 5 times a second")
        );
        assert_eq!(seen(10).severity, Fine);
    }

    #[test]
    fn neighbors_are_measured_and_a_stop_ends_it_at_once() {
        let stop = AtomicBool::new(false);
        let found = measure_neighbors(Duration::from_millis(50), &stop);
        assert_eq!(found[0].subject, CheckSubject::Jitter);
        stop.store(true, Ordering::Relaxed);
        let began = Instant::now();
        let _ = measure_neighbors(Duration::from_secs(60), &stop);
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
