//! The page's colors have enough contrast with their ground, by WCAG 2's contrast ratio.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../assets/page.css");

/// The least contrast of text, and of the ground under text in charts (WCAG 2.2, 1.4.3).
const ENOUGH: f64 = 4.5;

/// The colors of each scheme by name: light, dark, paper.
fn schemes() -> Vec<BTreeMap<&'static str, &'static str>> {
    let blocks = STYLE.split(":root {").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once('}'));
    let colors = |block: &'static str| {
        let properties = block.split(';').filter_map(|one| one.split_once(':'));
        let properties = properties.map(|(name, value)| (name.trim(), value.trim()));
        let colors = properties.filter(|(_, value)| value.starts_with('#'));
        colors.collect()
    };
    blocks.map(|(block, _)| colors(block)).collect()
}

/// The relative luminance of `#rrggbb`.
fn luminance(color: &str) -> f64 {
    let channel = |from: usize| {
        let part = f64::from(u8::from_str_radix(&color[from..from + 2], 16).unwrap()) / 255.0;
        if part <= 0.039_28 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn the_contrast_of_black_and_white_is_21_and_that_of_greys_is_known() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.01);
    assert!(contrast("#9aa3ad", "#ffffff") < ENOUGH, "the control");
}

#[test]
fn every_color_can_be_told_from_its_ground_in_light_dark_and_print() {
    let schemes = schemes();
    assert_eq!(schemes.len(), 3);
    for scheme in schemes {
        let grounds = ["ground", "surface", "warn-ground", "rule"].map(|name| format!("--{name}"));
        let drawn = scheme
            .iter()
            .filter(|(name, _)| !grounds.iter().any(|it| it == *name));
        let mut pairs: Vec<_> = drawn
            .map(|(name, color)| (*name, *color, "--ground"))
            .collect();
        pairs.extend(["--surface", "--warn-ground"].map(|on| ("--ink", scheme["--ink"], on)));
        pairs.push(("--quiet", scheme["--quiet"], "--surface"));
        assert!(pairs.len() > 12, "{pairs:?}");
        for (name, color, ground) in pairs {
            let found = contrast(color, scheme[ground]);
            assert!(found >= ENOUGH, "{name} {color} on {ground}: {found:.2}");
        }
    }
}
