//! Comparisons, in words.

mod brief;
mod caveats;
mod gates;
mod narrate;

pub use caveats::{disturbances, same_library};
pub use gates::{gate_sentence, render_gates};
pub use narrate::document;

use crate::answer::Layout;
use crate::formats::{Format, Style};
use crate::formats::{markdown, terminal};
use narrate::document_with;
use trueput_findings::compare::SideComparison;

/// Writes comparisons in full, one after the other: `Format::Json` as one document,
/// `Format::Markdown` for a comment on a change, anything else for a terminal. It ends with a
/// newline.
#[must_use]
pub fn render(compared: &[SideComparison], format: Format, style: Style) -> String {
    let blocks = || compared.iter().flat_map(document).collect::<Vec<_>>();
    match format {
        Format::Json => {
            let document = serde_json::json!({ "comparisons": compared });
            format!("{document:#}\n")
        }
        Format::Markdown => markdown::render(&blocks()),
        _ => terminal::render_with(&blocks(), style, "--json"),
    }
}

/// Like [`render`], without details: one screen on a terminal, and in Markdown no knobs of
/// different engines.
#[must_use]
pub fn render_usual(compared: &[SideComparison], format: Format, layout: Layout) -> String {
    match format {
        Format::Json => render(compared, format, Style::default()),
        Format::Markdown => {
            let blocks = compared.iter().flat_map(|it| document_with(it, false));
            markdown::render(&blocks.collect::<Vec<_>>())
        }
        _ => brief::screen(compared, layout),
    }
}
