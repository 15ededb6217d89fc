//! What a host is told of the trials that it runs by itself, and what it reports of them.
//!
//! Trials, records and facts travel as JSON texts: the runner reads them as it reads the lines of a
//! run folder of unknown origin.

use crate::event::Phase;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use trueput_engine::ExportedAddress;

/// An instruction on the trials that a host runs by itself. It has no `Debug`: it may hold
/// passwords.
#[derive(Serialize, Deserialize)]
#[serde(tag = "trial_order", rename_all = "snake_case")]
pub(crate) enum TrialInstruction {
    /// Get ready for a run.
    Begin {
        /// The run.
        run: Box<RemoteRun>,
    },
    /// Run these trials one after the other.
    Run {
        /// Their specifications, a JSON list.
        trials: String,
    },
    /// Stop the trial that runs; keep what was measured.
    Stop,
    /// No more trials come: remove everything.
    End,
}

/// A run as a host needs it.
#[derive(Serialize, Deserialize)]
pub(crate) struct RemoteRun {
    /// The manifest, as JSON. Its trials are one of each cell.
    pub manifest: String,
    /// The passwords of users' servers.
    pub exported: Vec<ExportedAddress>,
    /// The folder in which the host makes a private one for the time of the run.
    pub results: PathBuf,
    /// The folder for databases; `None`: the private one.
    pub work: Option<PathBuf>,
    /// See [`crate::Options::disk_factor`].
    pub disk_factor: f64,
    /// See [`crate::Options::hang_limit`], seconds.
    pub hang_limit_s: f64,
    /// See [`crate::Options::hardware_limits`].
    pub hardware_limits: bool,
    /// See [`crate::Options::checks_isolation`].
    pub checks_isolation: bool,
    /// Whether the host trusts its cache of passed suites.
    pub reuses_suites: bool,
}

/// A report on the trials that a host runs by itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "trial_report", rename_all = "snake_case")]
pub(crate) enum TrialReport {
    /// It can run one trial of each cell.
    Ready {
        /// The host's facts, as JSON.
        facts: String,
        /// The build of each contender.
        builds: Vec<ContenderBuild>,
    },
    /// A trial began.
    Started {
        /// Its id.
        id: String,
    },
    /// About a second has passed in a trial.
    Progress {
        /// Its id.
        id: String,
        /// Its phase.
        phase: Phase,
        /// The part of the phase that is done.
        fraction: f64,
        /// Operations per second.
        rate_per_s: f64,
    },
    /// A trial ended.
    Ended {
        /// Its record, as JSON.
        record: String,
        /// Its files in the run folder.
        files: Vec<TrialFile>,
    },
    /// Something that the user should know.
    Note {
        /// One sentence.
        message: String,
    },
    /// All trials that were given have ended.
    Waiting,
    /// Nothing runs any more, and nothing is left on the host.
    Finished,
    /// The trials cannot be run.
    Failed {
        /// The reason.
        message: String,
    },
}

/// The build of a contender on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContenderBuild {
    /// The contender.
    pub contender: String,
    /// The version that its library reports; why there is none, if it cannot be loaded.
    pub version: String,
    /// The hash of its file; empty if it is part of the program, or a user's server.
    pub sha256: String,
}

/// A file of a trial in a run folder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrialFile {
    /// Its path in the run folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The most bytes of a file of a trial that is sent: the text of a line may need more.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 20;

/// Returns the paths in the run folder that a trial may have, with `id` as its id.
pub(crate) fn file_names(id: &str) -> [String; 5] {
    [
        format!("histograms/{id}.hlog"),
        format!("histograms/{id}.seconds.hlog"),
        format!("storage/{id}-data.json"),
        format!("storage/{id}-log.json"),
        format!("storage/{id}-faults.json"),
    ]
}
