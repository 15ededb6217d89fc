//! A report as one page that needs nothing else: no network, no server, no folder next to it.
//!
//! Words, figures and charts are HTML and SVG, written here from the same blocks as the other
//! formats. The charts' data is next to them as JSON. The page's script lets tables sort and
//! search and charts be selected from, pointed at and exported; without it nothing is missing but
//! that.
//!
//! Everything is written with [`maud::html`], which escapes every text, except the parts in
//! `template`: the page's own style and script, and the data.

mod appendix;
mod blocks;
mod column_fit;
mod draw;
pub(crate) mod first_screen;
pub(crate) mod multi_run;
mod summary;
pub(crate) mod template;

use crate::chart::{Chart, MAX_DRAWN};
use crate::charts::Charts;
use crate::document::{Block, ColumnRole};
use crate::pictures::content;
use crate::sections::header::ReportHeader;
use crate::sections::{Part, SectionInput, parts};
use crate::series_style::Appearance;
use blocks::{block, folded};
use maud::{Markup, html};
use multi_run::RunLabel;
use std::collections::BTreeMap;
use std::ops::Range;
use template::HomeLink;
use trueput_findings::answer::Answer;
use trueput_findings::{Findings, Run};

const EACH_BY_ITSELF: &str = "One contender alone, with all its repeats";

const MORE: &str = "More charts: rates over time, latency, resources, bottlenecks";

const OTHER_LATENCIES: &str = "Latencies over time: other kinds of operation and percentiles";

/// With more rankings than this, only the rate chart of each is initially shown.
const MANY_RANKINGS: usize = 8;

/// Writes the content of a section, once all charts of the page are known.
type Content = Box<dyn Fn(&Figures<'_>) -> Markup>;

/// A part of the page under a heading of the second level.
struct PageSection {
    title: String,
    content: Content,
    /// Target of links; empty if only the contents link to it.
    anchor: String,
    /// Its summary line if it is folded.
    folded: Option<String>,
    /// Whether the fold is initially open.
    is_open: bool,
}

impl PageSection {
    fn new(title: String, content: impl Fn(&Figures<'_>) -> Markup + 'static) -> Self {
        Self {
            title,
            content: Box::new(content),
            anchor: String::new(),
            folded: None,
            is_open: false,
        }
    }

    fn written(&self, number: usize, figures: &Figures<'_>) -> Markup {
        let id = format!("h{number}");
        let heading = html! { h2 id=(id) { (self.title) } };
        html! {
            section id=(self.link(number)) aria-labelledby=(id) {
                @if let Some(line) = &self.folded {
                    details class="single" open[self.is_open] {
                        summary { (heading) " " span { (line) } }
                        ((self.content)(figures))
                    }
                } @else {
                    (heading)
                    ((self.content)(figures))
                }
            }
        }
    }

    /// The target of links to the section.
    fn link(&self, number: usize) -> String {
        match self.anchor.as_str() {
            "" => format!("s{number}"),
            anchor => anchor.to_owned(),
        }
    }
}

/// The charts of a page, and the look of each contender in all of them.
struct Figures<'a> {
    charts: &'a [Chart],
    styles: Appearance,
}

impl<'a> Figures<'a> {
    fn new(charts: &'a [Chart]) -> Self {
        Self {
            charts,
            styles: Appearance::of(charts),
        }
    }

    /// These charts, drawn; nothing if there are none.
    fn drawn(&self, numbers: &Range<usize>) -> Markup {
        let charts = self.charts.iter().enumerate();
        let charts = charts.skip(numbers.start).take(numbers.len());
        html! {
            @if !numbers.is_empty() {
                div class="charts" {
                    @for (number, chart) in charts { (self.figure(number, chart)) }
                }
            }
        }
    }

    fn figure(&self, number: usize, chart: &Chart) -> Markup {
        let kind = format!("chart {:?}", chart.kind);
        html! {
            figure class=(kind) data-chart=(number) {
                figcaption { strong { (chart.title) } " " span { (chart.note) } }
                (draw::chart(chart, &self.styles))
            }
        }
    }
}

/// The page and the charts that were put on it so far.
#[derive(Default)]
struct Page {
    sections: Vec<PageSection>,
    charts: Vec<Chart>,
    names: PageNames,
    /// The run whose sections are being added, on a page of several.
    current_run: Option<RunLabel>,
}

/// Writes the page.
pub(crate) fn render(report: &Run) -> String {
    render_findings(&Findings::of(report), None)
}

/// Writes the page of a run; with links to its site if it is a page of one.
pub(crate) fn render_findings(findings: &Findings<'_>, home: Option<HomeLink<'_>>) -> String {
    let mut page = Page::default();
    page.add_run(findings, findings.rankings.len() > MANY_RANKINGS);
    page.finish_with(&findings.run.manifest.name, home)
}

/// Writes a page of sections, each with its title and its blocks; empty ones are left out.
pub(crate) fn page_of_blocks(title: &str, sections: &[(&str, Vec<Block>)]) -> String {
    let mut page = Page::default();
    for (title, blocks) in sections.iter().filter(|(_, blocks)| !blocks.is_empty()) {
        page.add(title, blocks);
    }
    page.finish(title)
}

/// Groups parts under headings with their remarks; the first element is everything before the first
/// heading.
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
    fn add_run(&mut self, findings: &Findings<'_>, many: bool) {
        let (report, rankings, answer) = (findings.run, &findings.rankings, &findings.answer);
        let input = SectionInput {
            findings,
            charts: Charts::Off,
            is_page: true,
        };
        let (remarks, parts) = with_remarks(parts(&input));
        let first = [content::overview(findings), content::latency(findings)];
        let first = first.into_iter().flatten();
        let header = ReportHeader::of(report, answer);
        let found = summary::blocks(report, rankings, &header, remarks);
        self.add_first_screen(report, answer, first, &found);
        let is_alone = rankings.len() == 1;
        for part in parts {
            self.add_part(part, is_alone, many);
        }
        let mut trials = appendix::trials(report);
        if let Some(run) = &self.current_run {
            run.add_columns(&mut trials);
        }
        self.add("Every trial", &trials);
        self.add("The machine", &appendix::machine(report));
        let (commands, each) = appendix::again(report);
        let title = self.titled("Run it again");
        let commands = self.written(&commands, &title);
        let each = folded(
            "more",
            EACH_BY_ITSELF,
            &self.written(&[each], &title),
            &title,
        );
        let content = html! { (commands) (each) };
        self.sections
            .push(PageSection::new(title, move |_| content.clone()));
    }

    /// Adds the answer as a small table and the charts of all rankings, followed by the subject of
    /// the run, the warnings and the machine.
    fn add_first_screen(
        &mut self,
        report: &Run,
        answer: &Answer,
        charts: impl Iterator<Item = Chart>,
        found: &[Block],
    ) {
        let title = self.titled("In short");
        let caption = self.names.unique(&title);
        let table = first_screen::table(answer, |index| self.anchor(index), &caption);
        let charts = self.put(charts, &title);
        let found = self.written(found, &title);
        let (about, facts) = (appendix::about(report), appendix::facts(report));
        let content = move |figures: &Figures<'_>| {
            html! {
                div class="first" {
                    (table)
                    (figures.drawn(&charts))
                    div class="summary" { (about) (found) }
                }
                (facts)
            }
        };
        self.sections.push(PageSection::new(title, content));
    }

    /// The target of links to a ranking.
    fn anchor(&self, index: usize) -> String {
        let run = self
            .current_run
            .as_ref()
            .map_or_else(String::new, RunLabel::anchor);
        format!("{run}ranking-{}", index + 1)
    }

    /// A section's title as the page has it.
    fn titled(&self, title: &str) -> String {
        match &self.current_run {
            Some(run) => run.titled(title),
            None => title.to_owned(),
        }
    }

    fn add(&mut self, title: &str, content: &[Block]) {
        let title = self.titled(title);
        let content = self.written(content, &title);
        self.sections
            .push(PageSection::new(title, move |_| content.clone()));
    }

    /// Blocks of a section as HTML, each table with a unique name.
    fn written(&mut self, content: &[Block], title: &str) -> Markup {
        html! { @for one in content { (self.block(one, title)) } }
    }

    fn block(&mut self, one: &Block, title: &str) -> Markup {
        match one {
            Block::Table(table) if table.caption.is_empty() => {
                block(one, &self.names.unique(title))
            }
            Block::Table(table) => {
                let caption = format!("{title}: {}", table.caption);
                block(one, &self.names.unique(&caption))
            }
            _ => block(one, title),
        }
    }

    /// Adds a part of the report: its charts first; those of a ranking around its table; between
    /// text and table, if its text is first. A ranking with a single contender, or only the
    /// harness, is folded.
    fn add_part(&mut self, mut part: Part, is_alone: bool, many: bool) {
        let title = self.titled(&part.title);
        let is_table = |one: &Block| matches!(one, Block::Table(_));
        let table = part.blocks.iter().position(is_table);
        let (before, table) = if part.ranking.is_some() || part.is_text_first {
            (
                table.unwrap_or(part.blocks.len()),
                usize::from(table.is_some()),
            )
        } else {
            (0, 0)
        };
        if part.ranking.is_some() {
            part.blocks.iter_mut().for_each(put_details_last);
        }
        let (before, after) = part.blocks.split_at(before);
        let (table, after) = after.split_at(table);
        let [before, table, after] = [before, table, after].map(|it| self.written(it, &title));
        let charts = self.put(part.charts, &title);
        let more = self.put(part.more_charts, &title);
        let other = self.put(part.folded_charts, &title);
        let evidence = part.evidence.map(|it| blocks::evidence(&it, &title));
        let (is_folded, of) = (many && !more.is_empty(), title.clone());
        let content = move |figures: &Figures<'_>| {
            let more = figures.drawn(&more);
            let drawn = figures.drawn(&other);
            html! {
                (before)
                (figures.drawn(&charts))
                (table)
                @if is_folded { (folded("more", MORE, &more, &of)) } @else { (more) }
                @if !other.is_empty() { (folded("more", OTHER_LATENCIES, &drawn, &of)) }
                (after)
                @if let Some(evidence) = &evidence { (evidence) }
            }
        };
        let anchor = part.ranking.map(|index| self.anchor(index));
        self.sections.push(PageSection {
            anchor: anchor.unwrap_or_default(),
            folded: part.folded,
            is_open: is_alone,
            ..PageSection::new(title, content)
        });
    }

    /// Puts charts of a section on the page, and returns their numbers.
    fn put(&mut self, charts: impl IntoIterator<Item = Chart>, section: &str) -> Range<usize> {
        let first = self.charts.len();
        for mut chart in charts {
            chart.name = self.names.unique(&format!("{section}: {}", chart.title));
            let groups = chart.groups.len();
            if groups > MAX_DRAWN {
                let drawn = MAX_DRAWN;
                chart.note +=
                    &format!(" The first {drawn} of {groups} are drawn; the data has all.");
            }
            self.charts.push(chart);
        }
        first..self.charts.len()
    }

    /// The whole page.
    fn finish(&self, title: &str) -> String {
        self.finish_with(title, None)
    }

    fn finish_with(&self, title: &str, home: Option<HomeLink<'_>>) -> String {
        let figures = Figures::new(&self.charts);
        let sections = self.sections.iter().enumerate();
        let written = |(number, section): (usize, &PageSection)| section.written(number, &figures);
        let mut written = sections.clone().map(written);
        let contents = html! {
            @for (number, section) in sections {
                li { a href={ "#" (section.link(number)) } { (section.title) } }
            }
        };
        template::page(&template::PageParts {
            title,
            first: written.next(),
            contents,
            sections: written.collect(),
            charts: &self.charts,
            home,
        })
    }
}

/// Keeps the columns visible that answer a reader's first questions: place, name, the figure that
/// orders the rows, the distance to the leader, the longest latencies, and processor time.
fn put_details_last(block: &mut Block) {
    if let Block::Table(table) = block {
        for column in &mut table.columns {
            if column.dispensable > 0 && column.role != ColumnRole::Leading {
                column.dispensable = column.dispensable.max(8);
            }
        }
    }
}

/// The names that the page has so far, and how often each was wanted.
#[derive(Default)]
struct PageNames {
    wanted: BTreeMap<String, usize>,
}

impl PageNames {
    /// Returns the name, with a number appended if it is already taken.
    fn unique(&mut self, name: &str) -> String {
        let count = self.wanted.entry(name.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => name.to_owned(),
            again => {
                let numbered = format!("{name} ({again})");
                // A name may itself end so.
                self.unique(&numbered)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Table;

    #[test]
    fn a_table_is_named_by_its_section_and_its_caption() {
        let blocks = [
            Block::Table(Table::default()),
            Block::Table(Table::default().captioned("Null engine")),
        ];
        let written = Page::default().written(&blocks, "Rates").into_string();
        for caption in ["Rates", "Rates: Null engine"] {
            let caption = format!("<caption>{caption}</caption>");
            assert!(written.contains(&caption), "{written}");
        }
    }

    #[test]
    fn what_is_named_alike_is_numbered() {
        let mut names = PageNames::default();
        let named = ["a", "a (2)", "a", "b", "a"].map(|name| names.unique(name));
        assert_eq!(named, ["a", "a (2)", "a (2) (2)", "b", "a (3)"]);
    }
}
