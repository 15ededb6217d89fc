//! The driver manager, unixODBC, by the functions of ODBC 3 that are used here.
//!
//! It is loaded when it is first needed, as engines are, so that this program builds and runs on a
//! machine without it. The crates `odbc-sys` and `odbc-api` bind `libodbc` when the program is
//! linked and have no feature for less, so the few functions and constants that are needed are
//! declared here, after unixODBC's `sql.h` and `sqlext.h`.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::LazyLock;
use trueput_engine::{Error, Result};

/// The file of the driver manager, as the system's loader finds it.
const LIBRARY: &str = "libodbc.so.2";

/// The return code of a function.
pub(super) type ReturnCode = i16;
/// A handle of any kind.
pub(super) type Handle = *mut c_void;
/// A length, or a marker for NULL.
pub(super) type Length = isize;

pub(super) const NO_DATA: ReturnCode = 100;
pub(super) const SUCCESS_WITH_INFO: ReturnCode = 1;

const ENVIRONMENT: i16 = 1;
pub(super) const CONNECTION: i16 = 2;
pub(super) const STATEMENT: i16 = 3;

const ODBC_VERSION: i32 = 200;
const ODBC_3: usize = 3;

const FIRST: u16 = 2;
const NEXT: u16 = 1;

/// Declares the functions, named as in ODBC after `SQL`, and how a library is searched for them.
macro_rules! functions {
    ($($field:ident: fn($($argument:ty),*) -> $result:ty),*) => {
        /// The functions, by their names after `SQL`.
        #[allow(non_snake_case, reason = "the names of ODBC")]
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Self> {
                Ok(Self {
                    $($field: {
                        let name = concat!("SQL", stringify!($field));
                        // SAFETY: the type is that of the function of this name in ODBC's headers,
                        // and the library is never unloaded.
                        let symbol = unsafe { library.get(name.as_bytes()) };
                        *symbol.map_err(|_| {
                            Error::engine(format!(
                                "{LIBRARY} lacks {name}: it is not unixODBC, or is too old"
                            ))
                        })?
                    },)*
                })
            }
        }
    };
}

functions! {
    AllocHandle: fn(i16, Handle, *mut Handle) -> ReturnCode,
    FreeHandle: fn(i16, Handle) -> ReturnCode,
    SetEnvAttr: fn(Handle, i32, Handle, i32) -> ReturnCode,
    SetConnectAttr: fn(Handle, i32, Handle, i32) -> ReturnCode,
    SetStmtAttr: fn(Handle, i32, Handle, i32) -> ReturnCode,
    DriverConnect: fn(
        Handle, Handle, *const c_char, i16, *mut c_char, i16, *mut i16, u16
    ) -> ReturnCode,
    Disconnect: fn(Handle) -> ReturnCode,
    GetInfo: fn(Handle, u16, *mut c_void, i16, *mut i16) -> ReturnCode,
    GetDiagRec: fn(
        i16, Handle, i16, *mut c_char, *mut i32, *mut c_char, i16, *mut i16
    ) -> ReturnCode,
    Drivers: fn(
        Handle, u16, *mut c_char, i16, *mut i16, *mut c_char, i16, *mut i16
    ) -> ReturnCode,
    EndTran: fn(i16, Handle, i16) -> ReturnCode,
    ExecDirect: fn(Handle, *const c_char, i32) -> ReturnCode,
    Prepare: fn(Handle, *const c_char, i32) -> ReturnCode,
    Execute: fn(Handle) -> ReturnCode,
    NumParams: fn(Handle, *mut i16) -> ReturnCode,
    NumResultCols: fn(Handle, *mut i16) -> ReturnCode,
    DescribeCol: fn(
        Handle, u16, *mut c_char, i16, *mut i16, *mut i16, *mut usize, *mut i16, *mut i16
    ) -> ReturnCode,
    BindParameter: fn(
        Handle, u16, i16, i16, i16, usize, i16, *mut c_void, Length, *mut Length
    ) -> ReturnCode,
    BindCol: fn(Handle, u16, i16, *mut c_void, Length, *mut Length) -> ReturnCode,
    GetData: fn(Handle, u16, i16, *mut c_void, Length, *mut Length) -> ReturnCode,
    Fetch: fn(Handle) -> ReturnCode,
    FreeStmt: fn(Handle, u16) -> ReturnCode,
    RowCount: fn(Handle, *mut Length) -> ReturnCode
}

/// The driver manager with this process's environment.
pub(super) struct Manager {
    pub(super) functions: Functions,
    environment: Handle,
    /// It is not unloaded, for the functions are in it.
    _library: Library,
}

// SAFETY: an environment may be used by several threads; ODBC asks drivers and the manager for
// that.
unsafe impl Send for Manager {}
// SAFETY: as above.
unsafe impl Sync for Manager {}

/// A diagnostic record of a function that did not succeed.
pub(super) struct Diagnostic {
    /// The SQLSTATE.
    pub(super) state: String,
    /// The number that the data source gave.
    pub(super) native: i32,
    /// In one line.
    pub(super) text: String,
}

/// Whether a function succeeded, warnings or not.
pub(super) fn is_success(code: ReturnCode) -> bool {
    code == 0 || code == SUCCESS_WITH_INFO
}

/// The driver manager of this machine.
///
/// # Errors
/// One line that names the package, if there is none.
pub(super) fn manager() -> Result<&'static Manager> {
    static LOADED: LazyLock<Result<Manager>> = LazyLock::new(Manager::load);
    LOADED.as_ref().map_err(Clone::clone)
}

/// The error for a file that the system's loader did not load. Only the loader's message tells a
/// file that is not there from one that is broken or lacks a library.
fn load_error(file: &str, error: &libloading::Error) -> Error {
    let message = match error {
        libloading::Error::DlOpen { source } => source.to_string(),
        other => other.to_string(),
    };
    let absent = format!("{file}: cannot open shared object file: No such file");
    if message.starts_with(&absent) {
        Error::missing(format!(
            "no unixODBC on this machine ({file}): install the package unixodbc"
        ))
    } else {
        Error::engine(format!("cannot load unixODBC: {message}"))
    }
}

impl Manager {
    fn load() -> Result<Self> {
        // SAFETY: the library's initializers run as in any program that is linked with it.
        let library = unsafe { Library::open(Some(LIBRARY), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| load_error(LIBRARY, &error))?;
        let functions = Functions::load(&library)?;
        let mut environment = null_mut();
        // SAFETY: the arguments are of the types that ODBC has for these calls, and the handle that
        // is set was just made.
        let code = unsafe {
            let made = (functions.AllocHandle)(ENVIRONMENT, null_mut(), &raw mut environment);
            let version = ODBC_3 as Handle;
            if is_success(made) {
                (functions.SetEnvAttr)(environment, ODBC_VERSION, version, 0)
            } else {
                made
            }
        };
        if is_success(code) {
            Ok(Self {
                functions,
                environment,
                _library: library,
            })
        } else {
            Err(Error::engine("unixODBC gives no environment of ODBC 3"))
        }
    }

    /// A new handle of that kind.
    ///
    /// # Errors
    /// The diagnostics of the handle's parent.
    pub(super) fn allocate(&self, kind: i16, holder: Option<Handle>) -> Result<Handle> {
        let (of_kind, holder) = match holder {
            Some(connection) => (CONNECTION, connection),
            None => (ENVIRONMENT, self.environment),
        };
        let mut handle = null_mut();
        // SAFETY: the holder is a live handle of the kind under which such handles are made.
        let code = unsafe { (self.functions.AllocHandle)(kind, holder, &raw mut handle) };
        if is_success(code) {
            Ok(handle)
        } else {
            Err(Error::engine(self.diagnostic(of_kind, holder, 1).text))
        }
    }

    /// Returns a diagnostic record of the last call on a handle, by its number from 1.
    pub(super) fn diagnostic(&self, kind: i16, handle: Handle, record: i16) -> Diagnostic {
        let (mut state, mut text) = ([0_u8; 6], [0_u8; 1024]);
        let (mut native, mut length) = (0, 0);
        // SAFETY: the buffers are as long as is said, and the handle is a live one of that kind.
        let code = unsafe {
            (self.functions.GetDiagRec)(
                kind,
                handle,
                record,
                state.as_mut_ptr().cast(),
                &raw mut native,
                text.as_mut_ptr().cast(),
                text.len() as i16,
                &raw mut length,
            )
        };
        if is_success(code) {
            Diagnostic {
                state: until_nul(&state),
                native,
                text: one_line(&until_nul(&text)),
            }
        } else {
            Diagnostic {
                state: String::new(),
                native: 0,
                text: "the driver failed and did not say why".to_owned(),
            }
        }
    }

    /// The names of the drivers that this machine has, as a connection string has them.
    pub(super) fn drivers(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut direction = FIRST;
        loop {
            let (mut name, mut attributes) = ([0_u8; 256], [0_u8; 1024]);
            let (mut length, mut other) = (0, 0);
            // SAFETY: the buffers are as long as is said.
            let code = unsafe {
                (self.functions.Drivers)(
                    self.environment,
                    direction,
                    name.as_mut_ptr().cast(),
                    name.len() as i16,
                    &raw mut length,
                    attributes.as_mut_ptr().cast(),
                    attributes.len() as i16,
                    &raw mut other,
                )
            };
            if !is_success(code) {
                return names;
            }
            names.push(until_nul(&name));
            direction = NEXT;
        }
    }
}

/// The text in a buffer of C.
pub(super) fn until_nul(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&buffer[..end.unwrap_or(buffer.len())]).into_owned()
}

/// Formats a driver's message as one line. psqlodbc appends its own operation after a semicolon.
fn one_line(text: &str) -> String {
    let text = text.split_once(";\n").map_or(text, |(text, _)| text);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_absent_is_missing_and_one_that_is_broken_is_not() {
        let folder = std::env::temp_dir().join(format!("trueput-odbc-{}", std::process::id()));
        std::fs::write(&folder, "no library").unwrap();
        let broken = folder.to_str().unwrap();
        for (file, is_missing) in [("libabsent.so.2", true), (broken, false)] {
            // SAFETY: nothing is loaded.
            let loaded = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
            let error = load_error(file, &loaded.err().unwrap());
            assert_eq!(matches!(error, Error::Missing(_)), is_missing, "{error}");
            assert!(error.to_string().contains(file), "{error}");
        }
        std::fs::remove_file(&folder).unwrap();
    }

    #[test]
    fn a_message_is_one_line_without_what_the_driver_adds() {
        let diagnostic =
            "ERROR: relation \"nowhere\" does not exist;\nError while preparing parameters";
        assert_eq!(
            one_line(diagnostic),
            "ERROR: relation \"nowhere\" does not exist"
        );
        assert_eq!(
            one_line("refused\n\tIs it running?\n"),
            "refused Is it running?"
        );
        assert_eq!(until_nul(b"42P01\0\0"), "42P01");
    }
}
