//! Bare loops in C: `bench/bare/ENGINE.c`, compiled against the engine's header and the library
//! that its driver loads.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A compiled loop.
pub struct Program {
    path: PathBuf,
    library: PathBuf,
}

/// The folder of the sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bare");

impl Program {
    /// Compiles the loop of `engine` into `folder`.
    ///
    /// # Errors
    /// One line if the header is missing; the compiler's output if it fails.
    pub fn compile(
        engine: &str,
        header: &str,
        package: &str,
        library: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let folder_of_library = library.parent().context("the library is in no folder")?;
        // A library that `make engines` installed may have its header in the same folder.
        let mut include = OsString::from("-I");
        include.push(folder_of_library);
        let found = Command::new("cc")
            .arg(&include)
            .args(["-E", "-include", header, "-x", "c", "/dev/null"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("cannot start cc")?;
        ensure!(
            found.success(),
            "its header {header} is not there (Debian's {package} has it)"
        );
        let path = folder.join(format!("bare-{engine}"));
        let output = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-o"])
            .arg(&path)
            .arg(&include)
            .arg(Path::new(SOURCES).join(format!("{engine}.c")))
            .arg(library)
            // What the library itself needs is found when it is loaded.
            .arg("-Wl,--unresolved-symbols=ignore-in-shared-libs")
            .output()
            .context("cannot start cc")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let library = library.to_owned();
        Ok(Self { path, library })
    }

    /// The command that runs the loop and prints the cost of an operation.
    pub fn command(&self, what: &str, folder: &Path, operations: u64) -> Command {
        let mut command = Command::new(&self.path);
        command
            .arg(what)
            .arg(folder)
            .arg(operations.to_string())
            // Preload the exact file, regardless of the name and folder that the loader would
            // search.
            .env("LD_PRELOAD", &self.library);
        command
    }
}
