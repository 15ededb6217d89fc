//! Engines' libraries: found, checked and loaded at run time.
//!
//! A library stays loaded until the process ends, so pointers into it may be kept anywhere. Each is
//! loaded with private symbols, since several libraries define the same names.

mod assertions;
mod folders;
mod ownership;
mod password_file;
pub(crate) mod search;
mod trusted_location;

pub(crate) use assertions::assertions;
pub use folders::{
    InstallationFolder, engine_folders, ignored_folders, installation_folder, remember_folder,
};
pub use ownership::untrusted_reason;
pub(crate) use password_file::{first_line, read_secret};
pub(crate) use search::LibrarySearch;
pub use trusted_location::is_in_trusted_location;

use libloading::os::unix::{Library as DynamicLibrary, RTLD_LOCAL, RTLD_NOW};
use object::read::ReadCache;
use object::{Architecture, Object, ObjectKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use trueput_engine::{Build, Error, Result};

/// Caches a value per file, computed at the first use in this process.
pub(crate) struct FileCache<T: 'static>(Mutex<BTreeMap<PathBuf, &'static T>>);

impl<T> FileCache<T> {
    /// Creates an empty cache.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the cached value, computed by `make` at the first call. An error is not cached.
    pub(crate) fn get(
        &self,
        path: &Path,
        make: impl FnOnce(&Path) -> Result<T>,
    ) -> Result<&'static T> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(path) {
            return Ok(*known);
        }
        let new: &'static T = Box::leak(Box::new(make(path)?));
        made.insert(path.to_owned(), new);
        Ok(new)
    }
}

/// A loaded library of an engine.
pub(crate) struct Library {
    path: PathBuf,
    /// The engine's name for people.
    title: &'static str,
    loaded: DynamicLibrary,
}

/// The full path of a library file that a user named.
///
/// # Errors
/// One line that names the file, if it is not there.
pub(crate) fn full_path(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let full = path
        .canonicalize()
        .map_err(|error| Error::engine(format!("cannot read {shown}: {error}")))?;
    if full.is_file() {
        Ok(full)
    } else {
        Err(Error::engine(format!("{shown} is not a file")))
    }
}

/// The library that an engine uses: one that a plan names, or the first that is found.
pub(crate) struct LibraryOrigin {
    /// The engine's name for people.
    pub(crate) title: &'static str,
    /// The file names and folders to search.
    pub(crate) search: LibrarySearch,
    /// The library that a plan names.
    pub(crate) named: Option<PathBuf>,
    /// The command that installs it.
    installed_by: &'static str,
}

impl LibraryOrigin {
    /// The library that is looked for in the usual places.
    pub(crate) const fn found(
        title: &'static str,
        search: LibrarySearch,
        installed_by: &'static str,
    ) -> Self {
        Self {
            title,
            search,
            named: None,
            installed_by,
        }
    }

    /// The library's file.
    ///
    /// # Errors
    /// One line that says what to install, if none is found.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.named {
            return Ok(path.clone());
        }
        let title = self.title;
        self.search.run().into_iter().next().ok_or_else(|| {
            let (library, command) = (self.search.system, self.installed_by);
            Error::missing(format!(
                "no {title} on this machine ({library}); `{command}` installs it"
            ))
        })
    }

    /// The same engine, with the library that a plan names.
    ///
    /// # Errors
    /// One line that names the file, if it is not there.
    pub(crate) fn with_library(&self, library: &Path) -> Result<Self> {
        let named = Some(full_path(library)?);
        Ok(Self {
            title: self.title,
            search: self.search,
            named,
            installed_by: self.installed_by,
        })
    }
}

/// Describes the build at `path`, of that version; its machine code shows whether it has
/// assertions.
pub(crate) fn build_of(path: PathBuf, version: String) -> Build {
    Build {
        version,
        assertions: assertions(&path),
        library: Some(path),
    }
}

/// The driver of an engine that is a library, loaded at run time: a type that knows which one. The
/// second type's `of` loads the library at a path.
macro_rules! driver {
    ($(#[$documentation:meta])* $Driver:ident of $Library:ty: $origin:expr) => {
        $(#[$documentation])*
        pub struct $Driver {
            origin: $crate::library::LibraryOrigin,
        }

        impl $Driver {
            /// The engine as the first library that is found has it.
            #[must_use]
            pub const fn new() -> Self {
                Self { origin: $origin }
            }

            /// Returns the path of the library, and the value loaded from it.
            fn library(
                &self,
            ) -> trueput_engine::Result<(std::path::PathBuf, &'static $Library)> {
                let path = self.origin.path()?;
                let library = <$Library>::of(&path)?;
                Ok((path, library))
            }
        }

        impl Default for $Driver {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
pub(crate) use driver;

/// The methods of such a driver's `Engine` that list the libraries found and select a named one,
/// which `library` loads.
macro_rules! library_selection {
    () => {
        fn library_files(&self) -> Vec<std::path::PathBuf> {
            self.origin.search.run()
        }

        fn with_library(
            &self,
            library: &std::path::Path,
        ) -> trueput_engine::Result<Box<dyn trueput_engine::Engine>> {
            let engine = Self {
                origin: self.origin.with_library(library)?,
            };
            engine.library()?;
            Ok(Box::new(engine))
        }

        fn build_warning(&self) -> Option<String> {
            let is_default = self.origin.named.is_none();
            is_default
                .then(|| self.origin.search.assertions_warning())
                .flatten()
        }

        fn unopened(
            &self,
            library: &std::path::Path,
        ) -> trueput_engine::Result<Box<dyn trueput_engine::Engine>> {
            let origin = self.origin.with_library(library)?;
            Ok(Box::new(Self { origin }))
        }
    };
}
pub(crate) use library_selection;

/// Loads the library at `path` for the engine of that title.
///
/// # Errors
/// One line with the defect of the file: missing, not a library, for another machine, or the
/// loader's message.
pub(crate) fn load(path: &Path, title: &'static str) -> Result<Library> {
    check(path)?;
    // SAFETY: the initializers of a library that the user installed or named as an engine run here,
    // as they would in any program linked with it.
    let loaded =
        unsafe { DynamicLibrary::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
            let message = loader_message(&error);
            Error::engine(format!("cannot load {}: {message}", path.display()))
        })?;
    Ok(Library {
        path: path.to_owned(),
        title,
        loaded,
    })
}

/// The words of the system's loader, which the error itself does not repeat.
fn loader_message(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { source } => source.to_string(),
        other => other.to_string(),
    }
}

impl Library {
    /// Whether the library has a symbol of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        // SAFETY: the pointer is not used.
        unsafe { self.loaded.get::<*const ()>(name.as_bytes()) }.is_ok()
    }

    /// The symbol of that name, as a pointer of type `T`.
    ///
    /// # Errors
    /// One line if the library has no such symbol.
    ///
    /// # Safety
    /// `T` is a pointer to a function of the type that the symbol has in the engine's API.
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &str) -> Result<T> {
        // SAFETY: the caller's promise; the library is never unloaded, as it is in a `FileCache`.
        match unsafe { self.loaded.get::<T>(name.as_bytes()) } {
            Ok(symbol) => Ok(*symbol),
            Err(_) => Err(Error::engine(format!(
                "{} lacks {name}: it is not {}, or is too old",
                self.path.display(),
                self.title
            ))),
        }
    }
}

/// Declares a struct of function pointers, named as the functions are without their prefix, and how
/// to fill it from a library. With `linked from` and a module, also how to fill it with functions
/// of that module, which are compiled into this program and called exactly as the fields are.
macro_rules! symbols {
    ($(#[$meta:meta])* $name:ident, linked from $linked:ident {
        $($field:ident: fn($($argument:ty),*) $(-> $result:ty)?),* $(,)?
    }) => {
        $crate::library::symbols! {
            $(#[$meta])* $name { $($field: fn($($argument),*) $(-> $result)?),* }
        }

        impl $name {
            /// The functions that are compiled into this program.
            pub(crate) const LINKED: Self = Self { $($field: $linked::$field,)* };
        }
    };
    ($(#[$meta:meta])* $name:ident {
        $($field:ident: fn($($argument:ty),*) $(-> $result:ty)?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $name {
            /// Takes every function, named `prefix` and then the field's name, from `library`.
            pub(crate) fn load(
                library: &$crate::library::Library,
                prefix: &str,
            ) -> trueput_engine::Result<Self> {
                Ok(Self {
                    $($field: {
                        let name = format!("{prefix}{}", stringify!($field));
                        // SAFETY: the type is that of the function of this name in the engine's
                        // published C header.
                        unsafe { library.symbol(&name)? }
                    },)*
                })
            }
        }
    };
}
pub(crate) use symbols;

/// Checks that `path` is a shared library for this machine.
pub(crate) fn check(path: &Path) -> Result<()> {
    let shown = path.display();
    let file =
        File::open(path).map_err(|error| Error::engine(format!("cannot read {shown}: {error}")))?;
    let cache = ReadCache::new(file);
    let no_library = || Error::engine(format!("{shown} is not a shared library"));
    let object = object::File::parse(&cache).map_err(|_| no_library())?;
    let machine = machine(object.architecture());
    if machine != std::env::consts::ARCH {
        let this = std::env::consts::ARCH;
        return Err(Error::engine(format!(
            "{shown} is for {machine}, this machine is {this}"
        )));
    }
    match object.kind() {
        ObjectKind::Dynamic => Ok(()),
        _ => Err(no_library()),
    }
}

/// The architecture's name, as Rust's `std::env::consts::ARCH` writes it.
fn machine(architecture: Architecture) -> String {
    match architecture {
        Architecture::I386 => "x86".to_owned(),
        Architecture::X86_64_X32 => "x86_64 with 32-bit pointers".to_owned(),
        Architecture::Unknown => "an unknown machine".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This program: an ELF file for this machine.
    fn own_program() -> PathBuf {
        std::env::current_exe().unwrap()
    }

    /// A copy of a library of this machine with bytes of its header changed.
    fn damaged(folder: &Path, offset: usize, bytes: &[u8]) -> PathBuf {
        let mut copy = std::fs::read(own_program()).unwrap();
        copy[offset..offset + bytes.len()].copy_from_slice(bytes);
        let path = folder.join("librocksdb.so");
        std::fs::write(&path, copy).unwrap();
        path
    }

    fn refusal(path: &Path) -> String {
        load(path, "RocksDB").err().unwrap().to_string()
    }

    #[test]
    fn a_missing_file_is_named() {
        let text = full_path(Path::new("/nowhere/librocksdb.so"))
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("cannot read /nowhere/librocksdb.so: No such file"),
            "{text}"
        );
    }

    #[test]
    fn an_engine_that_is_nowhere_says_what_installs_it() {
        let nowhere = LibrarySearch::new(&[], "libof-no-engine.so");
        let said = |origin: LibraryOrigin| origin.path().unwrap_err().to_string();
        let expected = "no Engine on this machine (libof-no-engine.so); `command` installs it";
        let missing = said(LibraryOrigin::found("Engine", nowhere, "command"));
        assert_eq!(missing, expected);
    }

    #[test]
    fn a_text_file_is_no_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("librocksdb.so");
        std::fs::write(&path, "INPUT(librocksdb.so.9)").unwrap();
        assert!(
            refusal(&path).contains("is not a shared library"),
            "{}",
            refusal(&path)
        );
    }

    #[test]
    fn a_library_for_another_machine_says_for_which() {
        // `e_machine` of the ELF header: 183 is AArch64, 62 is x86-64.
        let other: (u8, &str) = match std::env::consts::ARCH {
            "aarch64" => (62, "x86_64"),
            _ => (183, "aarch64"),
        };
        let folder = tempfile::tempdir().unwrap();
        let text = refusal(&damaged(folder.path(), 18, &[other.0, 0]));
        let expected = format!(
            "is for {}, this machine is {}",
            other.1,
            std::env::consts::ARCH
        );
        assert!(text.contains(&expected), "{text}");
    }

    #[test]
    fn another_library_lacks_the_first_symbol_and_says_so() {
        let loaded = LibrarySearch::system_folders()
            .iter()
            .map(|folder| folder.join("libm.so.6"))
            .find(|path| path.is_file());
        let Some(path) = loaded else {
            eprintln!("skipped: this machine has no libm.so.6");
            return;
        };
        let library = load(&path, "RocksDB").unwrap_or_else(|error| unreachable!("{error}"));
        // SAFETY: the symbol is not called.
        let symbol = unsafe { library.symbol::<unsafe extern "C" fn()>("rocksdb_open") };
        let text = symbol.err().unwrap().to_string();
        assert!(
            text.contains("lacks rocksdb_open: it is not RocksDB"),
            "{text}"
        );
        // SAFETY: as above; this is the control that must be found.
        assert!(unsafe { library.symbol::<unsafe extern "C" fn()>("cos") }.is_ok());
    }

    #[test]
    fn what_is_made_of_a_file_is_made_once() {
        static MADE: FileCache<u32> = FileCache::new();
        let path = Path::new("a");
        assert!(MADE.get(path, |_| Err(Error::engine("not yet"))).is_err());
        assert_eq!(MADE.get(path, |_| Ok(1)), Ok(&1));
        assert_eq!(MADE.get(path, |_| Ok(2)), Ok(&1));
    }
}
