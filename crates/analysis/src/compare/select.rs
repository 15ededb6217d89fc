//! Which trials of a run a comparison is about: `lmdb`, `lmdb,sync,workers=4,map_size=1GiB`.

use super::Error;
use std::collections::BTreeSet;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::parse_bytes;
use trueput_record::{Durability, TrialRecord, TrialSpec, Value};

/// Words that a trial must fit, every one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selector {
    text: String,
    contender: Option<String>,
    /// Whether the word is a contender's whole name in the run: then it means no other build of the
    /// engine.
    exact: bool,
    named: Vec<(String, String)>,
}

impl Selector {
    /// Reads words with commas between them: an engine (`lmdb`) or one build of it
    /// (`lmdb@/opt/liblmdb.so`), a level (`sync`), and `NAME=VALUE` for whatever a trial's line has:
    /// `workload`, `level`, `workers`, a setting, a knob, a condition.
    ///
    /// # Errors
    /// [`Error::Selector`] for two engines, or a word without a name or a value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut selector = Self {
            text: text.to_owned(),
            ..Self::default()
        };
        let wrong = |message: String| Error::Selector {
            text: text.to_owned(),
            message,
        };
        for word in text.split(',').map(str::trim) {
            let is_level = Durability::ALL.iter().any(|level| level.name() == word);
            match word.split_once('=') {
                Some(("", _) | (_, "")) => {
                    return Err(wrong(format!("'{word}' lacks its name or its value")));
                }
                Some((name, value)) => selector.name(canonical(name), value),
                None if word.is_empty() => {
                    return Err(wrong("write an engine, a level or NAME=VALUE".to_owned()));
                }
                None if is_level => selector.name("level", word),
                None => {
                    if let Some(first) = selector.contender.replace(word.to_owned()) {
                        return Err(wrong(format!("it names two engines, {first} and {word}")));
                    }
                }
            }
        }
        Ok(selector)
    }

    fn name(&mut self, name: &str, value: &str) {
        self.named.push((name.to_owned(), value.to_owned()));
    }

    /// The text that it was read from; empty where every trial fits.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it names by name, so that two sides may differ in it.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.named.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// As it is to be read for a run of these trials: `sqlite` is the contender of that name where
    /// there is one, and else any build of the engine.
    pub(super) fn within<'a>(mut self, specs: impl IntoIterator<Item = &'a TrialSpec>) -> Self {
        let word = self.contender.as_deref();
        let is_whole_name = |word| specs.into_iter().any(|spec| spec.contender() == word);
        self.exact = word.is_some_and(is_whole_name);
        self
    }

    /// The contenders among these trials that its word could mean, where these are several.
    pub(super) fn candidates<'a>(
        &self,
        specs: impl IntoIterator<Item = &'a TrialSpec>,
    ) -> Option<(&str, Vec<String>)> {
        let word = self.contender.as_deref()?;
        let meant = specs.into_iter().filter(|spec| self.admits(spec));
        let meant: BTreeSet<_> = meant.map(TrialSpec::contender).collect();
        (meant.len() > 1).then(|| (word, meant.into_iter().collect()))
    }

    /// Whether a trial fits.
    #[must_use]
    pub fn admits(&self, spec: &TrialSpec) -> bool {
        let of_engine = |word: &String| !self.exact && *word == spec.engine;
        let contender = self.contender.as_ref();
        contender.is_none_or(|word| of_engine(word) || *word == spec.contender())
            && self
                .named
                .iter()
                .all(|(name, wanted)| fits(spec, name, wanted))
    }

    /// Why none of these trials fits.
    pub(super) fn explain(&self, trials: &[TrialRecord]) -> String {
        let all = |of: &dyn Fn(&TrialSpec) -> Option<String>| -> BTreeSet<String> {
            trials.iter().filter_map(|trial| of(&trial.spec)).collect()
        };
        let listed = |values: &BTreeSet<String>| {
            values
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        if let Some(word) = &self.contender {
            let engines = all(&|spec| Some(spec.engine.clone()));
            let contenders = all(&|spec| Some(spec.contender()));
            let of_engine = !self.exact && engines.contains(word);
            if !of_engine && !contenders.contains(word) {
                let hint = did_you_mean(word, engines.iter().map(String::as_str));
                let has = listed(&contenders);
                return format!("no trial of '{word}'{hint}; it has {has}");
            }
        }
        for (name, wanted) in &self.named {
            let values = all(&|spec| property(spec, name));
            if values.is_empty() {
                return format!("no trial has a setting, knob or condition '{name}'");
            }
            if !trials.iter().any(|trial| fits(&trial.spec, name, wanted)) {
                return format!(
                    "no trial with {name}={wanted}; {name} is {}",
                    listed(&values)
                );
            }
        }
        format!("no trial fits all of '{}'", self.text)
    }
}

fn canonical(name: &str) -> &str {
    match name {
        "durability" => "level",
        "file_system" => "filesystem",
        other => other,
    }
}

fn fits(spec: &TrialSpec, name: &str, wanted: &str) -> bool {
    let Some(found) = property(spec, name) else {
        return false;
    };
    // On, yes and true are one value, and so are 1GiB and 1073741824.
    found == wanted
        || Value::parse(&found) == Value::parse(wanted)
        || parse_bytes(wanted).is_ok_and(|bytes| found == bytes.to_string())
}

/// What a trial's line says under a name.
pub(super) fn property(spec: &TrialSpec, name: &str) -> Option<String> {
    let own = match name {
        "workload" => Some(spec.workload.clone()),
        "engine" => Some(spec.engine.clone()),
        "level" => Some(spec.durability.name().to_owned()),
        "workers" => Some(spec.workers.to_string()),
        "worker_kind" => Some(spec.worker_kind.name().to_owned()),
        "verify" => Some(spec.verify.name().to_owned()),
        "seed" => Some(spec.seed.to_string()),
        "cell" => Some(spec.cell.to_string()),
        _ => None,
    };
    let stated = |values: &trueput_record::trial::Settings| values.get(name).map(Value::to_string);
    let condition = || {
        let mut named = spec.conditions.named().into_iter();
        named
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    own.or_else(|| stated(&spec.settings))
        .or_else(|| stated(&spec.knobs))
        .or_else(condition)
}
