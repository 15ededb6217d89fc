//! The run folders and bundles below folders.

use super::output_folder::SUMMARY;
use crate::failure::Failure;
use crate::output;
use std::path::{Path, PathBuf};
use trueput_record::text::counted;

/// Folders are searched this deep.
const MAX_DEPTH: usize = 32;

/// The most runs of a site.
const MAX_RUNS: usize = 20_000;

/// The ends of the names of bundles.
const ENDINGS: [&str; 2] = [".tar.gz", ".tgz"];

/// A run folder or a file that looks like a bundle.
pub struct Source {
    /// Its path.
    pub path: PathBuf,
    /// Its path for readers of the site: from the folder that was searched.
    pub shown: String,
}

/// The sources that were found, and the links that were not followed.
#[derive(Default)]
struct Search {
    sources: Vec<Source>,
    links: u64,
}

/// The run folders and bundles in these folders, in their order, by name. A file that is named is
/// taken for a bundle, whatever its name.
///
/// # Errors
/// A usage error if a folder does not exist or cannot be read, or if there is no run, or too many.
pub fn find_sources(folders: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut search = Search::default();
    for folder in folders {
        let own = own_name(folder)?;
        let is_searched = folder.is_dir() && !folder.join("run.json").is_file();
        let shown = if is_searched && folders.len() == 1 {
            String::new()
        } else {
            own
        };
        if is_searched {
            search.folder(folder, &shown, 0)?;
        } else {
            search.add(folder, shown)?;
        }
    }
    if search.links > 0 {
        let links = counted(search.links, "symbolic link");
        output::note(&format!("note: {links} not followed"));
    }
    if search.sources.is_empty() {
        let names: Vec<_> = folders.iter().map(|it| it.display().to_string()).collect();
        let names = names.join(", ");
        let reason = "no run folder and no bundle (*.tar.gz, *.tgz) in it";
        return Err(Failure::usage(format!("{names}: {reason}")));
    }
    Ok(search.sources)
}

/// The last part of a path, also of `.`.
fn own_name(path: &Path) -> Result<String, Failure> {
    let real = path.canonicalize();
    let real = real.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let name = path.file_name().or(real.file_name()).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

impl Search {
    fn add(&mut self, path: &Path, shown: String) -> Result<(), Failure> {
        if self.sources.len() == MAX_RUNS {
            let reason = format!("there are more than {MAX_RUNS} runs; make several sites");
            return Err(Failure::usage(reason));
        }
        self.sources.push(Source {
            path: path.to_owned(),
            shown,
        });
        Ok(())
    }

    /// Adds what is in a folder. Sites, whose pages are no runs, and hidden folders are left out.
    fn folder(&mut self, folder: &Path, shown: &str, depth: usize) -> Result<(), Failure> {
        let named = |error: std::io::Error| {
            Failure::usage(format!("cannot read {}: {error}", folder.display()))
        };
        if depth == MAX_DEPTH {
            let folder = folder.display();
            let reason = format!("more than {MAX_DEPTH} folders deep; name one further down");
            return Err(Failure::usage(format!("{folder}: {reason}")));
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(named)? {
            entries.push(entry.map_err(named)?);
        }
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().map_err(named)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let is_bundle = ENDINGS.iter().any(|ending| name.ends_with(ending));
            let inner = if shown.is_empty() {
                name.clone().into_owned()
            } else {
                format!("{shown}/{name}")
            };
            if name.starts_with('.') {
                continue;
            }
            if kind.is_symlink() {
                self.links += u64::from(is_bundle || path.is_dir());
            } else if kind.is_file() && is_bundle {
                self.add(&path, inner)?;
            } else if kind.is_dir() {
                self.inner_folder(&path, inner, depth + 1)?;
            }
        }
        Ok(())
    }

    fn inner_folder(&mut self, path: &Path, shown: String, depth: usize) -> Result<(), Failure> {
        let has = |name: &str| {
            let found = path.join(name).symlink_metadata();
            found.is_ok_and(|found| found.is_file())
        };
        if has("run.json") {
            self.add(path, shown)
        } else if has(SUMMARY) {
            Ok(())
        } else {
            self.folder(path, &shown, depth)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn runs_are_found_below_folders_and_links_and_sites_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("results");
        for folder in ["b/run", "a/deep/er", ".git/run", "site", "b/run/inner"] {
            create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            "b/run/run.json",
            "b/run/inner/run.json",
            ".git/run/run.json",
            "a/deep/er/x.tar.gz",
            "a/y.tgz",
            "notes.txt",
            "site/trueput-site.json",
            "site/z.tar.gz",
        ] {
            write(root.join(file), "").unwrap();
        }
        symlink(root.join("b"), root.join("link")).unwrap();
        symlink(root.join("a/y.tgz"), root.join("link.tgz")).unwrap();
        let shown = |folders: &[PathBuf]| -> Vec<String> {
            let found = find_sources(folders).unwrap();
            found.into_iter().map(|source| source.shown).collect()
        };
        let expected = ["a/deep/er/x.tar.gz", "a/y.tgz", "b/run"];
        assert_eq!(shown(std::slice::from_ref(&root)), expected);
        let two = [root.join("b/run"), root.join("a")];
        assert_eq!(shown(&two), ["run", "a/deep/er/x.tar.gz", "a/y.tgz"]);
        let missing = find_sources(&[root.join("none")]);
        assert!(matches!(missing, Err(Failure::Usage(_))));
        let empty = find_sources(&[root.join("site")]);
        assert!(empty.is_ok(), "a named folder is searched, whatever it is");
        let empty = find_sources(&[root.join("b/run/inner/..").join("../../a/deep/er/..")]);
        assert_eq!(empty.unwrap().len(), 1);
    }
}
