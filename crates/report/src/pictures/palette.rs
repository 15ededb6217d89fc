//! The colors of files, which are those of the page's light scheme.

use super::display_list::Color;

const STYLE: &str = include_str!("../../assets/page.css");

/// A color as `#rrggbb`. The light scheme is the first one that the style defines.
pub(super) fn light(color: Color) -> &'static str {
    let property = format!("{}: #", color.property());
    let at = STYLE.find(&property).map(|at| at + property.len() - 1);
    at.and_then(|at| STYLE.get(at..at + 7)).unwrap_or("#000000")
}

/// The parts of red, green and blue in a color.
pub(super) fn channels(color: Color) -> [u8; 3] {
    let digits = light(color);
    [1, 3, 5].map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series_style::COLORS;

    #[test]
    fn every_color_is_that_of_the_light_scheme() {
        assert_eq!(channels(Color::Ground), [255; 3]);
        assert_eq!(channels(Color::Ink), [0x1b, 0x20, 0x27]);
        let series = (0..COLORS).map(Color::Series);
        let all = series.chain([Color::Quiet, Color::Rule, Color::Sure, Color::Unsure]);
        for color in all {
            assert!(
                STYLE.contains(&format!("{}: #", color.property())),
                "{color:?}"
            );
            assert_ne!(light(color), "#000000", "{color:?}");
        }
    }
}
