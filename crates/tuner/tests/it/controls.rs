//! Controls of the whole method: a planted optimum must be found, and equals must stay equal.
//! `TRUEPUT_TUNER_SEEDS=300 cargo test -p trueput-tuner --test it rates -- --nocapture` prints the
//! table of docs/TUNING.md.

use crate::landscape::{ALL, Landscape};
use crate::simulation::{SearchResult, find};
use trueput_record::search::TuningStrategy;

/// A winner counts as found if it has this part of the optimum's gain, and the holdout claims it.
const FOUND_PART: f64 = 0.5;
const TRIALS: usize = 60;
/// No choice of the method used a seed from this one on.
const FIRST_SEED: u64 = 700_000;
const SEEDS: usize = 100;

const STRATEGIES: [(&str, TuningStrategy); 3] = [
    ("model", TuningStrategy::Model),
    ("random search", TuningStrategy::Random),
    ("one knob at a time", TuningStrategy::OneAtATime),
];

fn results(
    landscape: Landscape,
    strategy: TuningStrategy,
    trials: usize,
    seeds: usize,
) -> Vec<SearchResult> {
    let seeds = (FIRST_SEED..).take(seeds);
    seeds
        .map(|seed| find(landscape, strategy, trials, seed))
        .collect()
}

fn claims(results: &[SearchResult]) -> usize {
    results.iter().filter(|one| one.is_claimed).count()
}

fn hits(results: &[SearchResult]) -> usize {
    let is_found = |one: &&SearchResult| one.is_claimed && one.part >= FOUND_PART;
    results.iter().filter(is_found).count()
}

#[test]
fn a_planted_optimum_is_found_within_sixty_trials_in_nine_of_ten_seeds() {
    let found = |strategy| hits(&results(Landscape::Planted, strategy, TRIALS, SEEDS));
    let model = found(TuningStrategy::Model);
    assert!(10 * model >= 9 * SEEDS, "found in {model} of {SEEDS} seeds");
    // The landscape is not so easy that everything finds it.
    let (random, single) = (
        found(TuningStrategy::Random),
        found(TuningStrategy::OneAtATime),
    );
    assert!(
        random < model && single < random,
        "random search {random}, one knob at a time {single}, model {model}"
    );
}

#[test]
fn a_winner_among_equals_is_claimed_in_at_most_one_of_twenty_seeds() {
    let claims = claims(&results(
        Landscape::AllEqual,
        TuningStrategy::Model,
        TRIALS,
        SEEDS,
    ));
    assert!(20 * claims <= SEEDS, "claimed in {claims} of {SEEDS} seeds");
}

#[test]
fn rates_of_the_strategies_on_the_landscapes() {
    let seeds = std::env::var("TRUEPUT_TUNER_SEEDS");
    let seeds = seeds.map_or(3, |text| text.parse().unwrap());
    let names = STRATEGIES.map(|(name, _)| name).join(" | ");
    println!("| landscape | trials | {names} |\n|---|---:|---:|---:|---:|");
    for landscape in ALL {
        for trials in [TRIALS, 2 * TRIALS] {
            let rates = STRATEGIES.map(|(_, strategy)| {
                let all = results(landscape, strategy, trials, seeds);
                let count = match landscape {
                    Landscape::AllEqual => claims(&all),
                    _ => hits(&all),
                };
                if let (Landscape::Planted, TuningStrategy::Model) = (landscape, strategy) {
                    let missed = seeds - count;
                    assert!(missed <= 1 + seeds / 10, "missed {missed} of {seeds}");
                }
                format!("{:.1} %", 100.0 * count as f64 / seeds as f64)
            });
            println!(
                "| {} | {trials} | {} |",
                landscape.name(),
                rates.join(" | ")
            );
        }
    }
}
