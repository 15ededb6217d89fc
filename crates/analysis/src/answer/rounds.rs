//! How rankings stand while a run goes on: after each round of repeats.

use super::layout::{cut_end, shown};
use super::{Answer, AnswerRow, RankingAnswer, RowVerdict};
use crate::report::Report;
use crate::units::{nanoseconds, number};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trueput_record::{Outcome, RunManifest, TrialRecord};

/// More rankings than these are counted.
const MOST_RANKINGS: usize = 8;

/// A run that goes on, with the trials that have ended.
pub struct Standings {
    report: Report,
    /// By repeat, the trials of the plan that have not ended.
    left: BTreeMap<u32, BTreeSet<String>>,
    /// The repeats of the plan; `None` where the run ends as soon as it knows enough.
    rounds: Option<usize>,
}

/// A round of repeats: each trial of the plan ran once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// How many there will be; `None` where the run ends as soon as it knows enough.
    pub of: Option<usize>,
}

impl Standings {
    /// Begins with the trials that ended before (a resumed run).
    #[must_use]
    pub fn new(folder: &Path, manifest: &RunManifest, before: Vec<TrialRecord>) -> Self {
        let mut left: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for spec in &manifest.trials {
            left.entry(spec.repeat).or_default().insert(spec.id.clone());
        }
        let rounds = manifest.until.is_none().then_some(left.len());
        let report = Report {
            folder: folder.to_owned(),
            shown_as: folder.to_owned(),
            manifest: manifest.clone(),
            trials: Vec::new(),
            damaged: Vec::new(),
            unchecked: Vec::new(),
            end: None,
        };
        let mut standings = Self {
            report,
            left,
            rounds,
        };
        for record in before {
            standings.add(record);
        }
        standings
    }

    /// Adds a trial that ended. Returns the round that it completed.
    pub fn add(&mut self, record: TrialRecord) -> Option<Round> {
        let (repeat, id) = (record.spec.repeat, record.spec.id.clone());
        let has_ended = record.outcome != Outcome::Interrupted;
        self.report.trials.push(record);
        let left = self.left.get_mut(&repeat).filter(|_| has_ended)?;
        let was_left = left.remove(&id);
        let completed = was_left && left.is_empty();
        completed.then(|| Round {
            number: self.left.values().filter(|left| left.is_empty()).count(),
            of: self.rounds,
        })
    }

    /// The answer as it stands.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer::of(&self.report)
    }
}

impl Round {
    /// How each ranking stands after this round, a line each:
    /// `round 2 of 5: sync: rocksdb 8,469/s, tokudb 7,173/s`. No line is wider than `columns`.
    #[must_use]
    pub fn lines(self, answer: &Answer, columns: usize) -> Vec<String> {
        let of = self.of.map_or_else(String::new, |of| format!(" of {of}"));
        let round = format!("round {}{of}: ", self.number);
        let standings = answer.standings(columns.saturating_sub(round.len()));
        let lines = standings.into_iter();
        lines.map(|line| format!("{round}{line}")).collect()
    }
}

/// A contender with the figure that orders its ranking: the rate, and at one rate the response time.
fn figure(row: &AnswerRow) -> String {
    let response = row.latency.as_ref().filter(|latency| latency.is_response);
    match (row.verdict, response) {
        (RowVerdict::RateNotKept, _) => format!("{} rate not kept", row.contender),
        (_, Some(response)) => format!("{} {}", row.contender, nanoseconds(response.p99_ns)),
        (_, None) => format!("{} {}/s", row.contender, number(row.rate_per_s)),
    }
}

impl Answer {
    /// How each ranking stands, a line each: `sync: rocksdb 8,469/s, tokudb 7,173/s`; at one rate by
    /// the response times that order it, `sync: p99 response at 5,000/s: lmdb 105 µs`. A ranking is
    /// called by its level where that tells it from the others. No line is wider than `columns`.
    #[must_use]
    pub fn standings(&self, columns: usize) -> Vec<String> {
        let level = |ranking: &RankingAnswer| ranking.subject.durability.to_string();
        let levels: BTreeSet<_> = self.rankings.iter().map(level).collect();
        let by_level = levels.len() == self.rankings.len();
        let line = |ranking: &RankingAnswer| {
            let subject = match by_level {
                true => level(ranking),
                false => ranking.subject.short(),
            };
            let rows: Vec<_> = ranking.rows.iter().map(figure).collect();
            let order = match ranking.subject.rate_per_s {
                Some(rate) if by_level => format!("p99 response at {}/s: ", number(rate)),
                Some(_) => "p99 response: ".to_owned(),
                None => String::new(),
            };
            cut_end(
                &shown(&format!("{subject}: {order}{}", rows.join(", "))),
                columns,
            )
        };
        let told = match self.rankings.len() <= MOST_RANKINGS {
            true => self.rankings.len(),
            false => MOST_RANKINGS - 1,
        };
        let mut lines: Vec<_> = self.rankings[..told].iter().map(line).collect();
        let more = self.rankings.len() - told;
        if more > 0 {
            lines.push(format!("and {more} more rankings"));
        }
        lines
    }
}
