//! The folder of a site: checked before anything is read, filled beside its place, and put there in
//! one step.

use crate::failure::Failure;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trueput_host::folder_replacement::replace_folder;
use trueput_record::regular_file;
use trueput_record::text::escape_json;
use trueput_report::site::{PAGES, Site};

/// The file by which a site is known: its summary, with the names of its files.
pub const SUMMARY: &str = "trueput-site.json";

/// The value by which the summary is known.
const KIND: &str = "trueput-site";

/// The version of the summary's format.
const FORMAT: u64 = 1;

/// The longest summary that is read, bytes.
const MAX_SUMMARY_BYTES: u64 = 1 << 30;

/// A folder that may have a site: new, empty, or with an earlier one.
pub struct OutputFolder<'a> {
    path: &'a Path,
    parent: PathBuf,
}

/// A site that is being written beside its place.
pub struct UnfinishedSite<'a> {
    target: &'a Path,
    /// The folder of the new site; removed with what is in it if the site is not finished.
    beside: TempDir,
    files: Vec<String>,
}

impl<'a> OutputFolder<'a> {
    /// Checks that a site may be written here.
    ///
    /// # Errors
    /// A usage error if it has anything that is not of a site, or cannot be read.
    pub fn check(path: &'a Path) -> Result<Self, Failure> {
        let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).to_owned();
        let refused = |reason: String| Err(refusal(path, &reason));
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound && parent.is_dir() => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return refused(format!("there is no folder {}", parent.display()));
            }
            Err(error) => return refused(error.to_string()),
            Ok(found) => check_existing(path, &found)?,
        }
        Ok(Self { path, parent })
    }

    /// Begins a site beside the folder.
    ///
    /// # Errors
    /// If no folder can be created there.
    pub fn begin(self) -> Result<UnfinishedSite<'a>, Failure> {
        let mut builder = tempfile::Builder::new();
        let beside = builder.prefix(".trueput-site-").tempdir_in(&self.parent);
        let beside = beside.map_err(|error| Failure::not_written(self.path, &error))?;
        // Its mode is that of the user's other folders: a web server is to read it.
        let site = beside.path().join("site");
        std::fs::create_dir(&site)
            .and_then(|()| std::fs::create_dir(site.join(PAGES)))
            .map_err(|error| Failure::not_written(self.path, &error))?;
        Ok(UnfinishedSite {
            target: self.path,
            beside,
            files: Vec::new(),
        })
    }
}

impl UnfinishedSite<'_> {
    /// Writes a file of the site.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let file = self.beside.path().join("site").join(name);
        let written = File::create_new(file).and_then(|mut made| made.write_all(bytes));
        written.map_err(|error| Failure::not_written(&self.target.join(name), &error))?;
        self.files.push(name.to_owned());
        Ok(())
    }

    /// Writes the summary and puts the site in its place. Returns the summary.
    ///
    /// # Errors
    /// If something that is not of a site came there meanwhile, or it cannot be written.
    pub fn finish(mut self, site: &Site) -> Result<String, Failure> {
        self.files.push(SUMMARY.to_owned());
        self.files.sort();
        let mut summary = json!({"kind": KIND, "format": FORMAT, "files": self.files});
        let content = serde_json::to_value(site);
        let content = content.map_err(|error| Failure::Other(error.to_string()))?;
        if let (Value::Object(summary), Value::Object(content)) = (&mut summary, content) {
            summary.extend(content);
        }
        let text = format!("{}\n", escape_json(&format!("{summary:#}")));
        let files = self.files.len();
        self.write(SUMMARY, text.as_bytes())?;
        self.files.truncate(files);
        // Whatever came there while the runs were read is not to be lost.
        OutputFolder::check(self.target)?;
        let placed = replace_folder(&self.beside.path().join("site"), self.target);
        placed.map_err(|error| Failure::not_written(self.target, &error))?;
        Ok(text)
    }
}

fn refusal(path: &Path, reason: &str) -> Failure {
    Failure::usage(format!(
        "cannot write a site to {}: {reason}",
        path.display()
    ))
}

/// Checks that an existing output is an empty folder or a site with no other files.
fn check_existing(path: &Path, found: &Metadata) -> Result<(), Failure> {
    let other = "name a new or empty folder, or an earlier site";
    if found.is_symlink() {
        return Err(refusal(path, &format!("it is a symbolic link; {other}")));
    }
    if !found.is_dir() {
        return Err(refusal(path, &format!("it is no folder; {other}")));
    }
    let present = files_in(path).map_err(|error| refusal(path, &error.to_string()))?;
    if present.is_empty() {
        return Ok(());
    }
    let Some(own) = own_files(path) else {
        let reason = format!("it has files and is no site of trueput; {other}");
        return Err(refusal(path, &reason));
    };
    let foreign = present.iter().find(|(name, is_file)| {
        let is_own = if **is_file {
            own.contains(name)
        } else {
            *name == PAGES
        };
        !is_own
    });
    match foreign {
        None => Ok(()),
        Some((name, _)) => {
            let reason = format!("{name} in it is not of the site and would be lost; move it away");
            Err(refusal(path, &reason))
        }
    }
}

/// What a site's folder has, and whether each is a regular file: its own entries and those of the
/// folder of pages.
fn files_in(path: &Path) -> IoResult<BTreeMap<String, bool>> {
    let mut found = BTreeMap::new();
    for folder in ["", PAGES] {
        let at = path.join(folder);
        let is_folder = at.symlink_metadata().is_ok_and(|it| it.is_dir());
        if !is_folder {
            continue;
        }
        for entry in std::fs::read_dir(&at)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            found.insert(name, entry.file_type()?.is_file());
        }
    }
    Ok(found)
}

/// The files of the site in a folder; `None` if it is none.
fn own_files(path: &Path) -> Option<Vec<String>> {
    let text = regular_file::read(path, Path::new(SUMMARY), MAX_SUMMARY_BYTES).ok()?;
    let summary: Value = serde_json::from_slice(&text).ok()?;
    let files = summary["files"].as_array()?;
    let files = files.iter().filter_map(|name| name.as_str());
    let is_site = summary["kind"] == KIND;
    is_site.then(|| files.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn made(target: &Path) -> Result<String, Failure> {
        let mut site = OutputFolder::check(target)?.begin()?;
        site.write("index.html", b"page")?;
        site.write("runs/a.html", b"page")?;
        let content = Site::new("t".to_owned(), Vec::new(), Vec::new());
        site.finish(&content)
    }

    #[test]
    fn a_site_is_made_in_a_new_or_empty_folder_and_replaces_itself_only() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("public");
        let first = made(&target).unwrap();
        assert_eq!(made(&target).unwrap(), first);
        let names = |folder: &Path| {
            let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
            names.sort_by_key(std::fs::DirEntry::file_name);
            names.len()
        };
        assert_eq!((names(place.path()), names(&target)), (1, 3));
        let empty = place.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        made(&empty).unwrap();
        for foreign in ["CNAME", "runs/notes.txt"] {
            std::fs::write(target.join(foreign), "mine").unwrap();
            let said = made(&target).unwrap_err().to_string();
            assert!(
                said.contains(&format!("{foreign} in it is not of the site")),
                "{said}"
            );
            std::fs::remove_file(target.join(foreign)).unwrap();
        }
        std::fs::remove_file(target.join(SUMMARY)).unwrap();
        let said = made(&target).unwrap_err().to_string();
        assert!(said.contains("is no site of trueput"), "{said}");
    }

    #[test]
    fn links_files_and_missing_parents_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        std::fs::write(&file, "mine").unwrap();
        symlink(place.path(), &link).unwrap();
        let missing = place.path().join("no/such");
        for (target, reason) in [
            (&file, "it is no folder"),
            (&link, "it is a symbolic link"),
            (&missing, "there is no folder"),
        ] {
            let said = made(target).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
}
