//! A site of many runs: the first page, with who leads where, every result and every run; a page
//! for each run; and a summary for programs.
//!
//! The first page is read without a script, from a file or a server. Its script only filters: each
//! row has its properties as JSON, and the part of the address after `#` has the filters. Figures
//! of different runs, levels, hosts or storage are never put in one order.

mod entries;
mod paths;
mod tables;

pub use paths::{INDEX, PAGES, page_path};

use crate::formats::html;
use crate::formats::html::template::{HomeLink, STYLE, framed};
use entries::{Entry, entries};
use maud::{Markup, html};
use serde::Serialize;
use std::collections::BTreeSet;
use trueput_findings::Findings;
use trueput_findings::answer::RankingVerdict;
use trueput_findings::site::{SiteHost, SiteRun};
use trueput_record::text::counted;

const SITE_STYLE: &str = include_str!("../assets/site.css");
const SCRIPT: [&str; 2] = [
    include_str!("../assets/tables.js"),
    include_str!("../assets/site.js"),
];

/// The runs of a site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Site {
    /// Its title.
    pub title: String,
    /// Its runs, newest first.
    pub runs: Vec<SiteRun>,
    /// Files and folders that look like runs and are not shown.
    pub skipped: Vec<SkippedSource>,
}

/// A file or folder that looks like a run and is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedSource {
    /// Its path, relative to the folder that was searched.
    pub source: String,
    /// The reason.
    pub reason: String,
}

/// The page of a run, with a link to the first page and one to itself.
#[must_use]
pub fn run_page(findings: &Findings<'_>, id: &str) -> String {
    let home = HomeLink {
        index: &format!("../{INDEX}"),
        own: &format!("{id}.html"),
    };
    html::render_findings(findings, Some(home))
}

impl Site {
    /// Puts the runs in order, newest first.
    #[must_use]
    pub fn new(title: String, mut runs: Vec<SiteRun>, skipped: Vec<SkippedSource>) -> Self {
        runs.sort_by(|one, other| {
            let newest = other.started_at.cmp(&one.started_at);
            newest.then_with(|| one.id.cmp(&other.id))
        });
        Self {
            title,
            runs,
            skipped,
        }
    }

    /// The first page. It ends with a newline.
    #[must_use]
    pub fn index(&self) -> String {
        let entries = entries(&self.runs);
        let style = [STYLE, SITE_STYLE].concat();
        framed(&self.title, &style, &SCRIPT.concat(), &self.body(&entries))
    }

    fn body(&self, entries: &[Entry<'_>]) -> Markup {
        html! {
            a class="skip" href="#leaders" { "To the results" }
            header {
                h1 { span class="program" { "trueput" } " " (self.title) }
                p class="about" { (self.about(entries)) }
            }
            main {
                div id="filters" {}
                (section("leaders", "Who leads", &tables::leaders(entries)))
                (section("results", "Every result", &tables::results(entries)))
                (section("runs", "Runs", &tables::runs(&self.runs, entries)))
                (self.skipped_sources())
                (section("reading", "How to read this", &how_to_read()))
            }
            footer { p { "Written by trueput." } }
        }
    }

    /// The content of the site in a sentence or two.
    fn about(&self, entries: &[Entry<'_>]) -> String {
        let hosts: BTreeSet<&SiteHost> = self.runs.iter().map(|run| &run.host).collect();
        let dates: BTreeSet<&str> = self.runs.iter().filter_map(SiteRun::date).collect();
        let period = match (dates.first(), dates.last()) {
            (Some(first), Some(last)) if first == last => format!(", {first}"),
            (Some(first), Some(last)) => format!(", {first} to {last}"),
            _ => String::new(),
        };
        let of_verdict = |is_shown: fn(RankingVerdict) -> bool| {
            let verdicts = entries.iter().filter_map(Entry::verdict);
            verdicts.filter(|verdict| is_shown(*verdict)).count()
        };
        let rankings = of_verdict(|_| true);
        let significant = of_verdict(|verdict| verdict == RankingVerdict::Leader);
        let leaders = match rankings {
            0 => "No two contenders ran at the same settings.".to_owned(),
            1 if significant == 1 => "In the only ranking the leader is significant.".to_owned(),
            all => format!(
                "In {significant} of {} the leader is significant.",
                counted(all as u64, "ranking")
            ),
        };
        let runs = counted(self.runs.len() as u64, "run");
        let hosts = counted(hosts.len() as u64, "host");
        format!("{runs} on {hosts}{period}. {leaders}")
    }

    fn skipped_sources(&self) -> Markup {
        if self.skipped.is_empty() {
            return html! {};
        }
        let list = html! {
            ul {
                @for one in &self.skipped {
                    li { code { (one.source) } ": " (one.reason) }
                }
            }
        };
        section("skipped", "Skipped", &list)
    }
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    let heading = format!("{id}-title");
    html! {
        section id=(id) aria-labelledby=(heading) tabindex="-1" {
            h2 id=(heading) { (title) }
            (content)
        }
    }
}

fn how_to_read() -> Markup {
    let points = [
        "A ranking compares contenders of one run only: one host, one durability level, one \
         workload, one storage. Rates of different rankings have no order, however near they are.",
        "The level says which acknowledged commits survive. A faster engine at a weaker level has \
         not won against a slower one at a stronger level.",
        "significant: every other contender is slower, and chance is ruled out with 95 % \
         confidence. inconclusive: a contender is too near to the leader for the scatter of the \
         repeats. too few repeats: three or more are needed to tell. no order: the machine was too \
         busy. equal: a run that decides has shown that they differ by too little to matter.",
        "On model NAME: the storage was simulated. Such figures compare engines; they are not \
         those of a device.",
        "Every record is whole and agrees with itself; its trials were verified by the program \
         that ran them. Who made a record cannot be shown: run it again to be sure. Each run's \
         page ends with the commands.",
    ];
    html! { ul { @for point in points { li { (point) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::text::escape_lines;

    #[test]
    fn nothing_embedded_ends_its_element() {
        let script = SCRIPT.concat();
        let lower = script.to_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("<!--"));
        assert_eq!(escape_lines(&script), script);
        assert_eq!(escape_lines(SITE_STYLE), SITE_STYLE);
        assert!(!SITE_STYLE.contains("</style"));
    }

    #[test]
    fn a_site_without_a_run_is_a_page() {
        let skipped = SkippedSource {
            source: "<b>.tar.gz".to_owned(),
            reason: "a & b".to_owned(),
        };
        let page = Site::new("<i>".to_owned(), Vec::new(), vec![skipped]).index();
        assert!(page.contains("<title>trueput: &lt;i&gt;</title>"), "{page}");
        let list = "<li><code>&lt;b&gt;.tar.gz</code>: a &amp; b</li>";
        assert!(page.contains(list), "{page}");
        assert!(
            page.contains("0 runs on 0 hosts. No two contenders"),
            "{page}"
        );
    }
}
