//! Memory allocators: where their libraries are, and which one a process uses.

use nix::libc::{self, c_char, c_int, c_void};
use std::env::{consts::ARCH, split_paths, var_os};
use std::ffi::{CStr, OsString};
use std::path::{Path, PathBuf};
use trueput_record::conditions::Allocator;
use trueput_record::placement::AllocatorReport;

/// A library that can stand in for the C library's allocator.
struct AllocatorLibrary {
    allocator: Allocator,
    /// The beginning of its file name, up to a `.` or `_`.
    stem: &'static str,
    /// Its file names, in order of preference.
    files: &'static [&'static str],
    /// Debian's package of it.
    package: &'static str,
}

const LIBRARIES: [AllocatorLibrary; 3] = [
    AllocatorLibrary {
        allocator: Allocator::Jemalloc,
        stem: "libjemalloc",
        files: &["libjemalloc.so.2", "libjemalloc.so.1", "libjemalloc.so"],
        package: "libjemalloc2",
    },
    AllocatorLibrary {
        allocator: Allocator::Tcmalloc,
        stem: "libtcmalloc",
        files: &[
            "libtcmalloc_minimal.so.4",
            "libtcmalloc.so.4",
            "libtcmalloc_minimal.so",
            "libtcmalloc.so",
        ],
        package: "libtcmalloc-minimal4",
    },
    AllocatorLibrary {
        allocator: Allocator::Mimalloc,
        stem: "libmimalloc",
        files: &[
            "libmimalloc.so.3",
            "libmimalloc.so.2",
            "libmimalloc.so.2.0",
            "libmimalloc.so",
        ],
        package: "libmimalloc2.0",
    },
];

/// An allocator whose library is not on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "allocator '{allocator}' is not installed ({file} not found); on Debian: apt-get install \
     {package}"
)]
pub(crate) struct MissingAllocator {
    allocator: Allocator,
    file: &'static str,
    package: &'static str,
}

/// Returns the library to preload for an allocator; `None` for the C library's own.
///
/// # Errors
/// One sentence that says how to install it, if it is missing on this machine.
pub(crate) fn find_library(allocator: Allocator) -> Result<Option<PathBuf>, MissingAllocator> {
    library_in(allocator, &folders())
}

fn library_in(
    allocator: Allocator,
    folders: &[PathBuf],
) -> Result<Option<PathBuf>, MissingAllocator> {
    let Some(library) = LIBRARIES.iter().find(|one| one.allocator == allocator) else {
        return Ok(None);
    };
    let paths = folders
        .iter()
        .flat_map(|folder| library.files.iter().map(move |file| folder.join(file)));
    match paths.into_iter().find(|path| path.is_file()) {
        Some(path) => Ok(Some(path)),
        None => Err(MissingAllocator {
            allocator,
            file: library.files[0],
            package: library.package,
        }),
    }
}

/// Returns the value of `LD_PRELOAD` for a process with this allocator; `None` to leave it
/// unchanged. The user's own preloads come after it.
///
/// # Errors
/// As [`find_library`].
pub(crate) fn preload(allocator: Allocator) -> Result<Option<OsString>, MissingAllocator> {
    let Some(library) = find_library(allocator)? else {
        return Ok(None);
    };
    let mut value = library.into_os_string();
    if let Some(others) = var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    Ok(Some(value))
}

/// Returns the folders that the dynamic linker searches, as far as this is known without running
/// it.
fn folders() -> Vec<PathBuf> {
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
    let known = known.into_iter().map(PathBuf::from);
    own.into_iter()
        .chain(known)
        .chain(configured_folders())
        .collect()
}

/// Returns the folders listed in `/etc/ld.so.conf.d` (ldconfig(8)).
fn configured_folders() -> Vec<PathBuf> {
    let files = std::fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten();
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    let texts = paths
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    texts
        .flat_map(|text| {
            let lines = text.lines().map(str::trim);
            let folders = lines.filter(|line| line.starts_with('/'));
            folders.map(PathBuf::from).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns whether a process has mapped a file.
pub(crate) fn maps_file(pid: u32, file: &Path) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    // The kernel reports the target of a link.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let file = file.to_string_lossy();
    maps.lines().any(|line| line.ends_with(file.as_ref()))
}

/// Returns the allocator of this process: the library that defines its `malloc`.
pub fn read_allocator() -> AllocatorReport {
    let path = defining_file(c"malloc").unwrap_or_default();
    let path = PathBuf::from(path);
    let path = path.canonicalize().unwrap_or(path);
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let name = allocator_name(&file);
    AllocatorReport {
        version: version(&name).unwrap_or_default(),
        name,
        path: path.to_string_lossy().into_owned(),
    }
}

fn allocator_name(file: &str) -> String {
    let known = LIBRARIES
        .iter()
        .find(|library| file.starts_with(library.stem));
    // A static program holds its C library itself.
    let is_libc = ["libc.so", "libc-", "ld-musl"]
        .iter()
        .any(|stem| file.starts_with(stem));
    match known {
        Some(library) => library.allocator.word().to_owned(),
        None if is_libc || !file.contains(".so") => Allocator::Libc.word().to_owned(),
        None => file.to_owned(),
    }
}

/// Returns the version that the allocator in use reports through its own public function.
fn version(name: &str) -> Option<String> {
    match name {
        "libc" => {
            let function = symbol(c"gnu_get_libc_version")?;
            // SAFETY: gnu_get_libc_version(3) takes no arguments and returns a static string.
            let function: extern "C" fn() -> *const c_char =
                unsafe { std::mem::transmute(function) };
            text(function())
        }
        "jemalloc" => jemalloc_version(),
        "tcmalloc" => {
            let function = symbol(c"tc_version")?;
            type VersionFunction =
                extern "C" fn(*mut c_int, *mut c_int, *mut *const c_char) -> *const c_char;
            // SAFETY: gperftools/tcmalloc.h declares tc_version so; it returns a static string.
            let function: VersionFunction = unsafe { std::mem::transmute(function) };
            let (mut major, mut minor, mut patch) = (0, 0, std::ptr::null());
            let version = text(function(&raw mut major, &raw mut minor, &raw mut patch))?;
            // It begins with the name of the project: "gperftools 2.10".
            version.split_whitespace().last().map(str::to_owned)
        }
        "mimalloc" => {
            let function = symbol(c"mi_version")?;
            // SAFETY: mimalloc.h declares `int mi_version(void)`.
            let function: extern "C" fn() -> c_int = unsafe { std::mem::transmute(function) };
            Some(mimalloc_version(function()))
        }
        _ => None,
    }
}

/// Formats the version of `mi_version`, which is one number: 209 for 2.0.9 (mimalloc.h).
fn mimalloc_version(number: c_int) -> String {
    format!("{}.{}.{}", number / 100, number / 10 % 10, number % 10)
}

fn jemalloc_version() -> Option<String> {
    type ControlFunction =
        extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;
    let function = symbol(c"mallctl")?;
    // SAFETY: jemalloc(3) declares mallctl so.
    let function: ControlFunction = unsafe { std::mem::transmute(function) };
    let mut version: *const c_char = std::ptr::null();
    let mut length = size_of::<*const c_char>();
    let (at, length) = (&raw mut version, &raw mut length);
    // "version" is of type `const char *` (jemalloc(3)); this only reads.
    match function(
        c"version".as_ptr(),
        at.cast(),
        length,
        std::ptr::null_mut(),
        0,
    ) {
        0 => text(version),
        _ => None,
    }
}

fn text(string: *const c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: these functions return strings that end in NUL and live as long as the process.
    let string = unsafe { CStr::from_ptr(string) };
    Some(string.to_string_lossy().into_owned())
}

/// Returns the first definition of a symbol in the order of the dynamic linker, preloaded ones
/// first.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in NUL; the default handle asks for all global symbols.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

fn defining_file(name: &CStr) -> Option<String> {
    let address = symbol(name)?;
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: dladdr(3) fills the structure in for an address of this process.
    let done = unsafe { libc::dladdr(address, &raw mut found) };
    (done != 0).then(|| text(found.dli_fname)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_in_its_folder_and_its_package_is_named_where_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        for library in &LIBRARIES {
            let message = library_in(library.allocator, &folders)
                .unwrap_err()
                .to_string();
            assert!(message.contains(library.package), "{message}");
            let path = folder.path().join(library.files[1]);
            std::fs::write(&path, "").unwrap();
            assert_eq!(library_in(library.allocator, &folders), Ok(Some(path)));
        }
        assert_eq!(library_in(Allocator::Libc, &[]), Ok(None));
    }

    #[test]
    fn an_allocator_is_known_by_its_file() {
        for (file, name) in [
            ("libjemalloc.so.2", "jemalloc"),
            ("libtcmalloc_minimal.so.4.5.10", "tcmalloc"),
            ("libmimalloc.so.2.0", "mimalloc"),
            ("libc.so.6", "libc"),
            ("trueput", "libc"),
            ("libhoard.so", "libhoard.so"),
        ] {
            assert_eq!(allocator_name(file), name);
        }
        assert_eq!(mimalloc_version(209), "2.0.9");
    }

    #[test]
    fn this_process_uses_the_allocator_of_its_c_library() {
        let found = read_allocator();
        assert_eq!(found.name, "libc");
        assert!(
            maps_file(std::process::id(), Path::new(&found.path)),
            "{found:?}"
        );
        assert!(!maps_file(
            std::process::id(),
            Path::new("/no/such/library.so")
        ));
    }
}
