//! The answer of a choice in sentences: the recommendation, or why there is none.

use super::super::capacity::{certainty, factor, none_keeps, rate, which};
use super::super::conclusion::program;
use super::{ChoiceView, name};
use crate::answer::name_list;
use trueput_findings::choice::{Candidate, NoOrderReason, RunOffResult};
use trueput_findings::shell::quoted;
use trueput_findings::units::{counted, number, separate};

/// What to do about a machine that was too disturbed, as a sentence that begins with a space.
const QUIETER: &str =
    " Choose again when the machine is quieter, or give longer trials (--duration).";

impl ChoiceView<'_> {
    /// Says that nothing is recommended, if the storage does not keep the level; it ends with a
    /// space.
    fn refusal(&self, first: &Candidate) -> String {
        if !first.is_lost() {
            return String::new();
        }
        let level = first.best().spec.durability;
        format!(
            "No contender is recommended, because {level} is not kept here: choose again with \
             --work DIR on storage that keeps flushed data, or at --durability process. By rate \
             alone: "
        )
    }

    /// The recommendation: what, by how much, how sure.
    pub(super) fn answer(&self) -> String {
        let objective = &self.settings.capacity.objective;
        if let (Some(reason), Some(both)) = (self.choice.inconclusive, self.choice.highest_two()) {
            return self.without_order(reason, both);
        }
        let Some((first, capacity_per_s)) = self
            .choice
            .first()
            .and_then(|first| Some((first, first.best().capacity_per_s?)))
        else {
            let capacities = self.choice.candidates.iter().map(Candidate::best);
            return none_keeps(objective, capacities);
        };
        let mut text = format!(
            "{}{}{}: {objective} {}",
            self.refusal(first),
            name(first),
            if first.is_tuned_better() {
                " with the knobs below"
            } else {
                " with its default knobs"
            },
            format_args!(
                "up to {} requests/s ({})",
                rate(capacity_per_s),
                certainty(first.best())
            )
        );
        text += &self.compare_with_need(first, capacity_per_s);
        if first.is_tuned_better()
            && let Some(default_per_s) = first.default.capacity_per_s
        {
            text += &format!(" By default it takes {}/s.", rate(default_per_s));
        }
        text + &self.comparison(first, capacity_per_s) + &self.rivals()
    }

    /// The contenders that may take as much as the recommended one, as a sentence that begins with
    /// a space.
    fn rivals(&self) -> String {
        let rivals = self.choice.rivals();
        let names = listed(&rivals.iter().map(|it| name(it)).collect::<Vec<_>>());
        match rivals.len() {
            0 => String::new(),
            1 => format!(" {names} may take as much: its interval overlaps."),
            _ => format!(" {names} may take as much: their intervals overlap."),
        }
    }

    /// The two contenders with the highest capacities where their order is not known, and what to
    /// do.
    fn without_order(&self, reason: NoOrderReason, both: [&Candidate; 2]) -> String {
        let (reason, remedy) = match reason {
            NoOrderReason::Disturbance => (
                "The machine was too disturbed to tell which contender takes more.".to_owned(),
                QUIETER.to_owned(),
            ),
            NoOrderReason::Overlap if self.choice.run_off.is_some_and(|it| it.is_complete()) => (
                "The machine was too disturbed, or the two are too close, to tell which takes \
                 more: their intervals overlap even after the run-off."
                    .to_owned(),
                QUIETER.to_owned(),
            ),
            NoOrderReason::Overlap => (
                "Too close to call: the intervals overlap, and the search ended before the run-off \
                 was complete."
                    .to_owned(),
                self.more_time(),
            ),
            NoOrderReason::Outsider => (
                "Too close to call: after the run-off, a contender that was not in it has the \
                 highest capacity."
                    .to_owned(),
                " Choose again with more time (--budget) or longer trials (--duration).".to_owned(),
            ),
            NoOrderReason::Equal => (
                format!(
                    "{} are equal in these trials: choose either.",
                    listed(&both.map(name))
                ),
                String::new(),
            ),
        };
        let per_s = |it: &Candidate| it.best().capacity_per_s.unwrap_or_default();
        let highest_per_s = both.map(per_s).into_iter().fold(0.0, f64::max);
        let higher = self.choice.others().filter(|it| per_s(it) > highest_per_s);
        let each = both.into_iter().chain(higher).map(|it| {
            let (own_name, per_s) = (name(it), per_s(it));
            format!("{own_name} {}/s ({})", rate(per_s), certainty(it.best()))
        });
        let each: Vec<_> = each.collect();
        let objective = &self.settings.capacity.objective;
        let need = self.settings.needed_per_s;
        let need = need.map_or_else(String::new, |it| self.need_without_order(it, both));
        format!(
            "{}{reason} {objective}, in no order: {}.{need}{remedy}",
            self.refusal(both[0]),
            each.join("; ")
        )
    }

    /// How the search goes on, as a sentence that begins with a space.
    fn more_time(&self) -> String {
        // A bundle is a copy: the search goes on in its own folder.
        if self.run.shown_as != self.run.folder {
            return " Choose again with more time (--budget).".to_owned();
        }
        let folder = quoted(&self.run.shown_as.to_string_lossy());
        format!(
            " Go on with more time: {} choose --resume {folder} --budget TIME.",
            program(self.run)
        )
    }

    /// Who reaches the rate that is needed, where two contenders have no order.
    fn need_without_order(&self, needed_per_s: f64, both: [&Candidate; 2]) -> String {
        let needed = separate(&needed_per_s.to_string());
        let candidates = self.choice.candidates.iter();
        let serving: Vec<_> = candidates
            .filter(|it| it.best().serves(needed_per_s))
            .collect();
        let names = listed(&serving.iter().map(|it| name(it)).collect::<Vec<_>>());
        let is_above = |it: &&Candidate| {
            let capacity_per_s = it.best().capacity_per_s;
            capacity_per_s.is_some_and(|it| needed_per_s <= it)
        };
        if serving.is_empty() && self.fails_everywhere(needed_per_s) {
            format!(" None reaches the {needed}/s that you need.")
        } else if serving.is_empty() {
            format!(" Whether any reaches the {needed}/s that you need is open.")
        } else if !serving.iter().all(is_above) {
            format!(" {names} kept the objective in most trials at the {needed}/s that you need.")
        } else if both.iter().all(|it| it.best().serves(needed_per_s)) {
            format!(" Both reach the {needed}/s that you need.")
        } else if serving.len() == 1 {
            format!(" {names} reaches the {needed}/s that you need.")
        } else {
            format!(" {names} reach the {needed}/s that you need.")
        }
    }

    /// The capacity of the first contender beside the rate that is needed, as the end of a
    /// sentence.
    fn compare_with_need(&self, first: &Candidate, capacity_per_s: f64) -> String {
        let Some(needed_per_s) = self.settings.needed_per_s else {
            return ".".to_owned();
        };
        let needed = separate(&needed_per_s.to_string());
        let mut candidates = self.choice.candidates.iter();
        if needed_per_s <= capacity_per_s && first.best().serves(needed_per_s) {
            let times = number(capacity_per_s / needed_per_s);
            format!(", {times} times the {needed}/s that you need.")
        } else if let Some(serving) = candidates.find(|it| it.best().serves(needed_per_s)) {
            let (name, best) = (name(serving), serving.best());
            if best.capacity_per_s.is_some_and(|it| needed_per_s <= it) {
                format!(". {name} reaches the {needed}/s that you need.")
            } else {
                format!(
                    ". {name} kept the objective in most trials at the {needed}/s that you need."
                )
            }
        } else if self.fails_everywhere(needed_per_s) {
            let which = which(self.choice.candidates.iter().map(Candidate::best));
            format!(". None{which} reaches the {needed}/s that you need.")
        } else {
            format!(". Whether any reaches the {needed}/s that you need is open.")
        }
    }

    /// Whether no contender that is considered serves a rate, or may.
    fn fails_everywhere(&self, per_s: f64) -> bool {
        self.choice.candidates.iter().all(|candidate| {
            let best = candidate.best();
            let is_out = best.failed_trials().is_some() || best.rejection().is_some();
            let is_above = best.estimate.is_some_and(|it| it.high_per_s < per_s);
            is_out || is_above && !best.serves(per_s)
        })
    }

    /// The first contender beside the second.
    fn comparison(&self, first: &Candidate, first_per_s: f64) -> String {
        let Some((second, second_per_s)) = self
            .choice
            .second()
            .and_then(|second| Some((second, second.best().capacity_per_s?)))
        else {
            return String::new();
        };
        let (own_name, name) = (name(first), name(second));
        let Some(run_off) = self.choice.run_off else {
            return format!(
                " That is {} the rate of {name}, the next. The search ended before the run-off.",
                factor(first_per_s / second_per_s)
            );
        };
        let (own_held, other_held) = if self.choice.is_reversed() {
            (run_off.second_held, run_off.first_held)
        } else {
            (run_off.first_held, run_off.second_held)
        };
        let alternately = format!(
            "run alternately at {}/s, {own_name} kept the objective in {own_held} of {} and \
             {name} in {other_held}",
            rate(run_off.rate_per_s),
            counted(run_off.pairs as u64, "trial"),
        );
        let second = rate(second_per_s);
        let next = if first_per_s < second_per_s {
            format!(
                "The search found more for {name}, {second}/s, but the run-off decides, and {name} \
                 is next"
            )
        } else {
            format!("{name} is next, with {second}/s")
        };
        match run_off.result {
            RunOffResult::Confirmed | RunOffResult::Overruled => format!(" {next}: {alternately}."),
            RunOffResult::Unsure if run_off.is_complete() => {
                let tendency = if own_held > other_held {
                    "points the same way, but is not clear by itself"
                } else {
                    "does not confirm it"
                };
                format!(" {next}. The run-off {tendency}: {alternately}.")
            }
            RunOffResult::Unsure => {
                format!(" {next}. The search ended during the run-off: {alternately}.")
            }
        }
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    name_list::all_listed(&names)
}
