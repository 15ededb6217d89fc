//! The description of a plug-in: what its author says of the engine.

use super::knob::KnobEntry;
use super::leaked;
use super::rule::{Condition, IsolationRule, LevelRule, RemarkRule};
use serde::Deserialize;
use std::collections::BTreeMap;
use trueput_engine::common_errors::LengthLimits;
use trueput_engine::{Capabilities, Info, PLUGIN_INSTALL, Parameter, ValueKind};

/// A name has 1 to this many letters: it heads columns.
const MAX_NAME_LENGTH: usize = 32;
/// The most records in a batch of a scan.
const MAX_SCAN_BATCH: u32 = 4096;
/// Names that mean something else where an engine is named.
const RESERVED_NAMES: [&str; 9] = [
    "plugin", "present", "storage", "all", "quick", "list", "new", "install", "help",
];

/// A description, as the plug-in's file has it; docs/PLUGINS.md lists the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object, as in docs/PLUGINS.md")]
struct DescriptionText {
    name: String,
    title: String,
    summary: String,
    version: String,
    license: String,
    homepage: String,
    capabilities: CapabilityClaims,
    /// Whether the plug-in starts a server as it opens a database.
    #[serde(default)]
    server: bool,
    levels: Vec<LevelRule>,
    #[serde(default)]
    isolation: Vec<IsolationRule>,
    #[serde(default)]
    isolation_knobs: Vec<String>,
    #[serde(default)]
    knobs: Vec<KnobEntry>,
    #[serde(default)]
    cache_knob: Option<CacheKnobEntry>,
    /// Why no knob sizes a cache, in words that follow the engine's name.
    #[serde(default)]
    no_cache_knob: Option<String>,
    #[serde(default)]
    audit_knobs: BTreeMap<String, KnobText>,
    #[serde(default)]
    workarounds: Vec<RemarkRule>,
    #[serde(default)]
    known_defects: Vec<RemarkRule>,
    #[serde(default = "one_record")]
    scan_batch: u32,
}

const fn one_record() -> u32 {
    1
}

/// What the engine can do. Each claim enables checks of the conformance suite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapabilityClaims {
    several_processes: bool,
    concurrent_writers: bool,
    atomic_transactions: bool,
    snapshot_reads: bool,
    max_key_bytes: usize,
    max_value_bytes: usize,
}

/// The knob that sizes the engine's own cache.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CacheKnobEntry {
    pub(super) name: String,
    #[serde(default = "one_byte")]
    pub(super) unit_bytes: u64,
    #[serde(default)]
    pub(super) per_session: bool,
}

const fn one_byte() -> u64 {
    1
}

/// A value of a knob as the command line has it. JSON may have it as a number or a Boolean.
#[derive(Debug, Deserialize)]
#[serde(try_from = "serde_json::Value")]
struct KnobText(String);

impl TryFrom<serde_json::Value> for KnobText {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, String> {
        match value {
            serde_json::Value::String(text) => Ok(Self(text)),
            serde_json::Value::Number(_) | serde_json::Value::Bool(_) => {
                Ok(Self(value.to_string()))
            }
            other => Err(format!("{other} is no value of a knob")),
        }
    }
}

/// What trueput knows of a plug-in before it loads it.
#[derive(Debug)]
pub(super) struct PluginDescription {
    pub(super) info: Info,
    pub(super) version: String,
    pub(super) capabilities: Capabilities,
    pub(super) has_server: bool,
    pub(super) knobs: &'static [Parameter],
    pub(super) levels: Vec<LevelRule>,
    pub(super) isolation: Vec<IsolationRule>,
    pub(super) isolation_knobs: &'static [&'static str],
    pub(super) cache_knob: Option<CacheKnobEntry>,
    pub(super) no_cache_knob: &'static str,
    pub(super) audit_knobs: &'static [(&'static str, &'static str)],
    pub(super) workarounds: Vec<RemarkRule>,
    pub(super) known_defects: Vec<RemarkRule>,
    pub(super) limits: PluginLimits,
}

/// What the description limits in every call.
#[derive(Debug, Clone, Copy)]
pub(super) struct PluginLimits {
    pub(super) lengths: LengthLimits,
    /// The most records that a call of a scan returns.
    pub(super) scan_batch: u32,
}

impl PluginDescription {
    /// Reads a description.
    ///
    /// # Errors
    /// The field that is wrong, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut given: DescriptionText =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        check_name(&given.name).map_err(|reason| format!("name: {reason}"))?;
        let name = leaked(std::mem::take(&mut given.name));
        let knobs = std::mem::take(&mut given.knobs);
        let knobs: Result<Vec<_>, _> = knobs.into_iter().map(KnobEntry::parameter).collect();
        let knobs: &'static [Parameter] = Vec::leak(knobs?);
        check_unique(knobs)?;
        given.check(name, knobs)?;
        let isolation_knobs = std::mem::take(&mut given.isolation_knobs);
        let isolation_knobs: Vec<_> = isolation_knobs.into_iter().map(leaked).collect();
        let audit_knobs = std::mem::take(&mut given.audit_knobs).into_iter();
        let audit_knobs: Vec<_> = audit_knobs
            .map(|(knob, value)| (leaked(knob), leaked(value.0)))
            .collect();
        let claims = &given.capabilities;
        let limits = PluginLimits {
            lengths: LengthLimits::new(claims.max_key_bytes, claims.max_value_bytes),
            scan_batch: given.scan_batch,
        };
        let no_cache_knob = given.no_cache_knob.take();
        Ok(Self {
            info: Info {
                name,
                title: leaked(given.title),
                summary: leaked(given.summary),
                license: leaked(given.license),
                homepage: leaked(given.homepage),
                install: PLUGIN_INSTALL,
            },
            version: given.version,
            capabilities: Capabilities {
                several_processes: claims.several_processes,
                concurrent_writers: claims.concurrent_writers,
                atomic_transactions: claims.atomic_transactions,
                snapshot_reads: claims.snapshot_reads,
                ..Capabilities::transactional(claims.max_key_bytes, claims.max_value_bytes)
            },
            has_server: given.server,
            knobs,
            levels: given.levels,
            isolation: given.isolation,
            isolation_knobs: Vec::leak(isolation_knobs),
            cache_knob: given.cache_knob,
            no_cache_knob: no_cache_knob.map_or("has no knob that sizes a cache", leaked),
            audit_knobs: Vec::leak(audit_knobs),
            workarounds: given.workarounds,
            known_defects: given.known_defects,
            limits,
        })
    }
}

impl DescriptionText {
    /// Checks what depends on several fields, and brings the values of conditions to the types of
    /// the knobs.
    fn check(&mut self, name: &str, knobs: &[Parameter]) -> Result<(), String> {
        if self.levels.is_empty() {
            return Err("levels: it has none; an engine that promises nothing has 'none'".into());
        }
        for (field, text) in [("title", &self.title), ("version", &self.version)] {
            if text.trim().is_empty() {
                return Err(format!("{field}: it is empty"));
            }
        }
        if self.capabilities.max_key_bytes == 0 {
            return Err("capabilities: max_key_bytes is 1 or more".to_owned());
        }
        if !(1..=MAX_SCAN_BATCH).contains(&self.scan_batch) {
            return Err(format!("scan_batch is 1 to {MAX_SCAN_BATCH}"));
        }
        let resolve = |condition: &mut Condition, field: &str| {
            let resolved = condition.resolve(name, knobs);
            resolved.map_err(|reason| format!("{field}: when: {reason}"))
        };
        for rule in &mut self.levels {
            resolve(&mut rule.when, "levels")?;
            rule.check(knobs)
                .map_err(|reason| format!("levels: {reason}"))?;
        }
        self.check_reachable()?;
        for rule in &mut self.isolation {
            resolve(&mut rule.when, "isolation")?;
        }
        for rule in &mut self.workarounds {
            resolve(&mut rule.when, "workarounds")?;
        }
        for rule in &mut self.known_defects {
            resolve(&mut rule.when, "known_defects")?;
        }
        self.check_named_knobs(name, knobs)
    }

    /// Checks that no entry of a level comes after one that always applies.
    fn check_reachable(&self) -> Result<(), String> {
        for (index, rule) in self.levels.iter().enumerate() {
            let mut earlier = self.levels[..index].iter();
            if earlier.any(|one| one.durability == rule.durability && one.when.is_empty()) {
                return Err(format!(
                    "levels: a second entry for {} never applies: the one before it has no 'when'",
                    rule.durability
                ));
            }
        }
        Ok(())
    }

    /// Checks the knobs that are named elsewhere than among the knobs.
    fn check_named_knobs(&self, engine: &str, knobs: &[Parameter]) -> Result<(), String> {
        let kind_of = |field: &str, name: &str| {
            let knob = knobs.iter().find(|knob| knob.name == name);
            let knob = knob.ok_or_else(|| format!("{field}: {engine} has no knob '{name}'"))?;
            Ok::<_, String>(knob.kind)
        };
        for name in &self.isolation_knobs {
            let kind = kind_of("isolation_knobs", name)?;
            if !matches!(kind, ValueKind::Boolean { .. } | ValueKind::Choice { .. }) {
                return Err(format!(
                    "isolation_knobs: '{name}' is neither a choice nor a Boolean"
                ));
            }
        }
        if let Some(entry) = &self.cache_knob {
            let kind = kind_of("cache_knob", &entry.name)?;
            if !matches!(kind, ValueKind::Integer { .. } | ValueKind::Bytes { .. }) {
                return Err(format!(
                    "cache_knob: '{}' is neither an integer nor bytes",
                    entry.name
                ));
            }
            if entry.unit_bytes == 0 {
                return Err("cache_knob: unit_bytes is 1 or more".to_owned());
            }
        }
        for (name, value) in &self.audit_knobs {
            let read = kind_of("audit_knobs", name)?.read(&value.0);
            read.map_err(|error| format!("audit_knobs: {name}: {error}"))?;
        }
        for name in self.levels.iter().flat_map(LevelRule::named_knobs) {
            kind_of("levels", name)?;
        }
        Ok(())
    }
}

/// Checks the name of a plug-in's engine.
///
/// # Errors
/// What is wrong with it, and what would be right.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    if !begins || name.len() > MAX_NAME_LENGTH || !name.bytes().all(is_letter) {
        return Err(format!(
            "'{name}' is not 1 to {MAX_NAME_LENGTH} of a-z, 0-9 and -, the first of a-z"
        ));
    }
    if RESERVED_NAMES.contains(&name) {
        return Err(format!("'{name}' has another meaning; choose another"));
    }
    Ok(())
}

fn check_unique(knobs: &[Parameter]) -> Result<(), String> {
    for (index, knob) in knobs.iter().enumerate() {
        if knobs[..index]
            .iter()
            .any(|earlier| earlier.name == knob.name)
        {
            return Err(format!("knob '{}' is described twice", knob.name));
        }
    }
    Ok(())
}
