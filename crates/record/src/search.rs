//! Searches: runs whose trials are proposed one after the other, from the results so far.

use crate::Value;
use crate::conditions::Arrival;
use crate::objective::Objective;
use crate::value::parse_fraction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The question that a run's trials are proposed to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a run has one")]
pub enum SearchSettings {
    /// The highest rate at which each contender keeps an objective.
    Capacity(CapacitySettings),
    /// The values of a contender's knobs that serve it best.
    Tuning(TuningSettings),
    /// The contender that keeps an objective at the highest rate, with its default knobs or tuned.
    Choice(ChoiceSettings),
    /// The contender with the highest rate in each ranking of a plan, or those that are equal.
    Decision(DecisionSettings),
}

impl SearchSettings {
    /// The time for the whole search, seconds; `None` if it has no limit.
    #[must_use]
    pub fn budget_s(&self) -> Option<f64> {
        match self {
            Self::Capacity(settings) => Some(settings.budget_s),
            Self::Tuning(settings) => Some(settings.budget_s),
            Self::Choice(settings) => Some(settings.budget_s),
            Self::Decision(settings) => settings.budget_s,
        }
    }

    /// The subcommand that makes and continues such a search.
    #[must_use]
    pub fn command(&self) -> &'static str {
        match self {
            Self::Capacity(_) => "capacity",
            Self::Tuning(_) => "tune",
            Self::Choice(_) => "choose",
            Self::Decision(_) => "run",
        }
    }

    /// Gives the search another budget, seconds.
    pub fn set_budget_s(&mut self, budget_s: f64) {
        match self {
            Self::Capacity(settings) => settings.budget_s = budget_s,
            Self::Tuning(settings) => settings.budget_s = budget_s,
            Self::Choice(settings) => settings.budget_s = budget_s,
            Self::Decision(settings) => settings.budget_s = Some(budget_s),
        }
    }
}

/// The reason why a search proposed no more trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// There was no time for the next trials.
    TimeUp,
    /// Every planned trial had ended.
    NothingLeft,
    /// The run has as many trials as a run may have.
    TrialLimit,
}

/// The settings of a run that ends when its rankings are decided: it repeats the trials of a plan
/// until each ranking has a leader or equals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionSettings {
    /// Contenders are equal if their rates differ by less than this part.
    pub equal_within: f64,
    /// The most repeats, fixed before the first: the verdicts depend on it.
    pub max_repeats: u32,
    /// The repeats after which a ranking of many contenders drops those that are far behind; absent
    /// in older runs, which have no such look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_look: Option<u32>,
    /// The time for all repeats, seconds; absent if only the number of repeats ends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
}

impl DecisionSettings {
    /// The values that [`DecisionSettings::equal_within`] can have.
    pub const EQUAL_WITHIN: RangeInclusive<f64> = 0.005..=0.5;

    /// The part within which contenders are equal if nobody names another.
    pub const DEFAULT_EQUAL_WITHIN: f64 = 0.05;

    /// The most repeats. With some noise and equals that are hard to tell, a longer run would
    /// seldom end sooner.
    pub const MAX_REPEATS: u32 = 60;

    /// The fewest repeats that decide.
    pub const MIN_REPEATS: u32 = 4;

    /// The [`DecisionSettings::early_look`] of new runs.
    pub const EARLY_LOOK: u32 = 3;

    /// A contender of which so many trials fail or do not count gets no more repeats.
    pub const MAX_FAILURES: usize = 2;

    /// Returns the part within which contenders are equal.
    #[must_use]
    pub fn equal_within(&self) -> EqualityMargin {
        EqualityMargin(self.equal_within)
    }
}

/// The part within which a decided run calls contenders equal; in texts per cent: `5 %`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct EqualityMargin(f64);

impl EqualityMargin {
    /// Returns the part.
    #[must_use]
    pub fn part(self) -> f64 {
        self.0
    }
}

impl fmt::Display for EqualityMargin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To a hundredth: 0.07 is 7.000000000000001 %.
        write!(f, "{} %", (self.0 * 1e4).round() / 1e2)
    }
}

impl Default for EqualityMargin {
    fn default() -> Self {
        Self(DecisionSettings::DEFAULT_EQUAL_WITHIN)
    }
}

/// A text that is no part within which contenders can be equal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no difference to decide by: write 5% or 0.05, from 0.5% to 50%")]
pub struct ParseEqualityMarginError(String);

impl FromStr for EqualityMargin {
    type Err = ParseEqualityMarginError;

    fn from_str(text: &str) -> Result<Self, ParseEqualityMarginError> {
        let fits = |part: &f64| DecisionSettings::EQUAL_WITHIN.contains(part);
        let error = || ParseEqualityMarginError(text.to_owned());
        let part = parse_fraction(text).filter(fits);
        part.map(Self).ok_or_else(error)
    }
}

/// The settings of a choice between contenders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceSettings {
    /// The search for each capacity; its budget is a part of the whole.
    pub capacity: CapacitySettings,
    /// The search for each contender's knobs, whose trials and budget depend on the time that is
    /// left; `None` if no knobs are tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningSettings>,
    /// The contenders whose knobs cannot be tuned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untunable: Vec<UntunableContender>,
    /// The published advice with which the searches for knobs begin, of contenders that have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presets: Vec<ContenderPresets>,
    /// The request rate that the user needs, per second; `None` if the plan states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_per_s: Option<f64>,
    /// The time for everything, seconds.
    pub budget_s: f64,
}

/// The settings of a search for capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacitySettings {
    /// The objective that the rate must keep.
    pub objective: Objective,
    /// The search ends when both ends of the 90 % interval are at most this part away from the
    /// capacity.
    pub precision: f64,
    /// The time for all contenders, seconds.
    pub budget_s: f64,
    /// When the requests of the open loops become due.
    pub arrival: Arrival,
    /// What a trial must keep beside the objective.
    #[serde(default, skip_serializing_if = "TuningLimits::is_none")]
    pub limits: TuningLimits,
    /// The caches that were set because the default does not fit the memory limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted_caches: Vec<FittedCache>,
}

/// A cache that was set because the default does not fit the memory limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FittedCache {
    /// The contender, by its place in the plan, from 0.
    pub contender: u32,
    /// The knob, as in `redb.cache_size`.
    pub knob: String,
    /// The size by default, bytes.
    pub default_bytes: u64,
    /// The size that it has instead, bytes.
    pub bytes: u64,
}

impl CapacitySettings {
    /// The values that [`CapacitySettings::precision`] can have.
    pub const PRECISION: RangeInclusive<f64> = 0.01..=0.5;
}

/// A contender whose knobs cannot be tuned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UntunableContender {
    /// The contender, by its place in the plan, from 0.
    pub contender: u32,
    /// The reason, in a sentence.
    pub reason: String,
}

/// The published advice on the knobs of a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContenderPresets {
    /// The contender, by its place in the plan, from 0.
    pub contender: u32,
    /// The advice.
    pub presets: Vec<TuningPreset>,
}

impl ChoiceSettings {
    /// The settings of the search for a contender's knobs, with its presets; `None` if no knobs are
    /// tuned.
    #[must_use]
    pub fn tuning_of(&self, contender: u32) -> Option<TuningSettings> {
        let mut settings = self.tuning.clone()?;
        let mut own = self.presets.iter().filter(|it| it.contender == contender);
        settings.presets = own.next().map_or_else(Vec::new, |it| it.presets.clone());
        Some(settings)
    }

    /// The reason why a contender's knobs cannot be tuned; `None` if they can.
    #[must_use]
    pub fn untunable_reason(&self, contender: u32) -> Option<&str> {
        let mut untunable = self.untunable.iter();
        let found = untunable.find(|it| it.contender == contender)?;
        Some(&found.reason)
    }
}

/// The settings of a search for knobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuningSettings {
    /// What makes a configuration better.
    pub score: TuningScore,
    /// What a configuration must keep.
    pub limits: TuningLimits,
    /// The trials that the search and its holdout may take, as planned before the first round.
    pub trials: u32,
    /// The seed of the search's choices.
    pub seed: u64,
    /// The time for both, seconds.
    pub budget_s: f64,
    /// Published advice to begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presets: Vec<TuningPreset>,
    /// The knobs to search; all that the plan does not give if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searched: Vec<SearchedKnob>,
    /// How configurations are proposed.
    #[serde(default, skip_serializing_if = "TuningStrategy::is_default")]
    pub strategy: TuningStrategy,
}

/// How a search proposes configurations. Rounds, racing and holdout are the same for each, so that
/// the strategies can be compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TuningStrategy {
    /// Presets, an even sample of the space, then a model.
    #[default]
    Model,
    /// Random configurations only.
    Random,
    /// One knob at a time, from the best so far.
    OneAtATime,
    /// Presets only.
    Presets,
}

impl TuningStrategy {
    /// Every strategy, the default first.
    pub const ALL: [Self; 4] = [Self::Model, Self::Random, Self::OneAtATime, Self::Presets];

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Random => "random",
            Self::OneAtATime => "one-at-a-time",
            Self::Presets => "presets",
        }
    }

    /// Returns the published advice with which it begins, of that which there is.
    #[must_use]
    pub fn presets(self, published: Vec<TuningPreset>, are_wanted: bool) -> Vec<TuningPreset> {
        match self {
            Self::Model | Self::Presets if are_wanted => published,
            _ => Vec::new(),
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl TuningSettings {
    /// With fewer trials, all are for the search and its holdout.
    const ABLATION_FROM: u32 = 60;

    /// Returns the trials that are kept for the ablation of the winner: a tenth.
    #[must_use]
    pub fn ablation_trials(&self) -> u32 {
        if self.trials >= Self::ABLATION_FROM {
            self.trials / 10
        } else {
            0
        }
    }
}

/// Published advice on an engine's knobs, for the machine and the level of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuningPreset {
    /// Its name.
    pub name: String,
    /// The title of its source.
    pub title: String,
    /// The address of its source.
    pub url: String,
    /// The values that are tried; none if all were dropped.
    pub settings: BTreeMap<String, Value>,
    /// The values that are not tried, each with the reason, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
}

/// A knob that is searched, with its bounds in the knob's unit (bytes, seconds).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchedKnob {
    /// The knob.
    pub name: String,
    /// The lowest value; `None`: as the search chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The highest value; `None`: as the search chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// What makes a configuration better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TuningScore {
    /// A higher rate in closed loop.
    Rate,
    /// A lower 99th percentile of the response times at the plan's rate.
    P99,
}

/// Limits that a configuration must keep, beside its promise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuningLimits {
    /// Peak memory of the workers and the engine's server, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Size of the database on disk, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_bytes: Option<u64>,
    /// Size of the database on disk, as a multiple of the default's in the same round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_factor: Option<f64>,
    /// Time from killing every process to an open database, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_s: Option<f64>,
    /// The most that a power loss may take, in time, seconds, for levels with a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<f64>,
}

impl TuningLimits {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The part that a trial has in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRole {
    /// The contender, by its place in the plan, from 0.
    pub contender: u32,
    /// The reason for the trial.
    pub purpose: TrialPurpose,
    /// The configuration of knobs, 0 being the default; absent in a search for the capacity of the
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<u32>,
}

impl TrialRole {
    /// Whether it is one of the configurations that a search for knobs tries, and not the default.
    #[must_use]
    pub fn is_candidate(self) -> bool {
        self.purpose.is_of_tuning() && self.has_changes()
    }

    /// Whether its knobs are others than the default's.
    #[must_use]
    pub fn has_changes(self) -> bool {
        self.configuration.is_some_and(|number| number > 0)
    }
}

/// The reason for a trial of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialPurpose {
    /// A closed loop, whose rate tells where to begin.
    ClosedLoop,
    /// A rate that narrows the range in which the capacity lies.
    Probe,
    /// The rate that was found, once more.
    Confirmation,
    /// A rate above the one that was found, which must fail.
    Excess,
    /// A configuration in a round of the search.
    Tuning,
    /// A configuration beside the winner, on data that the search has not seen.
    Holdout,
    /// The configuration that the search found best, on such data.
    Winner,
    /// A winner that the holdout claims, once more, after the conformance suite.
    Acceptance,
    /// The best two contenders at one rate, alternately.
    RunOff,
    /// The winner, whole or with one knob at its default, on such data.
    Ablation,
}

impl TrialPurpose {
    /// Whether the trial belongs to a search for a capacity.
    #[must_use]
    pub fn is_of_capacity(self) -> bool {
        matches!(
            self,
            Self::ClosedLoop | Self::Probe | Self::Confirmation | Self::Excess
        )
    }

    /// Whether the trial belongs to a search for knobs, its holdout included.
    #[must_use]
    pub fn is_of_tuning(self) -> bool {
        matches!(
            self,
            Self::Tuning | Self::Holdout | Self::Winner | Self::Acceptance | Self::Ablation
        )
    }

    /// Returns the reason in a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClosedLoop => "closed loop",
            Self::Probe => "probe",
            Self::Confirmation => "confirmation",
            Self::Excess => "excess",
            Self::Tuning => "search",
            Self::Holdout | Self::Winner => "holdout",
            Self::Acceptance => "acceptance",
            Self::RunOff => "run-off",
            Self::Ablation => "ablation",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_as_it_was_written() {
        let capacity = CapacitySettings {
            objective: "p99<5ms".parse().unwrap(),
            precision: 0.1,
            budget_s: 60.0,
            arrival: Arrival::Constant,
            limits: TuningLimits::default(),
            fitted_caches: Vec::new(),
        };
        let settings = SearchSettings::Choice(ChoiceSettings {
            capacity,
            tuning: None,
            untunable: vec![UntunableContender {
                contender: 3,
                reason: "it has no knobs".to_owned(),
            }],
            presets: Vec::new(),
            needed_per_s: Some(5_000.0),
            budget_s: 150.0,
        });
        let text = serde_json::to_string(&settings).unwrap();
        let read: SearchSettings = serde_json::from_str(&text).unwrap();
        assert_eq!(read, settings);
        let SearchSettings::Choice(read) = read else {
            panic!("{text}");
        };
        assert_eq!(read.untunable_reason(3), Some("it has no knobs"));
        assert_eq!(read.untunable_reason(0), None);
    }

    #[test]
    fn a_difference_to_decide_by_is_a_percentage_or_a_fraction() {
        let read = |text: &str| text.parse::<EqualityMargin>().map(EqualityMargin::part);
        assert_eq!((read("5%"), read("0.05")), (Ok(0.05), Ok(0.05)));
        assert_eq!(read("12.5%"), Ok(0.125));
        for wrong in ["5", "0", "60%", "NaN", "", "%", "-1%"] {
            let message = read(wrong).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("'{wrong}' is no")),
                "{message}"
            );
        }
        assert_eq!(EqualityMargin::default().part(), 0.05);
        let shown = |text: &str| text.parse::<EqualityMargin>().map(|it| it.to_string());
        for (text, said) in [("7%", "7 %"), ("0.5%", "0.5 %"), ("0.1225", "12.25 %")] {
            assert_eq!(shown(text), Ok(said.to_owned()));
        }
    }

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        let settings = SearchSettings::Decision(DecisionSettings {
            equal_within: 0.05,
            max_repeats: 60,
            early_look: Some(3),
            budget_s: None,
        });
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"decision","equal_within":0.05,"max_repeats":60,"early_look":3}"#
        );
        assert_eq!(
            serde_json::from_str::<SearchSettings>(&text).unwrap(),
            settings
        );
        assert_eq!((settings.budget_s(), settings.command()), (None, "run"));
    }
}
