//! The search for engines' libraries.

use super::folders::engine_folders;
use super::ownership::untrusted_reason;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::env::{consts::ARCH, split_paths, var_os};
use std::fs::read_dir;
use std::path::{Path, PathBuf};
use trueput_engine::{Error, Result};

/// The libraries of which the installer has its own build, without assertions; for the others
/// it installs the system's, and there is no better one.
const BUILT_WITHOUT_ASSERTIONS: [&str; 2] = ["rocksdb", "leveldb"];

/// The names and folders of an engine's libraries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LibrarySearch {
    /// The names of the folders that the installer makes for it, without `-VERSION`; the builds of
    /// the first are preferred to everything else.
    pub(crate) installed: &'static [&'static str],
    /// The library's file name in the system's folders, up to `.so`: `librocksdb.so`.
    pub(crate) system: &'static str,
}

impl LibrarySearch {
    /// The libraries of these names.
    pub(crate) const fn new(installed: &'static [&'static str], system: &'static str) -> Self {
        Self { installed, system }
    }

    /// Finds every matching library on this machine, the default one first: the newest that was
    /// installed for this program, then those of the system, then related engines' libraries.
    pub(crate) fn run(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut add = |paths: Vec<PathBuf>| {
            for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        };
        let engines = engine_folders();
        let installed = |name: &str| builds(&engines, name);
        let mut names = self.installed.iter();
        add(names.next().map(|name| installed(name)).unwrap_or_default());
        for folder in Self::system_folders() {
            add(libraries(&folder, |name| {
                let rest = name.strip_prefix(self.system);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }));
        }
        for name in names {
            add(installed(name));
        }
        found
    }

    /// A warning, if the default is a system build with assertions, whose figures are not
    /// comparable, because the build of the installer was not found.
    pub(crate) fn assertions_warning(&self) -> Option<String> {
        let first = self.installed.first()?;
        let preferred = BUILT_WITHOUT_ASSERTIONS
            .iter()
            .find(|name| *name == first)?;
        let folders = engine_folders();
        if !builds(&folders, preferred).is_empty() {
            return None;
        }
        let used = self.run().into_iter().next()?;
        (super::assertions(&used) == Some(true)).then(|| {
            let looked: Vec<_> = folders
                .iter()
                .map(|folder| folder.display().to_string())
                .collect();
            format!(
                "{preferred}: {} is used, which was compiled with assertions; none that `make \
                 engines` installs is in {}",
                used.display(),
                looked.join(", ")
            )
        })
    }

    /// The folders in which the system keeps libraries, the user's own first.
    pub(crate) fn system_folders() -> Vec<PathBuf> {
        let own = var_os("LD_LIBRARY_PATH").map_or_else(Vec::new, |paths| {
            split_paths(&paths)
                .filter(|path| path.is_absolute())
                .collect()
        });
        let triple = format!("{ARCH}-linux-gnu");
        let known = [
            "/usr/local/lib".to_owned(),
            format!("/usr/local/lib/{triple}"),
            format!("/usr/lib/{triple}"),
            format!("/lib/{triple}"),
            "/usr/lib64".to_owned(),
            "/usr/lib".to_owned(),
        ];
        own.into_iter().chain(known.map(PathBuf::from)).collect()
    }
}

/// The libraries in the folders `NAME-VERSION` of any of the folders of engines, newest version
/// first.
fn builds(engines: &[PathBuf], name: &str) -> Vec<PathBuf> {
    let mut versions: Vec<(String, PathBuf)> = engines
        .iter()
        .flat_map(|folder| entries(folder))
        .filter_map(|path| {
            let folder = path.file_name()?.to_str()?;
            let version = folder.strip_prefix(name)?.strip_prefix('-')?;
            let numbered = version.starts_with(|first: char| first.is_ascii_digit());
            // One that was interrupted while it was put there.
            let whole = !version.ends_with(".part");
            (numbered && whole).then(|| (version.to_owned(), path.clone()))
        })
        .collect();
    versions.sort_by(|(a, _), (b, _)| newer_first(a, b));
    // A version that was installed in two places is the same build: the first place's counts.
    versions.dedup_by(|(b, _), (a, _)| a == b);
    let inside = |(_, folder): (String, PathBuf)| libraries(&folder, |_| true);
    versions.into_iter().flat_map(inside).collect()
}

/// What the file names of installed plug-ins begin with; the engine's name and `.so` follow.
const PLUGIN_PREFIX: &str = "libtrueput-";

/// Finds the newest build of a plug-in in the folders of engines, by the name of its engine.
///
/// # Errors
/// One line for a plug-in whose every build others could have written.
pub(crate) fn installed_plugin(name: &str) -> Option<Result<PathBuf>> {
    newest_plugin(&engine_folders(), name)
}

/// Finds the newest build of each plug-in in the folders of engines, sorted by name.
///
/// # Errors
/// As [`installed_plugin`].
pub(crate) fn installed_plugins() -> Vec<Result<PathBuf>> {
    plugins_in(&engine_folders())
}

fn plugins_in(engines: &[PathBuf]) -> Vec<Result<PathBuf>> {
    let folders = engines.iter().flat_map(|folder| entries(folder));
    let files = folders.flat_map(|folder| libraries(&folder, |_| true));
    let names: BTreeSet<String> = files.filter_map(|file| plugin_name(&file)).collect();
    let newest = |name: &String| newest_plugin(engines, name);
    names.iter().filter_map(newest).collect()
}

fn newest_plugin(engines: &[PathBuf], name: &str) -> Option<Result<PathBuf>> {
    let is_its = |file: &PathBuf| plugin_name(file).as_deref() == Some(name);
    let mut newest_refusal = None;
    for file in builds(engines, name).into_iter().filter(is_its) {
        let Some(reason) = untrusted_reason(&file) else {
            return Some(Ok(file));
        };
        newest_refusal.get_or_insert_with(|| {
            Error::engine(format!(
                "{} is not used: {reason}, so others could have changed it; correct that, or \
                 install it again",
                file.display()
            ))
        });
    }
    newest_refusal.map(Err)
}

/// The engine's name in the name of an installed plug-in's file.
pub(crate) fn plugin_name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?.strip_prefix(PLUGIN_PREFIX)?;
    name.strip_suffix(".so").map(str::to_owned)
}

/// Compares versions number by number.
fn newer_first(a: &str, b: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        let parts = version.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    numbers(b).cmp(&numbers(a)).then_with(|| b.cmp(a))
}

/// The shared libraries in a folder whose names `admit` takes, by name.
fn libraries(folder: &Path, admit: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = entries(folder)
        .into_iter()
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| is_library(name) && admit(name)) && path.is_file()
        })
        .collect();
    found.sort();
    found
}

/// Whether a file is called as shared libraries are: `NAME.so` or `NAME.so.VERSION`.
fn is_library(name: &str) -> bool {
    name.split_once(".so").is_some_and(|(stem, rest)| {
        let version = rest.chars().all(|c| c == '.' || c.is_ascii_alphanumeric());
        !stem.is_empty() && (rest.is_empty() || rest.starts_with('.')) && version
    })
}

/// Returns the entries of a folder; empty if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = read_dir(folder).into_iter().flatten();
    read.flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_newest_installed_build_comes_first_and_others_are_left_out() {
        let engines = tempfile::tempdir().unwrap();
        for folder in [
            "rocksdb-7.8.3",
            "rocksdb-11.8.1",
            "rocksdb-tools-1",
            "leveldb-1.23",
        ] {
            let folder = engines.path().join(folder);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("librocksdb.so"), "").unwrap();
            std::fs::write(folder.join("librocksdb.so.sha256-sum"), "").unwrap();
        }
        let found = builds(&[engines.path().to_owned()], "rocksdb");
        let expected = [
            "rocksdb-11.8.1/librocksdb.so",
            "rocksdb-7.8.3/librocksdb.so",
        ];
        assert_eq!(found, expected.map(|path| engines.path().join(path)));
    }

    #[test]
    fn the_newest_build_of_each_plug_in_is_found() {
        let engines = tempfile::tempdir().unwrap();
        let files = [
            "bbolt-1.4.3/libtrueput-bbolt.so",
            "bbolt-1.10.0/libtrueput-bbolt.so",
            "pebble-2.1.7/libtrueput-pebble.so",
            "pebble-2.1.7/libtrueput-other.so",
            "bbolt-1.11.0.part/libtrueput-bbolt.so",
            "leveldb-1.23/libleveldb.so",
        ];
        for file in files {
            let file = engines.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let expected: [Result<PathBuf>; 2] =
            [files[1], files[2]].map(|file| Ok(engines.path().join(file)));
        assert_eq!(plugins_in(&[engines.path().to_owned()]), expected);
    }

    #[test]
    fn a_plug_in_that_others_may_write_is_refused_unless_there_is_an_older_one() {
        let engines = tempfile::tempdir().unwrap();
        let place = |version: &str, mode: u32| {
            let folder = engines.path().join(format!("bbolt-{version}"));
            std::fs::create_dir(&folder).unwrap();
            let file = folder.join("libtrueput-bbolt.so");
            std::fs::write(&file, "").unwrap();
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).unwrap();
            file
        };
        place("1.4.3", 0o666);
        let folders = [engines.path().to_owned()];
        let found = plugins_in(&folders);
        let [Err(error)] = found.as_slice() else {
            panic!("{found:?}");
        };
        let refusal = error.to_string();
        assert!(
            refusal.contains("libtrueput-bbolt.so is not used: others may write to"),
            "{refusal}"
        );
        let older: Result<PathBuf> = Ok(place("1.4.2", 0o644));
        assert_eq!(plugins_in(&folders), [older]);
    }

    #[test]
    fn versions_compare_by_number() {
        let mut versions = ["9.10", "11.0", "9.9.1"];
        versions.sort_by(|a, b| newer_first(a, b));
        assert_eq!(versions, ["11.0", "9.10", "9.9.1"]);
    }

    #[test]
    fn only_shared_libraries_count() {
        assert!(is_library("librocksdb.so") && is_library("libleveldb.so.1.23.0"));
        assert!(!is_library("librocksdb.a") && !is_library("x.sock") && !is_library(".so"));
    }
}
