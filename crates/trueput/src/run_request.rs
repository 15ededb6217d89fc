//! The way from a command line to a run, the same for every command that runs the trials of a plan.

use crate::failure::Failure;
use crate::prepared_run::{PreparedRun, command_line};
use crate::repeats::Repeats;
use crate::run_options::RunOptions;
use crate::signals;
use crate::trust::Trust;
use trueput_record::TrialSpec;
use trueput_record::plan::PlanFile;
use trueput_record::search::SearchSettings;
use trueput_record::skipped::SkippedPart;
use trueput_runner::matrix::{self, Matrix};
use trueput_runner::{NewRun, Options, Registry};

/// A request for a run of a plan's trials.
pub struct RunRequest<'a> {
    /// The plan as the user named it, for messages.
    pub target: &'a str,
    /// The plan, with the options that override it.
    pub plan: PlanFile,
    /// The user's consent to what the plan names; the user is asked unless it was given.
    pub trust: Trust,
    /// When repeats end; all are run by default.
    pub repeats: Repeats,
    /// The options of the command line.
    pub given: &'a RunOptions,
    /// The runner's options.
    pub options: Options,
    /// The engines and workloads.
    pub registry: &'a Registry,
}

impl<'a> RunRequest<'a> {
    /// Requests the trials of a plan, which the options override.
    ///
    /// # Errors
    /// As [`apply`](crate::plan_overrides::PlanOverrides::apply) and [`RunOptions::of_runner`].
    pub fn new(
        target: &'a str,
        mut plan: PlanFile,
        given: &'a RunOptions,
        registry: &'a Registry,
    ) -> Result<Self, Failure> {
        given.overrides.apply(&mut plan)?;
        Ok(Self {
            target,
            plan,
            trust: Trust::default(),
            repeats: Repeats::default(),
            given,
            options: given.of_runner()?,
            registry,
        })
    }

    /// Expands the plan, once it is trusted, without what cannot be reached from here. One stop
    /// signal ends the program while servers are asked.
    ///
    /// # Errors
    /// A usage error if the plan is not trusted or cannot be expanded.
    pub fn expand(&mut self) -> Result<Matrix, Failure> {
        let (plan, registry) = (&mut self.plan, self.registry);
        let overrides = &self.given.overrides;
        self.trust
            .check_plan(self.target, plan, overrides, registry)?;
        self.repeats.apply(plan, overrides.repeat, registry);
        let mut matrix = signals::ending_at_once(|| matrix::expand(plan, registry))?;
        matrix.skip_unreachable(plan, self.given.places.databases(), registry)?;
        self.options.credentials = matrix.credentials.clone();
        self.options.until = self.repeats.rule();
        Ok(matrix)
    }

    /// Checks the trials and creates their run; with `search`, they are the first of a search. What
    /// is `skipped` of the plan is recorded.
    ///
    /// # Errors
    /// As [`NewRun::create`].
    pub fn create(
        self,
        trials: Vec<TrialSpec>,
        skipped: Vec<SkippedPart>,
        search: Option<SearchSettings>,
    ) -> Result<PreparedRun<'a>, Failure> {
        let overrides = &self.given.overrides;
        let run = NewRun {
            name: self.plan.name,
            about: self.plan.about,
            trials,
            skipped,
            cache_bytes: self.plan.conditions.shared_cache_bytes(),
            command: command_line(),
            include_assertions: overrides.include_assertions,
            split_by: overrides.split_by,
            // That of a search is among its settings.
            objective: self.plan.objective.filter(|_| search.is_none()),
            search,
        };
        let (folder, manifest) = run.create(&self.options, self.registry)?;
        Ok(PreparedRun {
            folder,
            manifest,
            options: self.options,
            registry: self.registry,
            given: self.given,
        })
    }
}
