//! Linear least squares, and the maximum of a function of one variable.

/// The factors of the terms of each point whose sum is nearest to its value, by the squares of the
/// differences; `None` if the terms do not determine them.
pub(super) fn fit_linear<const N: usize>(
    points: impl Iterator<Item = ([f64; N], f64)>,
) -> Option<[f64; N]> {
    let (mut matrix, mut right) = ([[0.0; N]; N], [0.0; N]);
    for (terms, value) in points {
        for (row, term) in terms.iter().enumerate() {
            for (column, other) in terms.iter().enumerate() {
                matrix[row][column] += term * other;
            }
            right[row] += term * value;
        }
    }
    solve(matrix, right)
}

/// Solves linear equations by elimination; `None` if they have no single solution.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for column in 0..N {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..N).max_by(|one, other| size(one).total_cmp(&size(other)))?;
        if !matrix[pivot][column].is_normal() {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..N {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot_row = matrix[column];
            for (left, pivot) in matrix[row].iter_mut().zip(pivot_row).skip(column) {
                *left -= factor * pivot;
            }
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; N];
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|at| matrix[row][at] * solution[at]).sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    solution.iter().all(|it| it.is_finite()).then_some(solution)
}

/// The part of the variance of values that a model explains, 1 for all of it: 1 less the squared
/// differences of the pairs of a value and the model's, over those from the mean value.
pub(super) fn determination(pairs: &[(f64, f64)]) -> f64 {
    let mean = pairs.iter().map(|(value, _)| value).sum::<f64>() / pairs.len().max(1) as f64;
    let all: f64 = pairs.iter().map(|(value, _)| (value - mean).powi(2)).sum();
    let left = pairs.iter().map(|(value, model)| (value - model).powi(2));
    let left: f64 = left.sum();
    if all > 0.0 { 1.0 - left / all } else { 0.0 }
}

/// Where a function has its only maximum between two numbers, by golden section.
pub(super) fn maximize(mut from: f64, mut to: f64, value: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    const STEPS: u32 = 50;
    for _ in 0..STEPS {
        let span = GOLDEN * (to - from);
        let (left, right) = (to - span, from + span);
        if value(left) < value(right) {
            from = left;
        } else {
            to = right;
        }
    }
    f64::midpoint(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_found_again_and_dependent_terms_are_not_solved() {
        let points = (0..10).map(|x| {
            let x = f64::from(x);
            ([1.0, x, x * x], 3.0 - 2.0 * x + 0.5 * x * x)
        });
        let factors = fit_linear(points).unwrap();
        for (found, right) in factors.iter().zip([3.0, -2.0, 0.5]) {
            assert!((found - right).abs() < 1e-9, "{factors:?}");
        }
        let dependent = (0..10).map(|x| ([1.0, 2.0], f64::from(x)));
        assert_eq!(fit_linear(dependent), None);
    }

    #[test]
    fn a_perfect_model_explains_all_and_the_mean_nothing() {
        let values = [1.0, 2.0, 4.0, 5.0];
        assert_eq!(determination(&values.map(|value| (value, value))), 1.0);
        assert_eq!(determination(&values.map(|value| (value, 3.0))), 0.0);
    }

    #[test]
    fn a_maximum_is_found() {
        let found = maximize(-3.0, 10.0, |x| -(x - 1.25) * (x - 1.25));
        assert!((found - 1.25).abs() < 1e-6, "{found}");
    }
}
