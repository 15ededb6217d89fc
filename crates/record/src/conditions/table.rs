//! The run conditions, each declared once. One row gives a condition's values in a plan, its value
//! in a trial, the plan key, the command-line option and its help, whether a step may change it,
//! the selector of a comparison and the name in reports.

use super::error::ConditionError;
use super::given::TrialValue;
use super::hosts::{HostList, parse_hosts};
use super::{Allocator, Arrival, NumaPolicy, Rate, Start, TimeSlice};
use super::{TrialField, parse_cpus, parse_fault, parse_numa};
use crate::fault::FaultSchedule;
use crate::filesystem::{self, FileSystem, MIN_IMAGE_BYTES};
use crate::list::SplitError;
use crate::parameter::{Parameter, ValueKind};
use crate::storage_fault::StorageFault;
use crate::storage_model::{ModelReference, parse_model};
use crate::value::{exact_bytes, format_bytes};
use crate::{Value, list};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// The description of one run condition.
pub struct Condition {
    /// Its type, range and default. Its name is the key of a plan and, with dashes, the option.
    pub parameter: Parameter,
    /// The former name, which plans and options may still use.
    pub former_name: Option<&'static str>,
    /// The placeholder for the value in the help.
    pub value_name: &'static str,
    /// The number of values that the condition takes.
    pub form: Form,
    set: fn(&Parameter, &mut ConditionLists, &[&str]) -> Result<(), ConditionError>,
    vary: fn(&ConditionLists, &mut Vec<Conditions>),
    /// Copies the condition from lists that set it to a trial; `None` if no step can change it.
    change: Option<fn(&ConditionLists, &Conditions, &mut Conditions)>,
    /// The field of a trial that it sets; `None` if the condition only affects others.
    pub(crate) field: Option<TrialField>,
    /// Formats the value of a trial for people; `None` if the condition only affects others.
    value: Option<fn(&Conditions) -> String>,
    /// Multiplies the value; `None` if the condition is not an amount of work.
    scale: Option<fn(&mut ConditionLists, f64)>,
}

/// The number of values that a condition takes.
#[derive(Clone, Copy)]
pub enum Form {
    /// One for all trials; a Boolean is an option without a value.
    One,
    /// One, or a list in a plan, which forms a dimension.
    Dimension,
    /// The same, and the option takes a list too, which the function takes apart.
    List(fn(&str) -> Result<Vec<&str>, SplitError>),
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.parameter.name)
    }
}

impl Condition {
    /// Returns the condition of that present or former name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let is_named = |one: &&Self| one.parameter.name == name || one.former_name == Some(name);
        CONDITIONS.iter().find(is_named)
    }

    /// Returns whether the condition is a Boolean for all trials.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        matches!(
            (self.parameter.kind, self.form),
            (ValueKind::Boolean { .. }, Form::One)
        )
    }

    /// Returns the name of its option, without the leading dashes.
    #[must_use]
    pub fn option(&self) -> String {
        self.parameter.name.replace('_', "-")
    }

    /// Returns the command-line help: the meaning, the values and the default.
    #[must_use]
    pub fn help(&self) -> String {
        let Parameter { summary, kind, .. } = self.parameter;
        if self.is_flag() {
            return summary.to_owned();
        }
        let (range, default) = (kind.range(), kind.default_text());
        format!("{summary} [values: {range}] [default: {default}]")
    }

    /// Reads values from texts and replaces the current values of the lists.
    ///
    /// # Errors
    /// A [`ConditionError`] with the input and the valid values.
    pub fn set(&self, lists: &mut ConditionLists, texts: &[&str]) -> Result<(), ConditionError> {
        (self.set)(&self.parameter, lists, texts)
    }

    /// Multiplies its value if it is an amount of work.
    pub fn scale(&self, lists: &mut ConditionLists, factor: f64) {
        if let Some(scale) = self.scale {
            scale(lists, factor);
        }
    }

    /// Returns whether a step of an ablation can change the condition.
    #[must_use]
    pub fn is_changed_by_steps(&self) -> bool {
        self.change.is_some()
    }

    /// Splits an option's text into values.
    ///
    /// # Errors
    /// A [`ConditionError`] for a text that is not a list, or not a list of valid values.
    pub fn split<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, ConditionError> {
        let texts = match self.form {
            Form::List(split) => split(text)?,
            Form::One | Form::Dimension => vec![text],
        };
        self.set(&mut ConditionLists::default(), &texts)?;
        Ok(texts)
    }
}

impl Conditions {
    /// Returns the name of each condition and its value as a plan writes it.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let named = CONDITIONS.iter().filter_map(|condition| {
            let value = condition.value?;
            Some((condition.parameter.name, value(self)))
        });
        named.collect()
    }

    /// As [`Conditions::named`], for comparisons: time slices are the same at any length, for the
    /// bench chooses one for each contender.
    #[must_use]
    pub fn circumstances(&self) -> Vec<(&'static str, String)> {
        let mut named = self.named();
        for (name, value) in &mut named {
            if *name == "time_slice" && self.time_slice_s.is_some() {
                "shared".clone_into(value);
            }
        }
        named
    }

    /// Returns the command-line options that give one trial these conditions: all that differ from
    /// the default, with their values; a flag has none. A time slice is omitted, because it
    /// involves several trials.
    #[must_use]
    pub fn options(&self) -> Vec<(String, Option<String>)> {
        let usual = Self::default();
        let special = CONDITIONS.iter().filter(|condition| {
            let differs = |value: &fn(&Self) -> String| value(self) != value(&usual);
            condition.value.as_ref().is_some_and(differs)
        });
        let mut options = Vec::new();
        for condition in special {
            let value = match condition.parameter.name {
                "time_slice" => continue,
                "rate" => self.rate.map(|rate| rate.per_s.to_string()),
                "memory" => self.memory_bytes.map(exact_bytes),
                // Reports name a file without its folder.
                "storage_model" => self.storage_model.clone(),
                "log_storage_model" => self.log_storage_model.clone(),
                "record_trace" => self.record_trace_bytes.map(exact_bytes),
                _ if condition.is_flag() => None,
                _ => condition.value.map(|value| value(self)),
            };
            options.push((condition.option(), value));
        }
        if let Some(arrival) = self.rate.map(|rate| rate.arrival)
            && arrival != Arrival::Constant
        {
            options.push(("arrival".to_owned(), Some(arrival.to_string())));
        }
        options
    }

    /// Formats the conditions that differ from the default, as `allocator=jemalloc start=cold`.
    #[must_use]
    pub fn special(&self) -> String {
        let usual = Self::default().named();
        let special = self.named().into_iter().zip(usual);
        let special = special.filter(|(this, usual)| this != usual);
        let words = special.map(|((name, value), _)| format!("{name}={value}"));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl ConditionLists {
    /// Returns every combination of one value of each list. The database's file system varies
    /// slowest, then the values of the last row.
    #[must_use]
    pub fn combinations(&self) -> Vec<Conditions> {
        let mut slowest_first: Vec<_> = CONDITIONS.iter().rev().collect();
        slowest_first.sort_by_key(|condition| condition.parameter.name != "filesystem");
        let mut all = vec![Conditions::default()];
        for condition in slowest_first {
            (condition.vary)(self, &mut all);
        }
        all.iter_mut()
            .for_each(|conditions| self.size_modelled_images(conditions));
        all
    }

    /// Conditions with the first value of each list that is not empty in the place of theirs.
    #[must_use]
    pub fn over(&self, before: &Conditions) -> Conditions {
        let mut changed = before.clone();
        if let Some(given) = self.combinations().first() {
            for change in CONDITIONS.iter().filter_map(|condition| condition.change) {
                change(self, given, &mut changed);
            }
        }
        changed
    }

    fn rate(&self, per_s: &f64) -> Option<Rate> {
        let (per_s, arrival) = (*per_s, self.arrival);
        (per_s > 0.0).then_some(Rate { per_s, arrival })
    }

    fn placed(&self, wanted: &FileSystem) -> Option<FileSystem> {
        let apart = (!wanted.is_here()).then_some(wanted);
        apart.map(|wanted| wanted.with_image(self.image_bytes))
    }

    /// Copies a value unchanged from the lists to a trial.
    fn as_given<T: Clone>(&self, value: &T) -> T {
        value.clone()
    }
}

/// Replaces each element by one copy per value, with that value set.
fn vary<T>(all: &mut Vec<Conditions>, values: &[T], set: impl Fn(&mut Conditions, &T)) {
    if values.is_empty() {
        return;
    }
    let each = all.iter().flat_map(|one| {
        values.iter().map(|value| {
            let mut varied = one.clone();
            set(&mut varied, value);
            varied
        })
    });
    *all = each.collect();
}

/// Reads each text once, at its first occurrence.
fn read_each<T: PartialEq>(
    kind: &ValueKind,
    texts: &[&str],
    convert: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, ConditionError> {
    let mut found = Vec::new();
    for text in texts {
        let not_given = || ConditionError::NotGiven(String::from(*text));
        let one = convert(&kind.read(text)?).ok_or_else(not_given)?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    Ok(found)
}

/// The parts of a row that depend on whether the condition takes one value or a list.
macro_rules! condition {
    (@type One $kind:tt) => {
        crate::parameters!(@part {type} {} $kind)
    };
    (@type $form:ident $kind:tt) => {
        Vec<crate::parameters!(@part {type} {} $kind)>
    };
    (@default One $kind:tt) => {
        crate::parameters!(@part {default} {} $kind)
    };
    (@default $form:ident $kind:tt) => {
        Vec::new()
    };
    (@former) => {
        None
    };
    (@former $former:literal) => {
        Some($former)
    };
    (@set One $lists:ident.$list:ident $found:ident) => {
        if let Some(last) = $found.into_iter().next_back() {
            $lists.$list = last;
        }
    };
    (@set $form:ident $lists:ident.$list:ident $found:ident) => {
        $lists.$list = $found
    };
    (@given One $lists:ident.$list:ident) => {
        std::slice::from_ref(&$lists.$list)
    };
    (@given $form:ident $lists:ident.$list:ident) => {
        &$lists.$list
    };
    (@into) => {
        ConditionLists::as_given
    };
    (@into $into:expr) => {
        $into
    };
    (@change One $list:ident $($field:ident)?) => {
        None
    };
    (@change $form:ident $list:ident) => {
        None
    };
    (@change $form:ident $list:ident $field:ident) => {
        Some(|lists, from, to| {
            if !lists.$list.is_empty() {
                to.$field.clone_from(&from.$field);
            }
        })
    };
    (@value) => {
        None
    };
    (@value $field:ident $write:expr) => {
        Some(|conditions| $write(&conditions.$field))
    };
    (@trial_field) => {
        None
    };
    (@trial_field $field:ident) => {
        Some((stringify!($field), |conditions| conditions.$field.as_plan_value()))
    };
    (@scale $list:ident) => {
        None
    };
    (@scale $list:ident $scale:expr) => {
        Some(|lists, factor| $scale(&mut lists.$list, factor))
    };
}

/// Declares the conditions, a row each:
///
/// `NAME [or FORMER_NAME] VALUE_NAME FORM: LIST {KIND}, trial FIELD: TYPE [= MAKE], as WRITE,
/// scaled SCALE`: the plan's values, of a kind of [`parameters!`](crate::parameters), are read into
/// the list; a value of it makes the field of a trial, which is written for people. An amount of
/// work can be scaled.
macro_rules! conditions {
    ($(
        $(#[doc = $summary:literal])+
        $name:literal $(or $former:literal)? $value_name:literal $form:ident $(($split:expr))?:
        $list:ident $kind:tt
        $(, $(#[$attribute:meta])* trial $field:ident: $one:ty $(= $into:expr)?, as $write:expr)?
        $(, scaled $scale:expr)?;
    )+) => {
        /// The run conditions of a trial.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct Conditions {
            $($(
                $(#[$attribute])*
                pub $field: $one,
            )?)+
        }

        /// The default is a closed loop, warm, unplaced, with all memory.
        impl Default for Conditions {
            fn default() -> Self {
                let lists = ConditionLists::default();
                Self {
                    $($($field: condition!(@into $($into)?)(
                        &lists,
                        &crate::parameters!(@part {default} {} $kind),
                    ),)?)+
                }
            }
        }

        /// The values of each run condition in a plan; an empty list means the default only.
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConditionLists {
            $(
                #[doc = concat!("Values of `", $name, "`.")]
                pub $list: condition!(@type $form $kind),
            )+
        }

        impl Default for ConditionLists {
            fn default() -> Self {
                Self {
                    $($list: condition!(@default $form $kind),)+
                }
            }
        }

        /// Every run condition, in the order of help and reports.
        pub static CONDITIONS: &[Condition] = &[$(Condition {
            parameter: crate::parameters!(@part {parameter} {[$($summary)+] $name} $kind),
            former_name: condition!(@former $($former)?),
            value_name: $value_name,
            form: Form::$form $(($split))?,
            set: |parameter, lists, texts| {
                let convert = crate::parameters!(@part {reader} {} $kind);
                let found = read_each(&parameter.kind, texts, convert)?;
                condition!(@set $form lists.$list found);
                Ok(())
            },
            vary: |_lists, _all| {
                $(vary(_all, condition!(@given $form _lists.$list), |one, value| {
                    one.$field = condition!(@into $($into)?)(_lists, value);
                });)?
            },
            change: condition!(@change $form $list $($field)?),
            field: condition!(@trial_field $($field)?),
            value: condition!(@value $($field $write)?),
            scale: condition!(@scale $list $($scale)?),
        }),+];
    };
}

conditions! {
    /// Time that workers run before the measurement, in seconds or with a unit, as in 500ms or 2m
    "warm_up" "TIME" One: warm_up_s {Duration = 0.0 s in 0.0 s..=720.0 h},
        /// Time that the workers run before measurement begins, seconds.
        trial warm_up_s: f64, as seconds,
        scaled |time_s: &mut f64, factor| *time_s *= factor;
    /// Length of the measured part, in seconds or with a unit, as in 500ms or 2m; none or 0: until
    /// the operations are done if the workload counts them, else 10 s, or 1 s in a run that decides
    "duration" "TIME" One: duration_s {Option<Duration> or "none" in 0.0 s..=720.0 h},
        /// Length of the measured part, seconds; `None`: until the workload's own number of
        /// operations is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial duration_s: Option<f64>, as seconds_or_none,
        scaled scale_duration;
    /// Requests per second over all workers (open loop, measures response times); 0 for a closed
    /// loop
    "rate" "N" List(list::split): rate_per_s {Fraction = 0.0 in 0.0..=1e9, unit "per second"},
        /// The arrival rate of an open loop; `None`: a closed loop, in which each worker continues
        /// at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial rate: Option<Rate> = ConditionLists::rate, as rate_text;
    /// Arrival of the requests of an open loop
    "arrival" "HOW" One: arrival {Choice<Arrival> = Constant};
    /// State of the page cache when workers start; cold drops it
    "start" "HOW" List(list::split): start {Choice<Start> = Warm},
        /// The state of the database when the workers begin.
        trial start: Start, as ToString::to_string;
    /// Hosts on which the workers run, started over ssh or by --launcher, as in a,b,c or user@a,b;
    /// the database's server must be reachable from them (see docs/HOSTS.md)
    "hosts" "LIST" Dimension: hosts {
        Text<Option<HostList>> = "none" by parse_hosts as "none, or names as ssh takes them"
    },
        /// The hosts on which the workers of the measured part run; `None`: this one.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial hosts: Option<HostList>, as or_none;
    /// CPUs that the workers may use
    "cpus" "LIST" Dimension: cpus {
        Text<Option<String>> = "all" by parse_cpus as "all, or numbers and ranges, as in 0-3,8"
    },
        /// The processors that workers may use, as `0-3,8`; `None`: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial cpus: Option<String>, as cpus_text;
    /// NUMA memory policy
    "numa" "POLICY" Dimension: numa {
        Text<Option<NumaPolicy>> = "none" by parse_numa as
            "none, local, interleave[:NODES], bind:NODES, preferred:NODE"
    },
        /// The NUMA policy of the workers' memory; `None`: the kernel's default.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial numa: Option<NumaPolicy>, as or_none;
    /// Memory allocators, preloaded into the workers
    "allocator" "NAME" List(list::split): allocator {Choice<Allocator> = Libc},
        /// The memory allocator of the workers.
        trial allocator: Allocator, as ToString::to_string;
    /// Memory limit of all workers together, page cache included, as in 1GiB
    "memory" "SIZE" List(list::split): memory_bytes {Option<Bytes> or "none" in 16 MiB..},
        /// The limit on the memory of all workers together, page cache included, bytes; `None`: no
        /// limit. With a limit the start is cold, because pages that the load left in the cache are
        /// charged to another control group.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial memory_bytes: Option<u64>, as size_text;
    /// Size of every engine's own cache, by its own knob, as in 256MiB; preset: each knob's own
    /// default. SQLite's is per worker. Refused where an engine has no such knob
    // No field of a trial: the runner's `plan/matrix/cache.rs` makes it each engine's knob.
    "cache" "SIZE" List(list::split): cache_bytes {Option<Bytes> or "preset" in 0 B..};
    /// File systems; one with options, as in ext4:mount=noatime, must be the only or the last one
    /// (see docs/FILESYSTEMS.md)
    "filesystem" "KIND" List(filesystem::split): file_system {
        Text<FileSystem> = "here" by str::parse as "here, tmpfs, ext4, xfs …, folder:/mnt/x"
    },
        /// The file system of the database; `None`: the work folder's.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial file_system: Option<FileSystem> = ConditionLists::placed, as place_text;
    /// File system of the engine's log, for engines with a knob log_directory; here: with the
    /// database
    "log_filesystem" "KIND" List(filesystem::split): log_file_system {
        Text<FileSystem> = "here" by str::parse as "here, tmpfs, ext4, xfs …, folder:/mnt/x"
    },
        /// The file system of the engine's log, for engines that can place it separately; `None`:
        /// the database's.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial log_file_system: Option<FileSystem> = ConditionLists::placed, as place_text;
    /// Storage models: the database is on storage with the timing of a named device, or of one that
    /// a TOML file describes; none: on this machine's own. A model slows storage down, never speeds
    /// it up (see docs/STORAGE_MODELS.md)
    "storage_model" "MODEL" List(list::split): storage_model {
        Text<Option<String>> = "none" by parse_model as
            "none, a name as hdd-7200 (see 'trueput storage list'), or a path as ./my.toml; \
             folder: before it is the folder form"
    },
        /// The storage model below the database, as [`ModelReference`] takes it apart; `None`: this
        /// machine's own storage.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial storage_model: Option<String>, as model_text;
    /// Storage model of the engine's log, for engines with a knob log_directory; none: that of the
    /// database, or this machine's own storage if log_filesystem gives the log a file system
    "log_storage_model" "MODEL" List(list::split): log_storage_model {
        Text<Option<String>> = "none" by parse_model as
            "none, a name as nvme-consumer (see 'trueput storage list'), or a path as ./my.toml"
    },
        /// The storage model below the engine's log; `None`: the database's, or this machine's own
        /// storage if the log has a file system of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial log_storage_model: Option<String>, as model_text;
    /// Fault of the storage below the database while the workers are measured, as in fsync:eio@3,
    /// write:enospc@64MiB or any:stall=10s@5s (see docs/FAULTS.md)
    "fault" "FAULT" List(list::split): fault {
        Text<Option<StorageFault>> = "none" by parse_fault as
            "none, or OPERATION:EFFECT@WHEN, as in any:stall=10s@5s"
    },
        /// The fault of the storage below the database; `None`: it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial fault: Option<StorageFault>, as or_none;
    /// Size of the image files that hold file systems, also those of storage models, as in 4GiB;
    /// auto: what a trial needs
    "image" "SIZE" One: image_bytes {Option<Bytes> or "auto" in MIN_IMAGE_BYTES B..};
    /// Kill the workers and the engine's server at the end of each trial, time the restart, and
    /// verify what survived
    "crash_and_recover" "" One: crash_and_recover {Boolean = false},
        /// Whether the workers and the engine's server are killed after they have delivered their
        /// results, and the database is then reopened, timed and verified.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        trial crash_and_recover: bool, as ToString::to_string;
    /// Have each engine compact its database by its own means at the end of each trial, and record
    /// the time, the bytes and the size afterwards; not for clusters (see docs/METHOD.md)
    "compact" "" One: compact {Boolean = false},
        /// Whether the engine compacts its database after the workers have ended.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        trial compact: bool, as ToString::to_string;
    /// Faults of a cluster at times of the measured part, as in 10s:kill=leader,20s:start=all:
    /// kill, pause, resume, partition, heal or start the leader, a follower, the minority, the
    /// majority, all or node-N (see docs/CLUSTERS.md)
    "at" "FAULTS" One: faults {
        Text<FaultSchedule> = "none" by str::parse as "none, or TIME:ACTION=NODES, …"
    },
        /// The faults of the cluster that are caused while the workers are measured.
        #[serde(skip_serializing_if = "FaultSchedule::is_empty")]
        trial faults: FaultSchedule, as ToString::to_string;
    /// Run the contenders of a repeat side by side, in slices of this length, so that other
    /// programs disturb all of them alike; none or 0: one after the other (see docs/METHOD.md)
    "time_slice" or "turns" "TIME" One: time_slice {
        Text<TimeSlice> = "auto" by str::parse as "auto, none, or 1ms to 1m"
    },
        /// Length of a time slice: one contender of the repeat runs for so long while the others
        /// are stopped, until all are done, seconds; `None`: trials run one after the other.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial time_slice_s: Option<f64> = ConditionLists::sliced, as seconds_or_none;
    /// Record the requests of the workers as a trace in the run folder, which 'trueput trace' can
    /// replay; SIZE is the memory of each worker's buffer, as in 64MiB. It costs some of the rate
    "record_trace" "SIZE" One: record_trace_bytes {Option<Bytes> or "none" in 64 KiB..},
        /// The buffer of each worker in which its requests are recorded, bytes; `None`: they are
        /// not recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial record_trace_bytes: Option<u64>, as size_text;
}

/// Scales a duration, to 1 s at least.
fn scale_duration(duration_s: &mut Option<f64>, factor: f64) {
    *duration_s = duration_s.map(|time_s| (time_s * factor).max(1.0));
}

fn seconds(time_s: &f64) -> String {
    format!("{time_s}s")
}

fn or_none<T: Display>(value: &Option<T>) -> String {
    value
        .as_ref()
        .map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn seconds_or_none(time_s: &Option<f64>) -> String {
    or_none(&time_s.as_ref().map(seconds))
}

fn size_text(bytes: &Option<u64>) -> String {
    or_none(&bytes.map(format_bytes))
}

fn cpus_text(cpus: &Option<String>) -> String {
    cpus.clone().unwrap_or_else(|| "all".to_owned())
}

fn place_text(file_system: &Option<FileSystem>) -> String {
    file_system.clone().unwrap_or_default().to_string()
}

fn model_text(model: &Option<String>) -> String {
    or_none(
        &model
            .as_deref()
            .map(|text| ModelReference::of(text).label()),
    )
}

fn rate_text(rate: &Option<Rate>) -> String {
    or_none(&rate.map(|rate| match rate.arrival {
        Arrival::Constant => format!("{}/s", rate.per_s),
        arrival => format!("{}/s {arrival}", rate.per_s),
    }))
}

#[cfg(test)]
mod tests;
