//! The ways in which the installation of an engine ends without it.

/// Why an engine is not installed.
#[derive(Debug, PartialEq, Eq)]
pub enum InstallationError {
    /// It failed, for this reason.
    Failure(String),
    /// Tools of its language are not here.
    MissingTool(String),
    /// The user stopped the program.
    Interruption,
}

impl InstallationError {
    /// A failure with this reason.
    pub fn failure(reason: impl std::fmt::Display) -> Self {
        Self::Failure(reason.to_string())
    }
}

/// A file of the installation that could not be read or written.
impl From<std::io::Error> for InstallationError {
    fn from(error: std::io::Error) -> Self {
        Self::failure(error)
    }
}

/// The result of a step.
pub type Result<T> = std::result::Result<T, InstallationError>;
