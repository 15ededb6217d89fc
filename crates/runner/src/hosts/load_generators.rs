//! The rows of each host that ran workers of a trial.

use crate::evidence::summaries::{
    HistogramError, count_operations, merge_histograms, summarize_operations, summarize_responses,
};
use crate::evidence::timeline::{count_by_second, sum_counts};
use crate::hosts::workers::HostParticipation;
use crate::trial::worker_group::WorkerGroupResult;
use crate::workers::protocol::{OpenLoopResult, OperationCounts, ProcessResult};
use trueput_record::histogram;
use trueput_record::load_generator::LoadGenerator;
use trueput_workloads::Job;

/// Returns the rows of each host; none if this host ran the workers.
///
/// # Errors
/// [`HistogramError`], if a histogram did not survive the pipe.
pub(crate) fn load_generators(
    job: &dyn Job,
    result: &WorkerGroupResult,
    elapsed_s: f64,
) -> Result<Vec<LoadGenerator>, HistogramError> {
    let hosts = result.hosts.iter();
    let rows = hosts.map(|host| load_generator(job, result, elapsed_s, host));
    rows.collect()
}

fn load_generator(
    job: &dyn Job,
    result: &WorkerGroupResult,
    elapsed_s: f64,
    host: &HostParticipation,
) -> Result<LoadGenerator, HistogramError> {
    let kinds = job.kinds();
    let own: Vec<&ProcessResult> = host
        .processes
        .iter()
        .map(|at| &result.process_results[*at])
        .collect();
    let encoded = own.iter().map(|part| part.histograms.as_slice());
    let histograms = merge_histograms(kinds.len(), encoded)?;
    let finals: Vec<OperationCounts> = own
        .iter()
        .map(|part| count_operations(kinds.len(), part))
        .collect();
    let totals = sum_counts(
        kinds.len(),
        finals.iter().map(|last| last.counts.as_slice()),
    );
    let seen = host
        .processes
        .iter()
        .map(|at| result.seconds[*at].as_slice());
    let parts: Vec<_> = seen.zip(&finals).collect();
    let paced: Vec<&OpenLoopResult> = own
        .iter()
        .filter_map(|part| part.open_loop.as_ref())
        .collect();
    let units = job.unit_kinds();
    let times = paced.iter().map(|part| part.histograms.as_slice());
    let responses = if paced.is_empty() {
        Vec::new()
    } else {
        summarize_responses(units, &merge_histograms(units.len(), times)?)
    };
    let workers: usize = own.iter().map(|part| part.workers.len()).sum();
    Ok(LoadGenerator {
        host: host.name.clone(),
        hostname: host.hostname.clone(),
        cores: host.cores,
        workers: u32::try_from(workers).unwrap_or(u32::MAX),
        operations: summarize_operations(kinds, &histograms, &totals, elapsed_s),
        histograms: histograms
            .iter()
            .map(histogram::encode)
            .collect::<Result<_, _>>()?,
        responses,
        seconds: count_by_second(kinds.len(), elapsed_s, &parts),
        cpu_share: host.cpu_share,
        arrivals: paced.iter().map(|part| part.issued).sum(),
        late_arrivals: paced.iter().map(|part| part.late).sum(),
        clock_before: host.clock_before,
        clock_after: host.clock_after,
        stalls: host.stalls.clone(),
    })
}
