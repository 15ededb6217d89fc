//! The run conditions, each declared once: its values in a plan, its value in a trial, the key of a
//! plan, the option of the command line and its help, what a step may change, the selector of a
//! comparison and the name in reports are one row.

use super::lists::{parse_cpus, parse_memory, parse_numa, parse_rate};
use super::{Allocator, Arrival, NumaPolicy, Rate, Start, parse_time_slice};
use crate::filesystem::{self, FileSystem, parse_image};
use crate::list;
use crate::value::{format_bytes, parse_bytes, parse_seconds};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// The description of one run condition.
pub struct Condition {
    /// Its name: the key of a plan and, with dashes, the option.
    pub name: &'static str,
    /// The name that it had, which plans and options may still use.
    pub former_name: Option<&'static str>,
    /// What it is, for the help of the command line.
    pub help: &'static str,
    /// What the help calls its value.
    pub value_name: &'static str,
    /// How many values it takes.
    pub form: Form,
    set: fn(&mut ConditionLists, &[&str]) -> Result<(), String>,
    vary: fn(&ConditionLists, &mut Vec<Conditions>),
    /// Takes the condition over from the first to the second where the lists give it; `None` if
    /// a step cannot change it.
    change: Option<fn(&ConditionLists, &Conditions, &mut Conditions)>,
    /// Its value at a trial, for people; `None` if it only shapes others.
    value: Option<fn(&Conditions) -> String>,
    /// Multiplies its value; `None` if it is no amount of work.
    scale: Option<fn(&mut ConditionLists, f64)>,
}

/// How many values a condition takes.
#[derive(Clone, Copy)]
pub enum Form {
    /// None: it is on or off.
    Flag,
    /// One for all trials.
    One,
    /// One, or a list in a plan, which makes a dimension.
    Dimension,
    /// The same, and the option takes a list too, which the function takes apart.
    List(fn(&str) -> Result<Vec<&str>, String>),
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Condition {
    /// The condition of that name, or of that former name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let is_named =
            |condition: &&Self| condition.name == name || condition.former_name == Some(name);
        CONDITIONS.iter().find(is_named)
    }

    /// Reads its values from texts and puts them in the place of those that the lists have.
    ///
    /// # Errors
    /// One sentence that says what was given and what would be right.
    pub fn set(&self, lists: &mut ConditionLists, texts: &[&str]) -> Result<(), String> {
        (self.set)(lists, texts)
    }

    /// Multiplies its value if it is an amount of work.
    pub fn scale(&self, lists: &mut ConditionLists, factor: f64) {
        if let Some(scale) = self.scale {
            scale(lists, factor);
        }
    }

    /// Whether a step of an ablation can change it.
    #[must_use]
    pub fn is_changed_by_steps(&self) -> bool {
        self.change.is_some()
    }

    /// The values of an option's text.
    ///
    /// # Errors
    /// One sentence for a text that is no list, or not of its values.
    pub fn split<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, String> {
        let texts = match self.form {
            Form::List(split) => split(text)?,
            Form::Flag | Form::One | Form::Dimension => vec![text],
        };
        self.set(&mut ConditionLists::default(), &texts)?;
        Ok(texts)
    }
}

impl Conditions {
    /// Every condition by its name and in the words of a plan.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let named = CONDITIONS.iter().filter_map(|condition| {
            let value = condition.value?;
            Some((condition.name, value(self)))
        });
        named.collect()
    }

    /// Those that are not the default, as `allocator=jemalloc start=cold`.
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
    /// Every combination of one value of each list; the values of the last row vary slowest.
    #[must_use]
    pub fn combinations(&self) -> Vec<Conditions> {
        let mut all = vec![Conditions::default()];
        for condition in CONDITIONS.iter().rev() {
            (condition.vary)(self, &mut all);
        }
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

    /// What a trial has as the lists have it.
    fn as_given<T: Clone>(&self, value: &T) -> T {
        value.clone()
    }
}

/// Replaces each by as many as there are values, with one value each.
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

/// Reads each text once, where it is first.
fn read_each<T: PartialEq>(
    texts: &[&str],
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    for text in texts {
        let one = read(text)?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    Ok(found)
}

fn read_last<T>(texts: &[&str], read: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    read(texts.last().copied().unwrap_or_default())
}

/// The parts of a row that depend on whether the condition takes one value or a list.
macro_rules! condition {
    (@type One $each:ty) => {
        $each
    };
    (@type Flag $each:ty) => {
        $each
    };
    (@type $form:ident $each:ty) => {
        Vec<$each>
    };
    (@former) => {
        None
    };
    (@former $former:literal) => {
        Some($former)
    };
    (@values One $lists:ident.$list:ident $texts:ident $read:expr) => {
        $lists.$list = read_last($texts, $read)?
    };
    (@values Flag $lists:ident.$list:ident $texts:ident $read:expr) => {
        $lists.$list = read_last($texts, $read)?
    };
    (@values $form:ident $lists:ident.$list:ident $texts:ident $read:expr) => {
        $lists.$list = read_each($texts, $read)?
    };
    (@given One $lists:ident.$list:ident) => {
        std::slice::from_ref(&$lists.$list)
    };
    (@given Flag $lists:ident.$list:ident) => {
        std::slice::from_ref(&$lists.$list)
    };
    (@given $form:ident $lists:ident.$list:ident) => {
        &$lists.$list
    };
    (@change One $list:ident $($field:ident)?) => {
        None
    };
    (@change Flag $list:ident $($field:ident)?) => {
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
    (@scale $list:ident) => {
        None
    };
    (@scale $list:ident $scale:expr) => {
        Some(|lists, factor| $scale(&mut lists.$list, factor))
    };
}

/// Declares the conditions, a row each:
///
/// `NAME [or FORMER_NAME] VALUE_NAME FORM: LIST: TYPE = READ, trial FIELD: TYPE = MAKE, as WRITE,
/// scaled SCALE`: the plan's values are read into the list; a value of it makes the field of a
/// trial, which is written for people. An amount of work can be scaled.
macro_rules! conditions {
    ($(
        $(#[doc = $help:literal])+
        $name:literal $(or $former:literal)? $value_name:literal $form:ident $(($split:expr))?:
        $list:ident: $each:ty = $read:expr
        $(, $(#[$attribute:meta])* trial $field:ident: $one:ty = $into:expr, as $write:expr)?
        $(, scaled $scale:expr)?;
    )+) => {
        /// The run conditions of a trial. The default is a closed loop, warm, unplaced, with all
        /// memory.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Conditions {
            $($(
                $(#[$attribute])*
                pub $field: $one,
            )?)+
        }

        /// The values of each run condition in a plan; an empty list stands for the default alone.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct ConditionLists {
            $(
                #[doc = concat!("Values of `", $name, "`.")]
                pub $list: condition!(@type $form $each),
            )+
        }

        /// Every run condition, in the order of help and reports.
        pub static CONDITIONS: &[Condition] = &[$(Condition {
            name: $name,
            former_name: condition!(@former $($former)?),
            help: concat!($($help),+).trim_ascii(),
            value_name: $value_name,
            form: Form::$form $(($split))?,
            set: |lists, texts| {
                condition!(@values $form lists.$list texts $read);
                Ok(())
            },
            vary: |_lists, _all| {
                $(vary(_all, condition!(@given $form _lists.$list), |one, value| {
                    one.$field = $into(_lists, value);
                });)?
            },
            change: condition!(@change $form $list $($field)?),
            value: condition!(@value $($field $write)?),
            scale: condition!(@scale $list $($scale)?),
        }),+];
    };
}

conditions! {
    /// Time that workers run before the measurement: seconds, or with a unit [default: 0]
    "warm_up" "TIME" One: warm_up_s: f64 = parse_seconds,
        /// How long the workers run before what they do counts, seconds.
        trial warm_up_s: f64 = ConditionLists::as_given, as seconds,
        scaled |time_s: &mut f64, factor| *time_s *= factor;
    /// Length of the measured part: seconds, or with a unit, for example 500ms or 2m [default:
    /// until the operations are done, or 10 s with a rate and no number of operations; 0: until
    /// they are done]
    "duration" "TIME" One: duration_s: Option<f64> = parse_duration,
        /// How long the measured part lasts, seconds; `None`: until the workload's own count is
        /// done.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial duration_s: Option<f64> = ConditionLists::as_given, as seconds_or_none,
        scaled scale_duration;
    /// Requests per second over all workers (open loop, measures response times); 0 for a closed
    /// loop [default: 0]
    "rate" "N" List(list::split): rate_per_s: f64 = parse_rate,
        /// The pace of an open loop; `None`: a closed loop, in which each worker goes on at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial rate: Option<Rate> = ConditionLists::rate, as rate_text;
    /// Arrival of the requests of an open loop: constant, poisson [default: constant]
    "arrival" "HOW" One: arrival: Arrival = str::parse::<Arrival>;
    /// State of the page cache when workers start: warm, cold (dropped) [default: warm]
    "start" "HOW" List(list::split): start: Start = str::parse,
        /// How the database stands when the workers begin.
        trial start: Start = ConditionLists::as_given, as ToString::to_string;
    /// CPUs that the workers may use, for example 0-3,8 [default: all]
    "cpus" "LIST" Dimension: cpus: Option<String> = parse_cpus,
        /// The processors that workers may use, as `0-3,8`; `None`: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial cpus: Option<String> = ConditionLists::as_given, as cpus_text;
    /// NUMA memory policy: local, interleave[:NODES], bind:NODES, preferred:NODE
    "numa" "POLICY" Dimension: numa: Option<NumaPolicy> = parse_numa,
        /// Where the workers' memory is; `None`: as the kernel likes.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial numa: Option<NumaPolicy> = ConditionLists::as_given, as or_none;
    /// Memory allocators, preloaded into the workers: libc, jemalloc, tcmalloc, mimalloc [default:
    /// libc]
    "allocator" "NAME" List(list::split): allocator: Allocator = str::parse,
        /// The memory allocator of the workers.
        trial allocator: Allocator = ConditionLists::as_given, as ToString::to_string;
    /// Memory limit of all workers together, page cache included, for example 1GiB [default: none]
    "memory" "SIZE" List(list::split): memory_bytes: Option<u64> = parse_memory,
        /// The most memory that the workers may have together, page cache included, bytes; `None`:
        /// no limit. With one the start is cold: pages that the load left are charged to others.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial memory_bytes: Option<u64> = ConditionLists::as_given, as size_text;
    /// Size of every engine's own cache, by its own knob, for example 256MiB. SQLite's is per
    /// worker. Refused where an engine has no such knob [default: each knob's own]
    "cache" "SIZE" List(list::split): cache_bytes: u64 = parse_bytes;
    /// File systems: here, tmpfs, ext4, xfs …, folder:/mnt/x; one with options, for
    /// example ext4:mount=noatime, must be the only or the last one (see docs/FILESYSTEMS.md)
    /// [default: here]
    "filesystem" "KIND" List(filesystem::split): file_system: FileSystem = str::parse,
        /// The file system that the database is on; `None`: the work folder's.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial file_system: Option<FileSystem> = ConditionLists::placed, as place_text;
    /// File system of the engine's log, for engines with a knob log_directory
    "log_filesystem" "KIND" List(filesystem::split): log_file_system: FileSystem = str::parse,
        /// The file system that the engine's log is on, for engines that can place it apart;
        /// `None`: with the database.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial log_file_system: Option<FileSystem> = ConditionLists::placed, as place_text;
    /// Size of the image files that hold file systems, as in 4GiB [default: what a trial needs]
    "image" "SIZE" One: image_bytes: Option<u64> = |text| parse_image(text).map(Some);
    /// Kill the workers and the engine's server at the end of each trial, time the restart, and
    /// verify what survived
    "crash_and_recover" "" Flag: crash_and_recover: bool = parse_flag,
        /// Whether the workers, and the engine's server, are killed once they have handed over what
        /// they measured, and the database is opened again, timed, and verified.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        trial crash_and_recover: bool = ConditionLists::as_given, as ToString::to_string;
    /// Run the contenders of a repeat side by side, in slices of this length, as in 10ms, so that
    /// other programs disturb all of them alike; 0 for none (see docs/METHOD.md) [default: 0]
    "time_slice" or "turns" "TIME" One: time_slice_s: Option<f64> = parse_time_slice,
        /// How long the workers run at once before those of the other contenders of the repeat take
        /// over, until each has done its share, seconds; `None`: one trial runs after the other.
        #[serde(skip_serializing_if = "Option::is_none")]
        trial time_slice_s: Option<f64> = ConditionLists::as_given, as seconds_or_none;
}

/// Reads a duration; 0 stands for none.
fn parse_duration(text: &str) -> Result<Option<f64>, String> {
    parse_seconds(text).map(|seconds| Some(seconds).filter(|&seconds| seconds > 0.0))
}

/// Scales a duration, to 1 s at least.
fn scale_duration(duration_s: &mut Option<f64>, factor: f64) {
    *duration_s = duration_s.map(|time_s| (time_s * factor).max(1.0));
}

fn parse_flag(text: &str) -> Result<bool, String> {
    let wrong = |_| format!("'{text}' is neither true nor false");
    text.parse().map_err(wrong)
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

fn rate_text(rate: &Option<Rate>) -> String {
    or_none(&rate.map(|rate| match rate.arrival {
        Arrival::Constant => format!("{}/s", rate.per_s),
        arrival => format!("{}/s {arrival}", rate.per_s),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_every_condition_of_a_trial_is_named() {
        let names: BTreeSet<_> = CONDITIONS.iter().map(|condition| condition.name).collect();
        assert_eq!(names.len(), CONDITIONS.len());
        let texts = |name: &str| match name {
            "warm_up" | "duration" | "time_slice" => "1s",
            "rate" => "5",
            "start" => "cold",
            "cpus" => "0",
            "numa" => "local",
            "allocator" => "jemalloc",
            "memory" | "cache" | "image" => "1GiB",
            "filesystem" | "log_filesystem" => "ext4",
            "crash_and_recover" => "true",
            "arrival" => "poisson",
            other => panic!("give a value of '{other}' here"),
        };
        let mut lists = ConditionLists::default();
        for condition in CONDITIONS {
            condition.set(&mut lists, &[texts(condition.name)]).unwrap();
        }
        let [all] = &lists.combinations()[..] else {
            panic!("one value each is one combination");
        };
        let fields = serde_json::to_value(all).unwrap();
        let named = all.named();
        assert_eq!(fields.as_object().unwrap().len(), named.len());
        let usual = Conditions::default().named();
        for (this, usual) in named.iter().zip(&usual) {
            assert_ne!(this, usual, "it was set to another value");
        }
    }

    #[test]
    fn an_option_s_text_is_taken_apart_and_checked() {
        let split = |name, text| Condition::named(name).unwrap().split(text);
        assert_eq!(split("rate", "0,500"), Ok(vec!["0", "500"]));
        assert_eq!(split("cpus", "0-3,8"), Ok(vec!["0-3,8"]));
        let file_systems = split("filesystem", "here,ext4:mount=noatime,barrier=0");
        assert_eq!(
            file_systems,
            Ok(vec!["here", "ext4:mount=noatime,barrier=0"])
        );
        assert!(split("start", "warm,cool").unwrap_err().contains("'cold'"));
    }
}
