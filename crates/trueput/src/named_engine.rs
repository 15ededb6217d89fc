//! An engine that a command line names without running a plan.

use crate::failure::Failure;
use trueput_engine::{Credentials, Engine};
use trueput_record::plan::Contender;
use trueput_runner::Registry;
use trueput_runner::matrix::with_full_path;

/// Finds the engine of that name, or the build in `ENGINE@BUILD`, and returns it with its name, in
/// which a build has its full path, as records and audits have it.
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
    let (Some(named), Some(build)) = (&contender.build, with_full_path(&contender).build) else {
        return Ok((name, engine));
    };
    // An address has lost its password in the build.
    let mut credentials = Credentials::default();
    credentials.add(named);
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
