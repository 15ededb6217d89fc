//! Tests whether a change of level is significant in the few values of a history, in which scatter
//! often looks like a step.

use super::ALPHA;
use super::change::{MIN_SEGMENT_VALUES, change_points};
use statrs::distribution::{ContinuousCDF, StudentsT};
use trueput_record::random::{GOLDEN_STEP, SplitMix64};

/// The chance of a step in one flat series. With less, three runs of a dozen at another level would
/// hardly ever show: of a permutation test, two in 220 orders are as clear.
const ONE_SERIES: f64 = 0.02;

/// Fewest and most orders that are tried.
const ORDERS: std::ops::RangeInclusive<f64> = 2_000.0..=100_000.0;

/// Finds significant changes of level in one of `series` series that are read together: the indexes
/// at which a new segment begins. If there is no change and the values could have come in any
/// order, the chance of a false change is at most one in twenty over all series, and about one in
/// fifty for a single one.
///
/// Candidates are those of [`change_points`]. One remains if the two segments on either side of it
/// show a step by two tests: Student's test, with its level divided by the number of places for the
/// step; and a permutation test (Fisher, 1935): among all orders of these values at most that share
/// shows so clear a step anywhere or, for few values, none shows a clearer one. The least certain
/// candidate is dropped first, and the others are tested again.
#[must_use]
pub fn level_changes(values: &[f64], series: usize) -> Vec<usize> {
    let level = ONE_SERIES.min(ALPHA / series.max(1) as f64);
    let mut found = change_points(values);
    while !found.is_empty() {
        let mut bounds = vec![0];
        bounds.extend(&found);
        bounds.push(values.len());
        let doubts = bounds
            .windows(3)
            .map(|three| step_p_value(&values[three[0]..three[2]], level));
        let least_sure = doubts.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        match least_sure {
            Some((index, doubt)) if doubt > level => found.remove(index),
            _ => break,
        };
    }
    found
}

/// The probability of so clear a step in `values` if their order were random; at most `level` for a
/// significant step.
fn step_p_value(values: &[f64], level: f64) -> f64 {
    let clearest = clearest_step(values);
    let by_student = student(clearest, values.len());
    // To try orders takes long, and cannot make a step clearer.
    if by_student > level {
        return by_student;
    }
    let orders = (20.0 / level).clamp(*ORDERS.start(), *ORDERS.end()) as usize;
    let mut order = values.to_vec();
    order.sort_by(f64::total_cmp);
    let most = clearest_step(&order);
    let mut random = SplitMix64::new(GOLDEN_STEP ^ values.len() as u64);
    let (mut as_clear, mut as_clear_as_can_be) = (1_u32, 1_u32);
    for _ in 0..orders {
        random.shuffle(&mut order);
        let step = clearest_step(&order) * (1.0 + 1e-9);
        as_clear += u32::from(step >= clearest);
        as_clear_as_can_be += u32::from(step >= most);
    }
    if as_clear <= as_clear_as_can_be {
        by_student
    } else {
        by_student.max(f64::from(as_clear) / (orders as f64 + 1.0))
    }
}

/// The clearest step of a series: the part of its sum of squares that is between the segments
/// before and after it, over the part within them, wherever that is most.
fn clearest_step(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let (mut before, mut between) = (0.0, 0.0_f64);
    for (index, value) in values.iter().enumerate() {
        if index >= MIN_SEGMENT_VALUES && index + MIN_SEGMENT_VALUES <= values.len() {
            let n = index as f64;
            between = between.max(before * before * count / (n * (count - n)));
        }
        before += value - mean;
    }
    // Levels without scatter of their own are as far apart as a float can say.
    between
        / (squares - between)
            .max(squares * 1e-12)
            .max(f64::MIN_POSITIVE)
}

/// The chance of so clear a step by Student's test, in any of the places that it could have had.
fn student(clearest: f64, count: usize) -> f64 {
    let freedom = count as f64 - 2.0;
    let places = (count + 1).saturating_sub(2 * MIN_SEGMENT_VALUES) as f64;
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else {
        return 1.0;
    };
    (2.0 * places * student.sf((clearest * freedom).sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::NILE;
    use crate::samples::levels as series;

    #[test]
    fn the_test_of_one_place_is_students() {
        // t² is 10 with 4 degrees of freedom, whose distribution has a closed form: p is
        // 1 - 3/4 sqrt(10/3.5) (1 - 10/3.5/12). scipy 1.17.1: ttest_ind([1, 2, 3], [4, 5,
        // 7]).pvalue is 0.03410942316740962.
        let clearest = clearest_step(&[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
        assert!((clearest * 4.0 - 10.0).abs() < 1e-9, "{clearest}");
        assert!((student(clearest, 6) - 0.034_109_423_167).abs() < 1e-9);
    }

    #[test]
    fn the_doubt_about_a_step_agrees_with_scipy() {
        // No order is clearer, so Student's test alone speaks. scipy 1.17.1: ttest_ind(x[:4],
        // x[4:]).pvalue, times the three places that the step could have had.
        let apart = [100.0, 101.0, 99.0, 100.5, 96.5, 97.0, 95.5, 97.5];
        assert!((step_p_value(&apart, 0.1) / 0.003_465_038_843_349_628 - 1.0).abs() < 1e-9);
        // permutation_test((x,), clearest_step, permutation_type='pairings', n_resamples=inf) of
        // all 40,320 orders is 0.0786; ours tries 2,000, whose standard error is 0.006.
        let mixed = [10.0, 10.2, 9.9, 10.1, 8.0, 7.9, 8.1, 9.95];
        assert!((step_p_value(&mixed, 0.1) - 0.078_571).abs() < 0.018);
    }

    #[test]
    fn the_fall_of_the_nile_is_a_change_of_level() {
        assert_eq!(level_changes(&NILE, 1), [28]);
        assert_eq!(level_changes(&NILE, 20), [28]);
        assert!(level_changes(&NILE[..28], 1).is_empty());
    }

    #[test]
    fn steps_and_dips_are_found_where_they_are_and_an_outlier_is_none() {
        assert_eq!(level_changes(&series(&[(100.0, 4), (90.0, 4)]), 1), [4]);
        assert_eq!(level_changes(&series(&[(100.0, 3), (80.0, 3)]), 1), [3]);
        assert_eq!(
            level_changes(&series(&[(100.0, 10), (50.0, 5), (100.0, 10)]), 1),
            [10, 15]
        );
        let mut flat = series(&[(100.0, 12)]);
        assert!(level_changes(&flat, 1).is_empty());
        flat[1] = 40.0;
        assert!(level_changes(&flat, 1).is_empty());
        assert_eq!(
            level_changes(&[5.0, 5.0, 5.0, 5.0, 9.0, 9.0, 9.0, 9.0], 1),
            [4]
        );
        assert!(level_changes(&[5.0; 8], 1).is_empty());
        assert!(level_changes(&[1.0, 2.0], 1).is_empty());
    }

    #[test]
    fn among_many_series_a_step_must_be_clearer() {
        let values = [100.0, 101.0, 99.0, 100.5, 96.5, 97.0, 95.5, 97.5];
        assert_eq!(level_changes(&values, 1), [4]);
        assert!(level_changes(&values, 1_000).is_empty());
    }
}
