//! Engines as plug-ins: shared libraries of others that implement `include/trueput_engine.h`.
//!
//! A plug-in describes itself by data in its file, which is read without loading it; only workers
//! load it, as they open a database.

mod abi;
mod database;
mod description;
mod error;
mod knob;
mod rule;
mod session;
mod symbols;
mod table;

use crate::library::search::{installed_plugin, installed_plugins, plugin_name};
use crate::library::{self, FileCache, build_of};
use database::{PluginDatabase, with_open};
use description::PluginDescription;
pub use description::check_name;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use table::PluginTable;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, EngineSource, Error, Info,
    Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Value,
};

/// Keeps a text as long as the process: a description is read once per file.
fn leaked(text: String) -> &'static str {
    String::leak(text)
}

/// An engine that is a plug-in.
#[derive(Clone)]
pub(crate) struct Plugin {
    path: PathBuf,
    description: &'static PluginDescription,
}

impl Plugin {
    /// Reads the description of the plug-in in this file.
    ///
    /// # Errors
    /// One line that names the file and what is wrong.
    fn read(path: &Path) -> Result<Self> {
        static READ: FileCache<PluginDescription> = FileCache::new();
        let path = library::full_path(path)?;
        let description = READ.get(&path, |path| {
            let text = symbols::description_text(path)?;
            PluginDescription::parse(&text).map_err(|reason| {
                Error::engine(format!("{}: description: {reason}", path.display()))
            })
        })?;
        Ok(Self { path, description })
    }

    fn table(&self) -> Result<&'static PluginTable> {
        PluginTable::of(&self.path)
    }
}

impl Engine for Plugin {
    fn info(&self) -> Info {
        self.description.info
    }

    fn build(&self) -> Result<Build> {
        library::full_path(&self.path)?;
        Ok(build_of(
            self.path.clone(),
            self.description.version.clone(),
        ))
    }

    fn capabilities(&self) -> Capabilities {
        self.description.capabilities
    }

    fn has_server(&self) -> bool {
        self.description.has_server
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let described = self.description;
        rule::promise_of(described.info.name, &described.levels, durability, knobs)
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let mut rules = self.description.isolation.iter();
        let met = rules.find(|rule| rule.when.is_met_by(knobs));
        met.map(|rule| rule.level)
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        self.description.isolation_knobs
    }

    fn knobs(&self) -> &'static [Parameter] {
        self.description.knobs
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let described = self.description;
        let entry = described.cache_knob.as_ref();
        let entry = entry.ok_or(described.no_cache_knob)?;
        let value = described.knobs.iter().find(|knob| knob.name == entry.name);
        let value = value.and_then(|knob| Some((knob.name, knobs.get(knob.name)?)));
        let Some((name, Value::Integer(units))) = value else {
            return Err("sizes its cache itself");
        };
        Ok(CacheKnob {
            name,
            unit_bytes: entry.unit_bytes,
            per_session: entry.per_session,
            size_bytes: u64::try_from(*units)
                .unwrap_or(0)
                .saturating_mul(entry.unit_bytes),
        })
    }

    fn workaround(&self, knobs: &ParameterValues) -> Option<String> {
        rule::remarks_of(&self.description.workarounds, knobs)
    }

    fn known_defect(&self, knobs: &ParameterValues) -> Option<String> {
        rule::remarks_of(&self.description.known_defects, knobs)
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        self.description.audit_knobs
    }

    fn prepare_after_power_loss(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let Some(prepare) = self.table()?.database.prepare_after_power_loss else {
            return Ok(());
        };
        // SAFETY: the header says when it is called; all that `open` points to is there meanwhile.
        with_open(spec, self.description.knobs, |open, error| unsafe {
            prepare(open, error)
        })
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let Some(check) = self.table()?.database.check_files else {
            return Ok(());
        };
        // SAFETY: the database is closed; all that `open` points to is there during the call.
        with_open(spec, self.description.knobs, |open, error| unsafe {
            check(open, error)
        })
    }

    fn library_files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let (name, other) = (self.info().name, Self::read(library)?);
        if other.info().name != name {
            return Err(Error::Unsupported(format!(
                "{} is the plug-in of {}, not of {name}",
                library.display(),
                other.info().name
            )));
        }
        Ok(Box::new(other))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        self.with_library(library)
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        let described = self.description;
        let database =
            PluginDatabase::open(self.table()?, spec, described.knobs, described.limits)?;
        Ok(Box::new(database))
    }
}

/// The plug-ins that were named in this process, and those that are installed.
pub struct Plugins {
    named: Mutex<Vec<&'static Plugin>>,
    installable: fn() -> Vec<&'static str>,
}

impl Plugins {
    /// None yet; `installable` returns the names of those that can be installed.
    #[must_use]
    pub const fn new(installable: fn() -> Vec<&'static str>) -> Self {
        Self {
            named: Mutex::new(Vec::new()),
            installable,
        }
    }

    /// Reads the plug-in that is installed in this file, whose name has that of the engine.
    fn read_installed(file: &Path) -> Result<&'static dyn Engine> {
        let plugin = Plugin::read(file)?;
        let (own, expected) = (plugin.info().name, plugin_name(file));
        if expected.as_deref() == Some(own) {
            return Ok(Box::leak(Box::new(plugin)));
        }
        Err(Error::engine(format!(
            "{} is the plug-in of {own}, and its name says another one",
            file.display()
        )))
    }
}

impl EngineSource for Plugins {
    fn find(&self, name: &str) -> Option<Result<&'static dyn Engine>> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let found = named.iter().find(|plugin| plugin.info().name == name);
        if let Some(plugin) = found.copied() {
            return Some(Ok(plugin));
        }
        drop(named);
        let file = installed_plugin(name)?;
        Some(file.and_then(|file| Self::read_installed(&file)))
    }

    fn read(&self, library: &Path) -> Result<&'static dyn Engine> {
        let read = Plugin::read(library)?;
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = named.iter().find(|plugin| plugin.path == read.path) {
            return Ok(*same);
        }
        let plugin: &'static Plugin = Box::leak(Box::new(read));
        named.push(plugin);
        Ok(plugin)
    }

    fn installed(&self) -> Vec<Result<&'static dyn Engine>> {
        let files = installed_plugins().into_iter();
        files
            .map(|file| file.and_then(|file| Self::read_installed(&file)))
            .collect()
    }

    fn installable(&self) -> Vec<&'static str> {
        (self.installable)()
    }
}
