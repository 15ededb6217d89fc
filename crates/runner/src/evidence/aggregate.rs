//! Aggregates a trial's measurement from the results of its worker processes.

use crate::evidence::failover;
use crate::evidence::sampler::{Sample, ServerUsage};
use crate::evidence::summaries::{
    HistogramError, add_not_found, count_operations, merge_histograms, summarize_operations,
    summarize_responses,
};
use crate::evidence::timeline::build_timeline;
use crate::hosts::load_generators::load_generators;
use crate::trial::worker_group::WorkerGroupResult;
use crate::workers::protocol::{LoadResult, OperationCounts, ProcessResult, WorkerResult};
use hdrhistogram::Histogram;
use trueput_host::placement;
use trueput_host::process::MemoryUsage;
use trueput_host::usage::ResourceUsage;
use trueput_record::Conditions;
use trueput_record::accounting::CacheUse;
use trueput_record::failover::Failover;
use trueput_record::interval_log::Interval;
use trueput_record::measurement::{
    DatabaseSize, LoadReport, Measurement, OpenLoop, Resources, TimelineSecond, WorkerReport,
};
use trueput_record::placement::Placement;
use trueput_workloads::{Job, OperationBytes};

/// Histograms by name: service times by kind of operation, then response times by kind of unit.
pub(crate) type NamedHistograms = Vec<(String, Histogram<u64>)>;

/// The figures of a trial's workers, and what they are drawn from.
pub(crate) struct AggregatedResult {
    /// The figures.
    pub measurement: Measurement,
    /// The latencies of the whole trial.
    pub histograms: NamedHistograms,
    /// The latencies second by second; none if nothing was timed.
    pub intervals: Vec<Interval>,
}

/// Aggregates the workers' results. The workload's results and the database's size are added later.
///
/// # Errors
/// [`HistogramError`], if a histogram did not survive the pipe.
pub(crate) fn build_measurement(
    job: &dyn Job,
    conditions: &Conditions,
    result: &WorkerGroupResult,
) -> Result<AggregatedResult, HistogramError> {
    let kinds = job.kinds();
    let processes = result.process_results.iter();
    let encoded = processes.map(|part| part.histograms.as_slice());
    let histograms = merge_histograms(kinds.len(), encoded)?;
    let elapsed_s = elapsed_s(result.process_results.iter().flat_map(|part| &part.workers));
    let finals = final_counts(kinds.len(), &result.process_results);
    let total = Sample {
        host_activity: result.host_activity,
        ..total(&result.process_results, result.server.as_ref())
    };
    let of_kind = |kind: usize| finals.iter().map(|done| done.counts[kind]).sum();
    let totals: Vec<u64> = (0..kinds.len()).map(of_kind).collect();
    let (open_loop, responses) = match open_loop(job, conditions, result)? {
        Some((open_loop, responses)) => (Some(open_loop), responses),
        None => (None, Vec::new()),
    };
    let volumes = job.volumes();
    let user = user_bytes(&volumes, &totals);
    let mut operations = summarize_operations(kinds, &histograms, &totals, elapsed_s);
    add_not_found(&mut operations, workers(result).map(|(_, worker)| worker));
    let mut timeline = build_timeline(elapsed_s, &result.seconds, &finals, &result.samples, &total);
    add_user_bytes(&mut timeline, &volumes);
    let intervals = result.latencies.finish(&mut timeline, &operations)?;
    let measurement = Measurement {
        commits: job.commits(&totals),
        user_read_bytes: user.map(|(read, _)| read),
        user_written_bytes: user.map(|(_, written)| written),
        live_user_bytes: job.live_bytes(&totals),
        device: result.host_activity.device,
        log_device: result.host_activity.log_device,
        pressure: result.host_activity.pressure,
        neighbors: result.host_activity.neighbors,
        time_slices: result.time_slices,
        failover: failover_of(conditions, result),
        open_loop,
        elapsed_s,
        operations,
        conflicts: workers(result).map(|(_, worker)| worker.conflicts).sum(),
        deadlocks: workers(result).map(|(_, worker)| worker.deadlocks).sum(),
        resources: resources(result, &total),
        server: result
            .server
            .map(|server| stored_resources(server.usage, server.peak)),
        placement: Some(placement_of(result)),
        cache: cache(&result.process_results),
        allocator: result
            .process_results
            .first()
            .map(|part| part.allocator.clone()),
        timeline,
        workers: workers(result)
            .map(|(pid, worker)| report(pid, worker))
            .collect(),
        load_generators: load_generators(job, result, elapsed_s)?,
        stalls: result.stalls.clone(),
        ..Measurement::default()
    };
    let services = kinds.iter().map(|kind| (*kind).to_owned());
    Ok(AggregatedResult {
        measurement,
        histograms: services.zip(histograms).chain(responses).collect(),
        intervals,
    })
}

/// Adds to each second the bytes that the user's records have in what it wrote.
fn add_user_bytes(timeline: &mut [TimelineSecond], volumes: &[OperationBytes]) {
    for second in timeline {
        let of_second = user_bytes(volumes, &second.counts);
        second.user_written_bytes = of_second.map(|(_, written)| written);
    }
}

/// Returns the final counts of each process.
fn final_counts(kinds: usize, process_results: &[ProcessResult]) -> Vec<OperationCounts> {
    let parts = process_results.iter();
    parts.map(|part| count_operations(kinds, part)).collect()
}

/// Sums the cache counters of the processes, or takes the first report of a cache that they share.
fn cache(process_results: &[ProcessResult]) -> Option<CacheUse> {
    let caches = || process_results.iter().filter_map(|part| part.cache);
    match caches().find(|worker| worker.is_shared) {
        Some(worker) => Some(worker.used),
        None => caches()
            .map(|worker| worker.used)
            .reduce(|sum, one| sum.plus(&one)),
    }
}

/// Returns the effect of planned faults; `None` if none were planned.
fn failover_of(conditions: &Conditions, result: &WorkerGroupResult) -> Option<Failover> {
    if conditions.faults.is_empty() {
        return None;
    }
    let all = || workers(result).map(|(_, worker)| worker);
    let start_ns = all().map(|worker| worker.start_ns).min()?;
    let end_ns = all().map(|worker| worker.end_ns).max()?;
    let logs: Vec<_> = all()
        .filter_map(|worker| worker.commit_log.clone())
        .collect();
    Some(failover::summarize(
        &logs,
        &result.faults,
        (start_ns, end_ns),
    ))
}

/// Returns the bytes of keys and values that these operations read and wrote; `None` if a volume
/// is unknown.
fn user_bytes(volumes: &[OperationBytes], counts: &[u64]) -> Option<(u64, u64)> {
    let known = !counts.is_empty() && volumes.len() == counts.len();
    let sum = |of: fn(&OperationBytes) -> f64| {
        let each = volumes.iter().zip(counts);
        each.map(|(volume, &count)| of(volume) * count as f64)
            .sum::<f64>()
            .round() as u64
    };
    known.then(|| (sum(|one| one.read_bytes), sum(|one| one.written_bytes)))
}

/// Returns the placement of all worker processes together.
fn placement_of(result: &WorkerGroupResult) -> Placement {
    placement::merge(result.process_results.iter().map(|part| &part.placement))
}

/// Returns the open loop and its response times by name; `None` for a closed loop.
fn open_loop(
    job: &dyn Job,
    conditions: &Conditions,
    result: &WorkerGroupResult,
) -> Result<Option<(OpenLoop, NamedHistograms)>, HistogramError> {
    let paced: Vec<_> = result
        .process_results
        .iter()
        .filter_map(|part| part.open_loop.as_ref())
        .collect();
    let recorded = job
        .scheduled_per_s()
        .map(|per_s| (per_s, OpenLoop::RECORDED));
    let at_rate = conditions.rate;
    let at_rate = at_rate.map(|rate| (rate.per_s, rate.arrival.word()));
    let (Some((rate_per_s, arrival)), false) = (recorded.or(at_rate), paced.is_empty()) else {
        return Ok(None);
    };
    let units = job.unit_kinds();
    let histograms = merge_histograms(
        units.len(),
        paced.iter().map(|part| part.histograms.as_slice()),
    )?;
    let responses = summarize_responses(units, &histograms);
    let oldest_ns = paced.iter().map(|part| part.oldest_wait_ns).max();
    let open_loop = OpenLoop {
        rate_per_s,
        arrival: arrival.to_owned(),
        issued: paced.iter().map(|part| part.issued).sum(),
        backlog: paced.iter().map(|part| part.backlog).sum(),
        oldest_wait_s: oldest_ns.unwrap_or_default() as f64 / 1e9,
        responses,
    };
    let names = units.iter().map(|kind| format!("{kind}-response"));
    Ok(Some((open_loop, names.zip(histograms).collect())))
}

/// Returns the report of a load with the resources of its process and of the engine's server.
pub(crate) fn build_load_report(
    loaded: &LoadResult,
    server: Option<ResourceUsage>,
    database: DatabaseSize,
) -> LoadReport {
    LoadReport {
        records: loaded.records,
        user_bytes: loaded.user_bytes,
        elapsed_s: loaded.elapsed_s,
        resources: stored_resources(loaded.usage + server.unwrap_or_default(), loaded.memory),
        database,
    }
}

fn workers(result: &WorkerGroupResult) -> impl Iterator<Item = (u32, &WorkerResult)> {
    let processes = result.process_results.iter().zip(&result.pids);
    processes.flat_map(|(part, pid)| part.workers.iter().map(|worker| (*pid, worker)))
}

fn report(pid: u32, worker: &WorkerResult) -> WorkerReport {
    WorkerReport {
        index: worker.index,
        pid,
        elapsed_s: elapsed_s(std::iter::once(worker)),
        counts: worker.counts.clone(),
        conflicts: worker.conflicts,
        deadlocks: worker.deadlocks,
    }
}

/// Returns the seconds from the first start to the last end.
fn elapsed_s<'a>(workers: impl Iterator<Item = &'a WorkerResult> + Clone) -> f64 {
    let first = workers
        .clone()
        .map(|worker| worker.start_ns)
        .min()
        .unwrap_or_default();
    let last = workers
        .map(|worker| worker.end_ns)
        .max()
        .unwrap_or_default();
    last.saturating_sub(first) as f64 / 1e9
}

/// Returns the resources of all processes between release and end, and their memory at the end.
fn total(process_results: &[ProcessResult], server: Option<&ServerUsage>) -> Sample {
    let mut total = Sample::default();
    let workers = process_results.iter().map(|one| (&one.usage, &one.memory));
    let server = server.map(|server| (&server.usage, &server.memory));
    for (usage, memory) in workers.chain(server) {
        total.usage += *usage;
        let sum = total.gauges.memory;
        total.gauges.memory = MemoryUsage {
            pss_bytes: sum.pss_bytes + memory.pss_bytes,
            rss_bytes: sum.rss_bytes + memory.rss_bytes,
            max_rss_bytes: sum.max_rss_bytes + memory.max_rss_bytes,
        };
    }
    total
}

fn resources(result: &WorkerGroupResult, total: &Sample) -> Resources {
    let moments = || {
        result
            .samples
            .iter()
            .chain([total])
            .map(|Sample { gauges, .. }| gauges.memory)
    };
    let peak = MemoryUsage {
        pss_bytes: moments()
            .map(|memory| memory.pss_bytes)
            .max()
            .unwrap_or_default(),
        rss_bytes: moments()
            .map(|memory| memory.rss_bytes)
            .max()
            .unwrap_or_default(),
        max_rss_bytes: total.gauges.memory.max_rss_bytes,
    };
    stored_resources(total.usage, peak)
}

/// Returns the stored form of a usage; `peak` is the highest memory.
fn stored_resources(usage: ResourceUsage, peak: MemoryUsage) -> Resources {
    Resources {
        user_cpu_s: usage.user_cpu_s,
        system_cpu_s: usage.system_cpu_s,
        voluntary_context_switches: usage.voluntary_context_switches,
        involuntary_context_switches: usage.involuntary_context_switches,
        minor_page_faults: usage.minor_page_faults,
        major_page_faults: usage.major_page_faults,
        peak_pss_bytes: peak.pss_bytes,
        peak_rss_bytes: peak.rss_bytes,
        max_rss_bytes: peak.max_rss_bytes,
        storage_read_bytes: usage.storage_read_bytes,
        storage_written_bytes: usage.storage_written_bytes,
        read_call_bytes: usage.read_call_bytes,
        write_call_bytes: usage.write_call_bytes,
        read_calls: usage.read_calls,
        write_calls: usage.write_calls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::histogram;
    use trueput_record::measurement::LatencySummary;

    fn worker(index: u32, start_ns: u64, end_ns: u64) -> WorkerResult {
        WorkerResult {
            index,
            start_ns,
            end_ns,
            ..WorkerResult::default()
        }
    }

    #[test]
    fn elapsed_runs_from_the_first_start_to_the_last_end() {
        let workers = [
            worker(0, 1_000_000_000, 2_000_000_000),
            worker(1, 500_000_000, 1_500_000_000),
        ];
        assert_eq!(elapsed_s(workers.iter()), 1.5);
    }

    #[test]
    fn the_users_bytes_are_volumes_by_counts() {
        let volume = |read_bytes, written_bytes| OperationBytes {
            read_bytes,
            written_bytes,
        };
        let volumes = [volume(116.0, 0.0), volume(0.5, 10.0)];
        assert_eq!(user_bytes(&volumes, &[10, 3]), Some((1_162, 30)));
        assert_eq!(user_bytes(&volumes[..1], &[10, 3]), None);
        assert_eq!(user_bytes(&[], &[]), None);
    }

    #[test]
    fn no_latency_is_no_figure_at_all() {
        assert_eq!(
            LatencySummary::of(&histogram::new()),
            LatencySummary::default()
        );
    }
}
