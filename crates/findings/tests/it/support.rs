//! Runs whose findings can be foretold.

use std::path::Path;
use trueput_findings::Run;
use trueput_findings::answer::{Answer, RankingVerdict};
use trueput_findings::rankings::{Ranking, rankings};
use trueput_record::testing::{end, manifest, repeats};
use trueput_record::{Durability, TrialRecord};

/// A finished run of these trials, without files.
pub fn run_of(trials: Vec<TrialRecord>) -> Run {
    let folder = Path::new("results/20261121T204459Z-first-look");
    Run {
        end: Some(end()),
        ..Run::of_records(folder, manifest(&trials), trials)
    }
}

/// A run of one ranking at `sync`: its contenders, with a repeat for each rate.
pub fn contest(contenders: &[(&str, &[f64])]) -> Run {
    let cells = (0..).zip(contenders);
    let trials =
        cells.flat_map(|(cell, (engine, rates))| repeats(cell, engine, Durability::Sync, rates));
    run_of(trials.collect())
}

/// The rankings of these trials.
pub fn rank(trials: &[TrialRecord]) -> Vec<Ranking> {
    rankings(&manifest(trials), trials)
}

/// The names in a ranking, the best first.
pub fn contenders(ranking: &Ranking) -> Vec<&str> {
    let cells = ranking.cells.iter();
    cells.map(|cell| cell.contender.as_str()).collect()
}

/// The verdicts of a run's rankings.
pub fn verdicts(run: &Run) -> Vec<RankingVerdict> {
    let rankings = Answer::of(run).rankings;
    rankings.iter().map(|ranking| ranking.verdict).collect()
}

/// The texts of findings.
pub fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
