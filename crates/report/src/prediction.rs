//! A prediction: the answer, the terms of the model, and its error on what was measured.

use crate::document::{Block, Table};
use crate::formats::{Format, Style, terminal};
use crate::sections::scaling::{misfit, oversubscription_note};
use trueput_findings::prediction::{
    CheckKind, CheckedCell, FollowerStep, PredictedPoint, Prediction, Replication,
};
use trueput_findings::scaling::{Coefficient, Peak};
use trueput_findings::units::{counted, number, per_cent, plural, seconds, whole};

/// From this share of the time beyond the measured clients on, a point is called extrapolated.
const EXTRAPOLATED: f64 = 0.05;

/// An interval that reaches further than this factor is called unknown.
const WIDEST_FACTOR: f64 = 10.0;

/// Writes a prediction. It ends with a newline.
#[must_use]
pub fn render(prediction: &Prediction, format: Format, style: Style) -> String {
    match format {
        Format::Json => {
            let mut document = serde_json::json!({ "prediction": prediction });
            document["answer"] = serde_json::json!(prediction.answer());
            document["errors"] = serde_json::json!({
                "left-out": prediction.errors(CheckKind::LeftOut),
                "more-workers": prediction.errors(CheckKind::MoreWorkers),
                "other-delay": prediction.errors(CheckKind::OtherDelay),
            });
            document["warnings"] = serde_json::json!(warnings(prediction));
            format!("{document:#}\n")
        }
        // The command offers no other formats.
        _ => terminal::render_with(&document(prediction), style, "--json"),
    }
}

fn document(prediction: &Prediction) -> Vec<Block> {
    let name = format!(
        "{}, {}, {}",
        prediction.contender, prediction.workload, prediction.durability
    );
    let mut blocks = vec![Block::Heading(1, name)];
    blocks.extend(
        prediction
            .answer()
            .map(|point| Block::Text(answer(prediction, point))),
    );
    blocks.extend(Block::Warnings(warnings(prediction)).filled());
    blocks.push(Block::Heading(2, "Expected".to_owned()));
    blocks.push(Block::Table(points(prediction)));
    blocks.push(Block::Heading(2, "Terms".to_owned()));
    blocks.push(Block::Table(terms(prediction)));
    blocks.push(Block::Heading(2, "Error on what was measured".to_owned()));
    blocks.extend(Block::List(error_sentences(prediction)).filled());
    blocks.push(Block::Table(checks(prediction)));
    blocks.push(Block::Heading(2, "Limits of the model".to_owned()));
    blocks.push(Block::List(limits(prediction)));
    blocks
}

/// The expected rate and time in one sentence.
fn answer(prediction: &Prediction, point: &PredictedPoint) -> String {
    let rate = with_interval(point.per_s, point.interval_per_s, number);
    let time = with_interval(point.response_s, point.interval_response_s, seconds);
    format!(
        "Expected with {} on {}: {rate} {}/s, {time} per {} (mean). In parentheses: 95 % interval.",
        counted(u64::from(point.clients), "client"),
        place(&point.replication),
        plural(&prediction.operation),
        timed_operation(prediction)
    )
}

/// The operation whose time is predicted: of a mix, any.
fn timed_operation(prediction: &Prediction) -> &str {
    if prediction.operation_share < 1.0 {
        "operation of any kind"
    } else {
        &prediction.operation
    }
}

fn place(on: &Replication) -> String {
    match on.nodes {
        1 => "one node".to_owned(),
        nodes => format!(
            "{nodes} nodes with a delay of {} each way",
            seconds(on.network_delay_s)
        ),
    }
}

fn with_interval(value: f64, interval: Option<(f64, f64)>, write: fn(f64) -> String) -> String {
    match interval {
        Some(interval) if is_known(interval) => {
            format!("{} ({})", write(value), range(interval, write))
        }
        Some(_) => format!(
            "{} (not known to within a factor of {WIDEST_FACTOR})",
            write(value)
        ),
        None => format!("{} (no interval)", write(value)),
    }
}

/// Whether an interval, whose middle is that of a ratio, is narrow enough to say something.
fn is_known((low, high): (f64, f64)) -> bool {
    (high / low).sqrt() <= WIDEST_FACTOR
}

fn range((low, high): (f64, f64), write: fn(f64) -> String) -> String {
    format!("{} to {}", write(low), write(high))
}

/// Where the answer must not be trusted as the measured cells may be.
fn warnings(prediction: &Prediction) -> Vec<String> {
    let Some(point) = prediction.answer() else {
        return Vec::new();
    };
    let mut said = Vec::new();
    said.extend(extrapolation(prediction, point));
    said.extend(untested_terms(prediction, point));
    if let Some(reason) = misfit(&prediction.law) {
        said.push(format!(
            "The law describes the measured cells badly: {reason}."
        ));
    }
    let law = &prediction.law;
    if misfit(law).is_none() && law.sigma.may_be_zero() && law.kappa.may_be_zero() {
        said.push(format!(
            "The measured cells show no limit: neither contention nor coherency is significant up \
             to {} clients. A limit beyond them is not in the law.",
            prediction.law.most_workers()
        ));
    }
    let asked = &point.replication;
    if asked.waits() && prediction.measured.nodes == 1 && asked.network_delay_s == 0.0 {
        said.push("The network is taken to take no time: give --network-delay.".to_owned());
    }
    if prediction.host_limited_trials > 0 {
        said.push(format!(
            "In {} a host that ran the workers may have been the limit, so the law may be that of \
             the host.",
            counted(prediction.host_limited_trials as u64, "trial")
        ));
    }
    if point.is_lower_bound {
        said.push(
            "The rate is a lower bound: commits that were measured waited longer for other nodes \
             than is asked for, and the law contains that wait."
                .to_owned(),
        );
    }
    said
}

fn extrapolation(prediction: &Prediction, point: &PredictedPoint) -> Option<String> {
    let most = prediction.law.most_workers();
    if point.beyond_measured <= EXTRAPOLATED {
        return None;
    }
    Some(if point.added_wait.total_s() > 0.0 {
        format!(
            "Extrapolated: for {} of the time more clients are active than the {most} that the law \
             is fitted to.",
            per_cent(point.beyond_measured)
        )
    } else {
        format!(
            "Extrapolated: {} clients are {} times the {most} that the law is fitted to.",
            point.clients,
            number(f64::from(point.clients) / most)
        )
    })
}

/// Terms of the model that no measured cell tests.
fn untested_terms(prediction: &Prediction, point: &PredictedPoint) -> Option<String> {
    let (asked, measured) = (&point.replication, &prediction.measured);
    let delays = prediction.checks.iter().map(|check| check.network_delay_s);
    let longest_s = delays.fold(measured.network_delay_s, f64::max);
    let is_other = asked.nodes != measured.nodes
        || asked.followers != measured.followers
        || asked.step != measured.step;
    if !asked.waits() {
        return None;
    }
    if is_other {
        return Some(format!(
            "Measured on {}, so the wait for other nodes comes from the terms below alone.",
            commits_on(measured)
        ));
    }
    (asked.network_delay_s > longest_s).then(|| {
        format!(
            "The longest delay that was measured is {}; the round trips of {} are calculated.",
            seconds(longest_s),
            seconds(asked.network_delay_s)
        )
    })
}

fn commits_on(on: &Replication) -> String {
    match (on.nodes, on.waits()) {
        (1, _) => "one node".to_owned(),
        (nodes, false) => format!("{nodes} nodes with commits that wait for no follower"),
        (nodes, true) => format!(
            "{nodes} nodes with commits that wait for {} ({})",
            counted(u64::from(on.followers), "follower"),
            on.step.name()
        ),
    }
}

fn points(prediction: &Prediction) -> Table {
    let points = &prediction.points;
    let operation = &prediction.operation;
    let varies =
        |of: &dyn Fn(&PredictedPoint) -> u64| points.windows(2).any(|it| of(&it[0]) != of(&it[1]));
    let interval = |of: fn(&PredictedPoint) -> Option<(f64, f64)>, write: fn(f64) -> String| {
        move |point: &PredictedPoint| match of(point) {
            Some(interval) if is_known(interval) => range(interval, write),
            Some(_) => format!("over {WIDEST_FACTOR}×"),
            None => "–".to_owned(),
        }
    };
    Table::of(points)
        .when(
            varies(&|point| u64::from(point.replication.nodes)),
            |table| table.figures("nodes", 0, |point| point.replication.nodes),
        )
        .when(
            varies(&|point| point.replication.network_delay_s.to_bits()),
            |table| {
                table.figures("delay", 0, |point| {
                    seconds(point.replication.network_delay_s)
                })
            },
        )
        .figures("clients", 0, |point| point.clients)
        .figures(format!("{}/s", plural(operation)), 0, |point| {
            number(point.per_s)
        })
        .figures(
            "rate, 95 %",
            1,
            interval(|point| point.interval_per_s, number),
        )
        .figures(format!("per {}", timed_operation(prediction)), 0, |point| {
            seconds(point.response_s)
        })
        .figures(
            "time, 95 %",
            2,
            interval(|point| point.interval_response_s, seconds),
        )
        .figures("active", 1, |point| number(point.active))
        .text("", 0, |point| {
            match (point.is_asked, point.beyond_measured > EXTRAPOLATED) {
                (true, true) => "requested, extrapolated",
                (true, false) => "requested",
                (false, true) => "extrapolated",
                (false, false) => "",
            }
        })
        .build()
}

fn terms(prediction: &Prediction) -> Table {
    let mut rows = law_terms(prediction);
    let commits = prediction.commits_per_operation;
    rows.push([
        format!("commits per {}", prediction.operation),
        commits.map_or("–".to_owned(), number),
        match commits {
            Some(_) => "measured",
            None => "the workload does not count them",
        }
        .to_owned(),
    ]);
    let waiting = prediction
        .answer()
        .filter(|point| point.replication.waits());
    rows.extend(
        waiting
            .into_iter()
            .flat_map(|point| wait_terms(prediction, point)),
    );
    Table::of(&rows)
        .text("term", 0, |row| row[0].clone())
        .figures("value", 0, |row| row[1].clone())
        .text("from", 0, |row| row[2].clone())
        .build()
}

fn law_terms(prediction: &Prediction) -> Vec<[String; 3]> {
    let law = &prediction.law;
    let mut workers: Vec<f64> = law.points.iter().map(|point| point.workers).collect();
    workers.dedup();
    let workers: Vec<_> = workers.iter().map(ToString::to_string).collect();
    let interval = |of: &Coefficient| format!("fitted, {} to {}", short(of.low), short(of.high));
    vec![
        [
            format!("one client's {}", timed_operation(prediction)),
            seconds(prediction.operation_share / law.lambda.value),
            format!(
                "1/λ, fitted to {} at {} clients",
                counted(law.points.len() as u64, "trial"),
                workers.join(", ")
            ),
        ],
        [
            "contention σ".to_owned(),
            short(law.sigma.value),
            interval(&law.sigma),
        ],
        [
            "coherency κ".to_owned(),
            short(law.kappa.value),
            interval(&law.kappa),
        ],
    ]
}

/// The parts of a commit's wait beyond what the law contains.
fn wait_terms(prediction: &Prediction, point: &PredictedPoint) -> Vec<[String; 3]> {
    let (on, costs, added) = (&point.replication, &prediction.follower, &point.added_wait);
    let contained = if prediction.measured.waits() {
        ", beyond what was measured"
    } else {
        ""
    };
    let source = |is_given: bool, measured: &str| {
        if is_given {
            "given".to_owned()
        } else {
            measured.to_owned()
        }
    };
    let mut rows = vec![[
        "network".to_owned(),
        seconds(added.network_s),
        format!(
            "{} × 2 × {}{contained}",
            costs.round_trips,
            seconds(on.network_delay_s)
        ),
    ]];
    if on.step >= FollowerStep::On {
        let mean = seconds(costs.flush_s.unwrap_or_default());
        let from = source(costs.is_flush_given, "flush limit of the hardware");
        let spread = "spread as one client's latencies";
        rows.push([
            format!("flush of the {} of {}", fastest(on.followers), on.nodes - 1),
            seconds(added.flush_s),
            format!("mean {mean}, {from}; {spread}{contained}"),
        ]);
    }
    if on.step == FollowerStep::RemoteApply {
        let from = source(
            costs.is_apply_given,
            "at most: one client's commit less its flush",
        );
        let row = [
            "replay".to_owned(),
            seconds(added.apply_s),
            format!("{from}{contained}"),
        ];
        rows.push(row);
    }
    rows.push([
        "added to each commit".to_owned(),
        seconds(added.total_s()),
        "sum".to_owned(),
    ]);
    rows
}

fn fastest(followers: u32) -> String {
    match followers {
        1 => "fastest".to_owned(),
        several => format!("{several} fastest"),
    }
}

/// Three digits, however small the figure.
fn short(value: f64) -> String {
    if value > 0.0 && value < 1e-3 {
        format!("{value:.2e}")
    } else {
        number(value)
    }
}

fn error_sentences(prediction: &Prediction) -> Vec<String> {
    let kinds = [
        (CheckKind::LeftOut, "Each cell, predicted from the others"),
        (
            CheckKind::MoreWorkers,
            "More clients than the law is fitted to",
        ),
        (CheckKind::OtherDelay, "Other delays of the network"),
    ];
    let sentence = |(kind, subject): (CheckKind, &str)| {
        let errors = prediction.errors(kind)?;
        let checks = prediction.checks.iter().filter(|check| check.kind == kind);
        let judged: Vec<bool> = checks.filter_map(|check| check.is_in_interval).collect();
        let inside = judged.iter().filter(|inside| **inside).count();
        let inside = if judged.is_empty() {
            String::new()
        } else {
            format!("; {inside} of {} within the interval", judged.len())
        };
        Some(format!(
            "{subject}: off by {} in the median, {} at worst ({}){inside}.",
            per_cent(errors.median),
            per_cent(errors.worst),
            counted(errors.cells as u64, "cell")
        ))
    };
    kinds.into_iter().filter_map(sentence).collect()
}

fn checks(prediction: &Prediction) -> Table {
    let has_delay = prediction.measured.nodes > 1;
    let kind = |check: &CheckedCell| match check.kind {
        CheckKind::LeftOut => "left out",
        CheckKind::MoreWorkers => "more clients",
        CheckKind::OtherDelay => "other delay",
    };
    let latency = |check: &CheckedCell| check.measured_latency_s.map_or("–".to_owned(), seconds);
    Table::of(&prediction.checks)
        .text("cell", 0, kind)
        .figures("clients", 0, |check| check.clients)
        .when(has_delay, |table| {
            table.figures("delay", 0, |check| seconds(check.network_delay_s))
        })
        .figures("measured/s", 0, |check| number(check.measured_per_s))
        .figures("predicted/s", 0, |check| number(check.predicted_per_s))
        .figures("error", 0, |check| signed_per_cent(check.error))
        .figures("measured latency", 1, latency)
        .figures("predicted", 1, |check| seconds(check.predicted_response_s))
        .build()
}

fn signed_per_cent(share: f64) -> String {
    if share < 0.0 {
        format!("−{}", per_cent(-share))
    } else {
        format!("+{}", per_cent(share))
    }
}

fn limits(prediction: &Prediction) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(cores) = prediction.shared_cores.filter(|cores| *cores > 0) {
        let unit = if cores == 1 {
            "processor"
        } else {
            "processors"
        };
        let all = match prediction.measured.nodes {
            1 => "The server and its clients".to_owned(),
            nodes => format!("All {nodes} nodes and their clients"),
        };
        said.push(format!(
            "{all} shared {cores} {unit} and their disks: that measures what a protocol costs, not \
             how it scales on machines of their own."
        ));
        said.extend(oversubscription_note(prediction.law.most_workers(), cores));
    }
    said.push(match prediction.law.peak {
        Peak::OutOfReach => "The law has no significant peak.".to_owned(),
        Peak::At { workers, per_s, .. } => format!(
            "The law peaks at {} active clients with {}/s.",
            number(workers),
            whole(per_s)
        ),
    });
    said.push(
        "A client begins an operation when its last one has ended. A wait for other nodes uses \
         nothing of the node. Times are means; percentiles are not predicted."
            .to_owned(),
    );
    said
}
