//! The repeats of a plan until its rankings are decided.
//!
//! The verdicts are those of the rankings themselves ([`trueput_findings::decision`]), so that the
//! search and every report agree. A contender that is led gets no more repeats.

use crate::trial_search::{SearchNews, TrialSearch};
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::decision::RankingDecision;
use trueput_findings::gate::open_cells;
use trueput_findings::rankings::{are_comparable, rankings};
use trueput_record::folder::MAX_TRIALS;
use trueput_record::search::{DecisionSettings, SearchEnd};
use trueput_record::trial::Proposal;
use trueput_record::trial_time::plan_time_s;
use trueput_record::{Outcome, RunManifest, TrialRecord, TrialSpec};

/// Proposes one repeat after the other of the contenders whose ranking is open. Contenders with the
/// same work at the same level are decided before the next ones are: the first answer comes early.
/// Where the run has gates, their contenders go on until these are decided, too.
pub struct DecisionSearch<'a> {
    manifest: &'a RunManifest,
    settings: DecisionSettings,
    /// The group that the last repeat was proposed for, and when, seconds.
    last: Option<(GroupNumber, f64)>,
    /// The time that the last repeat of each group took, seconds.
    repeat_s: BTreeMap<GroupNumber, f64>,
}

/// The first cell of a group.
type GroupNumber = u32;

impl<'a> DecisionSearch<'a> {
    /// The search of a run with these settings. The manifest has at least the first repeat of each
    /// cell.
    #[must_use]
    pub fn new(settings: DecisionSettings, manifest: &'a RunManifest) -> Self {
        Self {
            manifest,
            settings,
            last: None,
            repeat_s: BTreeMap::new(),
        }
    }

    /// The next repeats of a group: a trial of each contender that goes on.
    fn next_trials(
        &self,
        group: &[&TrialSpec],
        decisions: &[RankingDecision],
        gated: &BTreeSet<u32>,
        records: &[TrialRecord],
    ) -> Vec<TrialSpec> {
        let contenders = || decisions.iter().flat_map(|it| &it.contenders);
        let goes_on = |cell: u32| match contenders().find(|it| it.cell == cell) {
            Some(contender) => contender.runs_on || gated.contains(&cell),
            None => needs_figures(cell, records),
        };
        let is_of_group = |trial: &&TrialRecord| includes(group, trial.spec.cell);
        // The same repeat for all: one that goes on again has none of those that it missed.
        let last = records.iter().filter(is_of_group);
        let last = last.map(|trial| trial.spec.repeat).max();
        let repeat = last.unwrap_or_default() + 1;
        let going_on = group.iter().filter(|first| goes_on(first.cell));
        let numbered = (self.planned(records) + 1..).zip(going_on);
        numbered
            .map(|(number, first)| repeat_of(first, repeat, number))
            .collect()
    }

    /// The trials of the run so far.
    fn planned(&self, records: &[TrialRecord]) -> usize {
        self.manifest.trials.len().max(records.len())
    }

    /// Whether the time suffices for the repeats until the results of a ranking of the group are
    /// looked at next: fewer would decide nothing.
    fn has_time(
        &self,
        group: &[&TrialSpec],
        decisions: &[RankingDecision],
        next: &[TrialSpec],
        records: &[TrialRecord],
        elapsed_s: f64,
    ) -> bool {
        let Some(budget_s) = self.settings.budget_s else {
            return true;
        };
        let repeat_s = self.repeat_s.get(&number_of(group)).copied();
        let repeat_s = repeat_s.unwrap_or_else(|| expected_s(next, records));
        let of_group = decisions.iter().filter(|decision| {
            let mut contenders = decision.contenders.iter();
            contenders.any(|it| includes(group, it.cell))
        });
        let to_look = |decision: &RankingDecision| Some(decision.next_look? - decision.repeats);
        let repeats = of_group.filter_map(to_look).min().unwrap_or(1);
        elapsed_s + f64::from(repeats) * repeat_s <= budget_s
    }
}

impl TrialSearch for DecisionSearch<'_> {
    fn next(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Proposal {
        if let Some((group, last_at_s)) = self.last.take() {
            self.repeat_s.insert(group, elapsed_s - last_at_s);
        }
        let rankings = rankings(self.manifest, records).into_iter();
        let decisions: Vec<_> = rankings.filter_map(|it| it.decision).collect();
        let gated = open_cells(self.manifest, records);
        let mut end = SearchEnd::NothingLeft;
        for group in groups(self.manifest) {
            let next = self.next_trials(&group, &decisions, &gated, records);
            if next.is_empty() {
                continue;
            }
            if self.planned(records) + next.len() > MAX_TRIALS {
                return Proposal::End(SearchEnd::TrialLimit);
            }
            if self.has_time(&group, &decisions, &next, records, elapsed_s) {
                self.last = Some((number_of(&group), elapsed_s));
                return Proposal::Trials(next);
            }
            end = SearchEnd::TimeUp;
        }
        Proposal::End(end)
    }

    fn take_news(&mut self) -> Vec<SearchNews> {
        // The progress shows the rankings themselves.
        Vec::new()
    }
}

/// The first trial of each cell, in the plan's order, those that are ranked together in a group.
fn groups(manifest: &RunManifest) -> Vec<Vec<&TrialSpec>> {
    let mut seen = BTreeSet::new();
    let mut groups: Vec<Vec<&TrialSpec>> = Vec::new();
    for spec in manifest.trials.iter().filter(|spec| seen.insert(spec.cell)) {
        match groups
            .iter_mut()
            .find(|group| are_comparable(group[0], spec))
        {
            Some(group) => group.push(spec),
            None => groups.push(vec![spec]),
        }
    }
    groups
}

fn number_of(group: &[&TrialSpec]) -> GroupNumber {
    group[0].cell
}

fn includes(group: &[&TrialSpec], cell: u32) -> bool {
    group.iter().any(|first| first.cell == cell)
}

/// Whether a contender that no ranking judges has too few repeats for its figures: the harness, one
/// that is not comparable, or one that failed.
fn needs_figures(cell: u32, records: &[TrialRecord]) -> bool {
    let own = records.iter().filter(|trial| trial.spec.cell == cell);
    let own: Vec<_> = own
        .filter(|trial| trial.outcome != Outcome::Interrupted)
        .collect();
    let failed = own
        .iter()
        .filter(|trial| trial.outcome != Outcome::Valid)
        .count();
    own.len() < DecisionSettings::MIN_REPEATS as usize && failed < DecisionSettings::MAX_FAILURES
}

/// A repeat of a trial, named by the trials before it: `0008-lmdb-sync-w4-r2`.
fn repeat_of(first: &TrialSpec, repeat: u32, number: usize) -> TrialSpec {
    let id = first
        .id
        .split_once('-')
        .map_or(&*first.id, |(_, rest)| rest);
    let base = id
        .strip_suffix(&format!("-r{}", first.repeat))
        .unwrap_or(id);
    TrialSpec {
        id: format!("{number:04}-{base}-r{repeat}"),
        repeat,
        ..first.clone()
    }
}

/// The time that these trials take, from the last ones of their cells, seconds.
fn expected_s(next: &[TrialSpec], records: &[TrialRecord]) -> f64 {
    let last = |spec: &TrialSpec| {
        let mut own = records
            .iter()
            .rev()
            .filter(|trial| trial.spec.cell == spec.cell);
        plan_time_s(own.next()?, None)
    };
    next.iter().filter_map(last).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::manifest;
    use trueput_record::search::SearchSettings;
    use trueput_record::{Durability, testing};

    /// A run of these contenders at `sync`, each with its rate per second, and of one more alone at
    /// `process`.
    fn plan(engines: &[&str], budget_s: Option<f64>) -> RunManifest {
        let cells = (0..).zip(engines);
        let mut specs: Vec<_> = cells
            .map(|(cell, engine)| testing::spec(cell, engine, Durability::Sync, 1))
            .collect();
        specs.push(testing::spec(9, "redb", Durability::Process, 1));
        let settings = SearchSettings::Decision(DecisionSettings {
            equal_within: 0.05,
            max_repeats: 60,
            early_look: Some(DecisionSettings::EARLY_LOOK),
            budget_s,
        });
        let mut run = manifest(&specs.iter().collect::<Vec<_>>(), settings);
        run.headlines = [("threen1".to_owned(), "update".to_owned())].into();
        run
    }

    /// Runs what the search proposes; returns the repeats of each cell and the end.
    fn run(
        plan: &RunManifest,
        result: impl Fn(&TrialSpec) -> TrialRecord,
    ) -> (BTreeMap<u32, usize>, SearchEnd) {
        let mut search = DecisionSearch::new(*plan.decision().unwrap(), plan);
        let mut records = Vec::new();
        let mut trials = plan.trials.clone();
        loop {
            records.extend(trials.iter().map(&result));
            // A trial takes 2 s.
            match search.next(&records, 2.0 * records.len() as f64) {
                Proposal::Trials(next) => trials = next,
                Proposal::End(end) => {
                    let mut repeats = BTreeMap::new();
                    for record in &records {
                        *repeats.entry(record.spec.cell).or_default() += 1;
                    }
                    let ids: BTreeSet<_> = records.iter().map(|record| &record.spec.id).collect();
                    assert_eq!(ids.len(), records.len(), "no id twice");
                    return (repeats, end);
                }
            }
        }
    }

    /// A trial at that rate, which scatters by less than a hundredth.
    fn at(spec: &TrialSpec, per_s: f64) -> TrialRecord {
        let scatter = (spec.repeat * 7 % 5 + spec.cell * 3 % 2) as f64 / 1_000.0;
        testing::valid(spec.clone(), per_s * (1.0 + scatter))
    }

    fn rate(spec: &TrialSpec) -> f64 {
        match spec.engine.as_str() {
            "lmdb" => 10_000.0,
            "rocksdb" => 10_010.0,
            _ => 5_000.0,
        }
    }

    #[test]
    fn repeats_end_when_each_ranking_is_decided() {
        let plan = plan(&["lmdb", "sqlite"], None);
        let (repeats, end) = run(&plan, |spec| at(spec, rate(spec)));
        // Four decide, and the contender without a ranking has as many.
        assert_eq!(repeats, [(0, 4), (1, 4), (9, 4)].into());
        assert_eq!(end, SearchEnd::NothingLeft);
    }

    #[test]
    fn one_ranking_is_decided_before_the_next_one_is() {
        let plan = plan(&["lmdb", "sqlite"], None);
        let mut search = DecisionSearch::new(*plan.decision().unwrap(), &plan);
        let first = plan.trials.iter();
        let mut records: Vec<_> = first.map(|spec| at(spec, rate(spec))).collect();
        let mut rounds = Vec::new();
        while let Proposal::Trials(next) = search.next(&records, 0.0) {
            rounds.push(next.iter().map(|spec| spec.cell).collect::<Vec<_>>());
            records.extend(next.iter().map(|spec| at(spec, rate(spec))));
        }
        let [both, alone] = [vec![0, 1], vec![9]];
        assert_eq!(rounds, [vec![both; 3], vec![alone; 3]].concat());
    }

    #[test]
    fn what_is_led_gets_no_more_repeats() {
        let plan = plan(&["lmdb", "rocksdb", "sqlite"], None);
        // The first two are hard to tell apart.
        let noisy = |spec: &TrialSpec| {
            let sign = if (spec.repeat * 5 / 3 + spec.cell).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            };
            let noise = if spec.engine == "sqlite" {
                0.0
            } else {
                0.04 * sign
            };
            at(spec, rate(spec) * (1.0 + noise))
        };
        let (repeats, end) = run(&plan, noisy);
        assert_eq!((repeats[&2], end), (4, SearchEnd::NothingLeft));
        assert!(repeats[&0] > 4 && repeats[&0] == repeats[&1], "{repeats:?}");
    }

    #[test]
    fn a_gate_that_is_not_decided_keeps_what_is_led_running() {
        // The second one has half the rate, give or take.
        let noisy = |spec: &TrialSpec| {
            let is_up = (spec.repeat * 5 / 3).is_multiple_of(2);
            let noise = match (spec.engine.as_str(), is_up) {
                ("sqlite", true) => 0.08,
                ("sqlite", false) => -0.08,
                _ => 0.0,
            };
            at(spec, rate(spec) * (1.0 + noise))
        };
        let with = |gates: &[&str]| {
            let mut plan = plan(&["lmdb", "sqlite"], None);
            plan.gates = gates.iter().map(|gate| gate.parse().unwrap()).collect();
            let (repeats, end) = run(&plan, noisy);
            assert_eq!(end, SearchEnd::NothingLeft);
            assert_eq!((repeats[&0], repeats[&9]), (repeats[&1], 4), "{repeats:?}");
            repeats[&0]
        };
        let ordered = with(&[]);
        assert!(ordered < 12, "{ordered}");
        // A limit at the truth is not decided before the last look; one far from it soon is.
        assert_eq!(with(&["rate<-50%"]), 60);
        assert_eq!(with(&["rate<-90%"]), ordered);
    }

    #[test]
    fn a_contender_that_fails_is_given_up() {
        let plan = plan(&["lmdb", "sqlite"], None);
        let failing = |spec: &TrialSpec| {
            let mut record = at(spec, rate(spec));
            if spec.engine == "sqlite" {
                record.outcome = Outcome::Failed {
                    reason: "no space left".to_owned(),
                    bad_input: false,
                };
            }
            record
        };
        let (repeats, _) = run(&plan, failing);
        assert_eq!(repeats[&1], 2);
    }

    #[test]
    fn without_time_for_the_next_look_the_run_ends() {
        let few = plan(&["lmdb", "sqlite"], Some(12.0));
        let (repeats, end) = run(&few, |spec| at(spec, rate(spec)));
        assert_eq!(end, SearchEnd::TimeUp);
        assert!(repeats[&0] < 4, "{repeats:?}");
        // The first repeat tells by its records that another takes 87 s.
        let enough = plan(&["lmdb", "sqlite"], Some(600.0));
        assert_eq!(
            run(&enough, |spec| at(spec, rate(spec))).1,
            SearchEnd::NothingLeft
        );
    }

    #[test]
    fn a_run_that_has_as_many_trials_as_a_run_may_have_ends() {
        let mut plan = plan(&["lmdb", "sqlite"], None);
        let records: Vec<_> = plan
            .trials
            .iter()
            .map(|spec| at(spec, rate(spec)))
            .collect();
        let mut next_with = |trials: usize| {
            let last = plan.trials[0].clone();
            plan.trials.resize(trials, last);
            DecisionSearch::new(*plan.decision().unwrap(), &plan).next(&records, 0.0)
        };
        assert!(matches!(next_with(MAX_TRIALS - 2), Proposal::Trials(next) if next.len() == 2));
        assert_eq!(
            next_with(MAX_TRIALS - 1),
            Proposal::End(SearchEnd::TrialLimit)
        );
    }

    #[test]
    fn whom_a_contender_led_that_failed_later_has_the_same_next_repeat_as_the_others() {
        let plan = plan(&["lmdb", "rocksdb", "sqlite"], None);
        // At first sqlite is led, and the others are hard to tell apart; then the leader fails.
        let result = |spec: &TrialSpec| {
            let noise = match (spec.engine.as_str(), spec.repeat % 2) {
                ("lmdb", 0) => 1.06,
                ("rocksdb", 1) => 1.05,
                _ => 1.0,
            };
            let mut record = at(spec, rate(spec) * noise);
            if spec.engine == "lmdb" && spec.repeat > 4 {
                record.outcome = Outcome::Failed {
                    reason: "no space left".to_owned(),
                    bad_input: false,
                };
            }
            record
        };
        let mut search = DecisionSearch::new(*plan.decision().unwrap(), &plan);
        let mut records = Vec::new();
        let mut trials = plan.trials.clone();
        let mut of_sqlite = Vec::new();
        loop {
            let own = trials.iter().filter(|spec| spec.engine == "sqlite");
            of_sqlite.extend(own.map(|spec| spec.repeat));
            records.extend(trials.iter().map(result));
            match search.next(&records, 0.0) {
                Proposal::Trials(next) => trials = next,
                Proposal::End(end) => break assert_eq!(end, SearchEnd::NothingLeft),
            }
        }
        assert_eq!(of_sqlite, [1, 2, 3, 4, 7]);
    }

    #[test]
    fn a_repeat_has_the_name_of_its_cell() {
        let first = testing::spec(3, "lmdb", Durability::Sync, 1);
        let next = repeat_of(&first, 12, 45);
        assert_eq!(
            (next.id.as_str(), next.repeat),
            ("0045-lmdb-sync-w4-r12", 12)
        );
    }
}
