//! The addresses of users' servers, which stand where else a library's file is named.

use std::path::Path;

/// Returns whether a build is the address of a server (a URL or an ODBC connection string) instead
/// of a file.
#[must_use]
pub fn is_address(build: &Path) -> bool {
    let is_one = |text: &str| text.contains("://") || is_connection_string(text);
    build.to_str().is_some_and(is_one)
}

/// The engines whose builds may be addresses; of the others each is a file, whatever it looks like.
const ADDRESSED: [&str; 4] = ["postgresql", "mariadb", "etcd", "odbc"];

/// Returns whether this engine treats the build as an address, even if a file of that name exists.
#[must_use]
pub fn is_address_for(engine: &str, build: &Path) -> bool {
    ADDRESSED.contains(&engine) && is_address(build)
}

/// Returns whether a text begins as a connection string does: with the name of an attribute and
/// `=`.
#[must_use]
pub fn is_connection_string(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '_');
    text.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && name.chars().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_from_a_file() {
        assert!(is_address(Path::new("postgres://host/db")));
        assert!(is_address(Path::new("DSN=mine")));
        assert!(!is_address(Path::new("/opt/a=b/librocksdb.so")));
        assert!(!is_address(Path::new(
            "/usr/lib/postgresql/15/bin/postgres"
        )));
        assert!(is_address_for("mariadb", Path::new("mysql://host/trueput")));
        assert!(!is_address_for("rocksdb", Path::new("mysql://host/b.so")));
    }
}
