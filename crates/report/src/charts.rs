//! Small charts of characters: a line of rates, a bar of a part.

/// Whether charts are drawn, and with which characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Charts {
    /// None.
    #[default]
    Off,
    /// ASCII characters.
    Ascii,
    /// Block characters.
    Blocks,
}

/// Heights of a sparkline, from nothing to all.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ',', '-', '~', '=', '*', '#'];

/// Eighths of a cell, from the left.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Draws values as a line of at most `width` characters. `floor` is the value at the bottom: 0
/// shows amounts, the least value shows variation. If there are more values than characters,
/// neighbors are averaged. Empty if charts are off or no value is finite.
#[must_use]
pub fn sparkline(values: &[f64], width: usize, floor: f64, charts: Charts) -> String {
    let heights = match charts {
        Charts::Off => return String::new(),
        Charts::Ascii => ASCII,
        Charts::Blocks => BLOCKS,
    };
    let finite: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    if finite.is_empty() || width == 0 {
        return String::new();
    }
    let columns = finite.len().min(width);
    let mean = |column: usize| {
        let from = column * finite.len() / columns;
        let to = (column + 1) * finite.len() / columns;
        let part = &finite[from..to];
        part.iter().sum::<f64>() / part.len() as f64
    };
    let means: Vec<f64> = (0..columns).map(mean).collect();
    let top = means.iter().copied().fold(f64::MIN, f64::max);
    let height = |value: &f64| {
        let part = if top > floor {
            (value - floor) / (top - floor)
        } else {
            1.0
        };
        let step = (part.clamp(0.0, 1.0) * (heights.len() - 1) as f64).round();
        heights[step as usize]
    };
    means.iter().map(height).collect()
}

/// A part of one as a bar of at most `width` characters.
#[must_use]
pub fn bar(part: f64, width: usize, charts: Charts) -> String {
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let cells = part * width as f64;
    match charts {
        Charts::Off => String::new(),
        Charts::Ascii => "#".repeat(cells.round() as usize),
        Charts::Blocks => {
            let eighths = (cells * 8.0).round() as usize;
            let mut bar = "█".repeat(eighths / 8);
            if let Some(rest) = (eighths % 8).checked_sub(1) {
                bar.push(EIGHTHS[rest]);
            }
            bar
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_how_much_or_how_it_varies() {
        let values = [50.0, 75.0, 100.0];
        assert_eq!(sparkline(&values, 10, 0.0, Charts::Blocks), "▅▆█");
        assert_eq!(sparkline(&values, 10, 50.0, Charts::Blocks), "▁▅█");
        assert_eq!(sparkline(&values, 10, 50.0, Charts::Ascii), "_~#");
        assert_eq!(sparkline(&values, 10, 0.0, Charts::Off), "");
        assert_eq!(sparkline(&[f64::NAN], 10, 0.0, Charts::Ascii), "");
        assert_eq!(sparkline(&[4.0, 4.0], 10, 4.0, Charts::Blocks), "██");
    }

    #[test]
    fn more_values_than_characters_are_averaged() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let line = sparkline(&values, 8, 0.0, Charts::Blocks);
        assert_eq!(line.chars().count(), 8);
        assert_eq!(
            (line.chars().next(), line.chars().last()),
            (Some('▁'), Some('█'))
        );
    }

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        assert_eq!(bar(1.0, 4, Charts::Blocks), "████");
        assert_eq!(bar(0.5, 4, Charts::Ascii), "##");
        assert_eq!(bar(0.03125, 4, Charts::Blocks), "▏");
        assert_eq!(bar(0.0, 4, Charts::Blocks), "");
        assert_eq!(bar(f64::NAN, 4, Charts::Blocks), "");
        assert_eq!(bar(1.0, 4, Charts::Off), "");
    }
}
