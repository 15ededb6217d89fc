//! Skips servers that cannot reach their folder, in a plan that skips unsupported cells.

use super::skipped::nothing_left;
use super::{Error, Matrix, name_trials};
use crate::Registry;
use crate::plan::preflight::check_path;
use crate::plan::resolution::resolve_trial;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueput_engine::Credentials;
use trueput_host as host;
use trueput_record::TrialSpec;
use trueput_record::plan::{PlanFile, UnsupportedPolicy};

impl Matrix {
    /// Skips the trials of servers whose user cannot enter the folders down to `place`, the
    /// location of their databases, if `plan` skips unsupported cells: a clone in a home that only
    /// its owner may enter should not prevent other trials. Another plan is refused when its run is
    /// created.
    ///
    /// # Errors
    /// One sentence, if nothing is left to run.
    pub fn skip_unreachable(
        &mut self,
        plan: &PlanFile,
        place: &Path,
        registry: &Registry,
    ) -> Result<(), Error> {
        if plan.unsupported != UnsupportedPolicy::Skip {
            return Ok(());
        }
        let existing = host::find_nearest_existing(place);
        let mut reasons: BTreeMap<(String, Option<PathBuf>), Option<String>> = BTreeMap::new();
        self.trials.retain(|spec| {
            let contender = (spec.engine.clone(), spec.build.clone());
            let reason = reasons.entry(contender);
            reason
                .or_insert_with(|| {
                    unreachable_reason(spec, &self.credentials, (place, &existing), registry)
                })
                .is_none()
        });
        for ((engine, _), reason) in reasons {
            self.skipped
                .extend(reason.map(|reason| format!("{engine}: {reason}").into()));
        }
        name_trials(&mut self.trials);
        if self.trials.is_empty() {
            Err(Error {
                place: plan.origin.of("engines"),
                message: nothing_left(&self.skipped),
            })
        } else {
            Ok(())
        }
    }
}

/// Returns why a trial's engine cannot work at `place`, of which `existing` is there, or its server
/// cannot; `None` if it can.
/// Other mistakes in a trial are reported elsewhere.
fn unreachable_reason(
    spec: &TrialSpec,
    credentials: &Credentials,
    (place, existing): (&Path, &Path),
    registry: &Registry,
) -> Option<String> {
    let engine = resolve_trial(registry, credentials, spec).ok()?.engine;
    if let Err(reason) = check_path(&*engine, place) {
        return Some(reason.to_string());
    }
    host::service::check_access_to(&*engine.service()?, existing)
        .err()
        .map(|error| error.to_string())
}
