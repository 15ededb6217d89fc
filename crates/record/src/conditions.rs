//! The conditions of a trial that are independent of engine and workload: duration, rate, placement
//! of workers, memory.

mod error;
mod given;
mod hosts;
mod lists;
mod table;
mod time_slice;

pub use error::{ConditionError, ParsePlaceError};
pub use hosts::HostList;
pub(crate) use hosts::MAX_HOSTS;
pub use table::{CONDITIONS, Condition, ConditionLists, Conditions, Form};
pub(crate) use time_slice::LENGTHS_S as TIME_SLICE_LENGTHS_S;
pub use time_slice::{ParseTimeSliceError, TimeSlice};

use crate::Value;
use crate::storage_fault::{FaultSyntaxError, StorageFault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of a field of a trial, and how the value is read that a plan gives.
pub(crate) type TrialField = (&'static str, fn(&Conditions) -> Option<Value>);

/// The pace of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Operations that become due per second, over all workers.
    pub per_s: f64,
    /// When each becomes due.
    pub arrival: Arrival,
}

crate::choices! {
    /// When the operations of an open loop become due.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Arrival {
        /// At equal distances.
        #[default]
        Constant = "constant",
        /// At exponentially distributed distances, as independent users would come.
        Poisson = "poisson",
    }
}

crate::choices! {
    /// The state of the database when the workers begin.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Start {
        /// The state after the load: pages are in the page cache if they fit.
        #[default]
        Warm = "warm",
        /// Closed, its pages dropped from the page cache.
        Cold = "cold",
    }
}

crate::choices! {
    /// The allocator that the workers' C code uses.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Allocator {
        /// The allocator of the C library.
        #[default]
        Libc = "libc",
        /// jemalloc, preloaded.
        Jemalloc = "jemalloc",
        /// tcmalloc, preloaded.
        Tcmalloc = "tcmalloc",
        /// mimalloc, preloaded.
        Mimalloc = "mimalloc",
    }
}

/// The placement of memory on a machine with several NUMA nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum NumaPolicy {
    /// On the node of the processor that first touches it.
    Local,
    /// Interleaved over these nodes; an empty list means all nodes.
    Interleave(Vec<u32>),
    /// On these nodes only.
    Bind(Vec<u32>),
    /// On this node while it has room.
    Preferred(u32),
}

impl fmt::Display for NumaPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |nodes: &[u32]| {
            let nodes: Vec<_> = nodes.iter().map(u32::to_string).collect();
            nodes.join(",")
        };
        match self {
            Self::Local => formatter.write_str("local"),
            Self::Interleave(nodes) if nodes.is_empty() => formatter.write_str("interleave"),
            Self::Interleave(nodes) => write!(formatter, "interleave:{}", list(nodes)),
            Self::Bind(nodes) => write!(formatter, "bind:{}", list(nodes)),
            Self::Preferred(node) => write!(formatter, "preferred:{node}"),
        }
    }
}

impl FromStr for NumaPolicy {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let wrong = || ParsePlaceError::NumaPolicy {
            text: text.to_owned(),
        };
        let (word, nodes) = text.split_once(':').unwrap_or((text, ""));
        let nodes = nodes.split(',').filter(|node| !node.is_empty());
        let nodes: Vec<u32> = nodes
            .map(|node| node.trim().parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        match (word, nodes.as_slice()) {
            ("local", []) => Ok(Self::Local),
            ("interleave", _) => Ok(Self::Interleave(nodes)),
            ("bind", [_, ..]) => Ok(Self::Bind(nodes)),
            ("preferred", [node]) => Ok(Self::Preferred(*node)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for NumaPolicy {
    type Error = ParsePlaceError;

    fn try_from(text: String) -> Result<Self, ParsePlaceError> {
        text.parse()
    }
}

impl From<NumaPolicy> for String {
    fn from(policy: NumaPolicy) -> Self {
        policy.to_string()
    }
}

/// Reads a list of processors or nodes, such as `0-3,8`. The result is sorted, without duplicates.
///
/// # Errors
/// [`ParsePlaceError::Processors`].
pub fn parse_list(text: &str) -> Result<Vec<u32>, ParsePlaceError> {
    let wrong = || ParsePlaceError::Processors {
        text: text.to_owned(),
    };
    let mut found = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| wrong())?;
        let last: u32 = last.trim().parse().map_err(|_| wrong())?;
        if first > last || last >= 4_096 {
            return Err(wrong());
        }
        found.extend(first..=last);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Reads a list of processors, or `all`.
fn parse_cpus(text: &str) -> Result<Option<String>, ParsePlaceError> {
    match text {
        "all" => Ok(None),
        list => parse_list(list).map(|_| Some(list.to_owned())),
    }
}

/// Reads a NUMA policy, or `none`.
fn parse_numa(text: &str) -> Result<Option<NumaPolicy>, ParsePlaceError> {
    match text {
        "none" => Ok(None),
        policy => policy.parse().map(Some),
    }
}

/// Reads a storage fault, or `none`.
fn parse_fault(text: &str) -> Result<Option<StorageFault>, FaultSyntaxError> {
    match text {
        "none" => Ok(None),
        fault => fault.parse().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_reads_as_it_is_written() {
        for text in [
            "local",
            "interleave",
            "interleave:0,1",
            "bind:0",
            "preferred:3",
        ] {
            let policy: NumaPolicy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
        }
        for text in [
            "bind",
            "preferred",
            "preferred:0,1",
            "local:1",
            "spread",
            "bind:x",
        ] {
            let refused = text.parse::<NumaPolicy>().unwrap_err();
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }

    #[test]
    fn lists_of_processors_read_ranges() {
        assert_eq!(parse_list("0-3,8,2"), Ok(vec![0, 1, 2, 3, 8]));
        for text in ["", "3-1", "a", "0,,1", "0-99999"] {
            assert!(parse_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_special_is_told_and_the_default_is_not() {
        let conditions = Conditions {
            rate: Some(Rate {
                per_s: 500.0,
                arrival: Arrival::Poisson,
            }),
            numa: Some(NumaPolicy::Bind(vec![1])),
            memory_bytes: Some(1 << 30),
            ..Conditions::default()
        };
        let special = "rate=500/s poisson numa=bind:1 memory=1 GiB";
        assert_eq!(conditions.special(), special);
        assert_eq!(Conditions::default().special(), "");
    }

    #[test]
    fn conditions_of_an_older_record_are_the_defaults() {
        let read: Conditions = serde_json::from_str("{}").unwrap();
        assert_eq!(read, Conditions::default());
    }
}
