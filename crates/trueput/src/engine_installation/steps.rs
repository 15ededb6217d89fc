//! Runs the steps that the table lists for an engine.

use super::catalog::{Catalog, Recipe, Step};
use super::compilation::{self, LibrarySources};
use super::console::find_program;
use super::downloads::{self, PinnedFile};
use super::error::{InstallationError, Result};
use super::packages;
use super::workspace::{Workspace, processor};
use std::path::PathBuf;

/// Installs an engine as its recipe says.
///
/// # Errors
/// The first step that fails.
pub fn install(workspace: &mut Workspace<'_>, recipe: &Recipe, catalog: &Catalog) -> Result<()> {
    if let Some(program) = &recipe.unless_program
        && find_program(program).is_some()
    {
        workspace.say("is there already, among the system's programs");
        return Ok(());
    }
    if let Some(system) = &recipe.system {
        packages::need_system(workspace, system)?;
    }
    let version = recipe.version.as_deref().unwrap_or_default();
    workspace.rename(recipe.folder(), version);
    let is_present = !version.is_empty() && !recipe.steps.is_empty() && workspace.is_present()?;
    if !is_present {
        if !recipe.steps.is_empty() {
            workspace.write_shim_sources()?;
        }
        for step in &recipe.steps {
            if !run(workspace, step, catalog)? {
                break;
            }
        }
    }
    for shim in &recipe.shims {
        compilation::compile_shim(workspace, shim)?;
    }
    Ok(())
}

/// Runs a step; returns whether the next one is to follow.
fn run(workspace: &mut Workspace<'_>, step: &Step, catalog: &Catalog) -> Result<bool> {
    match step {
        Step::Need { program, package } => {
            packages::need_program(workspace, &workspace.expand(program), package)?;
        }
        Step::NeedHeader {
            headers,
            packages,
            library,
        } => packages::need_headers(workspace, headers, packages, library)?,
        Step::Processor { only, unless } => {
            if processor() != only {
                return Err(InstallationError::failure(unless));
            }
        }
        Step::Unpack { archive, only } => {
            downloads::unpack(workspace, &workspace.expand(archive), only.as_deref())?;
        }
        Step::Unzip {
            archive,
            member,
            to,
        } => {
            let [archive, member] = [archive, member].map(|text| workspace.expand(text));
            downloads::unzip(workspace, &archive, &member, to)?;
        }
        Step::Compile {
            library,
            source_set,
            folders,
            files,
            options,
        } => {
            let set = catalog.source_sets.get(source_set).ok_or_else(|| {
                InstallationError::Failure(format!("engines.toml: no source set {source_set}"))
            })?;
            let sources = LibrarySources {
                library,
                set,
                folders,
                files,
                options,
            };
            compilation::compile(workspace, &sources)?;
        }
        Step::Run { command, say } => run_command(workspace, command, say.as_deref())?,
        Step::Version {
            program,
            argument,
            prefix,
        } => return ask_version(workspace, program, argument, prefix),
        Step::Place { files } => {
            let files = files.iter().map(|file| workspace.expand(file));
            let files: Vec<PathBuf> = files.map(|file| workspace.path().join(file)).collect();
            workspace.place(&files)?;
        }
        Step::Maven { .. }
        | Step::Npm { .. }
        | Step::Pip { .. }
        | Step::Crate { .. }
        | Step::DebianSource { .. }
        | Step::DebianPackage { .. } => get(workspace, step)?,
    }
    Ok(true)
}

fn pinned<'t>(file: &'t str, bytes: u64, sha256: &'t str) -> PinnedFile<'t> {
    PinnedFile {
        file,
        bytes,
        sha256,
    }
}

/// Runs a step that gets something from a registry.
fn get(workspace: &Workspace<'_>, step: &Step) -> Result<()> {
    let version = &workspace.version;
    match step {
        Step::Maven {
            group,
            artifact,
            bytes,
            sha256,
        } => {
            let file = format!("{artifact}-{version}.jar");
            downloads::get_maven(workspace, group, artifact, &pinned(&file, *bytes, sha256))
        }
        Step::Npm {
            package,
            version,
            bytes,
            sha256,
        } => {
            let file = format!("{package}-{version}.tgz");
            downloads::get_npm(workspace, package, version, &pinned(&file, *bytes, sha256))
        }
        Step::Pip {
            package,
            bytes,
            sha256,
        } => {
            let file = format!("{package}-{version}.tar.gz");
            downloads::get_pip(workspace, package, &pinned(&file, *bytes, sha256))
        }
        Step::Crate {
            name,
            version,
            bytes,
            sha256,
        } => {
            let file = format!("{name}-{version}.crate");
            downloads::get_crate(workspace, name, version, &pinned(&file, *bytes, sha256))
        }
        Step::DebianSource {
            suite,
            package,
            version,
            archive,
            bytes,
            sha256,
        } => {
            let file = pinned(archive, *bytes, sha256);
            downloads::get_debian_source(workspace, suite, package, version, &file)
        }
        Step::DebianPackage { package, unless } => {
            downloads::get_debian_package(workspace, package, unless)
        }
        _ => Ok(()),
    }
}

fn run_command(workspace: &Workspace<'_>, words: &[String], line: Option<&str>) -> Result<()> {
    if let Some(line) = line {
        workspace.say(line);
    }
    let words: Vec<_> = words.iter().map(|word| workspace.expand(word)).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    workspace.console.display.begin_step("compiling");
    let mut command = workspace.command(program);
    let result = workspace.run(command.args(arguments), "does not compile");
    workspace.console.display.clear();
    result
}

/// Takes the version from a program that was got; returns whether it is not there yet.
fn ask_version(
    workspace: &mut Workspace<'_>,
    program: &str,
    argument: &str,
    prefix: &str,
) -> Result<bool> {
    let path = workspace.path().join(program);
    let mut command = workspace.command(&path.display().to_string());
    let answer = workspace.console.ask(command.arg(argument));
    let answer = answer.unwrap_or_default();
    let version = answer.lines().find_map(|line| line.strip_prefix(prefix));
    let is_plain = |text: &&str| {
        let mut letters = text.chars();
        !text.is_empty() && letters.all(|it| it.is_ascii_alphanumeric() || ".-+~".contains(it))
    };
    let Some(version) = version.map(str::trim).filter(is_plain) else {
        let reason = format!("{program} of the package does not state its version");
        return Err(InstallationError::Failure(reason));
    };
    let engine = workspace.engine.clone();
    workspace.rename(&engine, version);
    Ok(!workspace.is_present()?)
}
