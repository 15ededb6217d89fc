//! `trueput cluster-host`: the process that hosts the nodes of a cluster. The runner starts it.

use crate::failure::Failure;
use crate::signals;
use clap::Args;
use std::process::ExitCode;
use trueput_engine::cluster::ClusterAssignment;
use trueput_engine::parameter;
use trueput_runner::Registry;

/// The arguments of `trueput cluster-host`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The assignment, as JSON
    assignment: String,
}

/// Hosts the nodes until SIGTERM.
///
/// # Errors
/// [`Failure::Usage`] for a wrong assignment; [`Failure::Other`] if a node does not start or stop.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let stop = signals::stop_flag("nodes may be left; 'trueput clean' lists them")?;
    let assignment: ClusterAssignment = serde_json::from_str(&arguments.assignment)
        .map_err(|error| Failure::Usage(format!("the assignment: {error}")))?;
    let name = &assignment.engine;
    let engine = registry.engine(name).map_err(Failure::usage)?;
    let library = assignment.library.as_deref();
    let selected = library.map(|library| engine.with_library(library));
    let selected = selected.transpose();
    let selected = selected.map_err(|error| Failure::Other(error.to_string()))?;
    let engine = selected.as_deref().unwrap_or(engine);
    let cluster = engine
        .cluster()
        .ok_or_else(|| Failure::Usage(format!("{name} is not a cluster")))?;
    let knobs = parameter::resolve(name, engine.knobs(), &assignment.knobs);
    let knobs = knobs.map_err(Failure::usage)?;
    let hosted = trueput_host::cluster::run(&*cluster, &assignment, &knobs, &stop);
    hosted.map_err(|error| Failure::Other(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}
