//! Selectors of the trials to compare: `lmdb`, `lmdb,sync,workers=4,map_size=1GiB`.

use super::error::{AbsenceReason, Error, SelectorFault};
use crate::Run;
use crate::answer::continuation;
use crate::contender::ContenderNames;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use trueput_record::conditions::Condition;
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
    /// The contender's name as a report prints it, including the parentheses.
    whole: Option<String>,
    /// Ids of the trials that the name matches, if it is neither an engine nor a known contender.
    meant: Option<BTreeSet<String>>,
    named: Vec<(String, String)>,
    /// Parameters in the parentheses of a contender's name.
    inside: Vec<(String, String)>,
}

/// Splits at commas outside parentheses and brackets: `sqlite (page_size=4096, threads)` is one
/// word.
pub fn words(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0_i32, 0, Vec::new());
    for (place, character) in text.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth <= 0 => {
                found.push(&text[from..place]);
                from = place + 1;
            }
            _ => {}
        }
    }
    found.push(&text[from..]);
    found.into_iter().map(str::trim).collect()
}

/// A contender's name without the labels of its marks, as in `leveldb [assertions]`.
fn without_marks(word: &str) -> &str {
    match word.rsplit_once(" [") {
        Some((name, labels)) if labels.ends_with(']') => name.trim_end(),
        _ => word,
    }
}

/// Splits a word that ends in parentheses into the text before them and the text inside.
fn parenthesized(word: &str) -> Option<(&str, &str)> {
    let (head, inside) = word.strip_suffix(')')?.rsplit_once(" (")?;
    Some((head.trim_end(), inside))
}

/// The names and values between a contender's parentheses, separated as reports do or as users may.
fn values(inside: &str) -> Vec<(String, String)> {
    let separator = if inside.contains(", ") { ", " } else { "," };
    let pairs = inside.split(separator).filter_map(|it| it.split_once('='));
    let owned =
        |(name, value): (&str, &str)| (canonical(name.trim()).to_owned(), value.trim().to_owned());
    pairs.map(owned).collect()
}

/// The last components of a path, whatever folder it was in.
fn typed_path(word: &str) -> Option<(&str, PathBuf)> {
    let (engine, path) = word.split_once('@')?;
    let parts = Path::new(path).components();
    let named = parts.filter(|part| !matches!(part, Component::CurDir | Component::ParentDir));
    let path: PathBuf = named.collect();
    (path.file_name().is_some()).then_some((engine, path))
}

/// By trial, the names that reports have for its contender: of the whole run, and of each ranking.
fn reported_names(report: &Run) -> BTreeMap<&str, BTreeSet<String>> {
    let mut groups: BTreeMap<Option<(&str, &str)>, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in &report.trials {
        let ranking = (trial.spec.workload.as_str(), trial.spec.durability.name());
        groups.entry(None).or_default().push(trial);
        groups.entry(Some(ranking)).or_default().push(trial);
    }
    let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for trials in groups.values() {
        let of = ContenderNames::of(trials);
        for trial in trials {
            let known = names.entry(trial.spec.id.as_str()).or_default();
            known.insert(of.name(&trial.spec));
        }
    }
    names
}

impl Selector {
    /// Reads words with commas between them: an engine (`lmdb`) or one build of it
    /// (`lmdb@/opt/liblmdb.so`) or a contender as reports name it (`sqlite (page_size=4096)`), a
    /// level (`sync`), and `NAME=VALUE` for whatever a trial's line has: `workload`, `level`,
    /// `workers`, a setting, a knob, a condition.
    ///
    /// # Errors
    /// [`Error::Selector`] for two engines, or a word without a name or a value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut selector = Self {
            text: text.to_owned(),
            ..Self::default()
        };
        let wrong = |fault: SelectorFault| Error::Selector {
            text: text.to_owned(),
            fault,
        };
        for word in words(text).into_iter().map(without_marks) {
            let is_level = Durability::ALL.iter().any(|level| level.name() == word);
            let head = parenthesized(word).map_or(word, |(head, _)| head);
            // An address has both signs, and so has a value, as in fault=any:stall=2s@1s.
            let assigned = word
                .split_once('=')
                .filter(|(name, _)| !name.contains('@') && head == word);
            match assigned {
                Some(("", _) | (_, "")) => {
                    return Err(wrong(SelectorFault::LacksPart(word.to_owned())));
                }
                Some((name, value)) => selector.name(canonical(name), value),
                None if word.is_empty() => return Err(wrong(SelectorFault::EmptyWord)),
                None if is_level => selector.name("level", word),
                None => {
                    if let Some(first) = selector.contender.replace(head.to_owned()) {
                        let second = word.to_owned();
                        return Err(wrong(SelectorFault::TwoEngines { first, second }));
                    }
                    selector.whole = Some(word.to_owned());
                    let inside = parenthesized(word).map_or("", |(_, inside)| inside);
                    selector.inside = values(inside);
                }
            }
        }
        Ok(selector)
    }

    fn name(&mut self, name: &str, value: &str) {
        self.named.push((name.to_owned(), value.to_owned()));
    }

    /// The selector as typed; empty if every trial matches.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that it sets, in which two sides may differ.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        let named = self.named.iter().chain(&self.inside);
        named.map(|(name, _)| name.as_str()).collect()
    }

    /// Resolves the selector for a run. `sqlite` is the contender of that name if there is one,
    /// else any build of the engine, else a contender's name in a report, or a build by the end of
    /// its path.
    pub(super) fn within(mut self, report: &Run) -> Self {
        let (Some(word), Some(whole)) = (self.contender.clone(), self.whole.clone()) else {
            return self;
        };
        // A contender whose trials have not ended is not taken for another build of its engine.
        let ended = report.trials.iter().map(|trial| &trial.spec);
        let specs: Vec<&TrialSpec> = report.manifest.trials.iter().chain(ended).collect();
        self.exact = specs.iter().any(|spec| spec.contender() == word);
        let is_engine = specs.iter().any(|spec| spec.engine == word);
        let is_name = whole == word && (self.exact || is_engine);
        if !is_name {
            self.meant = trials_of_contender(report, &specs, &whole);
        }
        if self.meant.is_none() {
            self.named.extend(self.inside.iter().cloned());
        }
        self
    }

    /// The contenders among these trials that its word matches, if there are several.
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
        let is_meant = match (&self.meant, &self.contender) {
            (Some(ids), _) => ids.contains(&spec.id),
            (None, Some(word)) => of_engine(word) || *word == spec.contender(),
            (None, None) => true,
        };
        is_meant
            && self
                .named
                .iter()
                .all(|(name, wanted)| fits(spec, name, wanted))
    }

    /// Explains why none of these trials matches.
    pub(super) fn explain(&self, report: &Run) -> AbsenceReason {
        let trials = &report.trials;
        let all = |of: &dyn Fn(&TrialSpec) -> Option<String>| -> BTreeSet<String> {
            trials.iter().filter_map(|trial| of(&trial.spec)).collect()
        };
        if let Some(word) = &self.contender {
            let engines = all(&|spec| Some(spec.engine.clone()));
            let contenders = all(&|spec| Some(spec.contender()));
            let of_engine = !self.exact && engines.contains(word);
            if self.meant.is_none() && !of_engine && !contenders.contains(word) {
                if report.manifest.trials.iter().any(|spec| self.admits(spec)) {
                    return AbsenceReason::Unfinished {
                        word: self.whole.as_ref().unwrap_or(word).clone(),
                        command: continuation(report),
                    };
                }
                return AbsenceReason::Contender {
                    hint: did_you_mean(word, engines.iter().map(String::as_str)),
                    word: self.whole.as_ref().unwrap_or(word).clone(),
                    present: selectable_names(report),
                };
            }
        }
        for (name, wanted) in &self.named {
            let known = all(&|spec| property(spec, name));
            let name = name.clone();
            if known.is_empty() {
                let present = selectable_names(report);
                return AbsenceReason::Parameter { name, present };
            }
            if !trials.iter().any(|trial| fits(&trial.spec, &name, wanted)) {
                return AbsenceReason::Value {
                    name,
                    wanted: wanted.clone(),
                    known: known.into_iter().collect(),
                };
            }
        }
        AbsenceReason::Combination(self.text.clone())
    }
}

/// The trials of the contender with that name in a report, else those of a build whose path ends
/// so.
fn trials_of_contender(
    report: &Run,
    specs: &[&TrialSpec],
    whole: &str,
) -> Option<BTreeSet<String>> {
    let named = reported_names(report);
    let named = named.iter().filter(|(_, names)| names.contains(whole));
    let named: BTreeSet<_> = named.map(|(id, _)| (*id).to_owned()).collect();
    if !named.is_empty() {
        return Some(named);
    }
    let word = parenthesized(whole).map_or(whole, |(head, _)| head);
    let (engine, path) = typed_path(word)?;
    let built = specs.iter().filter(|spec| {
        let build = spec.build.as_ref();
        spec.engine == engine && build.is_some_and(|build| build.ends_with(&path))
    });
    let built: BTreeSet<_> = built.map(|spec| spec.id.clone()).collect();
    (!built.is_empty()).then_some(built)
}

/// The contenders of a run by names that select them, with the knobs and conditions in which they
/// differ.
#[must_use]
pub fn selectable_names(report: &Run) -> Vec<String> {
    let trials: Vec<&TrialRecord> = report.trials.iter().collect();
    let names = ContenderNames::of(&trials);
    let specs = || trials.iter().map(|trial| &trial.spec);
    let contenders: BTreeSet<_> = specs().map(TrialSpec::contender).collect();
    let names: BTreeSet<_> = specs().map(|spec| names.name(spec)).collect();
    let all = if names.len() > contenders.len() {
        names
    } else {
        contenders
    };
    all.into_iter().collect()
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

/// The value of a named property of a trial.
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
    let stated = |values: &trueput_record::value::Settings| values.get(name).map(Value::to_string);
    let condition = || {
        let name = Condition::named(name)?.parameter.name;
        let mut named = spec.conditions.named().into_iter();
        named
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    own.or_else(|| stated(&spec.settings))
        .or_else(|| stated(&spec.knobs))
        .or_else(condition)
}
