//! The sections of a report: each is a file with its text, table and charts, and a row of
//! [`SECTIONS`]. Every format goes through the same rows.

pub mod ablation;
pub(crate) mod absence;
pub(crate) mod audits;
mod bottlenecks;
pub(crate) mod capacity;
pub(crate) mod choice;
mod completed_ranges;
mod conclusion;
pub(crate) mod failover;
mod hardware_limits;
pub(crate) mod header;
pub(crate) mod hosts;
mod knob_effects;
mod load_generators;
pub mod log_flush;
mod open_loops;
mod over_time;
mod published;
mod rankings;
pub mod scaling;
mod search_stop;
mod space;
mod steadiness;
mod storage_models;
pub(crate) mod tpcc;
pub(crate) mod tuning;

use crate::chart::Chart;
use crate::charts::Charts;
use crate::document::Block;
use std::ops::Deref;
use trueput_findings::{Findings, Run};

/// The sections in reading order. To add one, write its file and its row.
const SECTIONS: [&dyn Section; 27] = [
    &choice::Recommendation,
    &capacity::Capacities,
    &tuning::TunedKnobs,
    &rankings::Rankings,
    &storage_models::StorageComparisons,
    &storage_models::StorageServers,
    &failover::PlannedFaults,
    &audits::Audits,
    &steadiness::Steadiness,
    &log_flush::LogFlushes,
    &tpcc::OrdersPerMinute,
    &completed_ranges::CompletedRanges,
    &space::Compactions,
    &ablation::AblationSteps,
    &over_time::RatesOverTime,
    &open_loops::OpenLoops,
    &load_generators::LoadGenerators,
    &hosts::HostBlocks,
    &hardware_limits::HardwareLimitShares,
    &bottlenecks::Bottlenecks,
    &scaling::ScalingLaws,
    &knob_effects::KnobEffects,
    &published::PublishedTables,
    &conclusion::SkippedTrials,
    &conclusion::RepeatLimit,
    &conclusion::RepeatSuggestion,
    &conclusion::MissingTrials,
];

/// The sections of an ablation, which has no rankings.
const SECTIONS_OF_ABLATION: [&dyn Section; 5] = [
    &tpcc::OrdersPerMinute,
    &ablation::AblationSteps,
    &over_time::RatesOverTime,
    &published::PublishedTables,
    &conclusion::MissingTrials,
];

/// A section of a report.
pub(crate) trait Section: Sync {
    /// Its only part; `None` if it is empty or has several parts.
    fn part(&self, _input: &SectionInput<'_>) -> Option<Part> {
        None
    }

    /// Its parts, each with a heading.
    fn parts(&self, input: &SectionInput<'_>) -> Vec<Part> {
        self.part(input).into_iter().collect()
    }
}

/// A heading and its content.
#[derive(Default)]
pub(crate) struct Part {
    /// The heading; empty if the part continues the previous one.
    pub title: String,
    /// Text and tables.
    pub blocks: Vec<Block>,
    /// Content that the page folds, and other formats show after the blocks.
    pub evidence: Option<Block>,
    /// Charts above the blocks; in a ranking above its table.
    pub charts: Vec<Chart>,
    /// Charts below the table of a ranking.
    pub more_charts: Vec<Chart>,
    /// Charts below those, which the page folds: latencies over time by kind and percentile.
    pub folded_charts: Vec<Chart>,
    /// The ranking that it is of, by its place among the run's.
    pub ranking: Option<usize>,
    /// Whether the charts are between its text and its table, as in a ranking.
    pub is_text_first: bool,
    /// The summary line if the page folds it; `None` if it is not folded.
    pub folded: Option<String>,
}

/// The findings of a run, and how sections present them.
pub(crate) struct SectionInput<'a> {
    /// The findings.
    pub findings: &'a Findings<'a>,
    /// Whether and how text charts are drawn.
    pub charts: Charts,
    /// Whether it is for the page, which draws charts and folds by itself.
    pub is_page: bool,
}

impl<'a> Deref for SectionInput<'a> {
    type Target = Findings<'a>;

    fn deref(&self) -> &Findings<'a> {
        self.findings
    }
}

impl SectionInput<'_> {
    /// The charts of the page; none for the other formats.
    fn page_charts(&self, charts: impl FnOnce() -> Vec<Chart>) -> Vec<Chart> {
        if self.is_page { charts() } else { Vec::new() }
    }
}

impl Part {
    /// A part with a heading; `None` if it has no content.
    pub(crate) fn unless_empty(
        title: &str,
        blocks: impl IntoIterator<Item = Block>,
    ) -> Option<Self> {
        let blocks: Vec<_> = blocks.into_iter().collect();
        (!blocks.is_empty()).then(|| Self {
            title: title.to_owned(),
            blocks,
            ..Self::default()
        })
    }

    /// A part that begins with a text; `None` if nothing follows the text.
    pub(crate) fn with_text(
        title: &str,
        text: &str,
        content: impl IntoIterator<Item = Block>,
    ) -> Option<Self> {
        let mut part = Self::unless_empty(title, content)?;
        part.blocks.insert(0, Block::Text(text.to_owned()));
        Some(part)
    }

    /// A continuation of the part before it.
    pub(crate) fn without_title(blocks: impl IntoIterator<Item = Block>) -> Option<Self> {
        Self::unless_empty("", blocks)
    }

    /// The part with its heading, as blocks.
    fn into_blocks(self) -> Vec<Block> {
        let heading = (!self.title.is_empty()).then_some(Block::Heading(2, self.title));
        let blocks = heading.into_iter().chain(self.blocks);
        blocks.chain(self.evidence).collect()
    }
}

/// The parts of all sections, in their order.
pub(crate) fn parts(input: &SectionInput<'_>) -> impl Iterator<Item = Part> {
    let sections = SECTIONS.iter();
    sections.flat_map(|section| section.parts(input))
}

/// A run's report as blocks.
pub(crate) fn document(run: &Run, charts: Charts) -> Vec<Block> {
    let findings = Findings::of(run);
    let input = SectionInput {
        findings: &findings,
        charts,
        is_page: false,
    };
    let mut blocks = header::ReportHeader::of(run, &input.answer).into_blocks();
    blocks.extend(parts(&input).flat_map(Part::into_blocks));
    blocks.extend(conclusion::command(run));
    blocks
}

/// The ablation of a run with its further sections, as blocks.
pub(crate) fn ablation_document(run: &Run) -> Vec<Block> {
    let findings = Findings::without_rankings(run);
    let input = SectionInput {
        findings: &findings,
        charts: Charts::Off,
        is_page: false,
    };
    let mut blocks = vec![header::title(run), header::host_list(run)];
    let parts = SECTIONS_OF_ABLATION.iter();
    let parts = parts.flat_map(|section| section.parts(&input));
    blocks.extend(parts.flat_map(Part::into_blocks));
    blocks
}
