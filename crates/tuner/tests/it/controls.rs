//! Controls of the whole method: a planted optimum must be found, and equals must stay equal.
//! `TRUEPUT_TUNER_SEEDS=300 cargo test -p trueput-tuner --test it rates -- --nocapture` shows the
//! rates of all strategies on all landscapes.

use crate::landscape::{ALL, Landscape};
use crate::simulation::{SearchResult, find};
use trueput_tuner::search::Strategy;

/// A winner counts as found if it has this part of the optimum's gain, and the holdout claims it.
const FOUND_PART: f64 = 0.5;
const TRIALS: usize = 60;

fn found(landscape: Landscape, strategy: Strategy, trials: usize, seeds: u64) -> Vec<SearchResult> {
    (0..seeds)
        .map(|seed| find(landscape, strategy, trials, seed))
        .collect()
}

fn count(findings: &[SearchResult], is_meant: impl Fn(&SearchResult) -> bool) -> usize {
    findings.iter().filter(|one| is_meant(one)).count()
}

#[test]
fn a_planted_optimum_is_found_within_sixty_trials_in_nine_of_ten_seeds() {
    let findings = found(Landscape::Planted, Strategy::Model, TRIALS, 10);
    let hits = count(&findings, |one| one.is_claimed && one.part >= FOUND_PART);
    assert!(hits >= 9, "found in {hits} of 10 seeds");
}

#[test]
fn a_winner_among_equals_is_claimed_in_at_most_one_of_twenty_seeds() {
    let findings = found(Landscape::AllEqual, Strategy::Model, TRIALS, 20);
    let claims = count(&findings, |one| one.is_claimed);
    assert!(claims <= 1, "claimed in {claims} of 20 seeds");
}

#[test]
fn rates_of_the_strategies_on_the_landscapes() {
    let seeds = std::env::var("TRUEPUT_TUNER_SEEDS");
    let seeds = seeds.map_or(3, |text| text.parse().unwrap());
    println!("landscape strategy trials claimed claimed-half claimed-0.7 mean-part p10-part");
    for landscape in ALL {
        let strategies = [
            Strategy::Model,
            Strategy::Random,
            Strategy::OneAtATime,
            Strategy::Presets,
        ];
        for (strategy, trials) in strategies.iter().flat_map(|one| [(one, 60), (one, 120)]) {
            let findings = found(landscape, *strategy, trials, seeds);
            let mut parts: Vec<_> = findings.iter().map(|one| one.part).collect();
            parts.sort_by(f64::total_cmp);
            let mean = parts.iter().sum::<f64>() / parts.len() as f64;
            let rate = |least: f64| {
                let hits = count(&findings, |one| one.is_claimed && one.part >= least);
                hits as f64 / seeds as f64
            };
            println!(
                "{landscape:?} {strategy:?} {trials} {:.3} {:.3} {:.3} {mean:.2} {:.2}",
                rate(f64::NEG_INFINITY),
                rate(FOUND_PART),
                rate(0.7),
                parts[parts.len() / 10]
            );
            assert!(
                parts.iter().all(|part| *part <= 1.0 + 1e-9),
                "none is above the optimum"
            );
        }
    }
}
