//! Reasons why two sides cannot be compared.

use super::uncounted::UncountedRecord;
use crate::marks::{MarkedName, explanations};
use crate::text::{joined, serialize_as_text};
use std::path::PathBuf;
use trueput_record::Durability;

/// A reason why two sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run folder cannot be read.
    #[error(transparent)]
    Record(#[from] trueput_record::Error),
    /// The text after a run's colon is not a selector.
    #[error(
        "'{text}' selects no trials: {fault}; write ENGINE, LEVEL or NAME=VALUE, as in \
             lmdb,sync,workers=4"
    )]
    Selector {
        /// The text as the user typed it.
        text: String,
        /// The error in it.
        fault: SelectorFault,
    },
    /// A run has no trial that could be compared.
    #[error(transparent)]
    NoSuchTrial(#[from] NoSuchTrial),
    /// A word could mean several contenders of a run.
    #[error("{}: '{word}' could mean {}; name one of them", run.display(), candidates.join(", "))]
    Ambiguous {
        /// The run folder.
        run: PathBuf,
        /// The word as the user typed it.
        word: String,
        /// The contenders that it could mean.
        candidates: Vec<String>,
    },
    /// Two sides are one.
    #[error(
        "{first} and {second} are the same trials of {contender}; name two runs, or two contenders \
             of one as in --contenders lmdb,sqlite"
    )]
    Itself {
        /// The first side.
        first: String,
        /// The second side.
        second: String,
        /// The contender of both sides.
        contender: String,
    },
    /// Nothing on one side may be against anything on the other.
    #[error("{first} and {second} are not comparable: {reason}")]
    NotComparable {
        /// The first side.
        first: String,
        /// The second side.
        second: String,
        /// The reasons.
        reason: Box<IncomparabilityReason>,
    },
}

/// An error in the text of a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorFault {
    /// A word has `=`, and nothing on one side of it.
    #[error("'{0}' lacks its name or its value")]
    LacksPart(String),
    /// A word is empty.
    #[error("write an engine, a level or NAME=VALUE")]
    EmptyWord,
    /// Two words are engines.
    #[error("it names two engines, {first} and {second}")]
    TwoEngines {
        /// The first of them.
        first: String,
        /// The second.
        second: String,
    },
}

/// A run without a trial that could be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", run.display())]
pub struct NoSuchTrial {
    /// The run folder.
    pub run: PathBuf,
    /// The reason.
    pub reason: AbsenceReason,
}

/// Why a run has no trial that could be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AbsenceReason {
    /// No trial has ended.
    #[error("no trial of it has finished")]
    NothingFinished,
    /// No trial is of the contender.
    #[error("no trial of '{word}'{hint}; it has {}", present.join(", "))]
    Contender {
        /// The contender that was named.
        word: String,
        /// A similar name, as a clause; empty if there is none.
        hint: String,
        /// The contenders of the run.
        present: Vec<String>,
    },
    /// The contender is in the plan, and no trial of it has ended.
    #[error("no trial of '{word}' has ended{}", continuation_hint(command.as_deref()))]
    Unfinished {
        /// The contender that was named.
        word: String,
        /// The words of the command that continues the run, quoted for a shell; `None` if none
        /// does.
        command: Option<Vec<String>>,
    },
    /// No trial has a parameter of the name.
    #[error("no trial has a setting, knob or condition '{name}'; it has {}", present.join(", "))]
    Parameter {
        /// The name.
        name: String,
        /// The contenders of the run.
        present: Vec<String>,
    },
    /// No trial has the value.
    #[error(
        "no trial with {name}={wanted}; {name} is {}: write {}",
        known.join(", "),
        selection_hint(name, known)
    )]
    Value {
        /// The parameter.
        name: String,
        /// The value that was named.
        wanted: String,
        /// The values that trials have.
        known: Vec<String>,
    },
    /// No trial fits every word of the selector.
    #[error("no trial fits all of '{0}'")]
    Combination(String),
    /// Trials match, but none of them is valid.
    #[error(
        "none of its {} trials is valid, so there is nothing to compare; the first: {}",
        .0.len(),
        .0.first().map(ToString::to_string).unwrap_or_default()
    )]
    NothingCounts(Vec<UncountedRecord>),
}

impl NoSuchTrial {
    /// The same reason, its command with this name of the program, quoted for a shell: the one that
    /// the user calls.
    #[must_use]
    pub fn called(mut self, program: &str) -> Self {
        if let AbsenceReason::Unfinished {
            command: Some(words),
            ..
        } = &mut self.reason
        {
            words.splice(..1, [program.to_owned()]);
        }
        self
    }
}

/// The command that continues a run, as a clause; empty if there is none.
fn continuation_hint(command: Option<&[String]>) -> String {
    command.map_or_else(String::new, |words| {
        format!(": {} goes on with the run", words.join(" "))
    })
}

/// The ways to select two of these values.
fn selection_hint(name: &str, known: &[String]) -> String {
    let forms = known.iter().take(2);
    let forms: Vec<_> = forms.map(|value| format!("RUN:{name}={value}")).collect();
    forms.join(" or ")
}

/// Why no cell of one side may be compared with one of the other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncomparabilityReason {
    /// Marks keep the only pair apart.
    #[error(transparent)]
    Marks(IncomparablePair),
    /// The conditions differ; these are the differences of the most similar pair of cells.
    #[error("{}", joined(.0, "; "))]
    Circumstances(Vec<CircumstanceDifference>),
    /// Several contenders match.
    #[error(
        "several contenders could stand against each other ({} and {}); name one of each, as in \
         RUN:ENGINE or RUN:ENGINE,KNOB=VALUE",
        first.join(", "),
        second.join(", ")
    )]
    SeveralContenders {
        /// Contenders of the first side.
        first: Vec<String>,
        /// Contenders of the second side.
        second: Vec<String>,
    },
}

/// A circumstance that is not the same in two cells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CircumstanceDifference {
    /// The workload, whose settings do not matter then.
    #[error("the workload is {first} in the first and {second} in the second")]
    Workload {
        /// Value of the first side.
        first: String,
        /// Value of the second side.
        second: String,
    },
    /// A setting or a condition.
    #[error(
        "{name} is {} in the first and {} in the second",
        stated(first),
        stated(second)
    )]
    Parameter {
        /// Its name.
        name: String,
        /// Its value on the first side; `None` if that side does not have it.
        first: Option<String>,
        /// Its value on the second side.
        second: Option<String>,
    },
}

fn stated(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("not stated")
}

/// Two contenders whose marks keep them from being compared. Its `Display` is the sentence that
/// JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{first} and {second} ({workload}, {durability}): {}{}",
    explanations([(&*first.name, &*first.marks), (&*second.name, &*second.marks)]).join(" "),
    if *.assertions_only { " --include-assertions compares them all the same" } else { "" }
)]
pub struct IncomparablePair {
    /// The contender on the first side.
    pub first: MarkedName,
    /// The contender on the second side.
    pub second: MarkedName,
    /// The workload.
    pub workload: String,
    /// Durability level of each commit.
    pub durability: Durability,
    /// Whether nothing but assertions keeps them apart, so that the user may admit them.
    pub assertions_only: bool,
}

serialize_as_text!(IncomparablePair);
