//! A display list as SVG: as a file, or as a part of the page.

use super::display_list::{Anchor, Color, DisplayList, Item, Shape, Text};
use super::fonts;
use super::palette::light;
use crate::chart::Chart;
use maud::{Markup, PreEscaped, html};
use trueput_record::text::escape_line;

/// What a color is written as.
type Paint = fn(Color) -> String;

/// A file, in the colors of the light scheme.
pub(super) fn file(list: &DisplayList, chart: &Chart) -> String {
    let paint: Paint = |color| light(color).to_owned();
    let svg = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        svg xmlns="http://www.w3.org/2000/svg" width=(short(list.width))
            height=(short(list.height)) viewBox=(view_box(list)) font-family=(fonts::FAMILIES) {
            title { (chart.panels.title) }
            desc { (escape_line(&chart.says)) }
            rect width="100%" height="100%" fill=(paint(Color::Ground)) {}
            (items(list, chart, paint))
        }
    };
    svg.into_string() + "\n"
}

/// A drawing in the page's colors, which is never wider than it was laid out for by much.
pub(super) fn on_page(list: &DisplayList, chart: &Chart, class: &str) -> Markup {
    let paint: Paint = |color| format!("var({})", color.property());
    html! {
        svg class={ "picture " (class) } width=(short(list.width)) height=(short(list.height))
            viewBox=(view_box(list)) font-family=(fonts::FAMILIES) {
            (items(list, chart, paint))
        }
    }
}

fn view_box(list: &DisplayList) -> String {
    format!("0 0 {} {}", short(list.width), short(list.height))
}

/// The shapes, those of a contender as a group with its whole name.
fn items(list: &DisplayList, chart: &Chart, paint: Paint) -> Markup {
    html! {
        @for items in list.items.chunk_by(|one, other| one.group == other.group) {
            @if let Some(group) = items[0].group {
                g data-group=(group) {
                    title { (escape_line(&chart.groups[group].name)) }
                    @for item in items { (shape(item, paint)) }
                }
            } @else {
                @for item in items { (shape(item, paint)) }
            }
        }
    }
}

fn shape(item: &Item, paint: Paint) -> Markup {
    let color = paint(item.color);
    match &item.shape {
        Shape::Area(bounds, opacity) => html! {
            rect x=(short(bounds.left)) y=(short(bounds.top)) width=(short(bounds.width()))
                height=(short(bounds.height())) fill=(color)
                opacity=[(*opacity < 1.0).then_some(opacity)] {}
        },
        Shape::Line(from, to, width, is_dashed) => html! {
            line x1=(short(from.0)) y1=(short(from.1)) x2=(short(to.0)) y2=(short(to.1))
                stroke=(color) stroke-width=(width)
                stroke-dasharray=[is_dashed.then_some("4 3")] {}
        },
        Shape::Polygon(corners) => {
            let corners = corners.iter();
            let corners: Vec<_> = corners
                .map(|(x, y)| format!("{},{}", short(*x), short(*y)))
                .collect();
            html! { polygon points=(corners.join(" ")) fill=(color) {} }
        }
        Shape::Text(text) => line_of_text(text, &color),
    }
}

fn line_of_text(text: &Text, color: &str) -> Markup {
    let anchor = match text.anchor {
        Anchor::Start => None,
        Anchor::Middle => Some("middle"),
        Anchor::End => Some("end"),
    };
    html! {
        text x=(short(text.at.0)) y=(short(text.at.1)) font-size=(short(text.size))
            font-weight=[text.is_bold.then_some("bold")] text-anchor=[anchor] fill=(color) {
            (text.text)
        }
    }
}

/// A length with one decimal at most: more would not be seen.
fn short(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
