//! The reasons why a search cannot be made, and why a configuration may not run.

use trueput_engine::Error as EngineError;
use trueput_record::value::ParseBytesError;
use trueput_record::{Durability, Isolation, Phenomenon, Value};

/// The reason why the search of a run cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SearchError {
    /// The run was not made for a search.
    #[error("the run is no search")]
    NoSearch,
    /// The run has no trial to start from.
    #[error("the search has no first trial")]
    NoFirstTrial,
    /// This program does not have the engine.
    #[error("unknown engine '{0}'")]
    UnknownEngine(String),
    /// The engine's knobs cannot be searched.
    #[error(transparent)]
    KnobSpace(#[from] KnobSpaceError),
    /// The published advice on them cannot be read.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// The rounds cannot begin.
    #[error(transparent)]
    Rounds(#[from] RoundsError),
}

/// The reason why an engine's knobs cannot be searched.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KnobSpaceError {
    /// It has none.
    #[error("{engine} has no knobs to search")]
    NoKnobs {
        /// The engine.
        engine: &'static str,
    },
    /// The plan leaves none at its default.
    #[error("the plan gives every knob of {engine}: there is none to search")]
    AllGiven {
        /// The engine.
        engine: &'static str,
    },
    /// The engine refuses the plan's knobs.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// The plan's knobs promise less than what is asked for.
    #[error(
        "{engine} with the plan's knobs: {refusal}; allow more, or give the knob that limits it"
    )]
    WeakPlan {
        /// The engine.
        engine: &'static str,
        /// What is weaker.
        refusal: Refusal,
    },
    /// The knobs make no space.
    #[error("{engine}: {source}")]
    Space {
        /// The engine.
        engine: &'static str,
        /// The reason.
        source: SpaceError,
    },
}

/// The reason why parameters make no space.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpaceError {
    /// A restriction names a parameter that is not there.
    #[error("there is no parameter '{name}'; there are {}", known.join(", "))]
    UnknownParameter {
        /// The name.
        name: String,
        /// The names of all.
        known: Vec<&'static str>,
    },
    /// A restriction names a text.
    #[error("'{0}' is a text, which has no range to search")]
    Text(String),
    /// Bounds are given for a parameter without a range.
    #[error("'{0}' has no range to bound")]
    NoRange(&'static str),
    /// The bounds leave no value.
    #[error(
        "'{parameter}': no value is within the bounds {} to {}; its own are {} to {}",
        bounds.0, bounds.1, own.0, own.1
    )]
    NoValue {
        /// The parameter.
        parameter: &'static str,
        /// The lowest and the highest value that are searched.
        bounds: (f64, f64),
        /// The lowest and the highest value of the parameter.
        own: (f64, f64),
    },
    /// No parameter can be searched.
    #[error("there is no parameter with a range or choices to search")]
    NoParameter,
}

/// The reason why a configuration may not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// A value is none of its parameter; one sentence with the valid values.
    #[error("{0}")]
    Value(String),
    /// A preset gives a knob that is not searched.
    #[error("this knob is not searched")]
    NotSearched,
    /// A preset gives a value that the user excludes.
    #[error("it is outside of the bounds that --search gives")]
    OutOfBounds,
    /// The engine refuses.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It has another durability level.
    #[error("it keeps {found} and not {wanted}")]
    Durability {
        /// Its own.
        found: Durability,
        /// The wanted one.
        wanted: Durability,
    },
    /// Its transactions interfere in a way that the wanted level excludes.
    #[error("it permits {} and {wanted} does not", permitted.name())]
    Isolation {
        /// The way.
        permitted: Phenomenon,
        /// The wanted level.
        wanted: Isolation,
    },
    /// It is not known how its transactions interfere.
    #[error("its isolation is unknown, and not {0}")]
    UnknownIsolation(Isolation),
    /// A power loss takes commits, and none may be lost.
    #[error("a power loss may take commits")]
    Window,
    /// A power loss takes commits of as much time as the limit, or more.
    #[error("a power loss may take {time_s} s of commits, and window<{limit_s}s was asked for")]
    LongWindow {
        /// The time, seconds.
        time_s: f64,
        /// The limit, seconds.
        limit_s: f64,
    },
    /// A power loss takes commits of any time, and there is a limit.
    #[error("the time that a power loss may take is not limited")]
    UnlimitedWindow,
    /// A power loss takes more than with the default.
    #[error("a power loss may take more commits than with the default")]
    WiderWindow,
    /// The nodes of a cluster may not fail as with the default.
    #[error("a commit survives fewer failures of nodes")]
    Cluster,
}

/// The reason why a search's rounds cannot begin or go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RoundsError {
    /// There are too few trials.
    #[error("{trials} trials are too few for a search and its holdout; it takes at least {least}")]
    FewTrials {
        /// The trials.
        trials: usize,
        /// The fewest that a search takes.
        least: usize,
    },
    /// The default configuration may not run.
    #[error("the default configuration is not allowed: {0}")]
    Default(Refusal),
    /// The parameters do not allow a preset.
    #[error("preset '{name}': {refusal}")]
    Preset {
        /// Its name.
        name: String,
        /// The reason.
        refusal: Refusal,
    },
    /// Outcomes are of no round.
    #[error("no round is pending")]
    NoRound,
    /// Outcomes are more or fewer than the trials of their round.
    #[error("round {round} has {trials} trials, not {outcomes}")]
    OutcomeCount {
        /// The number of the round, from 0.
        round: usize,
        /// Its trials.
        trials: usize,
        /// The outcomes.
        outcomes: usize,
    },
    /// A score cannot be compared.
    #[error("the score {0} is not a finite number above 0")]
    Score(f64),
}

/// The reason why published advice cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PresetError {
    /// The file is not one of presets.
    #[error("presets/{engine}.toml: {message}")]
    Syntax {
        /// The engine.
        engine: String,
        /// What the parser said.
        message: String,
    },
    /// The file is another engine's.
    #[error("presets/{engine}.toml is of {owner}")]
    OtherEngine {
        /// The engine.
        engine: String,
        /// The engine that the file states.
        owner: String,
    },
    /// A bound is no number.
    #[error("preset '{preset}', {knob}: {source}")]
    Bound {
        /// The preset.
        preset: String,
        /// The knob.
        knob: String,
        /// The reason.
        source: BoundError,
    },
}

/// The reason why a bound of a preset is no number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    /// A text is not a size.
    #[error(transparent)]
    Size(ParseBytesError),
    /// It is a truth value.
    #[error("a bound is a number or a size")]
    Boolean,
}

/// The reason why a knob cannot be searched as the user asks.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SearchedKnobError {
    /// The engine has no such knob.
    #[error("{engine} has no knob '{name}'{hint}; 'trueput knobs {engine}' lists them")]
    Unknown {
        /// The engine.
        engine: &'static str,
        /// The name.
        name: String,
        /// The nearest name; empty if there is none.
        hint: String,
    },
    /// It is named twice.
    #[error("--search names '{0}' twice; name it once")]
    Twice(String),
    /// The plan or an option gives it a value.
    #[error(
        "'{name}' is to be searched, and the plan or --knob keeps it at {value}: remove one of both"
    )]
    Kept {
        /// The knob.
        name: String,
        /// Its value.
        value: Value,
    },
    /// Its bounds are no range.
    #[error("'{0}': write bounds as LOW..HIGH, as in cache_size=64MiB..1GiB")]
    NoRange(String),
    /// Its bounds are in the wrong order.
    #[error("'{0}': the lower bound is above the upper one")]
    Reversed(String),
    /// A bound is not a size or a duration; one sentence.
    #[error("'{knob}': {reason}")]
    Bound {
        /// The knob.
        knob: &'static str,
        /// The reason.
        reason: String,
    },
    /// A bound is not a number.
    #[error("'{knob}': '{text}' is not a number")]
    NotANumber {
        /// The knob.
        knob: &'static str,
        /// The bound.
        text: String,
    },
    /// Bounds are given for a knob that has choices.
    #[error("'{knob}': it has no range; it is one of {choices}")]
    Choices {
        /// The knob.
        knob: &'static str,
        /// Its values.
        choices: String,
    },
}
