//! What the servers of modeled storage cost themselves, and how late they answered.

use crate::Run;
use crate::statistics::median;
use crate::storage_models::StorageModels;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::service_report::{RequestCounts, ServiceReport, SizeCost};
use trueput_record::storage_model::NO_MODEL;

/// Replies that are late by more than this share of the modeled time lower a rate notably.
pub const MAX_LATE_SHARE: f64 = 0.1;

/// The bytes of a read and of a write where no other size was measured.
const SMALL_BYTES: u64 = 4096;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A flush.
    Flush,
}

/// The servers of a run's trials on one storage model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelServers {
    /// The model, as headings name it.
    pub model: String,
    /// Images that were served.
    pub images: usize,
    /// Those whose replies were late by more than [`MAX_LATE_SHARE`] of the modeled time.
    pub late_images: usize,
    /// The largest lateness as a share of the modeled time; `None` if it is not known.
    pub max_late_share: Option<f64>,
    /// The requests that were answered, by kind.
    pub requests: Vec<RequestLateness>,
    /// The cost of requests without delay.
    pub own_cost: Vec<RequestCost>,
    /// Whether that is the cost through a loop device, as the clients of trials have it, and not
    /// that of the server alone.
    pub is_through_loop: bool,
}

/// A storage model whose times the replies notably exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LateModel {
    /// The model, as headings name it.
    pub model: String,
    /// Images that were served.
    pub images: usize,
    /// Those whose replies were late.
    pub late_images: usize,
    /// The largest lateness as a share of the modeled time.
    pub max_late_share: f64,
}

/// The lateness of the replies to one kind of request: medians over the images.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RequestLateness {
    /// The kind.
    pub request: RequestKind,
    /// The requests of all images that had a reply of their own.
    pub count: u64,
    /// The time that the model gave one, the mean, nanoseconds; `None` if it is not known.
    pub modeled_ns: Option<f64>,
    /// The median of the lateness, nanoseconds.
    pub median_ns: f64,
    /// Its 99th percentile, nanoseconds.
    pub p99_ns: f64,
}

/// The time of a request without delay.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RequestCost {
    /// The kind.
    pub request: RequestKind,
    /// Its bytes; 0 for a flush.
    pub bytes: u64,
    /// By the number of requests at once.
    pub by_depth: Vec<DepthCost>,
}

/// The time of a request while so many are made at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthCost {
    /// Requests at once.
    pub depth: u32,
    /// The median over the images of each one's median, nanoseconds.
    pub median_ns: f64,
}

/// Reads what the servers of a run's trials reported, by model; empty if there are no reports.
/// Those that cannot be read are left out.
#[must_use]
pub fn model_servers(run: &Run) -> Vec<ModelServers> {
    let mut models: Vec<(String, Vec<ServiceReport>)> = Vec::new();
    for (model, report) in run.trials.iter().flat_map(|trial| reports(run, trial)) {
        match models.iter_mut().find(|(other, _)| *other == model) {
            Some((_, reports)) => reports.push(report),
            None => models.push((model, vec![report])),
        }
    }
    let models = models.into_iter();
    models
        .map(|(model, reports)| ModelServers::of(model, &reports))
        .collect()
}

/// The models whose replies were late by more than [`MAX_LATE_SHARE`] of the modeled time.
#[must_use]
pub fn late_models(run: &Run) -> Vec<LateModel> {
    let servers = model_servers(run).into_iter();
    let late = servers.filter_map(|it| {
        let max_late_share = it.max_late_share.filter(|_| it.late_images > 0)?;
        Some(LateModel {
            model: it.model,
            images: it.images,
            late_images: it.late_images,
            max_late_share,
        })
    });
    late.collect()
}

/// The reports on the images of a trial, each with its model.
fn reports(run: &Run, trial: &TrialRecord) -> Vec<(String, ServiceReport)> {
    let models = StorageModels::of(&trial.spec.conditions);
    let log = models.log.as_deref().unwrap_or(NO_MODEL);
    let images = [
        ("data", models.data.as_str()),
        ("data-journal", models.data.as_str()),
        ("log", log),
        ("log-journal", log),
    ];
    let modeled = images.into_iter().filter(|(_, model)| *model != NO_MODEL);
    let read = modeled.filter_map(|(image, model)| {
        let report = ServiceReport::of_trial(&run.folder, &trial.spec.id, image);
        Some((model.to_owned(), report.ok()??))
    });
    read.collect()
}

impl ModelServers {
    fn of(model: String, reports: &[ServiceReport]) -> Self {
        let shares = reports.iter().filter_map(ServiceReport::late_share);
        let shares: Vec<f64> = shares.collect();
        let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Flush];
        let lateness = kinds.into_iter().filter_map(|request| {
            let counts = reports.iter().map(|report| match request {
                RequestKind::Read => report.reads,
                RequestKind::Write => report.writes,
                RequestKind::Flush => report.flushes,
            });
            lateness(request, &counts.collect::<Vec<_>>())
        });
        Self {
            model,
            images: reports.len(),
            late_images: shares.iter().filter(|it| **it > MAX_LATE_SHARE).count(),
            max_late_share: shares.iter().copied().reduce(f64::max),
            requests: lateness.collect(),
            own_cost: own_cost(reports),
            is_through_loop: reports.iter().all(|it| it.own_cost.through_loop.is_some()),
        }
    }
}

/// The lateness of one kind; `None` if no image answered one.
fn lateness(request: RequestKind, counts: &[RequestCounts]) -> Option<RequestLateness> {
    let asked = counts.iter().filter(|counts| counts.replies() > 0);
    let asked: Vec<_> = asked.collect();
    let middle = |of: fn(&RequestCounts) -> u64| median(asked.iter().map(|it| of(it) as f64));
    let sum = |of: fn(&RequestCounts) -> u64| asked.iter().map(|it| of(it) as f64).sum::<f64>();
    let (count, modeled_ns) = (sum(RequestCounts::replies), sum(|it| it.modeled_ns));
    Some(RequestLateness {
        request,
        count: count as u64,
        modeled_ns: (modeled_ns > 0.0).then(|| modeled_ns / count),
        median_ns: middle(|it| it.late_median_ns)?,
        p99_ns: middle(|it| it.late_p99_ns)?,
    })
}

/// A request without delay: its kind, its bytes, and how many were made at once.
type CostKey = (RequestKind, u64, u32);

/// The medians that a server measured, nanoseconds: through a loop device if it had one. Older ones
/// know one size, one at a time.
fn samples(report: &ServiceReport) -> Vec<(CostKey, u64)> {
    let cost = &report.own_cost;
    let [read, write, flush] = cost.client_trips();
    let single = SizeCost {
        bytes: SMALL_BYTES,
        depth: 1,
        read,
        write,
    };
    let sizes = if cost.by_size.is_empty() {
        std::slice::from_ref(&single)
    } else {
        &cost.by_size
    };
    let mut found = vec![((RequestKind::Flush, 0, 1), flush.median_ns)];
    for one in sizes {
        let key = |kind| (kind, one.bytes, one.depth);
        found.push((key(RequestKind::Read), one.read.median_ns));
        found.push((key(RequestKind::Write), one.write.median_ns));
    }
    found
}

fn own_cost(reports: &[ServiceReport]) -> Vec<RequestCost> {
    let mut times_ns: BTreeMap<CostKey, Vec<f64>> = BTreeMap::new();
    for (key, ns) in reports.iter().flat_map(samples) {
        times_ns.entry(key).or_default().push(ns as f64);
    }
    let mut costs: Vec<RequestCost> = Vec::new();
    for ((request, bytes, depth), times_ns) in times_ns {
        let cost = DepthCost {
            depth,
            median_ns: median(times_ns).unwrap_or_default(),
        };
        match costs.last_mut() {
            Some(last) if (last.request, last.bytes) == (request, bytes) => {
                last.by_depth.push(cost);
            }
            _ => costs.push(RequestCost {
                request,
                bytes,
                by_depth: vec![cost],
            }),
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::service_report::{LoopCost, OwnCost, REPORTS, RoundTrip};
    use trueput_record::testing::{manifest, spec, valid};
    use trueput_record::{Conditions, Durability};

    fn trip(median_ns: u64) -> RoundTrip {
        RoundTrip {
            median_ns,
            ..RoundTrip::default()
        }
    }

    /// A report on flushes that were late by so many per cent of the modeled time.
    fn report(late_percent: u64) -> ServiceReport {
        let flushes = RequestCounts {
            requests: 10,
            modeled_ns: 10_000,
            late_ns: 100 * late_percent,
            late_median_ns: 10 * late_percent,
            late_p99_ns: 20 * late_percent,
            ..RequestCounts::default()
        };
        let size = |bytes, depth, read_ns| SizeCost {
            bytes,
            depth,
            read: trip(read_ns),
            write: trip(2 * read_ns),
        };
        ServiceReport {
            model: "the name in its file".to_owned(),
            own_cost: OwnCost {
                read: trip(29),
                write: trip(59),
                flush: trip(late_percent),
                through_loop: None,
                by_size: vec![size(4096, 1, 30), size(4096, 4, 70), size(1 << 20, 1, 900)],
            },
            reads: RequestCounts::default(),
            // Those of a folder's flushes.
            writes: RequestCounts {
                requests: 10,
                without_reply: 10,
                ..RequestCounts::default()
            },
            flushes,
            discards: RequestCounts::default(),
        }
    }

    /// A run of trials on these models, whose servers reported on their data, in a folder that is
    /// there as long as the first.
    fn run(trials: &[(&str, Option<ServiceReport>)]) -> (tempfile::TempDir, Run) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(REPORTS)).unwrap();
        let trials = (0..).zip(trials).map(|(cell, (model, report))| {
            let mut spec = spec(cell, "lmdb", Durability::Sync, 1);
            spec.conditions.storage_model = Some((*model).to_owned());
            if let Some(report) = report {
                let file = format!("{REPORTS}/{}-data.json", spec.id);
                let text = serde_json::to_string(report).unwrap();
                std::fs::write(folder.path().join(file), text).unwrap();
            }
            valid(spec, 100.0)
        });
        let trials: Vec<_> = trials.collect();
        let run = Run::of_records(folder.path(), manifest(&trials), trials);
        (folder, run)
    }

    #[test]
    fn each_model_has_its_servers_and_what_was_late_is_counted() {
        let (folder, run) = run(&[
            ("hdd-7200", Some(report(4))),
            ("nvme-datacenter", Some(report(12))),
            ("nvme-datacenter", Some(report(8))),
            ("nvme-datacenter", Some(report(30))),
            // Its server was killed.
            ("sd-card", None),
        ]);
        let found = model_servers(&run);
        let models: Vec<_> = found.iter().map(|it| it.model.as_str()).collect();
        assert_eq!(models, ["hdd-7200", "nvme-datacenter"]);
        let late = |at: usize| {
            (
                found[at].images,
                found[at].late_images,
                found[at].max_late_share,
            )
        };
        assert_eq!(late(0), (1, 0, Some(0.04)));
        assert_eq!(late(1), (3, 2, Some(0.3)));
        let flushes = &found[1].requests[0];
        assert_eq!(found[1].requests.len(), 1, "no other request was answered");
        assert_eq!((flushes.request, flushes.count), (RequestKind::Flush, 30));
        assert_eq!(flushes.modeled_ns, Some(1_000.0));
        assert_eq!((flushes.median_ns, flushes.p99_ns), (120.0, 240.0));
        drop(folder);
        assert!(model_servers(&run).is_empty());
    }

    #[test]
    fn the_cost_is_by_kind_size_and_depth_as_far_as_it_was_measured() {
        let costs = own_cost(&[report(4), report(6)]);
        let shown = |cost: &RequestCost| {
            let by_depth = cost.by_depth.iter().map(|it| (it.depth, it.median_ns));
            (cost.request, cost.bytes, by_depth.collect::<Vec<_>>())
        };
        let found: Vec<_> = costs.iter().map(shown).collect();
        let expected = [
            (RequestKind::Read, 4096, vec![(1, 30.0), (4, 70.0)]),
            (RequestKind::Read, 1 << 20, vec![(1, 900.0)]),
            (RequestKind::Write, 4096, vec![(1, 60.0), (4, 140.0)]),
            (RequestKind::Write, 1 << 20, vec![(1, 1_800.0)]),
            (RequestKind::Flush, 0, vec![(1, 5.0)]),
        ];
        assert_eq!(found, expected);
        let mut older = report(4);
        older.own_cost.by_size.clear();
        let found: Vec<_> = own_cost(&[older]).iter().map(shown).collect();
        let expected = [
            (RequestKind::Read, 4096, vec![(1, 29.0)]),
            (RequestKind::Write, 4096, vec![(1, 59.0)]),
            (RequestKind::Flush, 0, vec![(1, 4.0)]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_cost_is_that_through_the_loop_device_where_there_was_one() {
        let mut report = report(4);
        let servers = |report: &ServiceReport| {
            let reports = std::slice::from_ref(report);
            ModelServers::of("sd-card".to_owned(), reports)
        };
        assert!(!servers(&report).is_through_loop);
        report.own_cost.through_loop = Some(LoopCost {
            flush: trip(70),
            ..LoopCost::default()
        });
        let found = servers(&report);
        assert!(found.is_through_loop);
        let flush = found.own_cost.last().unwrap();
        assert_eq!(flush.request, RequestKind::Flush);
        assert_eq!(flush.by_depth[0].median_ns, 70.0);
    }

    #[test]
    fn a_log_on_another_model_has_servers_of_its_own() {
        let (folder, mut run) = run(&[("hdd-7200", Some(report(4)))]);
        let spec = &mut run.trials[0].spec;
        spec.conditions = Conditions {
            log_storage_model: Some("nvme-consumer".to_owned()),
            ..spec.conditions.clone()
        };
        let file = format!("{REPORTS}/{}-log.json", spec.id);
        let text = serde_json::to_string(&report(8)).unwrap();
        std::fs::write(folder.path().join(file), text).unwrap();
        let models = model_servers(&run).into_iter().map(|it| it.model);
        assert_eq!(models.collect::<Vec<_>>(), ["hdd-7200", "nvme-consumer"]);
    }
}
