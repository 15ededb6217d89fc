//! Compiles what an engine is called through: libraries of C and C++ sources, and shims.

use super::catalog::{Shim, SourceSet};
use super::console::{StopMethod, compiler};
use super::error::{InstallationError, Result};
use super::packages;
use super::workspace::Workspace;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// The sources of a library, and how they are compiled.
pub struct LibrarySources<'t> {
    /// The library's file.
    pub library: &'t str,
    /// The rules of its family.
    pub set: &'t SourceSet,
    /// The folders of its sources.
    pub folders: &'t [String],
    /// More sources.
    pub files: &'t [String],
    /// More options.
    pub options: &'t [String],
}

/// Compiles sources to a shared library.
///
/// # Errors
/// Sources that do not compile, and an interruption.
pub fn compile(workspace: &Workspace<'_>, sources: &LibrarySources<'_>) -> Result<()> {
    let mut files = Vec::new();
    for folder in sources.folders {
        collect(workspace.path(), Path::new(folder), sources.set, &mut files)?;
    }
    files.sort();
    files.extend(sources.files.iter().cloned());
    let object = |file: &String| format!("{}.o", file.replace('/', "_"));
    let mut commands: Vec<_> = files
        .iter()
        .map(|file| {
            let is_c = Path::new(file).extension() == Some(OsStr::new("c"));
            let standard: &[String] = if is_c { &[] } else { &sources.set.cxx_options };
            let compiler = if is_c {
                compiler("CC", "gcc")
            } else {
                compiler("CXX", "g++")
            };
            let mut command = workspace.command(&compiler);
            command
                .args(standard)
                .args(&sources.set.options)
                .args(sources.options)
                .args(["-c", file, "-o", &object(file)]);
            command
        })
        .collect();
    let display = &workspace.console.display;
    display.begin_count(commands.len(), "compiling");
    let show = |done: usize| display.advance_to(done as u64);
    let parallel = available_parallelism().map_or(1, usize::from);
    let method = StopMethod::Group;
    let is_compiled = workspace
        .console
        .run_all(&mut commands, parallel, method, &show);
    display.clear();
    if !is_compiled? {
        return Err(workspace.failure_in_log("does not compile"));
    }
    let mut command = workspace.command(&compiler("CXX", "g++"));
    let command = command
        .args(["-shared", "-o", sources.library])
        .args(files.iter().map(object))
        .args(&sources.set.link_options);
    workspace.run(command, "does not link")
}

/// Collects the sources of C++ below a folder that are part of the library.
fn collect(
    root: &Path,
    folder: &Path,
    set: &SourceSet,
    files: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, set, files)?;
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        let is_excluded = set.excluded_endings.iter().any(|end| name.ends_with(end))
            || set.excluded_parts.iter().any(|part| name.contains(part));
        if path.extension() == Some(OsStr::new("cc")) && !is_excluded {
            files.push(name);
        }
    }
    Ok(())
}

/// Compiles a shim, for each installed version of the engine if it is called through one, unless it
/// was compiled from these sources.
///
/// # Errors
/// A shim that does not compile, and a header of another version.
pub fn compile_shim(workspace: &mut Workspace<'_>, shim: &Shim) -> Result<()> {
    workspace.write_shim_sources()?;
    packages::need_program(workspace, &compiler("CC", "cc"), "gcc")?;
    let Some(engine) = &shim.of_installed else {
        return compile_against(workspace, shim, &[]);
    };
    let pattern = format!(
        "{}/{engine}-*/{}",
        workspace.engines().display(),
        shim.header
    );
    for header in packages::matching_paths(&pattern) {
        let Some(folder) = header.parent() else {
            continue;
        };
        // `wiredtiger-shim-3.2.1` is no version of wiredtiger.
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let version = name.get(engine.len() + 1..).unwrap_or_default();
        if version.starts_with(|letter: char| letter.is_ascii_digit()) {
            compile_against(workspace, shim, &[format!("-I{}", folder.display())])?;
        }
    }
    Ok(())
}

fn compile_against(workspace: &mut Workspace<'_>, shim: &Shim, options: &[String]) -> Result<()> {
    let version = match (&shim.macros, &shim.version) {
        (None, version) => version.clone().unwrap_or_default(),
        (Some(macros), expected) => {
            let found = header_version(workspace, &shim.header, macros, options);
            checked_version(found, expected.as_deref(), shim)?
        }
    };
    workspace.rename(&shim.folder, &version);
    let sources = workspace.shim_sources();
    let files: Vec<_> = shim.sources.iter().map(|name| sources.join(name)).collect();
    if is_of_sources(&workspace.target(), &files) && workspace.is_present()? {
        return Ok(());
    }
    let mut command = workspace.command(&compiler("CC", "cc"));
    let command = command
        .args(options)
        .args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra"])
        .args(&shim.options)
        .args(["-shared", "-fPIC", "-o", &shim.library])
        .args(files.first());
    workspace.run(command, "the shim does not compile")?;
    let library = workspace.path().join(&shim.library);
    workspace.place(&std::iter::once(library).chain(files).collect::<Vec<_>>())
}

/// Reads the version in a header of an engine.
fn header_version(
    workspace: &Workspace<'_>,
    header: &str,
    macros: &str,
    options: &[String],
) -> Option<String> {
    let parts = ["MAJOR", "MINOR", "PATCH"].map(|part| format!("{macros}_{part}"));
    let text = format!("#include <{header}>\n{}\n", parts.join("."));
    let text = packages::preprocessed(workspace, &text, options)?;
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.chars().filter(|letter| *letter != ' ').collect())
}

/// Returns the version of a header, if it is one and the expected one.
fn checked_version(found: Option<String>, expected: Option<&str>, shim: &Shim) -> Result<String> {
    let header = &shim.header;
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|it| it.is_ascii_digit());
    let found = found.filter(|text| text.split('.').count() == 3 && text.split('.').all(is_number));
    let reason = match (found, expected) {
        (Some(found), Some(expected)) if found != expected => {
            let package = shim.package.as_deref().unwrap_or(header);
            format!("the installed {header} is not of {expected}: install {package}")
        }
        (Some(found), _) => return Ok(found),
        (None, _) => format!("cannot read the version in {header}"),
    };
    Err(InstallationError::Failure(reason))
}

/// Whether an installed shim was compiled from these files.
fn is_of_sources(folder: &Path, files: &[PathBuf]) -> bool {
    files.iter().all(|file| {
        let placed = folder.join(file.file_name().unwrap_or_default());
        let (own, placed) = (fs::read(file), fs::read(placed));
        matches!((own, placed), (Ok(own), Ok(placed)) if own == placed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_installation::catalog::Catalog;

    #[test]
    fn a_shim_is_for_the_version_that_the_header_states() {
        let catalog = Catalog::load().unwrap();
        let shim = &catalog.find("berkeleydb").unwrap().shims[0];
        let checked =
            |found: &str| checked_version(Some(found.to_owned()), shim.version.as_deref(), shim);
        assert_eq!(checked("5.3.28").unwrap(), "5.3.28");
        for (found, reason) in [
            (
                "18.1.40",
                "the installed db.h is not of 5.3.28: install libdb5.3-dev",
            ),
            ("DB_VERSION_MAJOR.1.2", "cannot read the version in db.h"),
        ] {
            assert_eq!(checked(found), Err(InstallationError::failure(reason)));
        }
    }

    #[test]
    fn tests_and_other_systems_are_no_part_of_a_library() {
        let catalog = Catalog::load().unwrap();
        let set = &catalog.source_sets["leveldb"];
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("util/win")).unwrap();
        for name in [
            "env.cc",
            "env_test.cc",
            "env_windows.cc",
            "testutil.cc",
            "a.h",
            "win/b.cc",
        ] {
            fs::write(folder.path().join("util").join(name), "").unwrap();
        }
        let mut files = Vec::new();
        collect(folder.path(), Path::new("util"), set, &mut files).unwrap();
        assert_eq!(files, ["util/env.cc"]);
    }
}
