//! Reads a plan from TOML. Every error names the file, the line and the remedy.

mod steps;
mod workload_file;

pub(super) use workload_file::{is_workload_file, workload_file};

use super::{
    AblationKind, CONDITIONS, Condition, ConditionLists, Contender, Dimensions, Levels, MAX_REPEAT,
    MAX_WORKERS, Origin, PlanException, PlanFile, UnsupportedPolicy, check_count, check_name,
};
use crate::conditions::{ConditionError, Form};
use crate::suggest::did_you_mean;
use crate::value::Settings;
use crate::{Error, Value, WorkerKind};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key of a table of the plan, with the function that reads its value into `T`.
type Key<T> = (&'static str, KeyReader<T>);
type KeyReader<T> = fn(&Reader<'_>, &mut T, &Item<'_>) -> Result<(), Error>;

/// Declares the keys of a table, each with the statement that reads its value.
macro_rules! keys {
    (
        $(#[$about:meta])+
        $KEYS:ident: |$reader:ident, $into:ident: $T:ty, $item:ident|
        $($key:literal => $read:expr,)+
    ) => {
        $(#[$about])+
        const $KEYS: &[Key<$T>] = &[$(($key, |$reader, $into, $item| {
            $read;
            Ok(())
        })),+];
    };
}
use keys;

keys! {
    /// The keys of a plan that precede the run conditions.
    FIRST_KEYS: |reader, plan: PlanFile, item|
    "name" => plan.name = reader.text(item)?,
    "about" => plan.about = reader.text(item)?,
    "workload" => plan.workload = reader.text(item)?,
    "engines" => plan.engines = reader.engines(item)?,
    "durability" => plan.durability = reader.parsed_list(item)?,
    "objective" => plan.objective = Some(reader.parsed(item)?),
    "levels" => plan.levels = reader.one_of(item, "levels", Levels::ALL, Levels::name)?,
    "workers" => {
        plan.workers = reader.one_or_many(item, |one| reader.count(one, "workers", MAX_WORKERS))?;
    },
    "worker_kind" => {
        let kinds = [WorkerKind::Processes, WorkerKind::Threads];
        plan.worker_kind = Some(reader.one_of(item, "worker_kind", kinds, WorkerKind::name)?);
    },
    "repeat" => plan.repeat = reader.count(item, "repeat", MAX_REPEAT)?,
    "decide" => plan.decide = Some(reader.parsed(item)?),
    "verify" => plan.verify = reader.parsed(item)?,
    "seed" => plan.seed = reader.seed(item)?,
}

keys! {
    /// The keys of a plan that follow the run conditions.
    LAST_KEYS: |reader, plan: PlanFile, item|
    "unsupported" => {
        // The value's name in plans of earlier versions.
        plan.unsupported = if reader.text(item)? == "leave-out" {
            UnsupportedPolicy::Skip
        } else {
            let name = UnsupportedPolicy::name;
            reader.one_of(item, "unsupported", UnsupportedPolicy::ALL, name)?
        };
    },
    "settings" => plan.settings = reader.dimensions(item, "settings", &mut plan.origin)?,
    "knobs" => plan.knobs = reader.knobs(item, &mut plan.origin)?,
    "when" => plan.when = reader.exceptions(item, &mut plan.origin)?,
    "ablation" => {
        let name = AblationKind::name;
        plan.ablation = reader.one_of(item, "ablation", AblationKind::ALL, name)?;
    },
    "step" => plan.steps = reader.steps(item, &mut plan.origin)?,
}

keys! {
    /// The keys of an exception.
    WHEN_KEYS: |reader, exception: PlanException, item|
    "durability" => exception.durability = reader.parsed_list(item)?,
    "engines" => exception.engines = reader.text_list(item)?,
    "settings" => exception.settings = reader.settings(item)?,
    "note" => exception.note = reader.text(item)?,
}

/// The former name of the key `ablation`, which plans may still use.
const FORMER_ABLATION_KEY: &str = "ledger";

/// A message quotes no more of a plan.
const MAX_QUOTED: usize = 60;

type Item<'i> = Spanned<DeValue<'i>>;

/// Reads the text of the plan file at `path`.
pub(super) fn plan(path: &Path, text: &str) -> Result<PlanFile, Error> {
    let reader = Reader { path, text };
    let document = reader.document()?;
    reader.plan(document.get_ref())
}

/// Returns the present name of a key, which may have its former name.
fn current_name(key: &str) -> &str {
    match Condition::named(key) {
        Some(condition) => condition.parameter.name,
        None if key == FORMER_ABLATION_KEY => "ablation",
        None => key,
    }
}

fn names<T>(keys: &[Key<T>]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|(name, _)| *name)
}

fn reader_of<T>(keys: &[Key<T>], key: &str) -> Option<KeyReader<T>> {
    let found = keys.iter().find(|(name, _)| *name == key);
    found.map(|(_, read)| *read)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn document(&self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.error_at(start..start, error.message().replace('\n', "; "))
        })
    }
}

impl Reader<'_> {
    fn plan(&self, table: &DeTable<'_>) -> Result<PlanFile, Error> {
        let conditions = CONDITIONS.iter().map(|condition| condition.parameter.name);
        let keys = names(FIRST_KEYS).chain(conditions).chain(names(LAST_KEYS));
        let former = |key: &str| current_name(key) != key;
        self.check_keys(table, &keys.collect::<Vec<_>>(), former)?;
        let Some(workload) = table.get("workload") else {
            return Err(self.error_at(
                0..0,
                "the plan names no workload; add workload = \"threen1\"",
            ));
        };
        let mut plan = PlanFile::for_workload(&self.text(workload)?);
        plan.origin.path = Some(self.path.to_owned());
        if let Some(stem) = self.path.file_stem() {
            plan.name = stem.to_string_lossy().into_owned();
        }
        for (key, item) in table {
            let line = self.line(key.span().start);
            let name = current_name(key.get_ref());
            if plan.origin.lines.insert(name.to_owned(), line).is_some() {
                let reason =
                    format!("'{name}' is given twice, once by its former name: leave out one");
                return Err(self.error_at(key.span(), reason));
            }
            match reader_of(FIRST_KEYS, name).or_else(|| reader_of(LAST_KEYS, name)) {
                Some(read) => read(self, &mut plan, item)?,
                None => self.condition(&mut plan.conditions, name, item)?,
            }
        }
        self.check_ablation(&plan, table)?;
        check_name(&plan.name).map_err(|reason| {
            self.error_at(table.get("name").map_or(0..0, Spanned::span), reason)
        })?;
        Ok(plan)
    }

    fn engines(&self, item: &Item<'_>) -> Result<Vec<Contender>, Error> {
        let names = self.text_list(item)?;
        if let Some(listed) = names.iter().find_map(|name| as_list(name)) {
            let message = format!("engines are a list in a plan: engines = [{listed}]");
            return Err(self.error_at(item.span(), message));
        }
        Ok(names.iter().map(|name| Contender::parse(name)).collect())
    }

    fn seed(&self, item: &Item<'_>) -> Result<u64, Error> {
        u64::try_from(self.integer(item)?)
            .map_err(|_| self.error_at(item.span(), "seed must be 0 or more"))
    }

    fn condition(
        &self,
        lists: &mut ConditionLists,
        key: &str,
        item: &Item<'_>,
    ) -> Result<(), Error> {
        let Some(condition) = Condition::named(key) else {
            return Ok(());
        };
        let about = |error: ConditionError| format!("{key}: {error}");
        let texts = match condition.form {
            Form::One if condition.is_flag() => vec![self.boolean(item)?.to_string()],
            Form::One => vec![self.value(item)?.to_string()],
            Form::Dimension | Form::List(_) => self.one_or_many(item, |one| {
                let text = self.value(one)?.to_string();
                // A wrong one of several is named by its own line.
                condition
                    .set(&mut ConditionLists::default(), &[&text])
                    .map_err(|error| self.error_at(one.span(), about(error)))?;
                Ok(text)
            })?,
        };
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        condition
            .set(lists, &texts)
            .map_err(|error| self.error_at(item.span(), about(error)))
    }

    fn check_keys(
        &self,
        table: &DeTable<'_>,
        known: &[&str],
        is_former: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let unknown = table.keys().filter(|key| {
            let key = key.get_ref().as_ref();
            !known.contains(&key) && !is_former(key)
        });
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let hint = did_you_mean(key.get_ref(), known.iter().copied());
                let keys = known.join(", ");
                let message = format!("unknown key '{}'{hint}; keys are {keys}", key.get_ref());
                Err(self.error_at(key.span(), message))
            }
        }
    }

    fn dimensions(
        &self,
        item: &Item<'_>,
        owner: &str,
        origin: &mut Origin,
    ) -> Result<Dimensions, Error> {
        let mut dimensions = Dimensions::new();
        for (key, item) in self.table(item)? {
            let name = key.get_ref().to_string();
            origin
                .lines
                .insert(format!("{owner}.{name}"), self.line(key.span().start));
            dimensions.insert(name, self.one_or_many(item, |one| self.value(one))?);
        }
        Ok(dimensions)
    }

    /// Knobs stand as `"lmdb.map_size" = …` or in a table of their engine.
    fn knobs(
        &self,
        item: &Item<'_>,
        origin: &mut Origin,
    ) -> Result<BTreeMap<String, Dimensions>, Error> {
        let mut knobs = BTreeMap::<String, Dimensions>::new();
        for (key, item) in self.table(item)? {
            let name = key.get_ref().to_string();
            let line = self.line(key.span().start);
            if let Some((engine, knob)) = name.split_once('.') {
                origin.lines.insert(format!("knobs.{engine}.{knob}"), line);
                let values = self.one_or_many(item, |one| self.value(one))?;
                let engine_knobs = knobs.entry(engine.to_owned()).or_default();
                if engine_knobs.insert(knob.to_owned(), values).is_some() {
                    return Err(self.twice(key.span(), engine, knob));
                }
            } else if item.get_ref().is_table() {
                origin.lines.insert(format!("knobs.{name}"), line);
                let owner = format!("knobs.{name}");
                let given = self.dimensions(item, &owner, origin)?;
                let engine_knobs = knobs.entry(name.clone()).or_default();
                if let Some(knob) = given.keys().find(|knob| engine_knobs.contains_key(*knob)) {
                    return Err(self.twice(key.span(), &name, knob));
                }
                engine_knobs.extend(given);
            } else {
                let message = format!("knob '{name}' names no engine; write \"ENGINE.{name}\"");
                return Err(self.error_at(key.span(), message));
            }
        }
        Ok(knobs)
    }

    fn twice(&self, at: Range<usize>, engine: &str, knob: &str) -> Error {
        self.error_at(at, format!("{engine}.{knob} is set twice; leave one out"))
    }

    fn exceptions(
        &self,
        item: &Item<'_>,
        origin: &mut Origin,
    ) -> Result<Vec<PlanException>, Error> {
        let Some(blocks) = item.get_ref().as_array() else {
            return Err(self.error_at(item.span(), "write each exception under a [[when]] heading"));
        };
        let read = |(index, block): (usize, &Item<'_>)| {
            origin
                .lines
                .insert(format!("when.{index}"), self.line(block.span().start));
            self.exception(block)
        };
        blocks.iter().enumerate().map(read).collect()
    }

    fn exception(&self, block: &Item<'_>) -> Result<PlanException, Error> {
        let table = self.table(block)?;
        self.check_keys(table, &names(WHEN_KEYS).collect::<Vec<_>>(), |_| false)?;
        for key in ["settings", "note"] {
            if !table.contains_key(key) {
                return Err(self.error_at(block.span(), format!("[[when]] has no '{key}'")));
            }
        }
        let mut exception = PlanException::default();
        for (key, item) in table {
            if let Some(read) = reader_of(WHEN_KEYS, key.get_ref()) {
                read(self, &mut exception, item)?;
            }
        }
        Ok(exception)
    }

    fn settings(&self, item: &Item<'_>) -> Result<Settings, Error> {
        let settings = self.table(item)?.iter();
        let read = settings.map(|(key, item)| Ok((key.get_ref().to_string(), self.value(item)?)));
        read.collect()
    }

    fn text_list(&self, item: &Item<'_>) -> Result<Vec<String>, Error> {
        self.one_or_many(item, |one| self.text(one))
    }

    fn parsed_list<T>(&self, item: &Item<'_>) -> Result<Vec<T>, Error>
    where
        T: FromStr<Err: Display> + PartialEq,
    {
        self.one_or_many(item, |one| self.parsed(one))
    }

    /// Reads one value or a list of values without repetition. Refuses an empty list.
    fn one_or_many<T: PartialEq>(
        &self,
        item: &Item<'_>,
        read: impl Fn(&Item<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let Some(list) = item.get_ref().as_array() else {
            return Ok(vec![read(item)?]);
        };
        let mut found = Vec::new();
        for one in list {
            let one = read(one)?;
            if !found.contains(&one) {
                found.push(one);
            }
        }
        if found.is_empty() {
            return Err(self.error_at(item.span(), "the list is empty; name at least one"));
        }
        Ok(found)
    }

    fn table<'t, 'i>(&self, item: &'t Item<'i>) -> Result<&'t DeTable<'i>, Error> {
        item.get_ref()
            .as_table()
            .ok_or_else(|| self.mismatch(item, "a table"))
    }

    fn text(&self, item: &Item<'_>) -> Result<String, Error> {
        let text = item
            .get_ref()
            .as_str()
            .ok_or_else(|| self.mismatch(item, "a text in quotes"))?;
        Ok(text.to_owned())
    }

    fn integer(&self, item: &Item<'_>) -> Result<i64, Error> {
        let number = item.get_ref().as_integer();
        let number = number.ok_or_else(|| self.mismatch(item, "a whole number"))?;
        i64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| self.error_at(item.span(), format!("{} is too large", number.as_str())))
    }

    fn boolean(&self, item: &Item<'_>) -> Result<bool, Error> {
        let given = item.get_ref().as_bool();
        given.ok_or_else(|| self.mismatch(item, "true or false"))
    }

    fn count(&self, item: &Item<'_>, name: &str, max: u32) -> Result<u32, Error> {
        check_count(name, self.integer(item)?, max)
            .map_err(|error| self.error_at(item.span(), error))
    }

    fn parsed<T: FromStr<Err: Display>>(&self, item: &Item<'_>) -> Result<T, Error> {
        self.text(item)?
            .parse()
            .map_err(|error| self.error_at(item.span(), error))
    }

    fn one_of<T: Copy, const N: usize>(
        &self,
        item: &Item<'_>,
        key: &str,
        choices: [T; N],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, Error> {
        let given = self.text(item)?;
        let found = choices.into_iter().find(|&choice| name(choice) == given);
        found.ok_or_else(|| {
            let names = choices.map(name);
            let hint = did_you_mean(&given, names);
            let names = names.join(", ");
            self.error_at(
                item.span(),
                format!("{key} is '{given}'{hint}; it is one of {names}"),
            )
        })
    }

    fn value(&self, item: &Item<'_>) -> Result<Value, Error> {
        match item.get_ref() {
            DeValue::String(text) => Ok(Value::from(text.as_ref())),
            DeValue::Boolean(value) => Ok(Value::Boolean(*value)),
            DeValue::Integer(_) => self.integer(item).map(Value::Integer),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .map(Value::Float)
                .map_err(|_| self.mismatch(item, "a number")),
            _ => Err(self.mismatch(item, "a number, a text in quotes, true or false")),
        }
    }

    fn mismatch(&self, item: &Item<'_>, wanted: &str) -> Error {
        let found = item.get_ref().type_str();
        let text = self.text.get(item.span()).unwrap_or_default();
        let text: String = text.chars().take(MAX_QUOTED).collect();
        let message = format!("found the {found} {text}; expected {wanted}");
        self.error_at(item.span(), message)
    }

    fn error_at(&self, at: Range<usize>, message: impl Display) -> Error {
        let line = Some(self.line(at.start));
        Error::Invalid {
            path: self.path.to_owned(),
            line,
            message: message.to_string(),
        }
    }

    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// Formats names separated by commas as a plan's list; `None` for one name, a path or an address.
fn as_list(names: &str) -> Option<String> {
    let parts: Vec<_> = names.split(',').map(str::trim).collect();
    let is_name = |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let quoted = parts.iter().map(|part| format!("\"{part}\""));
    let is_list = parts.len() > 1 && parts.iter().all(is_name);
    is_list.then(|| quoted.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Durability;

    fn read(text: &str) -> Result<PlanFile, Error> {
        plan(Path::new("plans/x.toml"), text)
    }

    fn refusal(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn the_earlier_name_of_a_value_is_still_read() {
        let text = "workload = \"micro\"\nengines = [\"lmdb\"]\ndurability = [\"sync\"]\n\
            unsupported = \"leave-out\"\n";
        assert_eq!(read(text).unwrap().unsupported, UnsupportedPolicy::Skip);
    }

    #[test]
    fn a_whole_plan_reads_as_written() {
        let plan = read(
            r#"
name = "first"
workload = "threen1"
engines = ["lmdb", "rocksdb@/opt/librocksdb.so"]
durability = ["sync", "async"]
levels = "first"
workers = [2, 4]
worker_kind = "threads"
repeat = 3
verify = "sample"
seed = 7
unsupported = "skip"
warm_up = 0.5
duration = "2m"
rate = [0, 500]
start = "cold"
memory = ["none", "1GiB"]
cache = ["64MiB", "1GiB"]
[settings]
finish = 100_000
commit = ["per-store", "per-block"]
[knobs]
"sqlite.cache" = "1MiB"
[knobs.lmdb]
map_size = ["1GiB", "2GiB"]
[[when]]
durability = "sync"
settings = { finish = 2000 }
note = "shorter"
"#,
        )
        .unwrap();
        assert_eq!(plan.name, "first");
        assert_eq!(
            plan.engines[1].build.as_deref(),
            Some(Path::new("/opt/librocksdb.so"))
        );
        assert_eq!(plan.durability, [Durability::Sync, Durability::Async]);
        assert_eq!(
            (plan.workers.as_slice(), plan.repeat, plan.seed),
            ([2, 4].as_slice(), 3, 7)
        );
        assert_eq!(plan.levels, Levels::First);
        assert_eq!(plan.worker_kind, Some(WorkerKind::Threads));
        assert_eq!(plan.unsupported, UnsupportedPolicy::Skip);
        assert_eq!(plan.settings["finish"], [Value::Integer(100_000)]);
        assert_eq!(plan.settings["commit"].len(), 2);
        assert_eq!(plan.knobs["sqlite"]["cache"], [Value::from("1MiB")]);
        assert_eq!(plan.knobs["lmdb"]["map_size"].len(), 2);
        assert!(plan.when[0].applies("lmdb", Durability::Sync));
        assert!(!plan.when[0].applies("lmdb", Durability::Async));
        assert_eq!(
            plan.origin.of("settings.finish").unwrap().to_string(),
            "plans/x.toml:20"
        );
        assert_eq!(plan.origin.of("knobs.lmdb.map_size").unwrap().line, 25);
        assert_eq!(plan.conditions.cache_bytes, [Some(64 << 20), Some(1 << 30)]);
        let conditions = plan.conditions.combinations();
        assert_eq!(conditions.len(), 4);
        assert_eq!(conditions[0].duration_s, Some(120.0));
    }

    #[test]
    fn a_plan_without_a_name_takes_its_file_s() {
        assert_eq!(read("workload = \"threen1\"").unwrap().name, "x");
    }

    #[test]
    fn a_misspelled_key_is_named_with_its_line_and_the_key_meant() {
        let message = refusal("workload = \"threen1\"\n\nrepeats = 3\n");
        let start =
            "plans/x.toml:3: unknown key 'repeats' (did you mean 'repeat'?); keys are name,";
        assert!(message.starts_with(start), "{message}");
        let when = "workload = \"t\"\n[[when]]\nsetings = {}\n";
        let message = refusal(when);
        assert!(
            message.starts_with("plans/x.toml:3: unknown key 'setings'"),
            "{message}"
        );
        assert!(message.contains("(did you mean 'settings'?)"), "{message}");
    }

    /// Bad texts for line 2, after a valid line 1, and the expected message.
    const BAD_LINES: &[(&str, &str)] = &[
        ("workers = \"four\"", "found the string \"four\"; expected"),
        (
            "engines = \"lmdb, redb\"",
            "engines are a list in a plan: engines = [\"lmdb\", \"redb\"]",
        ),
        ("workers = 0", "workers is 0; it must be between 1 and 1024"),
        ("workers = []", "the list is empty"),
        ("workers = \"four\"", "expected a whole number"),
        ("repeat = 0", "repeat is 0"),
        ("repeat = 99999999999999999999", "too large"),
        ("seed = -1", "seed must be 0 or more"),
        ("durability = [\"asinc\"]", "did you mean 'async'"),
        ("levels = \"fist\"", "did you mean 'first'"),
        ("verify = \"fulll\"", "did you mean 'full'"),
        ("worker_kind = \"thread\"", "did you mean 'threads'"),
        ("unsupported = \"skipp\"", "did you mean 'skip'"),
        ("name = \"a/b\"", "is not a valid plan name"),
        ("engines = 3", "expected a text in quotes"),
        ("settings = 3", "expected a table"),
        (
            "settings.start = 2026-01-01",
            "expected a number, a text in quotes, true or false",
        ),
        ("knobs.map_size = 3", "names no engine"),
        (
            "knobs = {\"lmdb.map_size\" = 1, lmdb = {map_size = 2}}",
            "lmdb.map_size is set twice",
        ),
        (
            "knobs = {lmdb = {map_size = 2}, \"lmdb.map_size\" = 1}",
            "lmdb.map_size is set twice",
        ),
        ("when = 3", "[[when]]"),
        ("duration = \"soon\"", "is not a duration"),
        ("rate = -5", "rate: -5 is out of range (0 to 1000000000)"),
        (
            "rate = \"fast\"",
            "rate: 'fast' is not a number (0 to 1000000000)",
        ),
        ("memory = \"1KiB\"", "(16 MiB or more, or none)"),
        ("numa = \"bind\"", "is no NUMA policy"),
        ("cpus = \"a-b\"", "is no list of processors"),
        ("allocator = \"jemaloc\"", "did you mean 'jemalloc'"),
        ("filesystem = \"EXT4\"", "is no file system"),
        ("filesystem = [\"ext4:mont=x\"]", "did you mean 'mount'"),
        ("image = \"1KiB\"", "(16 MiB or more, or auto)"),
        ("start = \"cool\"", "did you mean 'cold'"),
        ("when = [{settings = {}}]", "has no 'note'"),
        ("when = [{note = \"a\"}]", "has no 'settings'"),
        ("crash_and_recover = \"yes\"", "expected true or false"),
        ("ablation = \"cumulativ\"", "did you mean 'cumulative'"),
        ("ledger = \"one-at-a-time\"", "has no [[step]]"),
        ("step = 3", "[[step]]"),
        ("step = [{durability = \"sync\"}]", "[[step]] has no 'name'"),
        ("step = [{name = \"a\"}]", "'a' changes nothing"),
        (
            "step = [{name = \"base\", start = \"cold\"}]",
            "another name",
        ),
        (
            "step = [{name = \"a\", duration = 3}]",
            "unknown key 'duration'",
        ),
        (
            "step = [{name = \"a\", start = [\"cold\", \"warm\"]}]",
            "one value",
        ),
        (
            "step = [{name = \"a\", settings = {x = [1, 2]}}]",
            "one value",
        ),
        (
            "step = [{name = \"a\", knobs = {x = 1}}]",
            "names no engine",
        ),
        ("repeat 3", ""),
    ];

    #[test]
    fn every_wrong_value_is_refused_with_its_line_and_what_would_be_right() {
        for (line, says) in BAD_LINES {
            let message = refusal(&format!("workload = \"threen1\"\n{line}\n"));
            assert!(message.starts_with("plans/x.toml:2: "), "{line}: {message}");
            assert!(
                message.contains(says) && !message.contains('\n'),
                "{line}: {message}"
            );
        }
    }

    #[test]
    fn a_wrong_value_of_a_list_is_named_by_its_own_line() {
        let text = "workload = \"t\"\nrate = [\n  100,\n  -5,\n]\n";
        let message = refusal(text);
        assert!(message.starts_with("plans/x.toml:4: "), "{message}");
    }

    #[test]
    fn a_key_and_its_former_name_are_not_both_taken() {
        let text = "workload = \"t\"\ntime_slice = \"5ms\"\nturns = \"9ms\"\n";
        let message = refusal(text);
        let said = "plans/x.toml:3: 'time_slice' is given twice";
        assert!(message.starts_with(said), "{message}");
    }

    #[test]
    fn a_plan_without_a_workload_and_a_missing_file_are_refused() {
        assert!(refusal("repeat = 3\n").contains("names no workload"));
        let missing = PlanFile::read(Path::new("/nowhere/x.toml"))
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("/nowhere/x.toml: "), "{missing}");
    }
}
