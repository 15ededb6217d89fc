//! The engines that can be installed, as data: `engines.toml`, and the plug-ins that the program
//! carries.

use crate::bundled_sources;
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLE: &str = include_str!("engines.toml");

/// The engines that can be installed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Catalog {
    /// Rules for the sources of a family of libraries, by its name.
    pub source_sets: BTreeMap<String, SourceSet>,
    /// The engines, in the order of installation.
    pub engines: Vec<Recipe>,
    /// The names of the plug-ins, which are installed after them.
    #[serde(skip)]
    pub plugins: Vec<&'static str>,
}

/// The engines that one word installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Packages and prebuilt libraries: a few minutes for all.
    Quick,
    /// Relatives, and what must be compiled.
    Compiled,
}

/// How one engine is installed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    /// The name on the command line.
    pub name: String,
    /// The word that installs it.
    pub group: Group,
    /// Where it comes from, for people.
    pub origin: String,
    /// The name of its folder, if it is another.
    pub folder: Option<String>,
    /// The pinned version; without one, the distribution decides.
    pub version: Option<String>,
    /// A program that makes the installation unnecessary.
    pub unless_program: Option<String>,
    /// The packages of the distribution that must be there.
    pub system: Option<SystemPackages>,
    /// The steps that make its folder.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The shims through which it is called.
    #[serde(default)]
    pub shims: Vec<Shim>,
}

/// What to expect among the system's files, and the packages of Debian or Ubuntu that bring it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemPackages {
    /// The packages.
    pub packages: Vec<String>,
    /// Whether the messages speak of libraries or of programs.
    #[serde(default)]
    pub kind: FileKind,
    /// Shared libraries that must lie below the system's folders of libraries.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Paths with `*` that must match; each is a list of alternatives.
    #[serde(default)]
    pub files: Vec<Vec<String>>,
    /// Programs that must be in `PATH`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// A header of C that the compiler must find.
    pub header: Option<String>,
    /// A word that must occur in that header.
    pub declares: Option<String>,
    /// Options of `apt-get install`.
    #[serde(default)]
    pub apt_options: Vec<String>,
    /// Whether the packages bring services, none of which may start.
    #[serde(default)]
    pub starts_services: bool,
    /// A setting of the system's that must exist before.
    pub setting: Option<SystemSetting>,
    /// A package that may be missing.
    pub optional: Option<OptionalPackage>,
    /// The end of the line that says that they were installed.
    #[serde(default)]
    pub note: String,
    /// Whether only a failure is worth a line.
    #[serde(default)]
    pub is_silent: bool,
}

/// The word for the files of packages.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// Libraries.
    #[default]
    Libraries,
    /// Programs.
    Programs,
}

/// A file of the system's settings that is written where there is none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemSetting {
    /// Its path.
    pub file: String,
    /// Its only line.
    pub line: String,
    /// The warning to a user who may not write it.
    pub unless: String,
}

/// A package that may be missing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OptionalPackage {
    /// The package.
    pub package: String,
    /// The note where it is missing.
    pub unless: String,
}

/// The sources and options of a family of libraries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SourceSet {
    /// Endings of the paths of sources that are no part of the library.
    pub excluded_endings: Vec<String>,
    /// Parts of such paths.
    pub excluded_parts: Vec<String>,
    /// Options of both compilers.
    pub options: Vec<String>,
    /// Options of the C++ compiler.
    pub cxx_options: Vec<String>,
    /// Options of the linker.
    pub link_options: Vec<String>,
}

/// A small library that is compiled from trueput's own sources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shim {
    /// The name of its folder.
    pub folder: String,
    /// The name of its file.
    pub library: String,
    /// The source, and the files that it includes: a change of any compiles it again.
    pub sources: Vec<String>,
    /// The engine's header.
    pub header: String,
    /// The start of the macros in the header that state the version.
    pub macros: Option<String>,
    /// The version; if the macros state another, the shim is refused.
    pub version: Option<String>,
    /// The package that has the header.
    pub package: Option<String>,
    /// More options of the compiler.
    #[serde(default)]
    pub options: Vec<String>,
    /// The engine's folder with the header, without the version: one shim for each installed
    /// version. Without it, the header is the system's.
    pub of_installed: Option<String>,
}

/// One step of making an engine's folder.
#[derive(Debug, Deserialize)]
#[serde(
    tag = "do",
    deny_unknown_fields,
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum Step {
    /// A program must be there, or its package is installed.
    Need {
        /// The program.
        program: String,
        /// The package.
        package: String,
    },
    /// Headers must be there, or their packages are installed.
    NeedHeader {
        /// The headers.
        headers: Vec<String>,
        /// The packages.
        packages: Vec<String>,
        /// The library, for people.
        library: String,
    },
    /// Other processors are refused.
    Processor {
        /// The kernel's name for the processor.
        only: String,
        /// The refusal.
        unless: String,
    },
    /// Gets a Java package from Maven Central: `ARTIFACT-VERSION.jar`.
    Maven {
        /// The group.
        group: String,
        /// The artifact, in the engine's version.
        artifact: String,
        /// Its size.
        bytes: u64,
        /// Its checksum.
        sha256: String,
    },
    /// Gets a package from npm: `PACKAGE-VERSION.tgz`.
    Npm {
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// Its size.
        bytes: u64,
        /// Its checksum.
        sha256: String,
    },
    /// Gets a source package from PyPI: `PACKAGE-VERSION.tar.gz`.
    Pip {
        /// The package, in the engine's version.
        package: String,
        /// Its size.
        bytes: u64,
        /// Its checksum.
        sha256: String,
    },
    /// Gets a crate: `NAME-VERSION.crate`.
    Crate {
        /// The crate.
        name: String,
        /// Its version.
        version: String,
        /// Its size.
        bytes: u64,
        /// Its checksum.
        sha256: String,
    },
    /// Gets the upstream archive of a source package of Debian.
    DebianSource {
        /// The release of Debian.
        suite: String,
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// The archive's name.
        archive: String,
        /// Its size.
        bytes: u64,
        /// Its checksum.
        sha256: String,
    },
    /// Gets a package of the distribution, and unpacks it to `package`. The distribution's keys
    /// vouch for it.
    DebianPackage {
        /// The package.
        package: String,
        /// The message without apt-get.
        unless: String,
    },
    /// Unpacks a `.tar.gz`.
    Unpack {
        /// The archive.
        archive: String,
        /// The folder in it, below its only folder; unpacked under its last name.
        only: Option<String>,
    },
    /// Unpacks a file of a Java package.
    Unzip {
        /// The archive.
        archive: String,
        /// The file in it.
        member: String,
        /// Its new name.
        to: String,
    },
    /// Compiles sources to a shared library.
    Compile {
        /// The library.
        library: String,
        /// The rules for its sources.
        source_set: String,
        /// The folders of its sources.
        folders: Vec<String>,
        /// More sources.
        #[serde(default)]
        files: Vec<String>,
        /// More options.
        options: Vec<String>,
    },
    /// Runs a command of a build.
    Run {
        /// The command.
        command: Vec<String>,
        /// A line before it.
        say: Option<String>,
    },
    /// Asks a program for the version; what is there already in this version is left.
    Version {
        /// The program.
        program: String,
        /// Its argument.
        argument: String,
        /// The start of the line with the version.
        prefix: String,
    },
    /// Moves files to the engine's folder.
    Place {
        /// The files.
        files: Vec<String>,
    },
}

impl Catalog {
    /// Reads the table that the program carries.
    ///
    /// # Errors
    /// A mistake in the table, which a test excludes.
    pub fn load() -> Result<Self, String> {
        let table: Self =
            toml::from_str(TABLE).map_err(|error| format!("engines.toml: {error}"))?;
        let plugins = bundled_sources::plugin_names();
        Ok(Self { plugins, ..table })
    }

    /// Finds an engine that is no plug-in.
    pub fn find(&self, name: &str) -> Option<&Recipe> {
        self.engines.iter().find(|engine| engine.name == name)
    }

    /// The names of all engines, in the order of installation.
    pub fn names(&self) -> Vec<&str> {
        let engines = self.engines.iter().map(|engine| engine.name.as_str());
        engines.chain(self.plugins.iter().copied()).collect()
    }

    /// Returns the engines that words of the command line stand for.
    ///
    /// # Errors
    /// A name that no engine has.
    pub fn select<'c>(&'c self, words: &'c [String]) -> Result<Vec<&'c str>, String> {
        let known = self.names();
        match words {
            [word] if word == "all" => return Ok(known),
            [word] if word == "quick" => {
                let engines = self.engines.iter();
                let quick = engines.filter(|engine| engine.group == Group::Quick);
                return Ok(quick.map(|engine| engine.name.as_str()).collect());
            }
            _ => {}
        }
        let mut selected = Vec::new();
        for word in words {
            if !known.contains(&word.as_str()) {
                let known = known.join(" ");
                let group = matches!(word.as_str(), "all" | "quick");
                let reason = if group {
                    format!("'{word}' stands alone: trueput engines install {word}")
                } else {
                    format!("no engine '{word}'; there are: {known}")
                };
                return Err(reason);
            }
            if !selected.contains(&word.as_str()) {
                selected.push(word.as_str());
            }
        }
        Ok(selected)
    }
}

impl Recipe {
    /// The name of its folder, without the version.
    pub fn folder(&self) -> &str {
        self.folder.as_deref().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_select_engines_once_and_in_their_order() {
        let catalog = Catalog::load().unwrap();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let selected = |text: &str| {
            let words = words(text);
            let names = catalog.select(&words)?;
            Ok::<_, String>(names.join(" "))
        };
        assert_eq!(selected("mdbx lmdb mdbx").unwrap(), "mdbx lmdb");
        let quick = "rocksdb leveldb berkeleydb wiredtiger gtm lmdb sqlite postgresql mariadb etcd \
                     galera odbc";
        assert_eq!(selected("quick").unwrap(), quick);
        let all = selected("all").unwrap();
        let compiled = "speedb hyperleveldb basho-leveldb wiredtiger-11 mdbx tokudb badger bbolt";
        assert!(all.starts_with(&format!("{quick} {compiled}")), "{all}");
        for (text, reason) in [
            (
                "mdbx nosuch",
                "no engine 'nosuch'; there are: rocksdb leveldb",
            ),
            ("all mdbx", "'all' stands alone"),
        ] {
            let error = selected(text).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn what_is_got_is_pinned_and_then_placed() {
        let catalog = Catalog::load().unwrap();
        let mut sums = 0;
        for engine in &catalog.engines {
            for step in &engine.steps {
                let (Step::Maven { sha256, bytes, .. }
                | Step::Npm { sha256, bytes, .. }
                | Step::Pip { sha256, bytes, .. }
                | Step::Crate { sha256, bytes, .. }
                | Step::DebianSource { sha256, bytes, .. }) = step
                else {
                    continue;
                };
                sums += 1;
                let is_sum = sha256.len() == 64 && sha256.chars().all(|it| it.is_ascii_hexdigit());
                assert!(is_sum && *bytes > 100_000, "{}", engine.name);
                assert!(engine.version.is_some(), "{}", engine.name);
            }
            let last = engine.steps.last();
            assert!(
                matches!(last, None | Some(Step::Place { .. })),
                "{}",
                engine.name
            );
        }
        assert_eq!(sums, 8);
    }
}
