//! The password to answer a server with.

use super::address::{Endpoint, ServerAddress};
use crate::library;
use std::path::PathBuf;
use trueput_engine::{Result, Secret};

/// The variable by which PostgreSQL's own clients are given a password.
const PASSWORD: &str = "PGPASSWORD";
/// The variable that names PostgreSQL's password file.
const PASSFILE: &str = "PGPASSFILE";
/// The file's name in the user's home, without that variable.
const DEFAULT_NAME: &str = ".pgpass";

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
        Err(_) => of_file(address),
    }
}

/// Returns the password for an address in PostgreSQL's password file: `PGPASSFILE`, or `~/.pgpass`.
///
/// # Errors
/// One line, if the file exists and others can read it, or it cannot be read.
fn of_file(address: &ServerAddress) -> Result<Option<Secret>> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || Some(PathBuf::from(set("HOME")?).join(DEFAULT_NAME));
    let Some(path) = set(PASSFILE).map(PathBuf::from).or_else(home) else {
        return Ok(None);
    };
    if path.exists() {
        Ok(entry(&library::read_secret(&path)?, address))
    } else {
        Ok(None)
    }
}

/// The password of the first line that is for the address.
fn entry(text: &str, address: &ServerAddress) -> Option<Secret> {
    let (hosts, port) = match &address.endpoint {
        Endpoint::Host { host, port } => (vec![host.clone()], port),
        // libpq calls a socket in its usual folder localhost.
        Endpoint::Folder { folder, port } => {
            let folder = folder.to_string_lossy().into_owned();
            (vec!["localhost".to_owned(), folder], port)
        }
    };
    let port = port.to_string();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [host, line_port, database, user, password] = fields.as_slice() else {
            return None;
        };
        let is = |field: &String, value: &str| field == "*" || field == value;
        let is_for = hosts.iter().any(|name| is(host, name))
            && is(line_port, &port)
            && is(database, &address.database)
            && is(user, &address.user);
        is_for.then(|| Secret::new(password))
    })
}

/// A line's five fields, `\:` and `\\` undone.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let unescape = match letter {
            '\\' => letters.next(),
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            letter => Some(letter),
        };
        if let Some(last) = fields.last_mut() {
            last.extend(unescape);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_for_an_address_counts() {
        let file = "# host:port:database:user:password\n\
                    other:*:*:*:wrong\n\
                    db.example:5432:shop:me:co\\:lon\\\\and:rest\n\
                    *:*:*:me:any\n\
                    localhost:*:*:*:near\n\
                    /run/pg:*:*:*:folder\n";
        let found = |url: &str| {
            let address = ServerAddress::parse(&trueput_engine::Address::of(url)).unwrap();
            entry(file, &address).map(|secret| secret.expose().to_owned())
        };
        assert_eq!(
            found("postgres://me@db.example/shop").as_deref(),
            Some("co:lon\\and:rest")
        );
        assert_eq!(
            found("postgres://me@db.example/else").as_deref(),
            Some("any")
        );
        assert_eq!(found("postgres://you@db.example/shop"), None);
        assert_eq!(found("postgres://you@/shop").as_deref(), Some("near"));
    }
}
