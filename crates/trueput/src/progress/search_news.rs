//! Words what a search has found.

use trueput_findings::choice::RunOff;
use trueput_findings::units::counted;
use trueput_record::value::{Settings, format_seconds};
use trueput_report::last_probe;
use trueput_tuner::SearchNews;
use trueput_tuner::rounds::Incumbent;

/// One line; `None` if there is nothing to tell yet.
pub fn line(news: &SearchNews) -> Option<String> {
    Some(match news {
        SearchNews::Probe {
            capacity,
            is_tuned: false,
        } => last_probe(capacity)?,
        SearchNews::Probe { capacity, .. } => format!("tuned, {}", last_probe(capacity)?),
        SearchNews::TuningBegun {
            contender,
            trials,
            budget_s,
        } => format!(
            "tuning {contender}: at most {} in {}",
            counted(u64::from(*trials), "trial"),
            format_seconds(budget_s.round())
        ),
        SearchNews::Replanned { before, planned } => {
            let length = if planned < before {
                "longer"
            } else {
                "less time"
            };
            format!("trials take {length} than estimated: {planned} are planned, not {before}")
        }
        SearchNews::Round {
            rounds,
            changes,
            promised_gain,
            ..
        } if changes.is_empty() => format!(
            "round {rounds}: nothing is known to be better than the default yet{}",
            promised(*promised_gain)
        ),
        SearchNews::Round {
            rounds,
            best,
            changes,
            ..
        } => format!("round {rounds}: {}", best_words(best, changes)),
        SearchNews::RunOff {
            run_off,
            first,
            second,
        } => run_off_words(run_off, first, second),
        SearchNews::OfContender(name, news) => format!("{name}: {}", line(news)?),
    })
}

/// The best estimate of a gain that too few trials have confirmed, as a clause; empty if there is
/// none.
fn promised(gain: Option<f64>) -> String {
    gain.map_or_else(String::new, |gain| {
        format!(
            "; most promising, not yet confirmed: {:+.0} %",
            gain * 100.0
        )
    })
}

fn best_words(best: &Incumbent, changes: &Settings) -> String {
    let changes = changes.iter();
    let changes: Vec<_> = changes
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let interval = best.interval.map_or_else(String::new, |it| {
        let [low, high] = [it.low, it.high].map(|end| (end - 1.0) * 100.0);
        format!(" ({low:+.0} to {high:+.0})")
    });
    format!(
        "best so far {:+.0} %{interval} in {} trials: {}",
        (best.factor - 1.0) * 100.0,
        best.repeats,
        changes.join(", ")
    )
}

fn run_off_words(run_off: &RunOff, first: &str, second: &str) -> String {
    format!(
        "run-off at {}/s, {}: {first} kept the objective in {}, {second} in {}",
        run_off.rate_per_s,
        counted(run_off.pairs as u64, "pair"),
        run_off.first_held,
        run_off.second_held
    )
}
