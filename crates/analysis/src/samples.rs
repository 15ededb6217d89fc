//! Series of rates that unit tests look at.

/// Levels, each for so many values, with a little scatter that repeats.
pub fn levels(levels: &[(f64, usize)]) -> Vec<f64> {
    let scatter = [0.0, 0.6, -0.8, 0.3, -0.2, 0.9, -0.5];
    let flat = levels
        .iter()
        .flat_map(|(level, count)| vec![*level; *count]);
    flat.zip(scatter.iter().cycle())
        .map(|(level, noise)| level * (1.0 + noise / 100.0))
        .collect()
}
