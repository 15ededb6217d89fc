//! Least squares for the law's three coefficients, λ, σ and κ in that order.

use super::ScalingPoint;

/// The three coefficients: λ, σ, κ.
pub(super) type Coefficients = [f64; 3];

/// Coefficients and the sum of the squared residuals that they leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Solution {
    pub(super) coefficients: Coefficients,
    pub(super) squares: f64,
}

const MAX_STEPS: usize = 2_000;

/// A step that changes every coefficient by a smaller part than this is the last.
const MIN_STEP: f64 = 1e-12;

/// The law at a number of workers.
pub(super) fn law([lambda, sigma, kappa]: Coefficients, workers: f64) -> f64 {
    lambda * workers / denominator(sigma, kappa, workers)
}

fn denominator(sigma: f64, kappa: f64, workers: f64) -> f64 {
    1.0 + sigma * (workers - 1.0) + kappa * workers * (workers - 1.0)
}

/// The law's derivatives by its coefficients.
fn gradient([lambda, sigma, kappa]: Coefficients, workers: f64) -> [f64; 3] {
    let below = denominator(sigma, kappa, workers);
    let by_sigma = -lambda * workers * (workers - 1.0) / (below * below);
    [workers / below, by_sigma, by_sigma * workers]
}

/// The best solution from several starts; `None` if none ends in finite figures.
pub(super) fn best(points: &[ScalingPoint]) -> Option<Solution> {
    let greatest = points.iter().map(|point| point.per_s).fold(0.0, f64::max);
    let per_worker = points.iter().map(|point| point.per_s / point.workers);
    let per_worker = per_worker.fold(0.0, f64::max) / greatest;
    // Rates around 1, so that no coefficient dwarfs the others.
    let scaled: Vec<ScalingPoint> = points
        .iter()
        .map(|point| ScalingPoint {
            workers: point.workers,
            per_s: point.per_s / greatest,
        })
        .collect();
    let fixed =
        [(0.0, 0.0), (0.05, 1e-4), (0.5, 1e-2)].map(|(sigma, kappa)| [per_worker, sigma, kappa]);
    let ended = linearised(&scaled)
        .into_iter()
        .chain(fixed)
        .map(|start| descend(&scaled, start))
        .filter(|solution| solution.squares.is_finite());
    let found = ended.min_by(|one, other| one.squares.total_cmp(&other.squares))?;
    let [lambda, sigma, kappa] = found.coefficients;
    Some(Solution {
        coefficients: [lambda * greatest, sigma, kappa],
        squares: found.squares * greatest * greatest,
    })
}

/// N / X(N) is a polynomial of the second degree in N: its coefficients by linear least squares
/// make a start.
fn linearised(points: &[ScalingPoint]) -> Option<Coefficients> {
    let mut normal = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for point in points {
        let powers = [1.0, point.workers, point.workers * point.workers];
        let value = point.workers / point.per_s;
        for row in 0..3 {
            right[row] += powers[row] * value;
            for column in 0..3 {
                normal[row][column] += powers[row] * powers[column];
            }
        }
    }
    let [a, b, c] = solve(normal, right)?;
    let one_over_lambda = a + b + c;
    if one_over_lambda <= 0.0 {
        return None;
    }
    let lambda = 1.0 / one_over_lambda;
    let kappa = c * lambda;
    Some([lambda, (b * lambda + kappa).max(0.0), kappa.max(0.0)])
}

/// Levenberg-Marquardt descent with σ and κ bounded below by 0: a coefficient that is at 0 and
/// would fall is left out of the step.
fn descend(points: &[ScalingPoint], start: Coefficients) -> Solution {
    let mut now = Solution {
        coefficients: start,
        squares: squares(points, start),
    };
    let mut damping = 1e-3;
    for _ in 0..MAX_STEPS {
        let (mut normal, mut right) = normal_equations(points, now.coefficients);
        for index in 0..3 {
            if now.coefficients[index] <= 0.0 && right[index] <= 0.0 {
                leave_out(index, &mut normal, &mut right);
            }
            normal[index][index] *= 1.0 + damping;
        }
        let Some(step) = solve(normal, right) else {
            break;
        };
        let mut next = now.coefficients;
        for (coefficient, change) in next.iter_mut().zip(step) {
            *coefficient = (*coefficient + change).max(0.0);
        }
        let left = squares(points, next);
        if left <= now.squares {
            let smallest = next
                .iter()
                .zip(now.coefficients)
                .all(|(new, old)| (new - old).abs() <= MIN_STEP * (new.abs() + MIN_STEP));
            now = Solution {
                coefficients: next,
                squares: left,
            };
            if smallest {
                break;
            }
            damping = (damping / 5.0).max(1e-15);
        } else if damping > 1e12 {
            break;
        } else {
            damping *= 4.0;
        }
    }
    now
}

/// Replaces a coefficient's equation so that the coefficient stays unchanged.
fn leave_out(index: usize, normal: &mut [[f64; 3]; 3], right: &mut [f64; 3]) {
    for row in normal.iter_mut() {
        row[index] = 0.0;
    }
    normal[index] = [0.0; 3];
    normal[index][index] = 1.0;
    right[index] = 0.0;
}

fn squares(points: &[ScalingPoint], coefficients: Coefficients) -> f64 {
    let residual = |point: &ScalingPoint| point.per_s - law(coefficients, point.workers);
    points.iter().map(|point| residual(point).powi(2)).sum()
}

/// The product of the Jacobian with itself, and with the residuals.
fn normal_equations(
    points: &[ScalingPoint],
    coefficients: Coefficients,
) -> ([[f64; 3]; 3], [f64; 3]) {
    let mut normal = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for point in points {
        let slope = gradient(coefficients, point.workers);
        let residual = point.per_s - law(coefficients, point.workers);
        for row in 0..3 {
            right[row] += slope[row] * residual;
            for column in 0..3 {
                normal[row][column] += slope[row] * slope[column];
            }
        }
    }
    (normal, right)
}

/// The diagonal of the inverse of the Jacobian's product with itself: each coefficient's variance
/// over the residuals'. `None` if there is no inverse.
pub(super) fn inverse_of_normal(
    points: &[ScalingPoint],
    coefficients: Coefficients,
) -> Option<[f64; 3]> {
    let (normal, _) = normal_equations(points, coefficients);
    let mut diagonal = [0.0; 3];
    for (index, variance) in diagonal.iter_mut().enumerate() {
        let mut unit = [0.0; 3];
        unit[index] = 1.0;
        *variance = solve(normal, unit)?[index];
    }
    Some(diagonal)
}

/// Solves three equations with a symmetric matrix by elimination, scaled to a diagonal of ones
/// because λ, σ and κ differ by orders of magnitude. `None` if they are not independent.
fn solve(matrix: [[f64; 3]; 3], right: [f64; 3]) -> Option<[f64; 3]> {
    let scale = [0, 1, 2].map(|index: usize| matrix[index][index].sqrt());
    if scale.iter().any(|one| !(one.is_finite() && *one > 0.0)) {
        return None;
    }
    let mut rows = [[0.0; 4]; 3];
    for row in 0..3 {
        for column in 0..3 {
            rows[row][column] = matrix[row][column] / (scale[row] * scale[column]);
        }
        rows[row][3] = right[row] / scale[row];
    }
    for pivot in 0..3 {
        let largest = (pivot..3)
            .max_by(|&one, &other| rows[one][pivot].abs().total_cmp(&rows[other][pivot].abs()))?;
        rows.swap(pivot, largest);
        if rows[pivot][pivot].abs() < 1e-14 {
            return None;
        }
        let above = rows[pivot];
        for row in rows.iter_mut().skip(pivot + 1) {
            let factor = row[pivot] / above[pivot];
            for (cell, of_pivot) in row.iter_mut().zip(above).skip(pivot) {
                *cell -= factor * of_pivot;
            }
        }
    }
    let mut found = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3)
            .map(|column| rows[row][column] * found[column])
            .sum();
        found[row] = (rows[row][3] - known) / rows[row][row];
    }
    Some([0, 1, 2].map(|index: usize| found[index] / scale[index]))
}
