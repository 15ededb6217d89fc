//! The hosts that whole repeats of a run were given to. All contenders of a repeat run on the same
//! host, so that hosts are blocks of every comparison.

use crate::HostFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host that whole repeats were given to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHost {
    /// Its name, as the command line has it.
    pub name: String,
    /// The machine and its program, as it described itself when it was reached last.
    pub facts: HostFacts,
    /// Why it was lost in the last part of the run; absent if it was not. Its unfinished repeats
    /// went to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
}
