//! Engines that are no part of the program: plug-ins, installed or named by their files.

use crate::{Engine, Result};
use std::path::Path;

/// What [`crate::Info::install`] says of an engine that is no part of the program.
pub const PLUGIN_INSTALL: &str = "a plug-in: docs/PLUGINS.md";

/// Where the engines come from that are no part of the program.
pub trait EngineSource: Sync {
    /// Returns the engine of that name, if its file was named earlier in this process or it is
    /// installed. One that was named comes first.
    ///
    /// # Errors
    /// For an installed file that cannot be used: as [`EngineSource::read`].
    fn find(&self, name: &str) -> Option<Result<&'static dyn Engine>>;

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

    /// Returns the names of the engines that `trueput engines install` can install.
    fn installable(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
