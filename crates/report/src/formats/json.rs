//! A report as one JSON document, for programs.

use crate::sections::scaling::misfit;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use trueput_findings::ablation::{Ablation, ablations};
use trueput_findings::answer::NextStep;
use trueput_findings::bottleneck::{TrialBottleneck, trial_bottleneck};
use trueput_findings::capacity::{Capacity, capacities};
use trueput_findings::choice::{Choice, choice};
use trueput_findings::over_time::OverTime;
use trueput_findings::published::{PublishedComparison, comparisons};
use trueput_findings::rankings::Ranking;
use trueput_findings::scaling::{Fit, ScalingPoint, ScalingSeries, series};
use trueput_findings::storage_comparison::{StorageComparison, storage_comparisons};
use trueput_findings::storage_servers::{ModelServers, model_servers};
use trueput_findings::threen1::Threen1Line;
use trueput_findings::tuning::{TuningFindings, tuning};
use trueput_findings::{Findings, Run};
use trueput_record::folder::RunEnd;
use trueput_record::objective::Objective;
use trueput_record::schema::of_output;
use trueput_record::{FORMAT_VERSION, HostFacts, TrialRecord};

/// The schema of the document.
#[must_use]
pub fn schema() -> Schema {
    of_output::<Document<'_>>()
}

/// A report of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Report")]
struct Document<'a> {
    format: u32,
    folder: String,
    name: &'a str,
    about: &'a str,
    started_at: &'a str,
    host: &'a HostFacts,
    end: Option<&'a RunEnd>,
    skipped: &'a [String],
    rankings: Vec<Ranking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    storage_comparisons: Vec<StorageComparison>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    storage_servers: Vec<ModelServers>,
    scaling: Vec<ScalingDocument>,
    bottlenecks: Vec<TrialBottleneck<'a>>,
    threen1: Vec<Threen1Trial<'a>>,
    published: Vec<PublishedComparison>,
    ablations: Vec<Ablation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<&'a Objective>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    capacities: Vec<Capacity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<TuningFindings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<Choice>,
    over_time: Vec<OverTime>,
    trials: &'a [TrialRecord],
    missing: Vec<&'a str>,
    next_steps: Vec<NextStep>,
    damaged: Vec<DamagedLine<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Threen1Trial<'a> {
    trial: &'a str,
    #[serde(flatten)]
    line: Threen1Line,
}

#[derive(Serialize, JsonSchema)]
struct ScalingDocument {
    name: String,
    points: Vec<ScalingPoint>,
    fit: Option<Fit>,
    unfit: Option<String>,
    misfit: Option<String>,
    curve: Vec<ScalingPoint>,
}

#[derive(Serialize, JsonSchema)]
struct DamagedLine<'a> {
    line: usize,
    message: &'a str,
}

/// A series with the reasons of its fit in words.
fn scaling(series: ScalingSeries) -> ScalingDocument {
    let (fit, unfit) = match series.fit {
        Ok(fit) => (Some(fit), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    ScalingDocument {
        name: series.name,
        points: series.points,
        misfit: fit.as_ref().and_then(misfit),
        fit,
        unfit,
        curve: series.curve,
    }
}

/// Writes the document, indented.
pub fn render(report: &Run) -> String {
    let manifest = &report.manifest;
    let threen1 = |trial| {
        let line = Threen1Line::of(trial)?;
        Some(Threen1Trial {
            trial: &trial.spec.id,
            line,
        })
    };
    let cores = f64::from(manifest.host.cores);
    let measured = report.trials.iter();
    let measured = measured.filter_map(|trial| Some((trial, trial.measurement.as_ref()?)));
    let findings = Findings::of(report);
    let storage_comparisons = storage_comparisons(&findings);
    let rankings = findings.rankings;
    let document = Document {
        format: FORMAT_VERSION,
        folder: report.shown_as.to_string_lossy().into_owned(),
        name: &manifest.name,
        about: &manifest.about,
        started_at: &manifest.started_at,
        host: &manifest.host,
        end: report.end.as_ref(),
        skipped: &manifest.skipped,
        scaling: series(&rankings).into_iter().map(scaling).collect(),
        next_steps: findings.answer.next_steps,
        rankings,
        storage_comparisons,
        storage_servers: model_servers(report),
        bottlenecks: measured
            .filter_map(|(trial, measurement)| trial_bottleneck(trial, measurement, cores))
            .collect(),
        published: comparisons(report).unwrap_or_default(),
        ablations: ablations(report),
        objective: manifest.objective.as_ref(),
        capacities: capacities(manifest, &report.trials),
        tuning: tuning(manifest, &report.trials),
        choice: choice(manifest, &report.trials),
        over_time: trueput_findings::over_time::all(report),
        threen1: report.trials.iter().filter_map(threen1).collect(),
        trials: &report.trials,
        missing: report
            .missing()
            .iter()
            .map(|spec| spec.id.as_str())
            .collect(),
        damaged: report
            .damaged
            .iter()
            .map(|damaged| DamagedLine {
                line: damaged.line,
                message: &damaged.message,
            })
            .collect(),
    };
    // Only a map with keys other than strings could fail here; there is no such map.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
