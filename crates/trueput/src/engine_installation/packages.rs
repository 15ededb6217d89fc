//! Packages of Debian or Ubuntu, and what a step expects of the system.

use super::catalog::{FileKind, SystemPackages, SystemSetting};
use super::console::{StopMethod, compiler, find_program};
use super::error::{InstallationError, Result};
use super::workspace::Workspace;
use nix::unistd::geteuid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The system's folders of libraries.
const LIBRARY_FOLDERS: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// Packages ask this program whether a service may start (invoke-rc.d(8)).
const SERVICE_POLICY: &str = "/usr/sbin/policy-rc.d";

/// Fails unless a program is there, or its package can be installed.
///
/// # Errors
/// A program that is missing.
pub fn need_program(workspace: &Workspace<'_>, program: &str, package: &str) -> Result<()> {
    if find_program(program).is_some()
        || install(workspace, &[package.to_owned()], &[])? && find_program(program).is_some()
    {
        return Ok(());
    }
    let reason = format!("needs {program}: install {package}");
    Err(InstallationError::Failure(reason))
}

/// Fails unless headers are there, or their packages can be installed.
///
/// # Errors
/// Headers that are missing.
pub fn need_headers(
    workspace: &Workspace<'_>,
    headers: &[String],
    packages: &[String],
    library: &str,
) -> Result<()> {
    let has_all = || has_headers(workspace, headers);
    if has_all() || install(workspace, packages, &[])? && has_all() {
        return Ok(());
    }
    let packages = listed(packages);
    let reason = format!("needs {library}: install {packages}");
    Err(InstallationError::Failure(reason))
}

/// Makes sure that the system has what an engine needs of it.
///
/// # Errors
/// Packages that cannot be installed.
pub fn need_system(workspace: &Workspace<'_>, wanted: &SystemPackages) -> Result<()> {
    let say = |text: &str| {
        if !wanted.is_silent {
            workspace.say(text);
        }
    };
    let kind = match wanted.kind {
        FileKind::Libraries => "libraries",
        FileKind::Programs => "programs",
    };
    if wanted.header.is_some() {
        need_program(workspace, &compiler("CC", "cc"), "gcc")?;
    }
    if is_present(workspace, wanted) {
        say(&format!("is there already, among the system's {kind}"));
        return Ok(());
    }
    let names = listed(&wanted.packages);
    if let Some(setting) = &wanted.setting {
        write_setting(workspace, setting, &names)?;
    }
    if wanted.starts_services {
        // Another of the packages may fail to start; what counts is there or not.
        install_without_services(workspace, &wanted.packages)?;
    } else {
        install(workspace, &wanted.packages, &wanted.apt_options)?;
    }
    if !is_present(workspace, wanted) {
        let reason = format!("install {names} (or your system's own)");
        return Err(InstallationError::Failure(reason));
    }
    if let Some(optional) = &wanted.optional
        && !install(workspace, std::slice::from_ref(&optional.package), &[])?
    {
        say(&optional.unless);
    }
    let (note, package) = (&wanted.note, plural(&wanted.packages));
    say(&format!("installed from the {package} {names}{note}"));
    Ok(())
}

fn plural(packages: &[String]) -> &'static str {
    if packages.len() == 1 {
        "package"
    } else {
        "packages"
    }
}

/// Names in a sentence: `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Whether the system has all that is wanted.
fn is_present(workspace: &Workspace<'_>, wanted: &SystemPackages) -> bool {
    let has_library = |name: &String| {
        let start = format!("{name}.so");
        let mut folders = LIBRARY_FOLDERS.iter();
        folders.any(|folder| has_file(Path::new(folder), &start))
    };
    let matches = |alternatives: &Vec<String>| {
        let mut patterns = alternatives.iter();
        patterns.any(|pattern| !matching_paths(&workspace.expand(pattern)).is_empty())
    };
    let has_header = wanted.header.as_ref().is_none_or(|header| {
        let text = preprocessed(workspace, &format!("#include <{header}>\n"), &[]);
        let word = wanted.declares.as_deref().unwrap_or_default();
        text.is_some_and(|text| text.contains(word))
    });
    has_header
        && wanted.files.iter().all(matches)
        && wanted
            .programs
            .iter()
            .all(|name| find_program(name).is_some())
        && wanted.libraries.iter().all(has_library)
}

/// Whether a file whose name starts so lies in a folder or below it. Links to folders are not
/// followed.
fn has_file(folder: &Path, start: &str) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(start) {
            return true;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    folders.iter().any(|folder| has_file(folder, start))
}

/// The paths that match a pattern with `*` in its names.
pub fn matching_paths(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let Some((start, end)) = part.split_once('*') else {
            found = found.iter().map(|path| path.join(part)).collect();
            found.retain(|path| path.exists());
            continue;
        };
        let entries = found
            .iter()
            .flat_map(|path| fs::read_dir(path).into_iter().flatten());
        let matches = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_long = name.len() >= start.len() + end.len();
            is_long && name.starts_with(start) && name.ends_with(end)
        };
        found = entries.flatten().map(|entry| entry.path()).collect();
        found.retain(matches);
    }
    found.sort();
    found
}

/// Returns a text of C after the preprocessor, without its line markers.
pub fn preprocessed(workspace: &Workspace<'_>, text: &str, options: &[String]) -> Option<String> {
    let file = workspace.path().join("probe.c");
    fs::write(&file, text).ok()?;
    let mut command = workspace.command(&compiler("CC", "cc"));
    let command = command.args(options).args(["-E", "-P"]).arg(file);
    workspace.console.ask(command)
}

fn has_headers(workspace: &Workspace<'_>, headers: &[String]) -> bool {
    let text: String = headers
        .iter()
        .map(|header| format!("#include <{header}>\n"))
        .collect();
    let file = workspace.path().join("probe.cc");
    let mut command = workspace.command(&compiler("CXX", "g++"));
    let command = command.arg("-E").arg(&file);
    fs::write(&file, text).is_ok() && workspace.console.ask(command).is_some()
}

/// A command as root, where this user may run one.
fn as_root(program: &str) -> Option<Command> {
    let mut command = if geteuid().is_root() {
        Command::new(program)
    } else {
        let mut asked = Command::new("sudo");
        let asked = asked.args(["-n", "true"]).stdin(Stdio::null());
        let output = asked.output().ok()?;
        if !output.status.success() {
            return None;
        }
        let mut command = Command::new("sudo");
        command.args(["-n", program]);
        command
    };
    command.current_dir("/");
    Some(command)
}

/// Installs packages, where this user may; returns whether they are installed.
///
/// # Errors
/// An interruption.
pub fn install(workspace: &Workspace<'_>, packages: &[String], options: &[String]) -> Result<bool> {
    if find_program("apt-get").is_none() {
        return Ok(false);
    }
    let apt_get = |words: &[&str]| {
        let mut command = as_root("apt-get")?;
        command.args(words);
        Some(command)
    };
    let (Some(mut first), Some(mut update), Some(mut second)) = (
        apt_get(&["install", "-qy", "--no-install-recommends"]),
        apt_get(&["update", "-q"]),
        apt_get(&["install", "-qy", "--no-install-recommends"]),
    ) else {
        return Ok(false);
    };
    let display = &workspace.console.display;
    display.begin_step(&format!("installing {}", listed(packages)));
    let commands = [
        first.args(options).args(packages),
        &mut update,
        second.args(options).args(packages),
    ];
    let is_installed = install_with_update(workspace, commands);
    display.clear();
    is_installed
}

/// Runs the first command, and if it fails the others.
fn install_with_update(workspace: &Workspace<'_>, commands: [&mut Command; 3]) -> Result<bool> {
    let [first, update, second] = commands;
    let run = |command| workspace.console.run(command, StopMethod::Gentle);
    Ok(run(first)? || run(update)? && run(second)?)
}

/// Forbids services to start until it is dropped.
struct ServicePolicy<'w> {
    workspace: &'w Workspace<'w>,
}

impl Drop for ServicePolicy<'_> {
    fn drop(&mut self) {
        // Also after an interruption, so past the console.
        if let Some(mut command) = as_root("rm") {
            let removed = command.args(["-f", SERVICE_POLICY]).stdin(Stdio::null());
            if !removed.status().is_ok_and(|status| status.success()) {
                let advice = format!("remove {SERVICE_POLICY}, which keeps services from starting");
                self.workspace.say(&advice);
            }
        }
    }
}

/// The same, and no service of the packages starts.
///
/// # Errors
/// An interruption.
pub fn install_without_services(workspace: &Workspace<'_>, packages: &[String]) -> Result<bool> {
    if Path::new(SERVICE_POLICY).exists() {
        return install(workspace, packages, &[]);
    }
    let Some(mut command) = as_root("sh") else {
        return Ok(false);
    };
    let _policy = ServicePolicy { workspace };
    let script =
        format!("printf '#!/bin/sh\\nexit 101\\n' >{SERVICE_POLICY} && chmod 755 {SERVICE_POLICY}");
    let method = StopMethod::Group;
    let is_written = workspace
        .console
        .run(command.args(["-c", &script]), method)?;
    Ok(is_written && install(workspace, packages, &[])?)
}

/// Writes a setting of the system's where there is none.
fn write_setting(workspace: &Workspace<'_>, setting: &SystemSetting, names: &str) -> Result<()> {
    let file = Path::new(&setting.file);
    if file.exists() || find_program("apt-get").is_none() {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(file).display();
    let (line, shown) = (&setting.line, file.display());
    let script = format!("mkdir -p {folder} && echo '{line}' >{shown}");
    if let Some(mut command) = as_root("sh") {
        let command = command.args(["-c", &script]);
        if workspace.console.run(command, StopMethod::Group)? {
            return Ok(());
        }
    }
    let reason = format!("install {names} ({})", setting.unless);
    Err(InstallationError::Failure(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_within_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display();
        for name in ["a-1", "a-2", "b-1"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("lib.so"), "").unwrap();
        }
        let count = |pattern: &str| matching_paths(&format!("{root}/{pattern}")).len();
        assert_eq!(count("*/lib.so"), 3);
        assert_eq!(count("a-*/lib.so"), 2);
        assert_eq!(count("a-*/lib.a"), 0);
        assert_eq!(count("*-1"), 2);
        assert!(has_file(folder.path(), "lib.s"));
        assert!(!has_file(folder.path(), "b.so"));
    }

    #[test]
    fn names_read_as_a_sentence() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..2]), "a and b");
        assert_eq!(listed(&names[..1]), "a");
    }
}
