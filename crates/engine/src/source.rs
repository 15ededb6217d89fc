//! Engines that are no part of the program: plug-ins, installed or named by their files.

use crate::{Engine, Result};
use std::path::Path;

/// Where the engines come from that are no part of the program.
pub trait EngineSource: Sync {
    /// Returns the engine of that name, if its file was named earlier in this process or it is
    /// installed.
    fn find(&self, name: &str) -> Option<&'static dyn Engine>;

    /// Reads what an engine says of itself in its file, and knows it by its name from then on. No
    /// code of the file runs.
    ///
    /// # Errors
    /// One line that names the file and what is wrong with it.
    fn read(&self, library: &Path) -> Result<&'static dyn Engine>;

    /// Returns the engines that are installed, the newest build of each, sorted by name.
    ///
    /// # Errors
    /// For a file that is no engine: as [`EngineSource::read`].
    fn installed(&self) -> Vec<Result<&'static dyn Engine>> {
        Vec::new()
    }
}
