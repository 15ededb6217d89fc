//! Options that several subcommands share, and their effect on a plan.

use crate::conditions::{self, ConditionOptions};
use crate::failure::Failure;
use crate::workload_files;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use trueput_engine::credentials;
use trueput_record::conditions::HostList;
use trueput_record::folder::RankingSplit;
use trueput_record::plan::{
    Contender, MAX_REPEAT, MAX_WORKERS, PlanFile, UnsupportedPolicy, check_count, check_name,
};
use trueput_record::value::{count_hint, parse_seconds};
use trueput_record::{Durability, Value, VerifyLevel, WorkerKind, list};
use trueput_runner::disk_space::{DISK_FACTOR, parse_factor};
use trueput_runner::{HOSTS_OF_ALLOCATION, HostAccess, Launcher};

/// Folders for results and databases, and the form of progress messages.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Directories and limits")]
pub struct RunDirectories {
    /// Directory for results; each run creates a folder in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// Directory for databases [default: inside the run folder]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Keep the database of each trial
    #[arg(long)]
    pub keep_databases: bool,
    #[command(flatten)]
    pub disk: Disk,
    /// Fail a trial if a phase of it makes no progress for this long; a phase that is expected to
    /// take long, such as a large load, has more
    #[arg(long, value_name = "TIME", value_parser = parse_hang_limit, default_value = "1m",
        allow_negative_numbers = true)]
    pub hang_limit: Duration,
    /// Do not measure the hardware limits (saves about 2 s per run)
    #[arg(long, alias = "no-ceilings")]
    pub no_hardware_limits: bool,
    /// Run the conformance suite even where it passed before with the same program, library, level
    /// and knobs
    #[arg(long)]
    pub check_again: bool,
}

/// Parses the time that a phase of a trial may go on without progress.
fn parse_hang_limit(text: &str) -> Result<Duration, Failure> {
    let limit = parse_seconds(text).map(Duration::try_from_secs_f64);
    let limit = limit.map_err(Failure::usage)?.ok();
    let limit = limit.filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| {
        Failure::usage(format!(
            "the limit must be above 0, not {text}: write a time, as in 5m"
        ))
    })
}

/// Requested disk space.
#[derive(Debug, Clone, Copy, Args)]
pub struct Disk {
    /// Free disk space to require, as a multiple of the expected database size; engines that copy
    /// pages or compact need several copies
    #[arg(long = "disk-factor", value_name = "N", value_parser = parse_factor,
        default_value_t = DISK_FACTOR, allow_negative_numbers = true)]
    pub factor: f64,
}

impl RunDirectories {
    /// The folder that databases are in or below.
    pub fn databases(&self) -> &Path {
        self.work.as_deref().unwrap_or(&self.results)
    }
}

/// The kind of worker, on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum WorkerChoice {
    /// One process per worker
    Processes,
    /// One process; each worker is a thread
    Threads,
}

impl From<WorkerChoice> for WorkerKind {
    fn from(kind: WorkerChoice) -> Self {
        match kind {
            WorkerChoice::Processes => Self::Processes,
            WorkerChoice::Threads => Self::Threads,
        }
    }
}

/// `NAME=VALUE` of `--set`, every value of a list.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The setting.
    pub name: String,
    /// Its values.
    pub values: Vec<Value>,
}

/// `ENGINE.NAME=VALUE` of `--knob`, every value of a list.
#[derive(Debug, Clone)]
pub struct KnobSetting {
    /// The engine.
    pub engine: String,
    /// The knob and its values.
    pub setting: Setting,
}

/// Reads `NAME=VALUE[,VALUE…]`.
pub fn parse_setting(text: &str) -> Result<Setting, Failure> {
    let (name, values) = match text.split_once('=') {
        Some((name, "")) if !name.is_empty() => {
            return Err(Failure::usage(format!(
                "{name} has no value: write {name}=VALUE"
            )));
        }
        Some((name, values)) if !name.is_empty() => (name, values),
        _ => return Err(Failure::usage("write NAME=VALUE, as in finish=100000")),
    };
    let values = list::split(values).map_err(Failure::usage)?;
    if values.iter().skip(1).any(|value| is_setting(value)) {
        let each = text.replace(',', " and ");
        return Err(Failure::usage(format!(
            "give the option once for each of {each}"
        )));
    }
    if name == "operations" && values.len() > 1 && values.iter().all(|value| is_weighted(value)) {
        return Err(Failure::usage(ambiguous_mix(&values)));
    }
    Ok(Setting {
        name: name.to_owned(),
        values: values.into_iter().map(Value::parse).collect(),
    })
}

/// Whether a text is `NAME=VALUE`.
fn is_setting(text: &str) -> bool {
    let is_name = |name: &str| {
        let known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
        name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && name.chars().all(known)
    };
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Whether a text is one transaction of a mix with its weight, as in `get:70`.
fn is_weighted(text: &str) -> bool {
    let is_weight = |weight: &str| weight.parse::<f64>().is_ok();
    let text = text.trim();
    let weight = text.rsplit_once(':').map(|(_, weight)| weight);
    weight.is_some_and(is_weight) && !text.contains(char::is_whitespace)
}

/// Refuses `get:70,put:30`, which may be one mix or a list of mixes: they are different workloads.
fn ambiguous_mix(values: &[&str]) -> String {
    let values: Vec<_> = values.iter().map(|value| value.trim()).collect();
    let listed = values.join(" and ");
    format!(
        "'{}' may be one mix or {}: write '{}' for the one, or give the option once for each of \
         {listed}",
        values.join(","),
        values.len(),
        values.join(" ")
    )
}

/// Reads `ENGINE.NAME=VALUE[,VALUE…]`.
pub fn parse_knob(text: &str) -> Result<KnobSetting, Failure> {
    let wrong = || Failure::usage("write ENGINE.NAME=VALUE, as in lmdb.map_size=1GiB");
    let (owner, _) = text.split_once('=').ok_or_else(wrong)?;
    if let Some((engine, _)) = owner.split_once('@') {
        return Err(Failure::usage(format!(
            "a knob belongs to all builds of an engine: write {engine}.NAME=VALUE, without @ and \
             the build"
        )));
    }
    let (engine, name) = owner.split_once('.').ok_or_else(wrong)?;
    let setting = parse_setting(text)?;
    let engine = engine.to_owned();
    Ok(KnobSetting {
        engine,
        setting: Setting {
            name: name.to_owned(),
            ..setting
        },
    })
}

/// Reads a whole number.
fn parse_whole<T: FromStr>(text: &str) -> Result<T, Failure> {
    let hint = count_hint(text);
    let number = text.parse();
    number.map_err(|_| Failure::usage(format!("'{text}' is not a whole number{hint}")))
}

/// Reads a count of something.
pub fn parse_positive(text: &str) -> Result<u64, Failure> {
    let number: u64 = parse_whole(text)?;
    if number == 0 {
        return Err(Failure::usage("0 is out of range (1 or more)"));
    }
    Ok(number)
}

/// Reads a number of workers.
pub fn parse_workers(text: &str) -> Result<u32, Failure> {
    check_count("workers", parse_whole(text)?, MAX_WORKERS).map_err(Failure::usage)
}

/// Reads numbers of workers.
pub fn parse_workers_list(text: &str) -> Result<Vec<u32>, Failure> {
    let each = list::split(text).map_err(Failure::usage)?;
    each.into_iter().map(parse_workers).collect()
}

/// Reads a number of repeats.
pub fn parse_repeat(text: &str) -> Result<u32, Failure> {
    check_count("repeat", parse_whole(text)?, MAX_REPEAT).map_err(Failure::usage)
}

/// Reads a seed.
pub fn parse_seed(text: &str) -> Result<u64, Failure> {
    let wrong = |_| {
        let hint = count_hint(text);
        let most = u64::MAX;
        Failure::usage(format!(
            "'{text}' is not a whole number from 0 to {most}{hint}"
        ))
    };
    text.parse().map_err(wrong)
}

/// Reads a plan's name.
pub fn parse_name(text: &str) -> Result<String, Failure> {
    check_name(text).map_err(Failure::usage)?;
    Ok(text.to_owned())
}

/// Those of [`PlanOverrides`] that conflict with `--resume`, because a resumed run keeps what its
/// first part had. The group `PlanOverrides` has no members for clap, since it contains another
/// group.
pub const OF_A_NEW_RUN: [&str; 14] = [
    "engine",
    "durability",
    "workers",
    "worker_kind",
    "skip_unsupported",
    "repeat",
    "settings",
    "knobs",
    "verify",
    "seed",
    "name",
    "include_assertions",
    "split_by",
    conditions::GROUP,
];

/// Options that override the keys of a plan.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What to run (overrides the plan)")]
pub struct PlanOverrides {
    /// Engines, comma-separated: NAME, NAME@LIBRARY, NAME@ADDRESS, the path of a plug-in, or
    /// 'present' for all installed ones [default: the plan's]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Vec<String>,
    /// Durability levels, comma-separated: sync, async, buffered, process, none (see
    /// docs/DURABILITY.md) [default: the plan's]
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub durability: Vec<Durability>,
    /// Numbers of workers, comma-separated, as in 1,2,4,8 [default: the plan's, or as many as the
    /// workload needs, or 4]
    #[arg(long, value_name = "N", value_parser = parse_workers_list, allow_negative_numbers = true)]
    pub workers: Vec<std::vec::Vec<u32>>,
    /// Skip unsupported combinations of engine, level and file system, instead of refusing the run
    #[arg(long)]
    pub skip_unsupported: bool,
    /// Run workers as processes or threads [default: threads; for threen1 and io-thrash, processes
    /// if several can open the database; on several hosts, processes]
    #[arg(long, value_name = "KIND", value_enum)]
    pub worker_kind: Option<WorkerChoice>,
    /// Number of repeats of each cell; 5 or more show smaller differences [default: the plan's, or
    /// 1]
    #[arg(long, value_name = "N", value_parser = parse_repeat, allow_negative_numbers = true)]
    pub repeat: Option<u32>,
    /// Set a setting of the workload; several comma-separated values run every combination (see
    /// 'trueput workloads')
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub settings: Vec<Setting>,
    /// Set a knob of an engine; several comma-separated values run every combination (see 'trueput
    /// knobs ENGINE')
    #[arg(long = "knob", value_name = "ENGINE.NAME=VALUE", value_parser = parse_knob)]
    pub knobs: Vec<KnobSetting>,
    /// How much to verify after each trial: full, sample (a tenth of the records), off (not ranked)
    #[arg(long, value_name = "LEVEL")]
    pub verify: Option<VerifyLevel>,
    /// Seed of the random numbers: the same seed makes the same operations
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Name of the run and of its folder
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Rank builds with assertions too [default: list them
    /// separately]
    #[arg(long, help_heading = "Ranking")]
    pub include_assertions: bool,
    /// Make a separate ranking for each isolation level
    #[arg(long, value_name = "isolation", help_heading = "Ranking")]
    pub split_by: Option<RankingSplit>,
    /// The run conditions.
    #[command(flatten)]
    pub conditions: ConditionOptions,
    #[command(flatten)]
    pub host_options: HostOptions,
}

/// How other hosts are reached.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Other hosts")]
pub struct HostOptions {
    /// Give whole repeats to these hosts, comma-separated: all contenders of a repeat run on the
    /// same host, with that host's engines and storage [default: all run here]
    #[arg(long, value_name = "HOSTS")]
    pub across: Option<HostList>,
    /// Path of this same program on the hosts of --hosts [default: the same as here]
    #[arg(long, value_name = "FILE")]
    pub host_program: Option<PathBuf>,
    /// Configuration file of ssh, for the hosts' users, ports and keys, as with 'ssh -F' [default:
    /// ~/.ssh/config]
    #[arg(long, value_name = "FILE")]
    pub ssh_config: Option<PathBuf>,
    /// What starts the program on the hosts: ssh, slurm (inside an allocation, whose hosts are
    /// taken without --hosts), kubernetes (hosts are pods), or a command with {host} and {command}
    #[arg(long, value_name = "LAUNCHER", default_value = "ssh")]
    pub launcher: Launcher,
}

impl HostOptions {
    /// The hosts that whole repeats are given to; `slurm` stands for those of the allocation.
    ///
    /// # Errors
    /// A usage error, if there is no allocation.
    pub fn across(&self) -> Result<Vec<String>, Failure> {
        let Some(named) = &self.across else {
            return Ok(Vec::new());
        };
        let is_allocation = named.names() == [HOSTS_OF_ALLOCATION] && self.launcher.knows_hosts();
        let listed = is_allocation.then(|| self.launcher.list_hosts());
        let listed = listed.transpose();
        let listed = listed.map_err(|error| Failure::usage(error.to_string()))?;
        let hosts = listed.flatten();
        Ok(hosts.as_ref().unwrap_or(named).names().to_vec())
    }

    /// How the runner reaches hosts.
    pub fn access(&self) -> HostAccess {
        HostAccess {
            program: self.host_program.clone(),
            ssh_config: self.ssh_config.clone(),
            launcher: self.launcher.clone(),
        }
    }

    /// Gives a plan the hosts of the scheduler's allocation, if the launcher knows it, and the plan
    /// has no others.
    ///
    /// # Errors
    /// A usage error, if there is no allocation, or `--ssh-config` has no use.
    pub fn apply(&self, plan: &mut PlanFile) -> Result<(), Failure> {
        if self.ssh_config.is_some() && !self.launcher.takes_config() {
            return Err(Failure::usage(format!(
                "--ssh-config is for '--launcher ssh', and this is '{}': leave one of them out",
                self.launcher
            )));
        }
        let named = &mut plan.conditions.hosts;
        let is_allocation = |list: &HostList| list.names() == [HOSTS_OF_ALLOCATION];
        let mut others = named.iter();
        let has_others = others.any(|list| !list.as_ref().is_some_and(is_allocation));
        // Hosts of whole repeats have their workers themselves.
        let is_spread = self.across.is_some();
        if has_others || is_spread || !self.launcher.knows_hosts() {
            return Ok(());
        }
        let listed = self.launcher.list_hosts();
        let listed = listed.map_err(|error| Failure::usage(error.to_string()))?;
        *named = vec![listed];
        Ok(())
    }
}

impl PlanOverrides {
    /// Replaces keys of the plan by the options of the command line.
    ///
    /// # Errors
    /// As [`ConditionOptions::apply`].
    pub fn apply(&self, plan: &mut PlanFile) -> Result<(), Failure> {
        self.conditions.apply(plan)?;
        self.host_options.apply(plan)?;
        if !self.engine.is_empty() {
            plan.engines = self
                .engine
                .iter()
                .flat_map(|names| credentials::split_list(names))
                .map(Contender::parse)
                .collect();
            plan.origin.forget("engines");
        }
        if !self.durability.is_empty() {
            plan.durability = without_repetition(&self.durability);
            plan.origin.forget("durability");
        }
        if !self.workers.is_empty() {
            plan.workers = without_repetition(&self.workers.concat());
            plan.origin.forget("workers");
        }
        if self.skip_unsupported {
            plan.unsupported = UnsupportedPolicy::Skip;
        }
        if let Some(kind) = self.worker_kind {
            plan.worker_kind = Some(kind.into());
            plan.origin.forget("worker_kind");
        }
        for setting in gathered(&self.settings) {
            plan.settings.insert(setting.name.clone(), setting.values);
            plan.origin.forget("settings");
            plan.origin.forget(&format!("settings.{}", setting.name));
            for when in &mut plan.when {
                when.settings.remove(&setting.name);
            }
        }
        workload_files::drop_replaced(plan);
        // An exception whose settings were all overridden no longer applies, nor does its note.
        plan.when.retain(|when| !when.settings.is_empty());
        apply_knobs(&self.knobs, plan);
        plan.repeat = self.repeat.unwrap_or(plan.repeat);
        plan.verify = self.verify.unwrap_or(plan.verify);
        plan.seed = self.seed.unwrap_or(plan.seed);
        if let Some(name) = &self.name {
            plan.name.clone_from(name);
        }
        Ok(())
    }
}

/// Sets the knobs that were given in a plan.
pub fn apply_knobs(knobs: &[KnobSetting], plan: &mut PlanFile) {
    let engines: Vec<_> = knobs.iter().map(|knob| knob.engine.clone()).collect();
    for engine in without_repetition(&engines) {
        let of_engine = knobs.iter().filter(|knob| knob.engine == engine);
        let settings: Vec<_> = of_engine.map(|knob| knob.setting.clone()).collect();
        plan.origin.forget(&format!("knobs.{engine}"));
        for Setting { name, values } in gathered(&settings) {
            plan.origin.set_by_option(&format!("knobs.{engine}.{name}"));
            let of_engine = plan.knobs.entry(engine.clone()).or_default();
            of_engine.insert(name, values);
        }
    }
}

/// Each setting once, with the values of all that were given of its name.
fn gathered(given: &[Setting]) -> Vec<Setting> {
    let mut gathered: Vec<Setting> = Vec::new();
    for setting in given {
        let values = setting.values.clone();
        match gathered.iter_mut().find(|one| one.name == setting.name) {
            Some(earlier) => earlier.values.extend(values),
            None => gathered.push(setting.clone()),
        }
    }
    for setting in &mut gathered {
        setting.values = without_repetition(&setting.values);
    }
    gathered
}

/// Removes repeated values, keeping the first of each.
pub fn without_repetition<T: Clone + PartialEq>(given: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for one in given {
        if !kept.contains(one) {
            kept.push(one.clone());
        }
    }
    kept
}
