//! Puts a trial's measurement together from what its workers handed back.

use crate::execution::Ran;
use crate::host::process::{Cpu, Memory};
use crate::protocol::{Execution, LoadDone, Share, Usage};
use crate::sampler::Sample;
use crate::timeline::timeline;
use hdrhistogram::Histogram;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trueput_record::measurement::{
    DatabaseSize, LatencySummary, LoadReport, Measurement, OpenLoop, OperationSummary, Resources,
    ResponseSummary, WorkerReport,
};
use trueput_record::{Conditions, histogram};
use trueput_workloads::Job;

/// Histograms by name: service times by kind of operation, then response times by kind of unit.
pub(crate) type Named = Vec<(String, Histogram<u64>)>;

/// Sums up what the workers did. Results and the database's size are still to be filled in.
///
/// # Errors
/// A sentence, where a histogram did not survive the pipe.
pub(crate) fn measurement(
    job: &dyn Job,
    conditions: &Conditions,
    ran: &Ran,
) -> Result<(Measurement, Named), String> {
    let kinds = job.kinds();
    let encoded = ran.executions.iter().map(|part| part.histograms.as_slice());
    let histograms = merge(kinds.len(), encoded)?;
    let elapsed_s = elapsed_s(
        ran.executions
            .iter()
            .flat_map(|execution| &execution.workers),
    );
    let finals: Vec<Vec<u64>> = ran
        .executions
        .iter()
        .map(|part| counts(kinds.len(), part))
        .collect();
    let operations = kinds
        .iter()
        .zip(&histograms)
        .enumerate()
        .map(|(kind, (name, latencies))| {
            let count = finals.iter().map(|counts| counts[kind]).sum();
            let per_s = if elapsed_s > 0.0 {
                count as f64 / elapsed_s
            } else {
                0.0
            };
            let latency = summary(latencies);
            OperationSummary {
                kind: (*name).to_owned(),
                count,
                per_s,
                latency,
            }
        });
    let total = total(&ran.executions);
    let (open_loop, responses) = match open_loop(job, conditions, ran)? {
        Some((open_loop, responses)) => (Some(open_loop), responses),
        None => (None, Vec::new()),
    };
    let measurement = Measurement {
        open_loop,
        elapsed_s,
        operations: operations.collect(),
        conflicts: workers(ran).map(|(_, share)| share.conflicts).sum(),
        resources: resources(ran, &total),
        timeline: timeline(elapsed_s, &ran.seconds, &finals, &ran.samples, &total),
        workers: workers(ran)
            .map(|(pid, share)| report(pid, share))
            .collect(),
        ..Measurement::default()
    };
    let services = kinds.iter().map(|kind| (*kind).to_owned());
    let mut named: Named = services.zip(histograms).collect();
    named.extend(responses);
    Ok((measurement, named))
}

/// How the open loop of the trial kept its rate, and its response times by name.
fn open_loop(
    job: &dyn Job,
    conditions: &Conditions,
    ran: &Ran,
) -> Result<Option<(OpenLoop, Named)>, String> {
    let paced: Vec<_> = ran
        .executions
        .iter()
        .filter_map(|part| part.paced.as_ref())
        .collect();
    let (Some(rate), false) = (conditions.rate, paced.is_empty()) else {
        return Ok(None);
    };
    let units = job.paced();
    let histograms = merge(
        units.len(),
        paced.iter().map(|part| part.histograms.as_slice()),
    )?;
    let responses = units
        .iter()
        .zip(&histograms)
        .map(|(kind, times)| ResponseSummary {
            kind: (*kind).to_owned(),
            count: times.len(),
            latency: summary(times),
        });
    let oldest_ns = paced.iter().map(|part| part.oldest_wait_ns).max();
    let open_loop = OpenLoop {
        rate_per_s: rate.per_s,
        arrival: rate.arrival.name().to_owned(),
        issued: paced.iter().map(|part| part.issued).sum(),
        backlog: paced.iter().map(|part| part.backlog).sum(),
        oldest_wait_s: oldest_ns.unwrap_or_default() as f64 / 1e9,
        responses: responses.collect(),
    };
    let names = units.iter().map(|kind| format!("{kind}-response"));
    Ok(Some((open_loop, names.zip(histograms).collect())))
}

/// What a process loaded and what that used.
pub(crate) fn load(done: &LoadDone, database: DatabaseSize) -> LoadReport {
    LoadReport {
        records: done.records,
        user_bytes: done.user_bytes,
        elapsed_s: done.elapsed_s,
        resources: used(&[done.usage], done.memory),
        database,
    }
}

/// Size of the files in a folder and its subfolders; links are not followed.
///
/// # Errors
/// What the operating system says; a file that goes meanwhile is no error.
pub(crate) fn database_size(directory: &Path) -> std::io::Result<DatabaseSize> {
    let mut size = DatabaseSize::default();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_dir() {
            let below = database_size(&entry.path())?;
            size.allocated_bytes += below.allocated_bytes;
            size.apparent_bytes += below.apparent_bytes;
        } else {
            // st_blocks counts units of 512 bytes whatever the file system's block is (stat(2)).
            size.allocated_bytes += metadata.blocks() * 512;
            size.apparent_bytes += metadata.len();
        }
    }
    Ok(size)
}

fn workers(ran: &Ran) -> impl Iterator<Item = (u32, &Share)> {
    let processes = ran.executions.iter().zip(&ran.pids);
    processes.flat_map(|(execution, pid)| execution.workers.iter().map(|share| (*pid, share)))
}

fn report(pid: u32, share: &Share) -> WorkerReport {
    WorkerReport {
        index: share.index,
        pid,
        elapsed_s: elapsed_s(std::iter::once(share)),
        counts: share.counts.clone(),
        conflicts: share.conflicts,
    }
}

/// From the first start to the last end, seconds.
fn elapsed_s<'a>(shares: impl Iterator<Item = &'a Share> + Clone) -> f64 {
    let first = shares
        .clone()
        .map(|share| share.start_ns)
        .min()
        .unwrap_or_default();
    let last = shares.map(|share| share.end_ns).max().unwrap_or_default();
    last.saturating_sub(first) as f64 / 1e9
}

fn counts(kinds: usize, execution: &Execution) -> Vec<u64> {
    let mut counts = vec![0; kinds];
    for share in &execution.workers {
        counts
            .iter_mut()
            .zip(&share.counts)
            .for_each(|(sum, count)| *sum += count);
    }
    counts
}

fn merge<'a>(
    kinds: usize,
    parts: impl Iterator<Item = &'a [String]>,
) -> Result<Vec<Histogram<u64>>, String> {
    let mut merged: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
    for part in parts {
        for (sum, text) in merged.iter_mut().zip(part) {
            let latencies = histogram::decode(text)?;
            sum.add(latencies)
                .map_err(|error| format!("adding histograms: {error:?}"))?;
        }
    }
    Ok(merged)
}

fn summary(latencies: &Histogram<u64>) -> LatencySummary {
    if latencies.is_empty() {
        return LatencySummary::default();
    }
    LatencySummary {
        mean_ns: latencies.mean(),
        min_ns: latencies.min(),
        p50_ns: latencies.value_at_quantile(0.5),
        p90_ns: latencies.value_at_quantile(0.9),
        p99_ns: latencies.value_at_quantile(0.99),
        p999_ns: latencies.value_at_quantile(0.999),
        max_ns: latencies.max(),
    }
}

/// What all processes used between release and end, and their memory at the end.
fn total(executions: &[Execution]) -> Sample {
    let mut total = Sample::default();
    for Execution { usage, memory, .. } in executions {
        total.cpu = Cpu {
            user_s: total.cpu.user_s + usage.user_cpu_s,
            system_s: total.cpu.system_s + usage.system_cpu_s,
        };
        total.io = total.io.plus(&usage.io);
        total.memory = Memory {
            pss_bytes: total.memory.pss_bytes + memory.pss_bytes,
            rss_bytes: total.memory.rss_bytes + memory.rss_bytes,
        };
    }
    total
}

fn resources(ran: &Ran, total: &Sample) -> Resources {
    let moments = || {
        ran.samples
            .iter()
            .chain([total])
            .map(|sample| sample.memory)
    };
    let usages: Vec<_> = ran
        .executions
        .iter()
        .map(|execution| execution.usage)
        .collect();
    let peak = Memory {
        pss_bytes: moments()
            .map(|memory| memory.pss_bytes)
            .max()
            .unwrap_or_default(),
        rss_bytes: moments()
            .map(|memory| memory.rss_bytes)
            .max()
            .unwrap_or_default(),
    };
    used(&usages, peak)
}

/// What processes used together, with the highest memory that was seen of them.
fn used(usages: &[Usage], peak: Memory) -> Resources {
    let seconds = |of: fn(&Usage) -> f64| usages.iter().map(of).sum();
    let count = |of: fn(&Usage) -> u64| usages.iter().map(of).sum();
    Resources {
        user_cpu_s: seconds(|usage| usage.user_cpu_s),
        system_cpu_s: seconds(|usage| usage.system_cpu_s),
        voluntary_context_switches: count(|usage| usage.voluntary_context_switches),
        involuntary_context_switches: count(|usage| usage.involuntary_context_switches),
        minor_page_faults: count(|usage| usage.minor_page_faults),
        major_page_faults: count(|usage| usage.major_page_faults),
        peak_pss_bytes: peak.pss_bytes,
        peak_rss_bytes: peak.rss_bytes,
        storage_read_bytes: count(|usage| usage.io.storage_read_bytes),
        storage_written_bytes: count(|usage| usage.io.storage_written_bytes),
        read_call_bytes: count(|usage| usage.io.read_call_bytes),
        write_call_bytes: count(|usage| usage.io.write_call_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(index: u32, start_ns: u64, end_ns: u64) -> Share {
        Share {
            index,
            start_ns,
            end_ns,
            ..Share::default()
        }
    }

    #[test]
    fn elapsed_runs_from_the_first_start_to_the_last_end() {
        let shares = [
            share(0, 1_000_000_000, 2_000_000_000),
            share(1, 500_000_000, 1_500_000_000),
        ];
        assert_eq!(elapsed_s(shares.iter()), 1.5);
    }

    #[test]
    fn a_hole_counts_in_the_apparent_size_only() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        std::fs::create_dir(&below).unwrap();
        std::fs::File::create(below.join("sparse"))
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let size = database_size(folder.path()).unwrap();
        assert_eq!(size.apparent_bytes, 1 << 30);
        assert!(size.allocated_bytes < 1 << 20, "{size:?}");
    }

    #[test]
    fn no_latency_is_no_figure_at_all() {
        assert_eq!(summary(&histogram::new()), LatencySummary::default());
    }
}
