//! `trueput engines`: lists engines and their builds, installs them, and begins new ones.

mod details;
mod install;
mod new;
mod overview;

use crate::failure::Failure;
use crate::named_engine::find_engine;
use crate::output::{self, ChartsWhen};
use crate::screen::Screen;
use crate::table;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_engine::parameter::resolve;
use trueput_engine::{Build, Durability, Engine, Isolation, Promise};
use trueput_findings::audits::AuditState;
use trueput_record::value::Settings;
use trueput_report::{Format, render_with};
use trueput_runner::{AuditStore, AuditSubject, Registry};

const EXAMPLES: &str = "\
Examples:
  trueput engines
  trueput engines --full        # with libraries' paths, and how to install what is not here
  trueput engines lmdb ./libmine.so     # their levels, with settings and sources
  trueput engines --json | jq '.[] | select(.present) | .name'
  trueput engines install bbolt             # a plug-in that comes with trueput
  trueput engines new mine --language c     # a plug-in of your own, that builds at once";

/// The arguments of `trueput engines`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Describe these engines, each perhaps with a build, or the path of a plug-in [default: list
    /// all]
    #[arg(value_name = "ENGINE")]
    engines: Vec<String>,
    /// Write JSON, with the engine's settings for each level and the document that describes them
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
}

/// What else there is to do with engines than to list them.
#[derive(Debug, Subcommand)]
enum Action {
    /// Write the folder of a new engine, a plug-in that builds, conforms and is measured at once
    New(new::Arguments),
    /// Install engines: libraries, servers, and the plug-ins that come with trueput
    Install(install::Arguments),
}

/// Lists the engines, installs some, or begins a new one.
///
/// # Errors
/// If standard output is closed; as [`new::run`] and [`install::run`].
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Some(Action::New(arguments)) => return new::run(arguments, registry),
        Some(Action::Install(arguments)) => return install::run(arguments),
        None => {}
    }
    let program = std::env::current_exe().ok();
    let audits = program.and_then(|program| AuditStore::of_user(&program));
    if !arguments.engines.is_empty() {
        return describe(arguments, registry, audits.as_ref());
    }
    let listed: Vec<EngineListing> = registry
        .engines
        .iter()
        .map(|&engine| EngineListing::of(engine, engine.info().name, audits.as_ref()))
        .collect();
    if arguments.json {
        output::json(&listed.iter().map(described).collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.screen.full {
        let rows: Vec<_> = listed.iter().flat_map(rows).collect();
        let header = [
            "engine",
            "version",
            "workers",
            "durability",
            "isolation",
            "from",
        ];
        output::write(&table::align(header, &rows))?;
        output::write("\n")?;
        let style = arguments.screen.style(ChartsWhen::Never);
        let text = render_with(&overview::closing(&listed), style, "--full");
        output::document(&text, Format::Terminal)?;
    } else {
        let style = arguments.screen.style(ChartsWhen::Never);
        let text = render_with(&overview::overview(&listed), style, "--full");
        output::document(&text, Format::Terminal)?;
    }
    let cautions = registry
        .engines
        .iter()
        .filter_map(|engine| engine.build_warning());
    for line in trueput_drivers::ignored_folders()
        .into_iter()
        .chain(cautions)
    {
        output::note(&line);
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes the engines that were named.
fn describe(
    arguments: &Arguments,
    registry: &Registry,
    audits: Option<&AuditStore>,
) -> Result<ExitCode, Failure> {
    let mut described_engines = Vec::new();
    let mut blocks = Vec::new();
    for text in &arguments.engines {
        let (name, engine) = find_engine(text, registry)?;
        let listed = EngineListing::of(engine, name, audits);
        described_engines.push(described(&listed));
        blocks.extend(details::details(name, &listed));
    }
    if arguments.json {
        output::json(&described_engines.into())?;
    } else {
        let style = arguments.screen.style(ChartsWhen::Never);
        output::document(&render_with(&blocks, style, "--json"), Format::Terminal)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An engine with its builds on this machine, the one that is used by default first.
struct EngineListing {
    engine: &'static dyn Engine,
    builds: Vec<LibraryListing>,
    /// The engine's message if no library was found.
    missing: Option<String>,
}

/// A library that was found, with its version or its error.
struct LibraryListing {
    library: Option<PathBuf>,
    build: Result<Build, String>,
    /// The audits of its promises with default knobs, by level; those without one are left out.
    audits: Vec<(Durability, AuditState)>,
    /// The levels that it promises.
    levels: Vec<Durability>,
}

impl EngineListing {
    /// Lists an engine, of which audits know the default build by the name of a contender.
    fn of(engine: &'static dyn Engine, contender: &str, audits: Option<&AuditStore>) -> Self {
        let found = |path: PathBuf| {
            let loaded = engine.with_library(&path);
            let contender = format!("{}@{}", engine.info().name, path.display());
            let audits = loaded
                .as_ref()
                .map(|loaded| known(audits, &**loaded, &contender));
            let audits = audits.unwrap_or_default();
            LibraryListing {
                levels: loaded
                    .as_ref()
                    .map_or_else(|_| Vec::new(), |loaded| levels(&**loaded)),
                audits,
                build: loaded
                    .and_then(|engine| engine.build())
                    .map_err(|error| error.to_string()),
                library: Some(path),
            }
        };
        let mut builds: Vec<_> = engine.library_files().into_iter().map(found).collect();
        let default = engine.build();
        if let Ok(build) = &default {
            // The default comes first.
            builds.retain(|found| found.library != build.library);
            let audits = known(audits, engine, contender);
            let default = LibraryListing {
                library: build.library.clone(),
                build: Ok(build.clone()),
                levels: levels(engine),
                audits,
            };
            builds.insert(0, default);
        }
        Self {
            engine,
            builds,
            missing: default.err().map(|error| error.to_string()),
        }
    }
}

impl EngineListing {
    /// The builds that are not installed, with the command to install each; an engine with a single
    /// build stands for itself.
    fn to_install(&self) -> Vec<(&'static str, &'static str)> {
        let info = self.engine.info();
        let known = self.engine.installable_builds();
        if known.is_empty() {
            let absent = self.builds.is_empty().then_some((info.title, info.install));
            return absent.into_iter().collect();
        }
        let libraries: Vec<_> = self
            .builds
            .iter()
            .filter_map(|found| Some(found.library.as_ref()?.to_string_lossy()))
            .collect();
        let here = |path: &str| libraries.iter().any(|library| library.contains(path));
        let absent = known.iter().filter(|build| !here(build.path));
        absent.map(|build| (build.title, build.install)).collect()
    }
}

/// Returns the audits of an engine's promises with default knobs.
fn known(
    audits: Option<&AuditStore>,
    engine: &dyn Engine,
    contender: &str,
) -> Vec<(Durability, AuditState)> {
    let state = |promise: Promise| {
        let standing = audits?.find(&AuditSubject {
            engine,
            contender: contender.to_owned(),
            durability: promise.durability,
            knobs: &Settings::new(),
        })?;
        Some((promise.durability, AuditState::of(&standing)))
    };
    promises(engine).filter_map(state).collect()
}

/// The levels at which an engine promises something.
fn levels(engine: &dyn Engine) -> Vec<Durability> {
    promises(engine).map(|promise| promise.durability).collect()
}

impl LibraryListing {
    /// The levels in words, with the audits of those for which there is a note:
    /// `sync (kill 30, journal 417), async`.
    fn noted_levels(&self, note: impl Fn(&AuditState) -> Option<String>) -> String {
        let level = |level: &Durability| {
            let mut known = self.audits.iter();
            let state = known.find(|(audited, _)| audited == level);
            let note = state.and_then(|(_, state)| note(state));
            note.map_or_else(|| level.to_string(), |note| format!("{level} ({note})"))
        };
        let levels: Vec<_> = self.levels.iter().map(level).collect();
        levels.join(", ")
    }
}

/// A row for each build that is here, and for each that could be installed.
fn rows(listed: &EngineListing) -> Vec<[String; 6]> {
    let engine = listed.engine;
    let row = |version: &str, levels: String, from: String| {
        [
            engine.info().name.to_owned(),
            version.to_owned(),
            workers(engine).to_owned(),
            levels,
            isolation(engine)
                .map_or("not stated", Isolation::name)
                .to_owned(),
            from,
        ]
    };
    let of_build = |found: &LibraryListing| {
        let library = found.library.as_ref().map(|path| path.display());
        let from = library.map_or_else(|| "compiled in".to_owned(), |path| path.to_string());
        let levels = found.noted_levels(|state| Some(state.to_string()));
        match &found.build {
            Ok(build) if build.assertions == Some(true) => {
                let flag = "built with assertions: not comparable";
                let from = format!("{from} ({flag})");
                row(short(&build.version), levels, from)
            }
            Ok(build) => row(short(&build.version), levels, from),
            Err(reason) => row("unusable", String::new(), reason.clone()),
        }
    };
    let mut rows: Vec<_> = listed.builds.iter().map(of_build).collect();
    // A relative that is not here may lack levels that the engine has.
    let own_levels = |title: &str| {
        let own = (title == engine.info().title).then(|| levels(engine));
        let own = own.into_iter().flatten();
        let names: Vec<_> = own.map(|level| level.to_string()).collect();
        names.join(", ")
    };
    let absent = listed.to_install().into_iter();
    rows.extend(absent.map(|(title, install)| {
        let from = format!("{title}: {install}");
        row("not installed", own_levels(title), from)
    }));
    rows
}

/// The number in a version that comes with a date or a source id; JSON has it whole.
pub fn short(version: &str) -> &str {
    let number = version
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.map_or(version, |word| word.trim_end_matches([':', ',']))
}

fn workers(engine: &dyn Engine) -> &'static str {
    if engine.capabilities().several_processes {
        "processes"
    } else {
        "threads"
    }
}

/// The isolation level that the driver states with default knobs.
fn isolation(engine: &dyn Engine) -> Option<Isolation> {
    let knobs = resolve(engine.info().name, engine.knobs(), &Settings::new()).ok()?;
    engine.isolation(&knobs)
}

fn promises(engine: &dyn Engine) -> impl Iterator<Item = Promise> {
    Durability::ALL
        .into_iter()
        .filter_map(|level| engine.promise(level))
}

fn described(listed: &EngineListing) -> Value {
    let engine = listed.engine;
    let info = engine.info();
    let capabilities = engine.capabilities();
    json!({
        "name": info.name,
        "title": info.title,
        "summary": info.summary,
        "present": listed.builds.iter().any(|found| found.build.is_ok()),
        "builds": listed.builds.iter().map(described_build).collect::<Vec<_>>(),
        "missing": listed.missing,
        "to_install": listed
            .to_install()
            .into_iter()
            .map(|(title, install)| json!({ "title": title, "install": install }))
            .collect::<Vec<_>>(),
        "license": info.license,
        "homepage": info.homepage,
        "install": info.install,
        "workers": workers(engine),
        "several_processes": capabilities.several_processes,
        "concurrent_writers": capabilities.concurrent_writers,
        "snapshot_reads": capabilities.snapshot_reads,
        "batch_get": capabilities.batch_get,
        "conditional_put": capabilities.conditional_put,
        "bulk_load": capabilities.bulk_load,
        "isolation": isolation(engine),
        "isolation_knobs": engine.isolation_knobs(),
        "atomic_transactions": capabilities.atomic_transactions,
        "max_key_bytes": capabilities.max_key_bytes,
        "max_value_bytes": capabilities.max_value_bytes,
        "promises": promises(engine).map(|promise| json!(promise)).collect::<Vec<_>>(),
    })
}

fn described_build(found: &LibraryListing) -> Value {
    let build = found.build.as_ref().ok();
    json!({
        "version": build.map(|build| &build.version),
        "library": found.library,
        "assertions": build.and_then(|build| build.assertions),
        "unusable": found.build.as_ref().err(),
        "audits": found
            .audits
            .iter()
            .map(|(level, state)| json!({ "durability": level, "audit": state }))
            .collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_shown_without_its_date_and_source() {
        assert_eq!(short("LMDB 0.9.70: (December 19, 2015)"), "0.9.70");
        assert_eq!(short("3.54.1 2026-10-16 abc"), "3.54.1");
        assert_eq!(short("unknown"), "unknown");
    }
}
