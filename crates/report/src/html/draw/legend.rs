//! Names with their looks, above a drawing. The page's script makes buttons of them.

use super::MOST_DRAWN;
use super::looks::{COLORS, Looks};
use crate::chart::{Chart, Kind};
use crate::html::blocks::escaped;

/// A legend; empty where the drawing names everything itself.
pub(super) fn of(chart: &Chart, looks: &Looks) -> String {
    let entries: Vec<String> = match chart.kind {
        Kind::Bars | Kind::Ratios => Vec::new(),
        Kind::Stack if chart.columns.len() < 2 => Vec::new(),
        Kind::Stack => {
            let part = |(index, column): (usize, &crate::chart::Column)| {
                let title = column.title.split(',').next().unwrap_or_default();
                patch(title, &format!("var(--c{index})"))
            };
            chart.columns.iter().enumerate().map(part).collect()
        }
        Kind::Shares | Kind::Stretches => {
            let word = |word: &crate::chart::Word| patch(word.text, &paint(word.color));
            chart.words.iter().map(word).collect()
        }
        Kind::Timeline | Kind::Percentiles | Kind::Scaling => {
            let groups = chart.groups.iter().take(MOST_DRAWN).enumerate();
            let entry =
                |(index, group): (usize, &crate::chart::Group)| line(index, &group.name, looks);
            groups.map(entry).collect()
        }
    };
    match entries.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"legend\">\n{}</ul>\n", entries.concat()),
    }
}

/// The color of a word: one that all charts have in common.
pub(super) fn paint(color: usize) -> String {
    match color < COLORS {
        true => format!("var(--c{color})"),
        false => "var(--faint)".to_owned(),
    }
}

fn patch(name: &str, paint: &str) -> String {
    let name = escaped(name);
    format!(
        "<li><svg class=\"key\" width=\"14\" height=\"12\" aria-hidden=\"true\">\
         <rect y=\"1\" width=\"12\" height=\"10\" fill=\"{paint}\"/></svg>{name}</li>\n"
    )
}

fn line(index: usize, name: &str, looks: &Looks) -> String {
    let look = looks.look(name);
    let (paint, dashing, shape) = (look.paint(), look.dashing(), look.shape);
    let name = escaped(name);
    format!(
        "<li data-group=\"{index}\"><svg class=\"key\" width=\"34\" height=\"12\" \
         aria-hidden=\"true\"><path class=\"line\" d=\"M1 6h30\" stroke=\"{paint}\"{dashing}/>\
         <use href=\"#k{shape}\" x=\"16\" y=\"6\" fill=\"{paint}\"/></svg>{name}</li>\n"
    )
}
