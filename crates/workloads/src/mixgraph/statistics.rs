//! Whether draws fit a distribution, for tests.

/// The standard normal quantile that one in a hundred exceeds.
const ONE_IN_A_HUNDRED: f64 = 2.326_3;

/// Counts how often each of so many cells is drawn.
pub(super) fn count(cells: usize, draws: u64, mut next: impl FnMut() -> usize) -> Vec<u64> {
    let mut counts = vec![0; cells];
    for _ in 0..draws {
        counts[next()] += 1;
    }
    counts
}

/// Pearson's chi-squared over the counts, at a significance of one in a hundred. Cells that expect
/// fewer than ten are taken together with the next ones, and the last few with those before.
pub(super) fn chi_squared_fits(counts: &[u64], probabilities: &[f64]) -> bool {
    assert_eq!(counts.len(), probabilities.len());
    let total: f64 = probabilities.iter().sum();
    assert!(
        (total - 1.0).abs() < 1e-6,
        "probabilities add up to {total}"
    );
    let draws = counts.iter().sum::<u64>() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (count, probability) in counts.iter().zip(probabilities) {
        open.0 += *count as f64;
        open.1 += probability * draws;
        if open.1 >= 10.0 {
            cells.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = cells.last_mut() {
        last.0 += open.0;
        last.1 += open.1;
    }
    assert!(cells.len() > 1, "nothing to compare");
    let parts = cells
        .iter()
        .map(|(observed, expected)| (observed - expected).powi(2) / expected);
    parts.sum::<f64>() <= chi_squared_limit(cells.len() as f64 - 1.0)
}

/// The quantile of chi-squared, by Wilson and Hilferty's approximation.
fn chi_squared_limit(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + ONE_IN_A_HUNDRED * spread.sqrt()).powi(3)
}

/// The test of Kolmogorov and Smirnov against a distribution function, at a significance of one in
/// a hundred. Right draws of whole numbers fail it less often than that.
pub(super) fn kolmogorov_smirnov_fits(drawn: &[u64], at_most: impl Fn(u64) -> f64) -> bool {
    // The limit of many draws, in any handbook.
    const LIMIT: f64 = 1.627_6;
    let mut drawn = drawn.to_vec();
    drawn.sort_unstable();
    let draws = drawn.len() as f64;
    let mut distance = 0.0_f64;
    let mut below = 0;
    for same in drawn.chunk_by(|one, next| one == next) {
        below += same.len();
        distance = distance.max((at_most(same[0]) - below as f64 / draws).abs());
    }
    distance * draws.sqrt() <= LIMIT
}

#[test]
fn the_limit_is_that_of_published_tables() {
    // The upper 0.01 points of chi-squared in any handbook.
    for (freedom, published) in [(2.0, 9.210), (10.0, 23.209), (100.0, 135.807)] {
        let off = chi_squared_limit(freedom) / published - 1.0;
        assert!(off.abs() < 0.01, "{freedom}: {off}");
    }
}

#[test]
fn right_draws_fit_and_wrong_ones_do_not() {
    assert!(chi_squared_fits(&[2_520, 2_470, 5_010], &[0.25, 0.25, 0.5]));
    assert!(!chi_squared_fits(
        &[2_640, 2_360, 5_000],
        &[0.25, 0.25, 0.5]
    ));
    let drawn: Vec<u64> = (0..10_000).map(|number| number % 100).collect();
    let uniform = |number: u64| (number + 1) as f64 / 100.0;
    assert!(kolmogorov_smirnov_fits(&drawn, uniform));
    assert!(!kolmogorov_smirnov_fits(&drawn, |number| uniform(number).powf(1.1)));
}
