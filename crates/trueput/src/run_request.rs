//! The way from a command line to a run, the same for every command that runs the trials of a plan.

use crate::failure::Failure;
use crate::output;
use crate::prepared_run::{PreparedRun, command_line};
use crate::repeats::Repeats;
use crate::run_options::RunOptions;
use crate::signals;
use crate::trust::Trust;
use std::path::Path;
use trueput_host::{find_nearest_existing, read_free_bytes};
use trueput_record::TrialSpec;
use trueput_record::conditions::TimeSlice;
use trueput_record::plan::PlanFile;
use trueput_record::search::SearchSettings;
use trueput_record::skipped::SkippedPart;
use trueput_runner::disk_space::DiskSpace;
use trueput_runner::matrix::{self, BuildAccess, Matrix};
use trueput_runner::{NewRun, Options, Registry};

/// Leaves out the time slices of a plan that has not asked for them, if the databases of all
/// contenders have no room at once; returns whether they were left out.
///
/// # Errors
/// As [`matrix::expand`].
pub fn fit_to_room(
    matrix: Matrix,
    plan: &mut PlanFile,
    (place, factor): (&Path, f64),
    registry: &Registry,
    builds: BuildAccess,
) -> Result<(Matrix, bool), matrix::Error> {
    let has_room = |matrix: &Matrix| {
        let needed = DiskSpace::of_plan(&matrix.trials, registry, factor);
        let free_bytes = read_free_bytes(&find_nearest_existing(place));
        free_bytes.is_none_or(|free_bytes| needed.needed_bytes <= free_bytes)
    };
    if plan.conditions.time_slice != TimeSlice::Auto || has_room(&matrix) {
        return Ok((matrix, false));
    }
    plan.conditions.time_slice = TimeSlice::None;
    let alone = matrix::expand_with(plan, registry, builds)?;
    let is_left_out = has_room(&alone);
    Ok((alone, is_left_out))
}

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
        let matrix = signals::ending_at_once(|| matrix::expand(plan, registry))?;
        let room = (self.given.places.databases(), self.options.disk_factor);
        let (mut matrix, is_left_out) =
            fit_to_room(matrix, plan, room, registry, BuildAccess::Opened)?;
        if is_left_out {
            output::note(
                "too little disk space for the databases of all contenders at once: they run one \
                 after the other, not in time slices",
            );
        }
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
            // That of another search is among its settings.
            objective: self
                .plan
                .objective
                .filter(|_| matches!(search, None | Some(SearchSettings::Decision(_)))),
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
