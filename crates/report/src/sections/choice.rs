//! The section on a choice between contenders.

mod answer;

use super::capacity::{
    ContenderNames, cache_note, curves, failure_blocks, figure_at_capacity, interval, left_out,
    mark_note, marked_rate, model_note, note, rate, storage_note, storage_of, unconfirmed,
};
use super::conclusion::with_program_name;
use super::header;
use super::search_stop::SearchStop;
use super::tuning::{TuningView, gain_table, knob_shares, plan_blocks};
use super::{Part, Section, SectionInput};
use crate::answer::name_list::all_listed;
use crate::document::{Block, Table};
use crate::storage_words;
use crate::trial_command::trial_command;
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_findings::audits::{AuditState, audit_state};
use trueput_findings::capacity::{Capacity, CapacityComparison, CapacityState, is_probe_of};
use trueput_findings::choice::{Candidate, CandidateCosts, Choice, choice};
use trueput_findings::isolation;
use trueput_findings::marks::{explanations, marks_of};
use trueput_findings::power_loss::StoragePromise;
use trueput_findings::shell::quoted;
use trueput_findings::tuning::TuningFindings;
use trueput_findings::units::{bytes, counted};
use trueput_record::search::{CapacitySettings, ChoiceSettings, SearchEnd, SearchSettings};
use trueput_record::{Isolation, TrialRecord};

/// A cost is mentioned if it is this many times that of another contender.
const NOTABLE_FACTOR: f64 = 1.5;

/// Contenders that are far behind are no alternative: theirs is below this part of the first one's
/// capacity.
const ALTERNATIVE_PART: f64 = 0.25;

/// Which contender keeps the objective at the highest rate.
pub(crate) struct Recommendation;

impl Section for Recommendation {
    fn parts(&self, input: &SectionInput<'_>) -> Vec<Part> {
        let Some(view) = ChoiceView::of(input.run) else {
            return Vec::new();
        };
        let mut parts = vec![Part {
            title: view.heading(),
            blocks: view.blocks(),
            charts: input.page_charts(|| view.charts()),
            ..Part::default()
        }];
        parts.extend(Part::unless_empty("How to verify it", view.commands()));
        let searches = view.searches();
        parts.extend(searches.filter_map(|search| search.part(input)));
        parts
    }
}

/// The choice of a run for a terminal, as blocks: the answer first.
pub(crate) fn document(run: &Run) -> Vec<Block> {
    let mut blocks = vec![header::title(run)];
    blocks.extend(header::search_warnings(run));
    let Some(view) = ChoiceView::of(run) else {
        return blocks;
    };
    blocks.push(Block::Heading(2, view.heading()));
    blocks.extend(view.blocks());
    blocks.extend(titled("How to verify it", view.commands()));
    // With one contender the question is about its knobs. With several the answer is short.
    if view.choice.candidates.len() == 1 {
        blocks.extend(view.searches().flat_map(|search| search.titled_blocks()));
    }
    let skipped = vec![Block::List(run.manifest.skipped.clone())];
    blocks.extend(titled("Not tried", skipped));
    blocks
}

/// Content under a heading; nothing if it is empty.
fn titled(title: &str, content: Vec<Block>) -> Vec<Block> {
    let mut blocks: Vec<_> = content.into_iter().filter_map(Block::filled).collect();
    if !blocks.is_empty() {
        blocks.insert(0, Block::Heading(2, title.to_owned()));
    }
    blocks
}

/// A choice and what its text needs.
struct ChoiceView<'a> {
    run: &'a Run,
    settings: &'a ChoiceSettings,
    choice: Choice,
    names: ContenderNames,
}

impl<'a> ChoiceView<'a> {
    fn of(run: &'a Run) -> Option<Self> {
        let Some(SearchSettings::Choice(settings)) = &run.manifest.search else {
            return None;
        };
        Some(Self {
            run,
            settings,
            choice: choice(&run.manifest, &run.trials)?,
            names: ContenderNames::of(run),
        })
    }

    /// The searches for knobs that have begun, that of the best contender first.
    fn searches(&self) -> impl Iterator<Item = TuningView<'_>> {
        self.choice.candidates.iter().filter_map(move |candidate| {
            let contender = candidate.default.contender;
            Some(TuningView {
                run: self.run,
                settings: self.settings.tuning_of(contender)?,
                default: &candidate.default.spec,
                found: candidate.tuning.as_ref()?,
                is_whole_run: false,
            })
        })
    }

    fn heading(&self) -> String {
        let first = self.choice.candidates.first();
        let spec = first.map(|candidate| &candidate.default.spec);
        let question = spec.map_or_else(String::new, |spec| {
            format!(
                "{}, {}, {}{}: ",
                storage_words::level(spec.durability, &self.storage()),
                spec.workload,
                counted(u64::from(spec.workers), "worker"),
                storage_words::place(&spec.conditions)
            )
        });
        format!("{question}choice at {}", self.settings.capacity.objective)
    }

    fn blocks(&self) -> Vec<Block> {
        let candidates = || self.choice.candidates.iter();
        let unconfirmed = unconfirmed(candidates().map(Candidate::best));
        let named: Vec<_> = candidates().map(|it| (it.best(), name(it))).collect();
        let left_out = left_out(&named);
        let mut blocks: Vec<_> = storage_note(candidates().map(Candidate::best))
            .into_iter()
            .collect();
        blocks.push(Block::Text(self.answer() + &left_out + &unconfirmed));
        blocks.extend(model_note(candidates().map(Candidate::best)));
        let defaults = candidates().map(|it| &it.default);
        blocks.extend(cache_note(defaults, &self.settings.capacity));
        if let Some(first) = self.choice.first() {
            blocks.extend(tuned_knobs_blocks(first));
            let costs = self.extra_costs(first);
            if !costs.is_empty() {
                let text = format!("Cost: {}.", costs.join("; "));
                blocks.push(Block::Text(text));
            }
        }
        blocks.extend(Block::Table(self.table()).filled());
        let shown = candidates().flat_map(|it| std::iter::once(&it.default).chain(&it.tuned));
        blocks.extend(mark_note(shown));
        blocks.extend(self.audits().map(Block::Text));
        blocks.extend(Block::List(self.marks()).filled());
        blocks.extend(failure_blocks(&named));
        blocks.extend(Block::List(self.notes()).filled());
        blocks
    }

    /// What the storage of the contenders leaves of their level.
    fn storage(&self) -> StoragePromise {
        let candidates = self.choice.candidates.iter();
        storage_of(candidates.map(Candidate::best))
    }

    /// What the first contender costs more, or promises less, than alternatives to it.
    fn extra_costs(&self, first: &Candidate) -> Vec<String> {
        let Some((own, first_per_s)) = first.costs.as_ref().zip(first.best().capacity_per_s) else {
            return Vec::new();
        };
        let alternatives = self.choice.candidates.iter().filter(|it| {
            if it.default.contender == first.default.contender {
                return false;
            }
            let capacity_per_s = it.best().capacity_per_s.unwrap_or_default();
            capacity_per_s >= first_per_s * ALTERNATIVE_PART
        });
        let alternatives: Vec<_> = alternatives
            .filter_map(|it| Some((name(it), it.costs.as_ref()?)))
            .collect();
        let mut costs = Vec::new();
        let least = |of: fn(&CandidateCosts) -> u64| {
            let least = alternatives.iter().min_by_key(|(_, costs)| of(costs));
            least.map(|(name, costs)| (name, of(costs)))
        };
        for (resource, own_bytes, least) in [
            ("disk space", own.space_bytes, least(|it| it.space_bytes)),
            ("memory", own.memory_bytes, least(|it| it.memory_bytes)),
        ] {
            if let Some((name, least_bytes)) = least
                && own_bytes as f64 > least_bytes as f64 * NOTABLE_FACTOR
            {
                costs.push(format!(
                    "{} of {resource}, where {name} needs {}",
                    bytes(own_bytes as f64),
                    bytes(least_bytes as f64)
                ));
            }
        }
        let stronger = alternatives
            .iter()
            .find(|(_, it)| lacks(own.isolation, it.isolation));
        if let Some((name, other)) = stronger {
            costs.push(format!(
                "its transactions are {}, those of {name} {}",
                isolation::word(own.isolation),
                isolation::word(other.isolation)
            ));
        }
        costs.extend(own.known_defect.clone());
        costs
    }

    fn table(&self) -> Table {
        let rows: Vec<_> = self
            .choice
            .candidates
            .iter()
            .filter(|it| it.default.closed_loop_per_s.is_some())
            .collect();
        let needed_per_s = self.settings.needed_per_s;
        let mut table = Table::of(&rows)
            .text("contender", 0, |it| self.names.name(&it.default))
            .figures("default/s", 0, |it| marked_rate(&it.default));
        if self.settings.tuning.is_some() {
            table = table.figures("tuned/s", 0, |it| {
                it.tuned.as_ref().map_or_else(dash, marked_rate)
            });
        }
        table = table.figures("90 % interval", 1, |it| interval(it.best()));
        if let Some(needed_per_s) = needed_per_s {
            table = table.figures("of need", 0, move |it| {
                let capacity_per_s = it.best().capacity_per_s;
                capacity_per_s.map_or_else(dash, |it| format!("{:.2}×", it / needed_per_s))
            });
        }
        for limit in self.settings.capacity.objective.limits() {
            let metric = limit.metric.word();
            table = table.figures(metric, 1, move |it| figure_at_capacity(it.best(), metric));
        }
        let cost = |it: &Candidate, of: fn(&CandidateCosts) -> u64| {
            let costs = it.costs.as_ref();
            costs.map_or_else(dash, |costs| bytes(of(costs) as f64))
        };
        table
            .figures("memory", 1, move |it| cost(it, |costs| costs.memory_bytes))
            .figures("disk", 1, move |it| cost(it, |costs| costs.space_bytes))
            .text("isolation", 2, |it| {
                let costs = it.costs.as_ref();
                costs.map_or_else(dash, |costs| isolation::word(costs.isolation).to_owned())
            })
            .figures("closed loop", 3, |it| {
                it.default.closed_loop_per_s.map_or_else(dash, rate)
            })
            .build()
    }

    /// Whether the promises of the contenders were audited; `None` if nothing is promised.
    fn audits(&self) -> Option<String> {
        let state = |candidate: &Candidate| {
            let spec = &candidate.default.spec;
            let is_its = |it: &&TrialRecord| {
                it.spec.contender() == spec.contender() && it.spec.durability == spec.durability
            };
            let trials: Vec<_> = self.run.trials.iter().filter(is_its).collect();
            Some((name(candidate), audit_state(&trials)?))
        };
        let states: Vec<_> = self.choice.candidates.iter().filter_map(state).collect();
        let is_open =
            |state: &AuditState| matches!(state, AuditState::NotAudited | AuditState::Undecided);
        let (open, known): (Vec<_>, Vec<_>) =
            states.into_iter().partition(|(_, state)| is_open(state));
        let is_untouched = open
            .iter()
            .all(|(_, state)| *state == AuditState::NotAudited);
        let open: Vec<_> = open
            .into_iter()
            .map(|(name, state)| match state {
                AuditState::Undecided => format!("{name} ({state})"),
                _ => name,
            })
            .collect();
        let known: Vec<_> = known
            .into_iter()
            .map(|(name, state)| format!("{name} ({})", audit_words(&state)))
            .collect();
        let how = "\"trueput audit\" tests promises by simulated power cuts.";
        match (known.is_empty(), open.is_empty()) {
            (true, true) => None,
            (true, false) if is_untouched => Some(format!("Not audited: {how}")),
            (true, false) => Some(format!("Not audited: {}; {how}", open.join(", "))),
            (false, true) => Some(format!("Promises audited: {}.", known.join(", "))),
            (false, false) => Some(format!(
                "Promises audited: {}. Not audited: {}; {how}",
                known.join(", "),
                open.join(", ")
            )),
        }
    }

    /// The meaning of the contenders' marks.
    fn marks(&self) -> Vec<String> {
        let of = |candidate: &Candidate| {
            // The knobs that a search tried and dropped do not matter.
            let shown = [&candidate.default.spec, &candidate.best().spec];
            let trials = self.run.trials.iter();
            let is_shown = |it: &&TrialRecord| shown.iter().any(|spec| is_probe_of(spec, it));
            let marks = marks_of(trials.filter(is_shown));
            (self.names.plain_name(&candidate.default), marks)
        };
        let all: Vec<_> = self.choice.candidates.iter().map(of).collect();
        explanations(
            all.iter()
                .map(|(name, marks)| (name.as_str(), marks.as_slice())),
        )
    }

    /// What is to know about each contender: why its capacity is not confirmed, and whether it was
    /// tuned.
    fn notes(&self) -> Vec<String> {
        let candidates = self.choice.candidates.iter();
        let reasons = candidates.filter_map(|it| note(it.best(), &name(it)));
        let led = self.led_notes();
        reasons.chain(led).chain(self.tuning_notes()).collect()
    }

    /// Whose searches stopped early, and because of whom.
    fn led_notes(&self) -> Vec<String> {
        let mut led: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for candidate in &self.choice.candidates {
            if let CapacityState::Led { by } = &candidate.best().state {
                led.entry(by).or_default().push(name(candidate));
            }
        }
        let sentence = |(by, names): (&str, Vec<String>)| {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let whose = match names[..] {
                [one] => format!("{one}: its search"),
                _ => format!("The searches for {}", all_listed(&names)),
            };
            format!(
                "{whose} stopped early, because {by} is faster even at the low end of its interval."
            )
        };
        led.into_iter().map(sentence).collect()
    }

    fn tuning_notes(&self) -> Vec<String> {
        if self.settings.tuning.is_none() {
            return vec!["Knobs were not tuned (--no-tuning).".to_owned()];
        }
        let mut notes = Vec::new();
        let (mut untuned, mut out_of_reach) = (Vec::new(), Vec::new());
        for candidate in &self.choice.candidates {
            let name = name(candidate);
            let why_not = self.settings.untunable_reason(candidate.default.contender);
            match (&candidate.tuning, why_not) {
                (_, Some(reason)) => notes.push(format!("{name}: not tuned: {reason}")),
                (None, _) if self.choice.is_out_of_reach(candidate) => out_of_reach.push(name),
                (None, _) if candidate.default.closed_loop_per_s.is_some() => untuned.push(name),
                (None, _) => {}
                (Some(found), _) => {
                    notes.push(format!(
                        "{name}: {}",
                        tuning_result(candidate, found, self.stop())
                    ));
                    notes.extend(knob_shares(found).map(|shares| {
                        format!("{name}: knobs that matter to its rate in closed loop: {shares}")
                    }));
                }
            }
        }
        if !out_of_reach.is_empty() {
            notes.push(format!(
                "Not tuned, because they are below a quarter of the best capacity: {}.",
                out_of_reach.join(", ")
            ));
        }
        if !untuned.is_empty() {
            let untuned = untuned.join(", ");
            notes.push(match self.stop() {
                SearchStop::Ended(SearchEnd::TimeUp) => format!(
                    "Not tuned, for lack of time: {untuned}. A new run with a longer --budget \
                     tunes more."
                ),
                SearchStop::Ended(SearchEnd::NothingLeft) => {
                    format!("Not tuned: {untuned}; the search ended first.")
                }
                stop => format!("Not tuned: {untuned}; {}.", stop.reason()),
            });
        }
        notes
    }

    /// Why what is missing was not tried. Earlier runs did not tell; most lacked time.
    fn stop(&self) -> SearchStop {
        match SearchStop::of(self.run.end.as_ref()) {
            SearchStop::Unrecorded => SearchStop::Ended(SearchEnd::TimeUp),
            stop => stop,
        }
    }

    /// The commands that measure the recommendation again, by itself and over time.
    fn commands(&self) -> Vec<Block> {
        let Some(first) = self.choice.first() else {
            return Vec::new();
        };
        let best = first.best();
        let CapacitySettings {
            objective, arrival, ..
        } = &self.settings.capacity;
        let arrival = ["--arrival".to_owned(), arrival.to_string()];
        let command = |subcommand| {
            let words = trial_command(self.run, subcommand, &best.spec, &first.default.spec);
            with_program_name(self.run, words)
        };
        let mut capacity = command("capacity");
        capacity.extend(["--objective".to_owned(), quoted(&objective.to_string())]);
        capacity.extend(arrival.clone());
        let mut blocks = Vec::new();
        if first.is_tuned_better() {
            blocks.extend(plan_blocks(self.run).into_iter().flatten());
        }
        blocks.extend([
            Block::Text("Its capacity, in a search of its own:".to_owned()),
            Block::Command(capacity),
        ]);
        let wanted_per_s = self.settings.needed_per_s.or(best.capacity_per_s);
        if let Some(per_s) = wanted_per_s {
            let mut run = command("run");
            run.extend(["--rate".to_owned(), per_s.to_string()]);
            run.extend(arrival);
            run.extend(["--repeat".to_owned(), "5".to_owned()]);
            blocks.push(Block::Text(format!(
                "Its response times at {}/s:",
                rate(per_s)
            )));
            blocks.push(Block::Command(run));
        }
        blocks
    }

    fn charts(&self) -> Vec<crate::chart::Chart> {
        let capacities = self.choice.candidates.iter().map(|it| it.best().clone());
        let comparison = CapacityComparison {
            capacities: capacities.collect(),
        };
        curves(&comparison, &self.settings.capacity, &self.names)
    }
}

/// What the search for a contender's knobs found, as a clause.
fn tuning_result(candidate: &Candidate, found: &TuningFindings, stop: SearchStop) -> String {
    let stopped = stop.event();
    let trials = counted(found.search_trials as u64, "trial");
    match (&candidate.tuned, found.better()) {
        (Some(_), _) if candidate.is_tuned_better() => {
            format!("tuned in {trials}: {}", knobs(candidate))
        }
        (Some(tuned), _) if let Some(message) = tuned.rejection() => {
            format!("{trials} found better knobs, which are not considered: {message}")
        }
        (
            Some(Capacity {
                state: CapacityState::Unmeasured { message },
                ..
            }),
            _,
        ) => format!(
            "{trials} found better knobs, but their capacity could not be measured: {message}"
        ),
        (Some(_), _) if candidate.is_tuned_refuted() => format!(
            "{trials} found knobs with a higher rate in closed loop, but not at the objective"
        ),
        (
            Some(Capacity {
                capacity_per_s: Some(per_s),
                ..
            }),
            _,
        ) => format!(
            "{trials} found better knobs in closed loop; their capacity, {}/s, is not surely \
             above the default's",
            rate(*per_s)
        ),
        (Some(_), _) | (None, Some(_)) => {
            format!("{trials} found better knobs; {stopped} before their capacity was measured")
        }
        (None, None) if found.winner.is_none() => format!(
            "{stopped} after {trials}, before the best knobs were compared with the default"
        ),
        (None, None)
            if found.holdout_failures.is_empty()
                && found.holdout.is_none_or(|it| it.ratio.is_none()) =>
        {
            format!(
                "{stopped} after {trials}, before the best knobs were compared with the \
                 default often enough"
            )
        }
        (None, None) => {
            format!("{trials} found no knobs that were better on data that the search had not seen")
        }
    }
}

/// Whether one isolation permits what the other does not.
fn lacks(one: Option<Isolation>, other: Option<Isolation>) -> bool {
    one.zip(other)
        .is_some_and(|(one, other)| one.lacks(other).next().is_some())
}

/// The contender's name in sentences; its marks are in the table.
fn name(candidate: &Candidate) -> String {
    candidate.default.spec.contender()
}

fn dash() -> String {
    "–".to_owned()
}

/// The knobs of the tuned capacity, with the gain of each where an ablation measured it.
fn tuned_knobs_blocks(candidate: &Candidate) -> Vec<Block> {
    let knobs = tuned_knobs(candidate);
    let table = candidate.tuning.as_ref().and_then(gain_table);
    match table.filter(|_| !knobs.is_empty()) {
        Some(table) => vec![
            Block::Text("The gain of each knob in closed loop:".to_owned()),
            Block::Table(table),
        ],
        None => Block::List(knobs).filled().into_iter().collect(),
    }
}

/// The knobs of the tuned capacity, if that is the better one.
fn tuned_knobs(candidate: &Candidate) -> Vec<String> {
    let tuned = candidate.tuned.as_ref();
    let Some(tuned) = tuned.filter(|_| candidate.is_tuned_better()) else {
        return Vec::new();
    };
    let default = &candidate.default.spec.knobs;
    let knobs = tuned.spec.knobs.iter();
    let changed = knobs.filter(|(name, value)| default.get(*name) != Some(value));
    changed
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

fn knobs(candidate: &Candidate) -> String {
    tuned_knobs(candidate).join(", ")
}

/// What an audit that decided something found; a refutation on storage weaker than usual by itself.
fn audit_words(state: &AuditState) -> String {
    let AuditState::NotRefuted {
        states,
        models,
        refuted_by,
    } = state
    else {
        return state.to_string();
    };
    let held = models
        .iter()
        .filter(|tried| !refuted_by.contains(&tried.model));
    let held: Vec<_> = held.cloned().collect();
    let mut words = Vec::new();
    if !held.is_empty() {
        let held = AuditState::NotRefuted {
            states: *states,
            models: held,
            refuted_by: Vec::new(),
        };
        words.push(format!("not refuted in {held}"));
    }
    let mut weaker: Vec<_> = refuted_by.iter().map(ToString::to_string).collect();
    weaker.dedup();
    if !weaker.is_empty() {
        words.push(format!(
            "refuted on {}, weaker than usual storage",
            weaker.join(", ")
        ));
    }
    words.join("; ")
}
