//! Puts the sources of plug-ins and shims into the program.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::{env, io};

/// What is bundled, relative to the repository's root.
const BUNDLED: [&str; 3] = ["crates/drivers/shim", "engines", "include"];
/// The extensions of sources, and the names of those without one. Results of builds may lie beside
/// them.
const SOURCES: [&str; 18] = [
    "Makefile", "c", "cc", "cpp", "go", "h", "hpp", "in", "json", "lock", "md", "mod", "packages",
    "rs", "sum", "toml", "txt", "yml",
];

/// Where a package has them ('make package').
const PACKAGED: &str = "bundled";
/// Appended there to the names of manifests: Cargo leaves out folders with another one.
const MANIFEST_SUFFIX: &str = ".in";

fn main() -> io::Result<()> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repository = crate_folder.join("../..");
    let root = if repository.join(BUNDLED[0]).exists() {
        repository
    } else {
        crate_folder.join(PACKAGED)
    };
    if !root.exists() {
        let reason = "this package has no sources of engines: 'make package' makes a whole one";
        return Err(io::Error::other(reason));
    }
    let mut files = Vec::new();
    for path in BUNDLED {
        collect(&root.join(path), &mut files)?;
    }
    files.sort();
    let mut table = String::from("[");
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy();
        let name = name.strip_suffix(MANIFEST_SUFFIX).unwrap_or(&name);
        let _ = write!(table, "({name:?}, include_bytes!({file:?}).as_slice()),");
    }
    table.push(']');
    let target = env::var_os("OUT_DIR").map(PathBuf::from);
    let target = target.ok_or_else(|| io::Error::other("Cargo sets no OUT_DIR"))?;
    fs::write(target.join("bundled_sources.rs"), table)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let kind = path.extension().unwrap_or(name);
        let is_source = SOURCES.iter().any(|source| *source == kind);
        // Cargo's folder, and what a Makefile copies from the template or lets Go write.
        let is_result = name == "target" || is_copied(&path);
        if !is_result && (path.is_dir() || is_source) {
            collect(&path, files)?;
        }
    }
    Ok(())
}

/// Whether a file was put there by a build.
fn is_copied(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_template = path.components().any(|part| part.as_os_str() == "template");
    let is_original = is_template || path.components().any(|part| part.as_os_str() == "include");
    name.starts_with("lib") && name.ends_with(".h")
        || name.starts_with("trueput_engine.") && !is_original
}
