//! Whether counts fit probabilities.

/// The standard normal quantile that one in a thousand exceeds.
const ONE_IN_A_THOUSAND: f64 = 3.0902;

/// Pearson's chi-squared over the counts, at a significance of one in a thousand. Cells that expect
/// fewer than ten are taken together with their neighbors.
pub fn fits(counts: &[u64], probabilities: &[f64]) -> bool {
    assert_eq!(counts.len(), probabilities.len());
    let draws: u64 = counts.iter().sum();
    let total: f64 = probabilities.iter().sum();
    assert!(
        (total - 1.0).abs() < 1e-9,
        "probabilities add up to {total}"
    );
    let (mut statistic, mut cells) = (0.0, 0.0);
    let (mut expected, mut observed) = (0.0, 0.0);
    for (index, (count, probability)) in counts.iter().zip(probabilities).enumerate() {
        expected += probability * draws as f64;
        observed += *count as f64;
        if expected >= 10.0 || index + 1 == counts.len() {
            statistic += (observed - expected).powi(2) / expected.max(1e-9);
            cells += 1.0;
            (expected, observed) = (0.0, 0.0);
        }
    }
    assert!(cells > 1.0, "nothing to compare");
    statistic <= limit(cells - 1.0)
}

/// The quantile of chi-squared, by Wilson and Hilferty's approximation, which is at
/// most 3 % off here.
fn limit(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + ONE_IN_A_THOUSAND * spread.sqrt()).powi(3)
}

pub fn count(cells: u64, draws: u64, mut next: impl FnMut() -> u64) -> Vec<u64> {
    let mut counts = vec![0; cells as usize];
    for _ in 0..draws {
        counts[next() as usize] += 1;
    }
    counts
}

#[test]
fn the_limit_is_that_of_published_tables() {
    // The upper 0.001 points of chi-squared in any handbook.
    for (freedom, published) in [(2.0, 13.816), (10.0, 29.588), (100.0, 149.449)] {
        let limit = limit(freedom);
        let off = limit / published - 1.0;
        assert!(off.abs() < 0.03, "{freedom}: {limit}");
    }
}

#[test]
fn a_right_count_fits_and_a_wrong_one_does_not() {
    assert!(fits(&[2_520, 2_470, 5_010], &[0.25, 0.25, 0.5]));
    assert!(!fits(&[2_720, 2_270, 5_010], &[0.25, 0.25, 0.5]));
}
