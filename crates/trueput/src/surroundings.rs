//! Options that say what surrounds the trials of a run.

use crate::choices::without_repetition;
use crate::failure::Failure;
use clap::Args;
use trueput_record::conditions::{Allocator, Arrival, Start, parse_seconds, parse_turn};
use trueput_record::filesystem::{self, FileSystem, parse_image};
use trueput_record::list;
use trueput_record::plan::{PlanFile, check_rate, parse_cpus, parse_memory, parse_numa};
use trueput_record::value::{count_hint, parse_bytes};

/// Reads a rate.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.replace('_', "").parse().map_err(|_| {
        let hint = count_hint(text);
        format!("'{text}' is not a rate per second{hint}")
    })?;
    check_rate(number)
}

/// Reads rates.
pub fn parse_rates(text: &str) -> Result<Vec<f64>, String> {
    list::split(text)?.into_iter().map(parse_rate).collect()
}

/// Options that say what surrounds the trials.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run conditions (override the plan)")]
pub struct Surroundings {
    /// Length of the measured part: seconds, or with a unit, as in 500ms or 2m [default: until the
    /// operations are done; 10 s with a rate and no number of operations; 0: until they are done]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, allow_negative_numbers = true)]
    pub duration: Option<f64>,
    /// Time that workers run before the measurement: seconds, or with a unit [default: 0]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, allow_negative_numbers = true)]
    pub warm_up: Option<f64>,
    /// Requests per second over all workers (open loop, measures response times); 0 for a closed
    /// loop [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_rates, allow_negative_numbers = true)]
    pub rate: Vec<std::vec::Vec<f64>>,
    /// Arrival of the requests of an open loop: constant, poisson [default: constant]
    #[arg(long, value_name = "HOW")]
    pub arrival: Option<Arrival>,
    /// State of the page cache when workers start: warm, cold (dropped) [default: warm]
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    pub start: Vec<Start>,
    /// CPUs that the workers may use, as in 0-3,8 [default: all]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// NUMA memory policy: local, interleave[:NODES], bind:NODES, preferred:NODE
    #[arg(long, value_name = "POLICY")]
    pub numa: Option<String>,
    /// Memory allocators, preloaded into the workers: libc, jemalloc, tcmalloc, mimalloc [default:
    /// libc]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub allocator: Vec<Allocator>,
    /// Memory limit of all workers together, page cache included, as in 1GiB [default: none]
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    pub memory: Vec<String>,
    /// Size of every engine's own cache, by the knob that it has for it, as in 256MiB; each of several
    /// sizes makes a cell. SQLite's is per worker. Refused where an engine has no such knob
    /// [default: each knob's own]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = parse_bytes)]
    pub cache: Vec<u64>,
    /// File systems: here, tmpfs, ext4, xfs …, folder:/mnt/x; one with options, as in
    /// ext4:mount=noatime, must be alone or last (see docs/FILESYSTEMS.md) [default: here]
    #[arg(long, value_name = "KIND", value_parser = filesystem::parse_list)]
    pub filesystem: Vec<std::vec::Vec<FileSystem>>,
    /// File system of the engine's log, for engines with a knob log_directory
    #[arg(long, value_name = "KIND", value_parser = filesystem::parse_list)]
    pub log_filesystem: Vec<std::vec::Vec<FileSystem>>,
    /// Size of the image files that hold file systems, as in 4GiB [default: what a trial needs]
    #[arg(long, value_name = "SIZE", value_parser = parse_image)]
    pub image: Option<u64>,
    /// Kill the workers and the engine's server at the end of each trial, time the restart, and
    /// verify what survived
    #[arg(long)]
    pub crash_and_recover: bool,
    /// Run the contenders of a repeat side by side, in slices of this length, as in 10ms, so that
    /// other programs disturb all of them alike; 0 for none (see docs/METHOD.md) [default: 0]
    #[arg(long, value_name = "TIME", value_parser = read_turn)]
    pub turns: Option<Turn>,
}

/// What `--turns` says.
#[derive(Debug, Clone, Copy)]
pub struct Turn(Option<f64>);

fn read_turn(text: &str) -> Result<Turn, String> {
    parse_turn(text).map(Turn)
}

impl Surroundings {
    /// Overrides the plan's keys with what was given.
    ///
    /// # Errors
    /// One sentence for what is no list of processors, policy or size.
    pub fn apply(&self, plan: &mut PlanFile) -> Result<(), Failure> {
        let conditions = &mut plan.conditions;
        conditions.warm_up_s = self.warm_up.unwrap_or(conditions.warm_up_s);
        conditions.duration_s = match self.duration {
            Some(duration_s) => Some(duration_s).filter(|&seconds| seconds > 0.0),
            None => conditions.duration_s,
        };
        conditions.arrival = self.arrival.unwrap_or(conditions.arrival);
        replace(&mut conditions.rate_per_s, &self.rate.concat());
        replace(&mut conditions.start, &self.start);
        replace(&mut conditions.allocator, &self.allocator);
        if let Some(list) = &self.cpus {
            conditions.cpus = vec![read_option("--cpus", list, parse_cpus)?];
        }
        if let Some(policy) = &self.numa {
            conditions.numa = vec![read_option("--numa", policy, parse_numa)?];
        }
        let read = |size: &String| read_option("--memory", size, parse_memory);
        let memory = self
            .memory
            .iter()
            .map(read)
            .collect::<Result<Vec<_>, _>>()?;
        replace(&mut conditions.memory_bytes, &memory);
        replace(&mut conditions.cache_bytes, &self.cache);
        replace(&mut conditions.file_system, &self.filesystem.concat());
        replace(
            &mut conditions.log_file_system,
            &self.log_filesystem.concat(),
        );
        conditions.image_bytes = self.image.or(conditions.image_bytes);
        conditions.crash_and_recover |= self.crash_and_recover;
        if let Some(Turn(turn_s)) = self.turns {
            conditions.turn_s = turn_s;
        }
        for key in self.given() {
            plan.origin.forget(key);
        }
        Ok(())
    }

    /// The plan's keys that these options override.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let keys = [
            ("warm_up", self.warm_up.is_some()),
            ("duration", self.duration.is_some()),
            ("rate", !self.rate.is_empty()),
            ("arrival", self.arrival.is_some()),
            ("start", !self.start.is_empty()),
            ("cpus", self.cpus.is_some()),
            ("numa", self.numa.is_some()),
            ("allocator", !self.allocator.is_empty()),
            ("memory", !self.memory.is_empty()),
            ("cache", !self.cache.is_empty()),
            ("filesystem", !self.filesystem.is_empty()),
            ("log_filesystem", !self.log_filesystem.is_empty()),
            ("turns", self.turns.is_some()),
        ];
        keys.into_iter()
            .filter_map(|(key, given)| given.then_some(key))
    }
}

fn replace<T: Clone + PartialEq>(values: &mut Vec<T>, given: &[T]) {
    if !given.is_empty() {
        *values = without_repetition(given);
    }
}

fn read_option<T>(
    option: &str,
    text: &str,
    read: fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    read(text).map_err(|why| Failure::usage(format!("{option}: {why}")))
}
