//! Checks the knobs and settings of a run that is resumed: the folder may come from anybody.

use crate::failure::Failure;
use trueput_record::parameter::{Parameter, resolve};
use trueput_record::trial::Settings;
use trueput_record::{Error, RunFolder, RunManifest};
use trueput_runner::Registry;

/// Checks each knob and setting against what the command line would take.
///
/// # Errors
/// A usage error in one line that names the file, the line, the value and what would be right.
pub fn check_parameters(
    folder: &RunFolder,
    manifest: &RunManifest,
    registry: &Registry,
) -> Result<(), Failure> {
    for (index, spec) in manifest.trials.iter().enumerate() {
        let check = |field: &str, owner: &str, parameters: &[Parameter], given: &Settings| {
            let Some((name, reason)) = find_wrong(owner, parameters, given) else {
                return Ok(());
            };
            let place = ["trials", &index.to_string(), field, &name].map(str::to_owned);
            let (path, line) = folder.place_in_manifest(&place);
            Err(Failure::from(Error::Invalid {
                path,
                line,
                message: reason,
            }))
        };
        // A name that this program does not know is told when the trial runs.
        if let Ok(workload) = registry.workload(&spec.workload) {
            let (owner, settings) = (&spec.workload, &spec.settings);
            check("settings", owner, workload.settings(), settings)?;
        }
        if let Ok(engine) = registry.engine(&spec.engine) {
            check("knobs", &spec.engine, engine.knobs(), &spec.knobs)?;
        }
    }
    Ok(())
}

/// Finds a value that is not one, and says why.
fn find_wrong(owner: &str, known: &[Parameter], given: &Settings) -> Option<(String, String)> {
    // Most are right, and one look is enough.
    resolve(owner, known, given).err()?;
    given.iter().find_map(|(name, value)| {
        let alone = Settings::from([(name.clone(), value.clone())]);
        let reason = resolve(owner, known, &alone).err()?;
        Some((name.clone(), reason))
    })
}
