//! Which trials can be spread over hosts.

use super::error::FleetError;
use crate::Options;
use trueput_record::TrialSpec;
use trueput_record::search::SearchSettings;

/// Checks that trials can be spread over the hosts of the options.
///
/// # Errors
/// [`FleetError`], if they have workers on hosts of their own, or are those of a search that tries
/// rates or knobs.
pub(crate) fn check_spread(
    trials: &[TrialSpec],
    search: Option<&SearchSettings>,
    options: &Options,
) -> Result<(), FleetError> {
    if options.across.is_empty() {
        return Ok(());
    }
    match search {
        None | Some(SearchSettings::Decision(_)) => {}
        Some(search) => {
            let command = search.command();
            return Err(FleetError::Search { command });
        }
    }
    let has_hosts = |spec: &TrialSpec| spec.conditions.hosts.is_some();
    if trials.iter().any(has_hosts) {
        Err(FleetError::WorkersElsewhere)
    } else {
        Ok(())
    }
}
