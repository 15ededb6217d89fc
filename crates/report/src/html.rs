//! A report as one page that needs nothing else: no network, no server, no folder beside it.
//!
//! Words, figures and charts are HTML and SVG, written here from the same blocks as the other
//! formats. The charts' data lies beside them as JSON. The page's script lets tables sort and
//! search and charts be selected from, pointed at and exported; without it nothing is missing but
//! that.

mod appendix;
mod bars;
mod blocks;
mod draw;
mod figures;
mod first_screen;
mod latencies;
pub(crate) mod multi_run;
mod names;
mod representative;
mod room;
mod summary;

use crate::answer::subject::short;
use crate::chart::Chart;
use crate::charts::Charts;
use crate::document::{Block, Table};
use crate::sections::header::ReportHeader;
use crate::sections::{Findings, Part, parts};
use base64::Engine;
use blocks::{block, escaped};
use draw::looks::Looks;
use multi_run::RunLabel;
use names::Names;
use sha2::{Digest, Sha256};
use trueput_findings::answer::{Answer, refuses};
use trueput_findings::rankings::{Ranking, rankings};
use trueput_findings::{Run, disturbance};
use trueput_record::text::visible_json;

const EACH_ALONE: &str = "One contender alone, with all its repeats";

const MORE: &str = "More charts: rates over time, latency, resources, bottlenecks";

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: [&str; 6] = [
    include_str!("../assets/format.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/export.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/select.js"),
    include_str!("../assets/page.js"),
];

/// Of the kinds of operation in a ranking, how many have a chart of latencies.
const MOST_KINDS: usize = 2;

/// With more rankings than this, only the rates of each are drawn until more is asked for.
const MANY_RANKINGS: usize = 8;

/// A part of the page under a heading of the second level.
struct Section {
    title: String,
    html: String,
    /// What links lead to; empty where only the contents do.
    anchor: String,
    /// What stands in its one line where it is folded.
    folded: Option<String>,
    /// Whether it is open all the same.
    is_open: bool,
}

impl Section {
    fn new(title: String, html: String) -> Self {
        Self {
            title,
            html,
            anchor: String::new(),
            folded: None,
            is_open: false,
        }
    }
}

/// The page and the charts that were put on it so far.
#[derive(Default)]
struct Page {
    sections: Vec<Section>,
    charts: Vec<Chart>,
    names: Names,
    /// The run whose sections are being added, where there are several.
    of: Option<RunLabel>,
}

/// What the page says of a ranking beside its blocks.
struct RankingContext<'a> {
    ranking: &'a Ranking,
    /// What it is called.
    label: &'a str,
    /// Its place among the run's rankings.
    index: usize,
    /// Whether its rates are drawn on the first screen.
    is_first: bool,
    /// Whether it is the run's only one.
    is_alone: bool,
    /// Whether the page has so many rankings that most of their charts are folded.
    many: bool,
}

/// Writes the page.
pub(crate) fn render(report: &Run) -> String {
    let rankings = rankings(&report.manifest, &report.trials);
    let mut page = Page::default();
    page.add_run(report, &rankings, rankings.len() > MANY_RANKINGS);
    page.assembled(&report.manifest.name)
}

/// The parts under headings, each with what belongs to it, and what stands before the first.
fn with_remarks(all: impl Iterator<Item = Part>) -> (Vec<Block>, Vec<Part>) {
    let (mut remarks, mut parts) = (Vec::new(), Vec::<Part>::new());
    for part in all {
        match parts.last_mut() {
            _ if !part.title.is_empty() => parts.push(part),
            Some(last) => last.blocks.extend(part.blocks),
            None => remarks.extend(part.blocks),
        }
    }
    (remarks, parts)
}

impl Page {
    /// Everything of a run; with `many` rankings on the page, most of their charts are folded.
    fn add_run(&mut self, report: &Run, rankings: &[Ranking], many: bool) {
        let labels = summary::labels(rankings);
        let noise = disturbance::of_run(report);
        let answer = Answer::from_rankings(report, rankings, noise.as_ref());
        let findings = Findings {
            is_page: true,
            ..Findings::new(report, rankings, &answer, Charts::Off)
        };
        let (remarks, parts) = with_remarks(parts(&findings));
        let first = first_screen::first_ranking(&answer);
        self.add_first_screen(report, rankings, &answer, remarks);
        let first = first.map(|subject| subject.index);
        for part in parts {
            match part.ranking {
                Some(index) => {
                    let told = RankingContext {
                        ranking: &rankings[index],
                        label: &labels[index],
                        index,
                        is_first: first == Some(index),
                        is_alone: rankings.len() == 1,
                        many,
                    };
                    self.add_ranking(report, &told, part.blocks);
                }
                None => self.add_section(part),
            }
        }
        let mut trials = appendix::trials(report);
        if let Some(of) = &self.of {
            of.told_in(&mut trials);
        }
        self.add("Every trial", &trials);
        self.add("The machine", &appendix::machine(report));
        let (commands, each) = appendix::again(report);
        self.add("Run it again", &commands);
        let title = self.titled("Run it again");
        let each = self.written(&[each], &title).concat();
        if let Some(section) = self.sections.last_mut() {
            section.html += &blocks::folded("more", EACH_ALONE, &each, &title);
        }
    }

    /// The answer as a small table and the first chart; then what the run is about, what must not
    /// be overlooked, and the machine.
    fn add_first_screen(
        &mut self,
        report: &Run,
        rankings: &[Ranking],
        answer: &Answer,
        remarks: Vec<Block>,
    ) {
        let title = self.titled("In short");
        let caption = self.names.unique(&title);
        let table = first_screen::table(answer, |index| self.anchor(index), &caption);
        let chart = first_screen::first_ranking(answer).and_then(|subject| {
            let chart = Self::ranked_by(report, rankings.get(subject.index)?)?;
            // It stands in no ranking's section, so that it says of which one it is.
            let title = format!("{}: {}", chart.title, short(subject));
            Some(Chart { title, ..chart })
        });
        let chart = self.put(chart, &title);
        let told = summary::blocks(report, rankings, &ReportHeader::of(report, answer), remarks);
        let told = appendix::about(report) + &self.written(&told, &title).concat();
        let facts = appendix::facts(report);
        let html = format!(
            "<div class=\"first\">\n{table}{chart}<div class=\"told\">\n{told}</div></div>\n{facts}"
        );
        self.sections.push(Section::new(title, html));
    }

    /// The chart of what a ranking goes by.
    fn ranked_by(report: &Run, ranking: &Ranking) -> Option<Chart> {
        let noise = disturbance::of_run(report);
        bars::ranked_by(report, ranking, !refuses(ranking, noise.as_ref()))
    }

    /// What links to a ranking lead to.
    fn anchor(&self, index: usize) -> String {
        let run = self.of.as_ref().map_or_else(String::new, RunLabel::anchor);
        format!("{run}ranking-{}", index + 1)
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
        self.sections.push(Section::new(title, html));
    }

    /// Blocks of a section as HTML, each table with a name of its own.
    fn written(&mut self, content: &[Block], title: &str) -> Vec<String> {
        let html = content.iter().map(|one| match one {
            Block::Table(table) if table.caption.is_empty() => {
                block(one, &self.names.unique(title))
            }
            Block::Table(table) => {
                let caption = format!("{title}: {}", table.caption);
                block(one, &self.names.unique(&caption))
            }
            _ => block(one, title),
        });
        html.collect()
    }

    /// A ranking: the rates drawn before its table, the other charts after it. One that has a
    /// single contender, or only the harness, is folded.
    fn add_ranking(&mut self, report: &Run, told: &RankingContext<'_>, mut content: Vec<Block>) {
        let (ranking, title) = (told.ranking, &self.titled(told.label));
        for block in &mut content {
            if let Block::Table(table) = block {
                put_first(table, ranking);
            }
        }
        let is_table = |one: &Block| matches!(one, Block::Table(_));
        let at = content.iter().position(is_table).unwrap_or(content.len());
        let html = self.written(&content, title);
        let (before, after) = html.split_at(at);
        let (table, after) = after.split_at(after.len().min(1));
        let rates = match told.is_first {
            true => String::new(),
            false => self.put(Self::ranked_by(report, ranking), title),
        };
        let others = self.other_charts(report, told, title);
        let parts = [
            before.concat(),
            rates,
            table.concat(),
            others,
            after.concat(),
        ];
        let section = Section {
            anchor: self.anchor(told.index),
            folded: first_screen::folded(ranking),
            is_open: told.is_alone,
            ..Section::new(title.to_owned(), parts.concat())
        };
        self.sections.push(section);
    }

    /// The charts that stand after a ranking's table.
    fn other_charts(&mut self, report: &Run, told: &RankingContext<'_>, title: &str) -> String {
        let ranking = told.ranking;
        let chosen = representative::representatives(report, ranking);
        let cores = f64::from(report.manifest.host.cores);
        let mut others: Vec<_> = figures::over_time(ranking, &chosen).into_iter().collect();
        let kinds = kinds(ranking);
        let service = kinds
            .iter()
            .filter_map(|kind| latencies::service(kind, &chosen));
        others.extend(service);
        others.extend(latencies::responses(&chosen, MOST_KINDS));
        others.extend(figures::resources(&chosen));
        others.extend(figures::stretches(&chosen, cores));
        let others = self.put(others, title);
        if !told.many || others.is_empty() {
            return others;
        }
        blocks::folded("more", MORE, &others, title)
    }

    /// A section that is no ranking, with its charts first.
    fn add_section(&mut self, part: Part) {
        let title = self.titled(&part.title);
        let evidence = part.evidence.as_ref();
        let folded = evidence.map_or_else(String::new, |it| blocks::evidence(it, &title));
        let drawn = self.put(part.charts, &title);
        self.add(&part.title, &part.blocks);
        if let Some(section) = self.sections.last_mut() {
            section.html.insert_str(0, &drawn);
            section.html += &folded;
        }
    }

    /// Charts of a section. They are drawn when the page has all of them.
    fn put(&mut self, charts: impl IntoIterator<Item = Chart>, section: &str) -> String {
        let mut html = String::new();
        for mut chart in charts {
            chart.name = self.names.unique(&format!("{section}: {}", chart.title));
            let groups = chart.groups.len();
            if groups > draw::MOST_DRAWN {
                let drawn = draw::MOST_DRAWN;
                chart.note +=
                    &format!(" The first {drawn} of {groups} are drawn; the data has all.");
            }
            let (number, title) = (self.charts.len(), escaped(&chart.title));
            let note = escaped(&chart.note);
            // No text becomes a comment: each `<` of one is escaped.
            html += &format!(
                "<figure class=\"chart {:?}\" data-chart=\"{number}\">\
                 <figcaption><strong>{title}</strong> <span>{note}</span></figcaption>\n\
                 {CHART}{number}--></figure>\n",
                chart.kind
            );
            self.charts.push(chart);
        }
        match html.is_empty() {
            true => html,
            false => format!("<div class=\"charts\">\n{html}</div>\n"),
        }
    }

    fn assembled(&self, title: &str) -> String {
        let (mut contents, mut sections) = (String::new(), Vec::new());
        for (number, section) in self.sections.iter().enumerate() {
            let anchor = match section.anchor.as_str() {
                "" => format!("s{number}"),
                anchor => anchor.to_owned(),
            };
            let title = escaped(&section.title);
            contents += &format!("<li><a href=\"#{anchor}\">{title}</a></li>\n");
            sections.push(section.written(number, &anchor));
        }
        let first = match sections.is_empty() {
            true => String::new(),
            false => sections.remove(0),
        };
        // In a script element only `</script` and `<!--` mean anything: no `<` is left.
        let data = serde_json::to_string(&self.charts).unwrap_or_default();
        let data = visible_json(&data).replace('<', "\\u003c");
        let script = SCRIPT.concat();
        let title = escaped(title);
        let (first, sections) = (self.drawn(&first), self.drawn(&sections.concat()));
        fill(
            PAGE,
            &[
                ("title", &title),
                ("style", STYLE),
                ("shapes", &draw::shapes()),
                ("first", &first),
                ("contents", &contents),
                ("sections", &sections),
                ("data", &data),
                ("script", &script),
                ("script-hash", &integrity(&script)),
                ("style-hash", &integrity(STYLE)),
            ],
        )
    }

    /// The page with its charts drawn in their places.
    fn drawn(&self, html: &str) -> String {
        let looks = Looks::of(&self.charts);
        let mut parts = html.split(CHART);
        let mut drawn = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once("-->").unwrap_or(("", part));
            let chart = number
                .parse()
                .ok()
                .and_then(|at: usize| self.charts.get(at));
            drawn += &chart.map_or_else(String::new, |chart| draw::chart(chart, &looks));
            drawn += rest;
        }
        drawn
    }
}

/// Where a chart is to be drawn; its number follows.
const CHART: &str = "<!--chart ";

impl Section {
    fn written(&self, number: usize, anchor: &str) -> String {
        let (title, html) = (escaped(&self.title), &self.html);
        let section = format!("<section id=\"{anchor}\" aria-labelledby=\"h{number}\">\n");
        let heading = format!("<h2 id=\"h{number}\">{title}</h2>");
        match &self.folded {
            None => format!("{section}{heading}\n{html}</section>\n"),
            Some(line) => {
                let open = if self.is_open { " open" } else { "" };
                let line = escaped(line);
                format!(
                    "{section}<details class=\"single\"{open}><summary>{heading} \
                     <span>{line}</span></summary>\n{html}</details></section>\n"
                )
            }
        }
    }
}

/// Has the columns that answer a reader's first questions stay in sight: place, name, what the
/// order goes by, how far behind the leader, the longest waits, and the cost in processor time.
fn put_first(table: &mut Table, ranking: &Ranking) {
    let p99 = format!("{} p99", ranking.headline);
    let first = ["of best", "of best from–to", p99.as_str(), "CPU/operation"];
    for column in &mut table.columns {
        if column.dispensable > 0 && !first.contains(&column.title.as_str()) {
            column.dispensable = column.dispensable.max(8);
        }
    }
}

/// The hash by which the page's content security policy admits its script and its style, which what
/// was smuggled into the page has not.
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
    fn a_table_is_named_by_its_section_and_its_caption() {
        let blocks = [
            Block::Table(Table::default()),
            Block::Table(Table::default().captioned("Null engine")),
        ];
        let written = Page::default().written(&blocks, "Rates").concat();
        for caption in ["Rates", "Rates: Null engine"] {
            let caption = format!("<caption>{caption}</caption>");
            assert!(written.contains(&caption), "{written}");
        }
    }

    #[test]
    fn nothing_embedded_ends_its_element() {
        for script in SCRIPT {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }
}
