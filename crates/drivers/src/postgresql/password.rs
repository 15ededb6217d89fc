//! The password to answer a server with.

use super::address::ServerAddress;
use super::passfile;
use crate::library;
use trueput_engine::{Result, Secret};

/// The variable by which PostgreSQL's own clients are given a password.
const PASSWORD: &str = "PGPASSWORD";

/// Finds the password for an address: its own, else that of the file that it names, else that of
/// the environment, else that of PostgreSQL's password file.
///
/// # Errors
/// One line, if its file cannot be read, or others can read it, too.
pub(super) fn of(address: &ServerAddress) -> Result<Option<Secret>> {
    if let Some(password) = &address.password {
        return Ok(Some(password.clone()));
    }
    if let Some(file) = &address.password_file {
        return library::first_line(file).map(Some);
    }
    match std::env::var(PASSWORD) {
        Ok(password) => Ok(Some(Secret::new(password))),
        Err(_) => passfile::password(address),
    }
}
