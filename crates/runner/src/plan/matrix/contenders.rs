//! The contenders of a plan, by the names of their engines.

use crate::Registry;
use crate::plan::refusal::RegistryError;
use std::path::PathBuf;
use trueput_engine::Address;
use trueput_record::address::is_address_for;
use trueput_record::plan::{Contender, PlanFile};

/// Returns a plan's contenders with their engines' names and their libraries' full paths. A plug-in
/// is known by its name from here on.
///
/// # Errors
/// As [`Registry::named`].
pub(super) fn contenders(
    plan: &PlanFile,
    registry: &Registry,
) -> Result<Vec<Contender>, RegistryError> {
    let named = |one: &Contender| {
        let named = with_full_path(&registry.named(one)?);
        // What is wrong with a plug-in that has a name is said as it is opened.
        let _ = registry.engine_of(&named.engine, named.build.as_deref());
        Ok(named)
    };
    plan.engines.iter().map(named).collect()
}

/// The contender with the full path of its library, so that a run resumed in another folder finds
/// it and two names of one file are one contender. A file that is not there keeps its name for the
/// engine to refuse; the address of a server loses its password. It stays an address where there
/// is a file of that name: a plan that names a server never runs a program.
#[must_use]
pub fn with_full_path(contender: &Contender) -> Contender {
    let full = |path: &PathBuf| {
        let is_file = !is_address_for(&contender.engine, path);
        let full = is_file.then(|| path.canonicalize().ok()).flatten();
        full.unwrap_or_else(|| Address::redact_build(path))
    };
    Contender {
        engine: contender.engine.clone(),
        build: contender.build.as_ref().map(full),
    }
}
