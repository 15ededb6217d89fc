//! An installation of GT.M or YottaDB: its library, and the tools in the same folder.

use crate::library::LibrarySearch;
use std::ffi::OsString;
use std::fs::read_dir;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trueput_engine::{Error, Result};

/// The files that the driver puts next to a database, and the names that GT.M's own get there.
pub(super) mod files {
    pub(in super::super) const DIRECTORY: &str = "trueput.gld";
    pub(in super::super) const DATABASE: &str = "trueput.dat";
    pub(in super::super) const JOURNAL: &str = "trueput.mjl";
    /// The file name of the journal in a separate folder.
    pub(in super::super) const JOURNAL_APART: &str = "log/trueput.mjl";
    pub(in super::super) const ROUTINES: &str = "trueput.m";
    pub(in super::super) const NATIVE: &str = "threen1.m";
    pub(in super::super) const CALL_INS: &str = "trueput.ci";
}

/// An installation: a folder with the library and the tools.
#[derive(Debug, Clone)]
pub(super) struct GtmInstallation {
    folder: PathBuf,
    library: PathBuf,
    title: &'static str,
}

/// Finds the GT.M libraries on this machine, the default one first: that of `gtm_dist`, then the
/// usual folders, then YottaDB's.
pub(super) fn find_all() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["gtm_dist", "ydb_dist"]
        .into_iter()
        .filter_map(|name| std::env::var_os(name).map(PathBuf::from))
        .collect();
    let mut parents: Vec<PathBuf> = LibrarySearch::system_folders()
        .iter()
        .flat_map(|folder| [folder.join("fis-gtm"), folder.join("yottadb")])
        .collect();
    parents.extend(["/opt/fis-gtm", "/opt/yottadb"].map(PathBuf::from));
    // Newest first, by the folder names.
    for parent in parents {
        let mut versions: Vec<PathBuf> = read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    let mut libraries = Vec::new();
    for name in ["libgtmshr.so", "libyottadb.so"] {
        for folder in &folders {
            let Ok(path) = folder.join(name).canonicalize() else {
                continue;
            };
            if !libraries.contains(&path) {
                libraries.push(path);
            }
        }
    }
    libraries
}

impl GtmInstallation {
    /// The installation that a library belongs to.
    ///
    /// # Errors
    /// One line if the tools are not in the library's folder.
    pub(super) fn of(library: PathBuf, title: &'static str) -> Result<Self> {
        let folder = library.parent().map(Path::to_owned).unwrap_or_default();
        for tool in ["mumps", "mupip"] {
            if !folder.join(tool).is_file() {
                return Err(Error::engine(format!(
                    "{} has no {tool} in its directory: name the library of a complete \
                        installation of {title}",
                    library.display()
                )));
            }
        }
        Ok(Self {
            folder,
            library,
            title,
        })
    }

    pub(super) fn library(&self) -> &Path {
        &self.library
    }

    /// The path of a tool in the library's folder.
    pub(super) fn tool(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    /// The environment of GT.M with the routines and the database in `folder`.
    pub(super) fn environment(&self, folder: &Path) -> Vec<(&'static str, OsString)> {
        let path = |name: &str| folder.join(name).into_os_string();
        let mut routines = folder.as_os_str().to_owned();
        for part in [
            "(".as_ref(),
            folder.as_os_str(),
            ") ".as_ref(),
            self.folder.join("libgtmutil.so").as_os_str(),
            " ".as_ref(),
            self.folder.as_os_str(),
        ] {
            routines.push(part);
        }
        let dist = self.folder.clone().into_os_string();
        vec![
            ("gtm_dist", dist.clone()),
            ("ydb_dist", dist),
            ("gtmgbldir", path(files::DIRECTORY)),
            ("GTMCI", path(files::CALL_INS)),
            ("gtmroutines", routines),
            // Bytes are bytes.
            ("gtm_chset", OsString::from("M")),
            // An error in a call-in goes to the caller.
            ("gtm_etrap", OsString::from("quit:$quit -1 quit")),
        ]
    }

    /// Returns the version that the library reports: `$ZVERSION`, up to the operating system.
    pub(super) fn version(&self) -> Result<String> {
        let folder = std::env::temp_dir();
        let said = self.run("mumps", &["-run", "%XCMD", "write $zversion"], &folder, "")?;
        let words: Vec<_> = said.split_whitespace().take(2).collect();
        match words[..] {
            [_, version] => Ok(version.trim_start_matches('V').to_owned()),
            _ => Err(Error::engine(format!(
                "{} gave no version: {said}",
                self.folder.display()
            ))),
        }
    }

    /// Runs a tool of GT.M's in `folder` and returns its output.
    ///
    /// # Errors
    /// The tool's output, if it failed.
    pub(super) fn run(
        &self,
        tool: &str,
        arguments: &[&str],
        folder: &Path,
        input: &str,
    ) -> Result<String> {
        let failed = |error: &dyn std::fmt::Display| {
            let first = arguments.first().copied().unwrap_or_default();
            Error::engine(format!("{tool} {first}: {error}"))
        };
        let mut child = Command::new(self.tool(tool))
            .args(arguments)
            .envs(self.environment(folder))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that ends without reading its input reports the reason itself.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            return Ok(said);
        }
        let errors: Vec<_> = said.lines().filter(|line| is_error(line)).collect();
        let text = if errors.is_empty() {
            said.trim().to_owned()
        } else {
            errors.join("; ")
        };
        Err(failed(&text))
    }
}

/// Whether a line of a tool's is an error, and no warning or information: `%GTM-E-…`.
fn is_error(line: &str) -> bool {
    line.starts_with('%') && (line.contains("-E-") || line.contains("-F-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_its_tools_is_no_installation() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libgtmshr.so");
        std::fs::write(&library, "").unwrap();
        let error = GtmInstallation::of(library.clone(), "GT.M").unwrap_err();
        assert!(error.to_string().contains("has no mumps in its directory"));
        for tool in ["mumps", "mupip"] {
            std::fs::write(folder.path().join(tool), "").unwrap();
        }
        assert!(GtmInstallation::of(library, "GT.M").is_ok());
    }

    #[test]
    fn warnings_are_no_errors() {
        assert!(is_error("%GTM-E-REQRECOV, Error accessing database"));
        assert!(!is_error("%GTM-W-JNLBUFFDBUPD, Journal file buffer size"));
        assert!(!is_error("Database file -E- "));
    }
}
