//! The frame of the page, and the content that is not escaped.

use super::draw;
use crate::chart::Chart;
use base64::Engine;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use trueput_record::text::{escape_json, escape_lines};

/// The style of every page.
pub(crate) const STYLE: &str = include_str!("../../../assets/page.css");
const SCRIPT: [&str; 6] = [
    include_str!("../../../assets/format.js"),
    include_str!("../../../assets/tables.js"),
    include_str!("../../../assets/export.js"),
    include_str!("../../../assets/charts.js"),
    include_str!("../../../assets/select.js"),
    include_str!("../../../assets/page.js"),
];

/// The parts of the page that fill the frame.
pub(super) struct PageParts<'a> {
    pub title: &'a str,
    /// The section before the table of contents.
    pub first: Option<Markup>,
    /// The points of the table of contents.
    pub contents: Markup,
    pub sections: Vec<Markup>,
    pub charts: &'a [Chart],
    /// Its site, if it is a page of one.
    pub home: Option<HomeLink<'a>>,
}

/// The links of a page of a site, below its title.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HomeLink<'a> {
    /// The site's first page, relative to this one.
    pub index: &'a str,
    /// This page's own file name.
    pub own: &'a str,
}

/// The page, with hidden characters escaped, because records are untrusted.
pub(super) fn page(parts: &PageParts<'_>) -> String {
    let content = html! {
        (body(parts))
        script type="application/json" id="charts" { (PreEscaped(data(parts.charts))) }
    };
    framed(parts.title, STYLE, &SCRIPT.concat(), &content)
}

/// A page with a style and a script of ours, which alone its content security policy admits.
pub(crate) fn framed(title: &str, style: &str, script: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, style, script))
            body {
                (content)
                script { (PreEscaped(script)) }
            }
        }
    };
    escape_lines(&page.into_string()).into_owned() + "\n"
}

fn head(title: &str, style: &str, script: &str) -> Markup {
    let policy = format!(
        "default-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
         script-src {}; style-src {}",
        integrity(script),
        integrity(style)
    );
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta http-equiv="Content-Security-Policy" content=(policy);
            title { "trueput: " (title) }
            style { (PreEscaped(style)) }
        }
    }
}

fn body(parts: &PageParts<'_>) -> Markup {
    html! {
        a class="skip" href="#main" { "To the results" }
        (draw::shapes())
        header {
            h1 { span class="program" { "trueput" } " " (parts.title) }
            @if let Some(home) = parts.home { (home_links(home)) }
        }
        main id="main" tabindex="-1" {
            @if let Some(first) = &parts.first { (first) }
            nav aria-label="Contents" {
                details id="contents" open { summary { "Contents" } ol { (parts.contents) } }
            }
            @for section in &parts.sections { (section) }
        }
        footer { p { "Written by trueput." } }
    }
}

fn home_links(home: HomeLink<'_>) -> Markup {
    html! {
        p class="home" {
            a href=(home.index) { "All results" }
            " · "
            a href=(home.own) { "Permanent link to this run" }
        }
    }
}

/// The charts as JSON. In a script element only `</script` and `<!--` mean anything: no `<` is
/// left.
fn data(charts: &[Chart]) -> String {
    let data = serde_json::to_string(charts).unwrap_or_default();
    escape_json(&data).replace('<', "\\u003c")
}

/// The hash by which the page's content security policy admits its script and style, and nothing
/// that was injected.
fn integrity(script: &str) -> String {
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    format!("'sha256-{hash}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_embedded_ends_its_element() {
        for script in SCRIPT {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        // What shows hidden characters must leave both as their hashes say.
        assert_eq!(escape_lines(&SCRIPT.concat()), SCRIPT.concat());
        assert_eq!(escape_lines(STYLE), STYLE);
        assert!(!STYLE.contains("</style"));
    }
}
