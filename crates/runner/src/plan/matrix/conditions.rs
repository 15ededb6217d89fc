//! Checks the run conditions of a plan: file systems, storage models, faults of storage, separate
//! logs, placement, time slices.

use super::skipped::note;
use super::{Error, Expansion, time_slices};
use crate::hosts::fit::check_reach;
use crate::plan::log_directory::{LOG, LOG_DIRECTORY};
use crate::plan::refusal::Refusal;
use crate::plan::resolution::{check_compactable, check_crashable, check_faulty, check_modelled};
use crate::plan::storage_models::{are_on_same_models, check_available, first_key, pin_models};
use crate::plan::time_slice_group::group_trials;
use std::fmt::Display;
use trueput_engine::Engine;
use trueput_engine::parameter::resolve;
use trueput_host::placement;
use trueput_host::trial_file_system;
use trueput_record::conditions::{Arrival, TimeSlice};
use trueput_record::skipped::SkippedPart;
use trueput_record::value::{Settings, format_bytes};
use trueput_record::{Conditions, TrialSpec};
use trueput_workloads::DEFAULT_DURATION_S;

/// The default duration of a repeat in a run that decides: many short repeats decide sooner than
/// few long ones.
const DECIDING_DURATION_S: f64 = 1.0;

impl Expansion<'_> {
    /// Skips file systems that this machine or user cannot create; other cells run, whatever the
    /// plan says about unsupported engines.
    pub(super) fn skip_file_systems(
        &mut self,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        let mut possible = Vec::new();
        for conditions in &self.conditions {
            let wanted = [
                ("filesystem", &conditions.file_system),
                ("log_filesystem", &conditions.log_file_system),
            ];
            let mut missing = false;
            for (key, wanted) in wanted {
                match wanted.as_ref().map_or(Ok(()), trial_file_system::check) {
                    Ok(()) => {}
                    Err(error) if error.is_invalid() => {
                        return Err(self.plan_error(key, error.to_string()));
                    }
                    Err(error) => {
                        missing = true;
                        note(skipped, error.to_string().into());
                    }
                }
            }
            if !missing {
                possible.push(conditions.clone());
            }
        }
        self.conditions = possible;
        Ok(())
    }

    /// Finds the storage models of the plan, and skips those that this machine or user cannot have,
    /// and faults; other cells run, as for file systems.
    pub(super) fn skip_storage_models(
        &mut self,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        let mut possible: Vec<Conditions> = Vec::new();
        for mut conditions in std::mem::take(&mut self.conditions) {
            pin_models(&mut conditions)
                .map_err(|mistake| self.plan_error(mistake.key, &mistake))?;
            // A second path to a model would be a second contender of the same name.
            let is_same = |other: &Conditions| are_on_same_models(&conditions, other);
            if possible.iter().any(is_same) {
                continue;
            }
            match check_available(&conditions) {
                Ok(()) => possible.push(conditions),
                Err(error) if error.is_invalid() => {
                    let key = first_key(&conditions).unwrap_or_default();
                    return Err(self.plan_error(key, error));
                }
                Err(error) => note(skipped, error.to_string().into()),
            }
        }
        self.conditions = possible;
        Ok(())
    }

    /// Returns the conditions of a trial with those settings: work that is not counted gets a
    /// duration, and work that ends by itself in a plan with other work has none.
    pub(super) fn with_end(&self, settings: &Settings, conditions: &Conditions) -> Conditions {
        let mut conditions = conditions.clone();
        let name = &self.plan.workload;
        let Ok(settings) = resolve(name, self.workload.settings(), settings) else {
            return conditions;
        };
        if !self.workload.takes_duration(&settings) {
            conditions.duration_s = None;
            return conditions;
        }
        let is_endless = !self.workload.has_end(&settings, &conditions);
        if conditions.duration_s.is_none() && is_endless {
            let default_s = if self.plan.decides() {
                DECIDING_DURATION_S
            } else {
                DEFAULT_DURATION_S
            };
            conditions.duration_s = Some(default_s);
        }
        conditions
    }

    /// Checks that workers can run under each combination of conditions, and that options of an
    /// open loop come with a rate.
    pub(super) fn check_conditions(&self) -> Result<(), Error> {
        let lists = &self.plan.conditions;
        let is_closed = lists.rate_per_s.iter().all(|&per_s| per_s <= 0.0);
        if lists.arrival != Arrival::default() && is_closed {
            let message = format!(
                "arrival is {}, but a closed loop has no arrivals: set a rate, as in --rate 1000",
                lists.arrival
            );
            return Err(self.plan_error("arrival", message));
        }
        if let Some(bytes) = lists.unused_image() {
            let message = format!(
                "image is {}, but no file system or storage model of the plan uses an image: name \
                 one, as in filesystem=ext4, or remove image",
                format_bytes(bytes)
            );
            return Err(self.plan_error("image", message));
        }
        for conditions in self.plan.conditions.combinations() {
            placement::check(&conditions)
                .map_err(|unmet| self.plan_error(unmet.key, unmet.message))?;
        }
        Ok(())
    }

    fn is_cluster(&self, cell: &TrialSpec) -> bool {
        let engine = self.registry.engine(&cell.engine);
        engine.is_ok_and(|engine| engine.cluster().is_some())
    }

    /// Checks that time slices have at least two contenders, and workers that live until the last
    /// slice.
    pub(super) fn check_time_slices(&self, cells: &[TrialSpec]) -> Result<(), Error> {
        if !matches!(self.plan.conditions.time_slice, TimeSlice::Length(_)) {
            return Ok(());
        }
        let message = if self.plan.conditions.crash_and_recover {
            "time_slice and crash_and_recover exclude each other: remove one"
        } else if time_slices::share_a_server(cells) {
            "contenders on one server of yours would wait for each other's schema: remove \
             time_slice"
        } else if cells.iter().any(|cell| self.is_cluster(cell)) {
            "the nodes of a cluster would take a stop for a failure: remove time_slice"
        } else if group_trials(&cells.iter().collect::<Vec<_>>()).len() == cells.len() {
            "a time slice needs two trials that differ only in engine, build or knobs: name \
             another contender or remove time_slice"
        } else {
            return Ok(());
        };
        Err(self.plan_error("time_slice", message.to_owned()))
    }
}

/// A condition that an engine cannot be measured under.
pub(super) struct UnmetCondition {
    /// Its key in a plan.
    pub key: &'static str,
    /// The reason, and the remedy.
    pub reason: String,
}

/// Returns the knobs that a trial of a contender has under these conditions.
///
/// # Errors
/// The first condition that the engine does not support.
pub(super) fn knobs_under(
    engine: &dyn Engine,
    conditions: &Conditions,
    spec: &TrialSpec,
) -> Result<Settings, UnmetCondition> {
    let unmet = |key, refusal: &dyn Display| UnmetCondition {
        key,
        reason: refusal.to_string(),
    };
    let log_key = if conditions.log_file_system.is_some() {
        "log_filesystem"
    } else {
        "log_storage_model"
    };
    let knobs = with_log_placed(engine, &spec.knobs, conditions)
        .map_err(|refusal| unmet(log_key, &refusal))?;
    check_modelled(engine, conditions, spec).map_err(|refusal| unmet("storage_model", &refusal))?;
    check_faulty(engine, conditions, spec).map_err(|refusal| unmet("fault", &refusal))?;
    check_reach(engine, conditions, spec).map_err(|refusal| unmet("hosts", &refusal))?;
    check_compactable(engine, conditions, spec).map_err(|refusal| unmet("compact", &refusal))?;
    check_crashable(engine, conditions, spec)
        .map_err(|refusal| unmet("crash_and_recover", &refusal))?;
    Ok(knobs)
}

/// Returns the knobs of a trial whose log is on a separate file system or storage model: an engine
/// that can place it finds it in its folder's subfolder `log`.
///
/// # Errors
/// [`Refusal::FixedLog`] if the engine cannot.
fn with_log_placed(
    engine: &dyn Engine,
    knobs: &Settings,
    conditions: &Conditions,
) -> Result<Settings, Refusal> {
    let mut knobs = knobs.clone();
    if conditions.log_file_system.is_none() && conditions.log_storage_model.is_none() {
        return Ok(knobs);
    }
    if engine.knobs().iter().any(|knob| knob.name == LOG_DIRECTORY) {
        knobs.insert(LOG_DIRECTORY.to_owned(), LOG.into());
        return Ok(knobs);
    }
    Err(Refusal::FixedLog {
        engine: engine.info().name,
    })
}
