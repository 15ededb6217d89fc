//! The search of a run.

use crate::capacity::{CapacityQuestion, CapacitySearch};
use crate::choice::{ChoiceSearch, engine_of};
use crate::decision::DecisionSearch;
use crate::error::SearchError;
use crate::trial_search::TrialSearch;
use crate::tuning::TuningSearch;
use trueput_engine::Engine;
use trueput_findings::capacity::closed_loops;
use trueput_record::RunManifest;
use trueput_record::search::SearchSettings;

/// The search that a run was made for, among these engines. It is where its records are as soon as
/// it is asked for the next trials.
///
/// # Errors
/// [`SearchError`]: the run is no search, its engine is not known, or its knobs cannot be searched.
pub fn search_of<'a>(
    manifest: &'a RunManifest,
    engines: &'a [&'static dyn Engine],
) -> Result<Box<dyn TrialSearch + 'a>, SearchError> {
    match &manifest.search {
        None => Err(SearchError::NoSearch),
        Some(SearchSettings::Capacity(settings)) => {
            let contenders = closed_loops(manifest).collect();
            let budget_s = settings.budget_s;
            let question = CapacityQuestion {
                settings,
                needed_per_s: None,
            };
            let search = CapacitySearch::new(contenders, question, budget_s, budget_s);
            Ok(Box::new(search))
        }
        Some(SearchSettings::Choice(settings)) => {
            Ok(Box::new(ChoiceSearch::new(settings, manifest, engines)))
        }
        Some(SearchSettings::Decision(settings)) => {
            Ok(Box::new(DecisionSearch::new(*settings, manifest)))
        }
        Some(SearchSettings::Tuning(settings)) => {
            let first = manifest.trials.first();
            let first = first.ok_or(SearchError::NoFirstTrial)?;
            let engine = engine_of(first, engines);
            let engine = engine.ok_or_else(|| SearchError::UnknownEngine(first.engine.clone()))?;
            let (settings, first) = (settings.clone(), first.clone());
            let search = TuningSearch::new(settings, first, manifest, engine, 0.0)?;
            Ok(Box::new(search))
        }
    }
}
