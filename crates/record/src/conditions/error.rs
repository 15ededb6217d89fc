//! Texts that are not values of a condition.

use crate::list::SplitError;
use crate::parameter::ValueError;

/// Texts that are not values of a condition.
#[derive(Debug, thiserror::Error)]
pub enum ConditionError {
    /// One is not a value of it.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A text is not a list of them.
    #[error(transparent)]
    List(#[from] SplitError),
    /// The value of this text has no place in a plan.
    #[error("'{0}' cannot be given")]
    NotGiven(String),
}

/// A text that names no place for workers or their memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum ParsePlaceError {
    #[error("'{text}' is no list of processors; write numbers, as in 0-3,8")]
    Processors { text: String },
    #[error(
        "'{text}' is no NUMA policy; write local, interleave, interleave:0,1, bind:0 or preferred:0"
    )]
    NumaPolicy { text: String },
    #[error("'{name}' is not a host name; write names as ssh takes them, as in a,b or me@a")]
    HostName { name: String },
    #[error("host '{name}' is named twice: name each host once, and give more workers")]
    HostTwice { name: String },
    #[error("{count} hosts exceed the maximum of {max}")]
    TooManyHosts { count: usize, max: usize },
}
