//! A report as one page that needs nothing else: no network, no server, no folder beside it.
//!
//! Everything that is said in words or figures is HTML, written here from the same blocks as the
//! other formats. The charts' data lies beside it as JSON; the page's script draws them and makes
//! tables sort and search. Without a script the page lacks the charts and nothing else.

mod appendix;
mod blocks;
mod chart;
mod chosen;
mod figures;
mod latencies;
mod licences;
mod naming;
pub(crate) mod several;
mod summary;

use crate::certainty::refuses;
use crate::disturbance;
use crate::document::Block;
use crate::narrate;
use crate::rankings::{Ranking, rankings};
use crate::report::Report;
use crate::sections;
use base64::Engine;
use blocks::{block, escaped};
use chart::Chart;
use naming::Names;
use several::Of;
use sha2::{Digest, Sha256};
use trueput_record::text::visible_json;

const MORE: &str = "Charts of time, latency, resources and what held it";

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: [&str; 6] = [
    include_str!("../assets/format.js"),
    include_str!("../assets/series.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/export.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/page.js"),
];
const D3: &str = include_str!("../assets/vendor/d3.min.js");
const PLOT: &str = include_str!("../assets/vendor/plot.min.js");

/// Of the kinds of operation in a ranking, how many have a chart of latencies.
const MOST_KINDS: usize = 2;

/// With more rankings than this, only the rates of each are drawn until more is asked for.
const MANY_RANKINGS: usize = 8;

/// A part of the page under a heading of the second level.
struct Section {
    title: String,
    html: String,
}

/// The page and the charts that were put on it so far.
#[derive(Default)]
struct Page {
    sections: Vec<Section>,
    charts: Vec<Chart>,
    names: Names,
    /// The run whose sections are being added, where there are several.
    of: Option<Of>,
}

/// Writes the page.
pub(crate) fn render(report: &Report) -> String {
    let rankings = rankings(&report.manifest, &report.trials);
    let mut page = Page::default();
    page.add_run(report, &rankings, rankings.len() > MANY_RANKINGS);
    page.assembled(&report.manifest.name, &appendix::opening(report))
}

/// Blocks by the headings of the second level; those before the first have an empty title.
fn parts(blocks: Vec<Block>) -> Vec<(String, Vec<Block>)> {
    let mut parts = vec![(String::new(), Vec::new())];
    for block in blocks {
        match block {
            Block::Heading(2, title) => parts.push((title, Vec::new())),
            Block::Heading(1, _) => {}
            other => {
                if let Some((_, last)) = parts.last_mut() {
                    last.push(other);
                }
            }
        }
    }
    parts
}

impl Page {
    /// Everything of a run; with `many` rankings on the page, most of their charts are folded.
    fn add_run(&mut self, report: &Report, rankings: &[Ranking], many: bool) {
        let mut parts = parts(narrate::body(report)).into_iter();
        let (_, opening) = parts.next().unwrap_or_default();
        self.add("In short", &summary::blocks(report, rankings, opening));
        let labels = summary::labels(rankings);
        let mut left = rankings.iter().zip(&labels).peekable();
        for (title, blocks) in parts {
            match left.next_if(|(ranking, _)| narrate::ranking_heading(ranking) == title) {
                Some((ranking, label)) => self.add_ranking(report, ranking, label, &blocks, many),
                None => self.add_section(report, rankings, &title, &blocks),
            }
        }
        let mut trials = appendix::trials(report);
        if let Some(of) = &self.of {
            of.told_in(&mut trials);
        }
        self.add("Every trial", &trials);
        self.add("The machine", &appendix::machine(report));
        self.add("To do it again", &appendix::again(report));
    }

    /// A section's title as the page has it.
    fn titled(&self, title: &str) -> String {
        match &self.of {
            Some(of) => of.titled(title),
            None => title.to_owned(),
        }
    }

    fn add(&mut self, title: &str, content: &[Block]) {
        let title = self.titled(title);
        let html = self.written(content, &title).concat();
        self.sections.push(Section { title, html });
    }

    /// Blocks of a section as HTML, each table with a name of its own.
    fn written(&mut self, content: &[Block], title: &str) -> Vec<String> {
        let named = content.iter().zip(naming::captions(title, content));
        let html = named.map(|(one, caption)| match one {
            Block::Table(_) => block(one, &self.names.unique(&caption)),
            _ => block(one, &caption),
        });
        html.collect()
    }

    /// A ranking: the rates drawn before its table, the other charts after it.
    fn add_ranking(
        &mut self,
        report: &Report,
        ranking: &Ranking,
        label: &str,
        content: &[Block],
        many: bool,
    ) {
        let title = &self.titled(label);
        let chosen = chosen::chosen(report, ranking);
        let is_table = |one: &Block| matches!(one, Block::Table(_));
        let at = content.iter().position(is_table).unwrap_or(content.len());
        let html = self.written(content, title);
        let (before, after) = html.split_at(at);
        let (table, after) = after.split_at(after.len().min(1));
        let noise = disturbance::of_run(report);
        let rates = figures::rates(ranking, !refuses(ranking, noise.as_ref()));
        let cores = f64::from(report.manifest.host.cores);
        let mut others: Vec<_> = figures::over_time(ranking, &chosen).into_iter().collect();
        others.extend(
            kinds(ranking)
                .iter()
                .filter_map(|kind| latencies::service(kind, &chosen)),
        );
        others.extend(latencies::responses(&chosen, MOST_KINDS));
        others.extend(figures::resources(&chosen));
        others.extend(figures::stretches(&chosen, cores));
        let rates = self.put(rates, title);
        let mut others = self.put(others, title);
        if many && !others.is_empty() {
            let of = blocks::unseen_of(title);
            others = format!(
                "<details class=\"more\"><summary>{MORE}{of}</summary>\n{others}</details>\n"
            );
        }
        let parts = [
            before.concat(),
            rates,
            table.concat(),
            others,
            after.concat(),
        ];
        self.sections.push(Section {
            title: title.to_owned(),
            html: parts.concat(),
        });
    }

    /// A section that is no ranking, with its charts first.
    fn add_section(&mut self, report: &Report, all: &[Ranking], title: &str, content: &[Block]) {
        let charts = match title {
            sections::SCALING => figures::scaling(all),
            sections::KNOBS => {
                let effects = crate::knobs::effects(report, all);
                figures::knobs(&effects).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let drawn = self.put(charts, &self.titled(title));
        self.add(title, content);
        if let Some(section) = self.sections.last_mut() {
            section.html.insert_str(0, &drawn);
        }
    }

    /// Places for charts of a section, which the script fills.
    fn put(&mut self, charts: impl IntoIterator<Item = Chart>, section: &str) -> String {
        let mut html = String::new();
        for mut chart in charts {
            chart.name = self.names.unique(&format!("{section}: {}", chart.title));
            let (number, title) = (self.charts.len(), escaped(&chart.title));
            let (says, note) = (escaped(&chart.says), escaped(&chart.note));
            html += &format!(
                "<figure class=\"chart {:?}\" data-chart=\"{number}\">\
                 <figcaption><strong>{title}</strong> <span>{note}</span></figcaption>\
                 <div class=\"drawing\" role=\"img\" aria-label=\"{says}\"></div></figure>\n",
                chart.kind
            );
            self.charts.push(chart);
        }
        match html.is_empty() {
            true => html,
            false => format!("<div class=\"charts\">\n{html}</div>\n"),
        }
    }

    fn assembled(&self, title: &str, opening: &str) -> String {
        let (mut contents, mut sections) = (String::new(), String::new());
        for (number, Section { title, html }) in self.sections.iter().enumerate() {
            let title = escaped(title);
            contents += &format!("<li><a href=\"#s{number}\">{title}</a></li>\n");
            sections += &format!(
                "<section id=\"s{number}\" aria-labelledby=\"h{number}\">\n\
                 <h2 id=\"h{number}\">{title}</h2>\n{html}</section>\n"
            );
        }
        // In a script element only `</script` and `<!--` mean anything: no `<` is left.
        let data = serde_json::to_string(&self.charts).unwrap_or_default();
        let data = visible_json(&data).replace('<', "\\u003c");
        let script = SCRIPT.concat();
        let hashes = [D3, PLOT, script.as_str()].map(integrity).join(" ");
        let title = escaped(title);
        fill(
            PAGE,
            &[
                ("title", &title),
                ("style", STYLE),
                ("opening", opening),
                ("contents", &contents),
                ("sections", &sections),
                ("licences", &licences::html()),
                ("data", &data),
                ("d3", D3),
                ("plot", PLOT),
                ("script", &script),
                ("hashes", &hashes),
            ],
        )
    }
}

/// The hash by which the page's content security policy admits a script, which a script that was
/// smuggled into the page has not. Styles are admitted as they come: Plot puts some beside each chart.
fn integrity(script: &str) -> String {
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    format!("'sha256-{hash}'")
}

/// The kinds of operation whose latencies are drawn: the headline, then those that are not rare.
fn kinds(ranking: &Ranking) -> Vec<&str> {
    let mut kinds = crate::columns::kinds(ranking);
    kinds.truncate(MOST_KINDS);
    kinds
}

/// Puts texts in the place of `{{name}}`; what was put is not looked at again.
fn fill(template: &str, texts: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        filled.push_str(before);
        let text = texts.iter().find(|(known, _)| *known == name);
        filled.push_str(text.map_or("", |(_, text)| text));
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_into_the_page_is_not_read_as_its_template() {
        let filled = fill("<{{a}}|{{b}}>", &[("a", "{{b}}"), ("b", "x")]);
        assert_eq!(filled, "<{{b}}|x>");
    }

    #[test]
    fn nothing_embedded_ends_its_element() {
        for script in SCRIPT.iter().chain([&D3, &PLOT]) {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }
}
