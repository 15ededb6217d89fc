//! Skips the trials whose promise was not audited.

use crate::plan::matrix::Matrix;
use crate::{AuditStore, AuditSubject, Registry, RegistryError};
use std::collections::BTreeSet;
use trueput_engine::Engine;
use trueput_record::audit_standing::StandingVerdict;
use trueput_record::skipped::SkippedPart;
use trueput_record::{TrialSpec, Value};

/// The reason why the trials of a matrix cannot be limited to audited promises.
#[derive(Debug, thiserror::Error)]
pub enum AuditedOnlyError {
    /// An engine cannot be opened.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// No trial is left.
    #[error("no promise was audited: {}", reasons.join("; "))]
    NothingLeft {
        /// Why each was skipped.
        reasons: Vec<String>,
    },
}

/// Skips the trials of a matrix whose promise was not audited here, or was refuted. A trial that
/// promises nothing stays.
///
/// # Errors
/// [`AuditedOnlyError`].
pub fn skip_unaudited(
    matrix: &mut Matrix,
    audits: Option<&AuditStore>,
    registry: &Registry,
) -> Result<(), AuditedOnlyError> {
    let mut skipped = BTreeSet::new();
    let mut kept = Vec::new();
    for spec in matrix.trials.drain(..) {
        match skip_reason(&spec, audits, registry)? {
            None => kept.push(spec),
            Some(reason) => _ = skipped.insert(reason),
        }
    }
    if kept.is_empty() {
        let reasons: Vec<_> = skipped.into_iter().collect();
        return Err(AuditedOnlyError::NothingLeft { reasons });
    }
    matrix.trials = kept;
    matrix
        .skipped
        .extend(skipped.into_iter().map(SkippedPart::from));
    Ok(())
}

/// Returns why a trial is skipped, with the command that audits its promise.
fn skip_reason(
    spec: &TrialSpec,
    audits: Option<&AuditStore>,
    registry: &Registry,
) -> Result<Option<String>, RegistryError> {
    let is_storage = spec.engine == trueput_engine::storage::NAME;
    if is_storage || spec.durability.promises_nothing() {
        return Ok(None);
    }
    let engine = registry.open(&spec.engine, spec.build.as_deref())?;
    let known = audits.and_then(|audits| {
        audits.find(&AuditSubject {
            engine: &*engine,
            contender: spec.contender(),
            durability: spec.durability,
            knobs: &spec.knobs,
        })
    });
    let (contender, level) = (spec.contender(), spec.durability);
    Ok(match known.map(|standing| standing.verdict()) {
        Some(StandingVerdict::Refuted) => {
            Some(format!("{contender} {level}: an audit refuted the promise"))
        }
        Some(StandingVerdict::Undecided) => Some(format!(
            "{contender} {level}: an audit could not decide whether the promise is kept: trueput \
             audit --form block --engine {contender} --durability {level}{}",
            knob_options(spec, &*engine)
        )),
        Some(StandingVerdict::RefutedOnWeakerStorage | StandingVerdict::NotRefuted) => None,
        None => {
            let knobs = knob_options(spec, &*engine);
            Some(format!(
                "{contender} {level} is not audited with these knobs: trueput audit --engine \
                 {contender} --durability {level}{knobs}"
            ))
        }
    })
}

/// Returns the options that set the trial's knobs that differ from their defaults.
fn knob_options(spec: &TrialSpec, engine: &dyn Engine) -> String {
    let is_changed = |name: &str, value: &Value| {
        let knob = engine.knobs().iter().find(|knob| knob.name == name);
        knob.is_none_or(|knob| *value != knob.kind.default_value())
    };
    let changed = spec.knobs.iter();
    let changed = changed.filter(|(name, value)| is_changed(name, value));
    let option = |(name, value)| format!(" --knob {}.{name}={value}", spec.engine);
    changed.map(option).collect()
}
