//! Builds the plug-ins that the program carries.

use super::console::{compiler, find_program};
use super::error::{InstallationError, Result};
use super::packages;
use super::workspace::Workspace;
use crate::bundled_sources;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The first Go that gets the version that a module asks for by itself.
const FIRST_GO: &str = "1.21";
/// The oldest Rust that plug-ins are built with.
const FIRST_RUST: &str = "1.85";

/// The file that states what a plug-in was built from.
const SUM_FILE: &str = "sources";

/// Builds a plug-in and installs it, unless it is there and was built from the same sources.
///
/// # Errors
/// Missing tools, and sources that do not build.
pub fn install(workspace: &mut Workspace<'_>, name: &str) -> Result<()> {
    let folder = format!("engines/{name}");
    let version = plugin_version(name).ok_or_else(|| {
        InstallationError::Failure(format!("{folder}/description.json has no version"))
    })?;
    workspace.rename(name, &version);
    let sum = sum_of_sources(name);
    let built_from = fs::read_to_string(workspace.target().join(SUM_FILE)).unwrap_or_default();
    if built_from.trim_end() == sum && workspace.is_present()? {
        return Ok(());
    }
    bundled_sources::write_matching(workspace.path(), |file| {
        ["include/", "engines/template/", &format!("{folder}/")]
            .iter()
            .any(|start| file.starts_with(start))
    })?;
    need_tools(workspace, &workspace.path().join(&folder))?;
    workspace.say(&format!("building {version}"));
    workspace.console.display.begin_step("building");
    let library = format!("lib{name}.so");
    let mut make = workspace.command("make");
    let built = workspace.run(make.args(["-C", &folder, &library]), "does not build");
    workspace.console.display.clear();
    built?;
    let installed = workspace.path().join(format!("libtrueput-{name}.so"));
    fs::rename(workspace.path().join(&folder).join(library), &installed)?;
    let sum_file = workspace.path().join(SUM_FILE);
    fs::write(&sum_file, format!("{sum}\n"))?;
    workspace.place(&[installed, sum_file])
}

/// The version in a plug-in's description.
pub fn plugin_version(name: &str) -> Option<String> {
    let text = bundled_sources::read(&format!("engines/{name}/description.json"))?;
    let description: Value = serde_json::from_slice(text).ok()?;
    Some(description["version"].as_str()?.to_owned())
}

/// The sum of what a plug-in is built from.
fn sum_of_sources(name: &str) -> String {
    let own = format!("engines/{name}/");
    let mut files: Vec<_> = bundled_sources::files()
        .filter(|(path, _)| is_built_from(path, &own))
        .collect();
    files.sort_by_key(|(path, _)| *path);
    let mut sum = Sha256::new();
    for (_, bytes) in files {
        sum.update(bytes);
    }
    let sum = sum.finalize();
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_built_from(path: &str, own: &str) -> bool {
    let shared = [
        "engines/template/go/",
        "engines/template/rust/src/",
        "include/",
    ];
    let is_shared = shared.iter().any(|folder| path.starts_with(folder));
    let extension = Path::new(path).extension();
    (path.starts_with(own) || is_shared) && extension.is_none_or(|it| it != "md")
}

/// Asks for the tools of a plug-in's language, and for its packages.
fn need_tools(workspace: &Workspace<'_>, folder: &Path) -> Result<()> {
    packages::need_program(workspace, "make", "make")?;
    packages::need_program(workspace, &compiler("CC", "cc"), "gcc")?;
    if let Ok(module) = fs::read_to_string(folder.join("go.mod")) {
        need_go(workspace, &module)?;
    }
    if folder.join("Cargo.toml").exists() {
        let answer = ask(workspace, "cargo", &["--version"])
            .ok_or_else(|| missing("needs cargo: https://rustup.rs"))?;
        let found = answer.split(' ').nth(1).unwrap_or_default();
        if !is_at_least(found, FIRST_RUST) {
            let reason = format!("needs Rust {FIRST_RUST}, and here is {found}: https://rustup.rs");
            return Err(InstallationError::MissingTool(reason));
        }
    }
    let listed = fs::read_to_string(folder.join("packages")).unwrap_or_default();
    for package in listed.split_whitespace() {
        if !is_installed(workspace, package)
            && !packages::install_without_services(workspace, &[package.to_owned()])?
        {
            let reason = format!("needs the package {package} of Debian or Ubuntu");
            return Err(InstallationError::MissingTool(reason));
        }
    }
    Ok(())
}

fn missing(reason: &str) -> InstallationError {
    InstallationError::MissingTool(reason.to_owned())
}

fn need_go(workspace: &Workspace<'_>, module: &str) -> Result<()> {
    let answer = ask(workspace, "go", &["env", "GOVERSION"])
        .ok_or_else(|| missing("needs Go: https://go.dev/dl"))?;
    let found = answer.trim().trim_start_matches("go");
    if is_at_least(found, FIRST_GO) {
        return Ok(());
    }
    let wanted = module.lines().find_map(|line| line.strip_prefix("go "));
    let wanted = wanted.unwrap_or(FIRST_GO);
    let reason = format!("needs Go {wanted}, and here is {found}: https://go.dev/dl");
    Err(InstallationError::MissingTool(reason))
}

/// The answer of a tool that is asked apart from the plug-in's folder, whose settings could make it
/// get another version.
fn ask(workspace: &Workspace<'_>, program: &str, words: &[&str]) -> Option<String> {
    find_program(program)?;
    let mut command = Command::new(program);
    workspace.console.ask(command.args(words).current_dir("/"))
}

fn is_installed(workspace: &Workspace<'_>, package: &str) -> bool {
    let mut command = Command::new("dpkg-query");
    let command = command.args(["-W", "-f", "${db:Status-Status}", package]);
    let answer = workspace.console.ask(command);
    answer.is_some_and(|answer| answer == "installed")
}

/// Whether a version is that one or a newer one.
fn is_at_least(found: &str, wanted: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let parts = text.split(|letter: char| !letter.is_ascii_digit());
        parts.map_while(|part| part.parse().ok()).collect()
    };
    numbers(found) >= numbers(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (found, wanted, expected) in [
            ("1.21.0", "1.21", true),
            ("1.9.3", "1.21", false),
            ("1.95.0-nightly", "1.85", true),
            ("1.21rc2", "1.21", true),
            ("", "1.21", false),
        ] {
            assert_eq!(is_at_least(found, wanted), expected, "{found}");
        }
    }

    #[test]
    fn a_plug_in_is_built_from_its_code_and_the_shared_code() {
        let is_of_bbolt = |path| is_built_from(path, "engines/bbolt/");
        assert!(is_of_bbolt("engines/bbolt/go.mod") && is_of_bbolt("include/trueput_engine.h"));
        assert!(!is_of_bbolt("engines/bbolt/README.md") && !is_of_bbolt("engines/sled/Cargo.toml"));
        let sums: Vec<_> = ["bbolt", "pebble"].map(sum_of_sources).into();
        assert_ne!(sums[0], sums[1]);
        assert_eq!(plugin_version("bbolt").as_deref(), Some("1.4.3"));
    }
}
