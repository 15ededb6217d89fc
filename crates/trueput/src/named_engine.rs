//! An engine that a command line names without running a plan.

use crate::failure::Failure;
use trueput_engine::{Credentials, Engine};
use trueput_record::plan::Contender;
use trueput_runner::Registry;

/// Finds the engine of that name, or the build in `ENGINE@BUILD`, and returns it with its name.
///
/// # Errors
/// A usage error for an engine or a build that is not there.
pub fn find_engine(
    text: &str,
    registry: &Registry,
) -> Result<(&'static str, &'static dyn Engine), Failure> {
    let contender = registry.named(&Contender::parse(text));
    let contender = contender.map_err(Failure::usage)?;
    let engine = registry.engine_of(&contender.engine, contender.build.as_deref());
    let engine = engine.map_err(Failure::usage)?;
    let name = engine.info().name;
    let Some(build) = contender.build else {
        return Ok((name, engine));
    };
    let mut credentials = Credentials::default();
    let build = credentials.add(&build);
    let loaded = credentials
        .open(engine, &build)
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    // A server that does not answer would let every check wait.
    let asked = loaded.build();
    asked.map_err(|error| Failure::usage(format!("{name} cannot be used: {error}")))?;
    // They are needed as long as this program runs.
    let named = String::leak(format!("{name}@{}", build.display()));
    Ok((named, Box::leak(loaded)))
}
