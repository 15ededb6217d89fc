//! The subject of an audit: a build of an engine, at a level, with knobs.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use trueput_engine::parameter::{ParameterError, ValueError};
use trueput_engine::{Durability, Engine, OpenSpec, ParameterValues, parameter};
use trueput_record::audit::StorageModel;
use trueput_record::plan::Contender;
use trueput_record::value::Settings;
use trueput_runner::{Registry, RegistryError, SelectedEngine};

use crate::control;
use crate::guarantee::Guarantee;

/// The sessions for which a database is opened: those of the workers and one more.
pub(crate) const SESSIONS: u32 = 8;

/// A build of an engine at a level with knobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The engine's name.
    pub engine: String,
    /// The library or program to use in place of the default build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<PathBuf>,
    /// The level at which the database is opened.
    pub durability: Durability,
    /// The level whose promise is tested.
    pub claim: Durability,
    /// The knobs that differ from the engine's defaults: the small sizes that an audit needs, and
    /// the user's.
    pub knobs: Settings,
    /// The knobs that the user set.
    pub given_knobs: Settings,
    /// The most acknowledged commits that may be missing from a prefix, if the promise says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_commits: Option<u64>,
}

/// The reason why something cannot be audited.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// There is no such engine, or the library is not one of it.
    #[error(transparent)]
    Engine(#[from] RegistryError),
    /// The engine needs root for an audit.
    #[error("an audit of {engine} needs root: {reason}")]
    NeedsRoot {
        /// The engine.
        engine: String,
        /// The reason.
        reason: String,
    },
    /// A knob does not exist, or does not take its value.
    #[error(transparent)]
    Knobs(#[from] ParameterError),
    /// A knob does not take the value that the engine sets for audits.
    #[error(transparent)]
    AuditKnob(#[from] ValueError),
    /// The engine sets a knob for audits that it does not have.
    #[error("{engine} has no knob {knob}")]
    NoKnob {
        /// The engine.
        engine: String,
        /// The knob.
        knob: String,
    },
    /// The engine does not have the level with these knobs.
    #[error(transparent)]
    Promise(#[from] trueput_engine::Error),
    /// The engine has no transactions, or keeps nothing.
    #[error("{engine} has no transactions that could be audited")]
    NoTransactions {
        /// The engine.
        engine: String,
    },
}

impl Subject {
    /// Creates a subject: checks the engine, its library, the level and the knobs, and adds the
    /// engine's own small sizes for what the user did not set.
    ///
    /// # Errors
    /// A [`SubjectError`].
    pub fn new(
        registry: &Registry,
        contender: &Contender,
        durability: Durability,
        claim: Option<Durability>,
        given_knobs: Settings,
    ) -> Result<Self, SubjectError> {
        let mut subject = Self {
            engine: contender.engine.clone(),
            library: contender.build.clone(),
            durability,
            claim: claim.unwrap_or(durability),
            knobs: Settings::new(),
            given_knobs,
            window_commits: None,
        };
        let engine = subject.find_engine(registry)?;
        if let Some(reason) = engine.audit_requires_root()
            && !rustix::process::geteuid().is_root()
        {
            return Err(SubjectError::NeedsRoot {
                engine: subject.engine,
                reason: reason.to_owned(),
            });
        }
        let given = parameter::resolve(&subject.engine, engine.knobs(), &subject.given_knobs)?;
        for (name, value) in engine.audit_knobs_with(&given) {
            let knob = engine.knobs().iter().find(|knob| knob.name == *name);
            let knob = knob.ok_or_else(|| SubjectError::NoKnob {
                engine: subject.engine.clone(),
                knob: (*name).to_owned(),
            })?;
            subject
                .knobs
                .insert((*name).to_owned(), knob.kind.read(value)?);
        }
        subject.knobs.extend(subject.given_knobs.clone());
        let knobs = subject.resolve_knobs(&*engine)?;
        engine.promise_with(durability, &knobs)?;
        // The level that is tested may be one that the engine does not have.
        let tested = engine.promise_with(subject.claim, &knobs).ok();
        subject.window_commits = tested.and_then(|promise| promise.window?.commits);
        if !engine.capabilities().retains_data || !engine.capabilities().atomic_transactions {
            return Err(SubjectError::NoTransactions {
                engine: subject.engine,
            });
        }
        Ok(subject)
    }

    /// Returns what the tested level guarantees under a model of storage.
    pub(crate) fn guarantee(&self, model: StorageModel) -> Guarantee {
        Guarantee {
            survival: if model.loses_power() {
                self.claim.after_lost_power()
            } else {
                self.claim.after_killed_processes()
            },
            window_commits: self.window_commits,
        }
    }

    /// The engine, with its library if one is named.
    #[must_use]
    pub fn contender(&self) -> String {
        match &self.library {
            None => self.engine.clone(),
            Some(library) => format!("{}@{}", self.engine, library.display()),
        }
    }

    /// Finds the engine, in the library that is named, if any.
    ///
    /// # Errors
    /// [`SubjectError::Engine`].
    pub fn find_engine(&self, registry: &Registry) -> Result<SelectedEngine, SubjectError> {
        if self.engine == control::NAME {
            return Ok(SelectedEngine::Offered(&control::LogEngine));
        }
        let opened = registry.open(&self.engine, self.library.as_deref());
        Ok(opened?)
    }

    /// Returns whether the user's knobs replace sizes that the engine sets for an audit. They may
    /// exclude what those make happen, such as the next log.
    #[must_use]
    pub fn replaces_audit_sizes(&self, engine: &dyn Engine) -> bool {
        let given = parameter::resolve(&self.engine, engine.knobs(), &self.given_knobs);
        given.is_ok_and(|given| {
            let mut sizes = engine.audit_knobs_with(&given).iter();
            sizes.any(|(name, _)| self.given_knobs.contains_key(*name))
        })
    }

    pub(crate) fn resolve_knobs(
        &self,
        engine: &dyn Engine,
    ) -> Result<ParameterValues, SubjectError> {
        let knobs = parameter::resolve(&self.engine, engine.knobs(), &self.knobs)?;
        Ok(knobs)
    }

    pub(crate) fn open_spec<'a>(
        &self,
        directory: &'a Path,
        knobs: &'a ParameterValues,
    ) -> OpenSpec<'a> {
        OpenSpec {
            directory,
            durability: self.durability,
            knobs,
            sessions: SESSIONS,
        }
    }
}
