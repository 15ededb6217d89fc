//! Passwords in the addresses of users' servers. They are kept in memory and passed to worker
//! processes through the pipe that carries their orders; never written to disk, printed, or put in
//! their environment, which other users may read and child processes inherit.
//!
//! An address is `SCHEME://USER:PASSWORD@HOST…?OPTION=VALUE…`, or an ODBC connection string:
//! `Driver={NAME};Server=HOST;UID=USER;PWD=PASSWORD`. An [`Address`] separates its secrets (the
//! password, and options with secret names) from its redacted text. The code that selects builds
//! keeps [`Credentials`]; elsewhere an address is known by its redacted text.

mod redaction;
mod syntax;

pub use redaction::{redact, redact_message, redact_word, split_list};
pub use syntax::attributes;
pub use trueput_record::address::is_address;

use crate::{Engine, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use trueput_record::address::is_address_for;

/// A text that is never shown: neither by `Debug` nor by `Display`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text itself, for whom it is meant.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// The address of a user's server or data source, displayed without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    redacted: String,
    /// The password, or the secret attributes of a connection string; empty if there is none.
    password: Secret,
    /// The options of a URL, `NAME=VALUE` each, with `&` between them; likewise.
    options: Secret,
}

impl Address {
    /// Separates the secrets of an address from the rest. If the text looks like a malformed
    /// address, anything that could be a password is masked.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let (redacted, password, options) = match syntax::split(text) {
            // A mistaken option or user may itself contain part of a password.
            Some(parts) => (
                syntax::mask(&parts.redacted).unwrap_or(parts.redacted),
                parts.password,
                parts.options,
            ),
            None => {
                // An existing file is a build, not a malformed address, whatever its name.
                let hidden = if Path::new(text).exists() {
                    None
                } else {
                    syntax::truncated(text).or_else(|| syntax::mask(text))
                };
                let redacted = hidden.unwrap_or_else(|| text.to_owned());
                (redacted, String::new(), String::new())
            }
        };
        Self {
            redacted,
            password: Secret(password),
            options: Secret(options),
        }
    }

    /// Returns a build that is safe to display: an address without its secrets.
    #[must_use]
    pub fn redact_build(build: &Path) -> PathBuf {
        let redacted = build
            .to_str()
            .map(|text| PathBuf::from(Self::of(text).redacted));
        redacted.unwrap_or_else(|| build.to_owned())
    }

    /// Returns the address without its secrets.
    #[must_use]
    pub fn redacted(&self) -> &str {
        &self.redacted
    }

    /// Returns the password as written in the address: with `%` escapes, or as attributes with
    /// their names.
    #[must_use]
    pub fn password(&self) -> Option<&Secret> {
        (!self.password.is_empty()).then_some(&self.password)
    }

    /// Returns the options of a URL that are secret, `NAME=VALUE` each, with `%` escapes.
    pub fn secret_options(&self) -> impl Iterator<Item = &str> {
        let options = self.options.expose().split('&');
        options.filter(|option| !option.is_empty())
    }

    fn has_secrets(&self) -> bool {
        !self.password.is_empty() || !self.options.is_empty()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.redacted)
    }
}

/// An address with its secrets in plain text, for the pipe to another process. It has no `Debug`,
/// so that it is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedAddress {
    /// The address without its secrets.
    pub redacted: String,
    /// The password, or the secret attributes of a connection string; empty if there is none.
    pub password: String,
    /// The secret options of a URL, with `&` between them; empty if there are none.
    pub options: String,
}

/// The addresses with secrets, by their redacted text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials(BTreeMap<String, Address>);

impl Credentials {
    /// Keeps the secrets of a build that is an address, and returns the redacted build.
    pub fn add(&mut self, build: &Path) -> PathBuf {
        let Some(text) = build.to_str() else {
            return build.to_owned();
        };
        let address = Address::of(text);
        let redacted = PathBuf::from(address.redacted());
        if address.has_secrets() {
            self.0.insert(address.redacted.clone(), address);
        }
        redacted
    }

    /// Returns the address with this redacted text, with its secrets if they are known.
    fn address(&self, redacted: &str) -> Address {
        let known = self.0.get(redacted).cloned();
        known.unwrap_or_else(|| Address::of(redacted))
    }

    /// Returns the address of a build of an engine; `None` if the build is a file.
    fn address_for(&self, engine: &dyn Engine, build: &Path) -> Option<Address> {
        let is_address = is_address_for(engine.info().name, build);
        is_address
            .then(|| build.to_str())
            .flatten()
            .map(|redacted| self.address(redacted))
    }

    /// Returns the engine as a build has it: a library, a program, or an address.
    ///
    /// # Errors
    /// As [`Engine::with_library`] and [`Engine::with_address`].
    pub fn open(&self, engine: &dyn Engine, build: &Path) -> Result<Box<dyn Engine>> {
        match self.address_for(engine, build) {
            Some(address) => engine.with_address(&address),
            None => engine.with_library(build),
        }
    }

    /// As [`Credentials::open`], but uses only the build's name.
    ///
    /// # Errors
    /// As [`Engine::unopened`] and [`Engine::unopened_address`].
    pub fn unopened(&self, engine: &dyn Engine, build: &Path) -> Result<Box<dyn Engine>> {
        match self.address_for(engine, build) {
            Some(address) => engine.unopened_address(&address),
            None => engine.unopened(build),
        }
    }

    /// Returns the addresses with their secrets, for [`Credentials::import`] in another process.
    /// The result must not be written or displayed.
    #[must_use]
    pub fn export(&self) -> Vec<ExportedAddress> {
        let addresses = self.0.values().cloned();
        addresses
            .map(|address| ExportedAddress {
                redacted: address.redacted,
                password: address.password.0,
                options: address.options.0,
            })
            .collect()
    }

    /// Takes over the addresses from [`Credentials::export`] in another process.
    #[must_use]
    pub fn import(exported: Vec<ExportedAddress>) -> Self {
        let addresses = exported.into_iter().map(|address| Address {
            redacted: address.redacted,
            password: Secret(address.password),
            options: Secret(address.options),
        });
        let by_name = addresses.map(|address| (address.redacted.clone(), address));
        Self(by_name.collect())
    }
}

impl<'b> FromIterator<&'b Path> for Credentials {
    fn from_iter<I: IntoIterator<Item = &'b Path>>(builds: I) -> Self {
        let mut credentials = Self::default();
        for build in builds {
            credentials.add(build);
        }
        credentials
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the password of an address, and its secret options.
    fn secrets(address: &str) -> (Option<String>, Vec<String>) {
        let address = Address::of(address);
        let password = address.password().map(|secret| secret.expose().to_owned());
        let options = address.secret_options().map(str::to_owned);
        (password, options.collect())
    }

    #[test]
    fn a_password_is_kept_and_not_shown() {
        let given = "postgres://me:p%40ss@host:7/db";
        let redacted = "postgres://me@host:7/db";
        let mut credentials = Credentials::default();
        assert_eq!(credentials.add(Path::new(given)), Path::new(redacted));
        let address = credentials.address(redacted);
        assert_eq!(address.password(), Some(&Secret::new("p%40ss")));
        assert_eq!(address.to_string(), redacted);
        let printed = format!("{credentials:?} {address:?} {}", Secret::new("p%40ss"));
        assert!(!printed.contains("p%40ss"), "{printed}");
        assert_eq!(
            credentials.address("postgres://you@host:7/db").password(),
            None
        );
        let exported = credentials.export();
        let expected = ExportedAddress {
            redacted: redacted.to_owned(),
            password: "p%40ss".to_owned(),
            options: String::new(),
        };
        assert!(exported == [expected]);
        assert_eq!(Credentials::import(exported), credentials);
    }

    #[test]
    fn a_password_behind_a_misspelled_name_is_not_shown() {
        for name in ["pasword", "passwrod", "pssword", "passord", "Paswd", "PWDD"] {
            for text in [
                format!("postgresql@host=127.0.0.1 port=1 {name}=SECRET"),
                format!("odbc@Driver={{PG}};Server=db;{name}=SECRET"),
            ] {
                assert!(
                    !redact(&text).contains("SECRET"),
                    "{text}: {}",
                    redact(&text)
                );
            }
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for text in [
            "/usr/lib/librocksdb.so",
            "postgres://host/db",
            "postgres://me@host/a:b@c",
        ] {
            assert_eq!(Address::redact_build(Path::new(text)), Path::new(text));
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_command_line_is_recorded_without_passwords() {
        let word = "lmdb,postgresql@postgres://me:secret@host/db";
        assert_eq!(redact(word), "lmdb,postgresql@postgres://me@host/db");
        assert_eq!(redact("--engine"), "--engine");
        for name in ["pw", "pass", "apikey", "api_key", "x-auth", "PW"] {
            let word = format!("postgresql@postgres://me@host/db?{name}=SECRET&sslmode=disable");
            let shown = "postgresql@postgres://me@host/db?sslmode=disable";
            assert_eq!(redact(&word), shown, "{name}");
        }
        // A file of a key is no secret, and its name tells what went wrong.
        let file = "postgresql@postgres://me@host/db?sslkey=/etc/key.pem";
        assert_eq!(redact(file), file);
        assert_eq!(redact("mysql://me:a/b@host/db"), "mysql://me@host/db");
        assert_eq!(
            redact("--engine=postgresql@postgres://me:se@cret@host"),
            "--engine=postgresql@postgres://me@host"
        );
    }

    #[test]
    fn options_that_are_secret_are_kept_and_not_shown() {
        let given = "mysql://me@host/trueput_q?Password=hush&socket=/run/s&api_token=t&passwd=a&b";
        let redacted = "mysql://me@host/trueput_q?socket=/run/s";
        assert_eq!(Address::redact_build(Path::new(given)), Path::new(redacted));
        let (password, options) = secrets(given);
        assert_eq!(password, None);
        assert_eq!(options, ["Password=hush", "api_token=t", "passwd=a", "b"]);
        assert_eq!(
            redact(&format!("--engine=mariadb@{given}")),
            format!("--engine=mariadb@{redacted}")
        );
        assert_eq!(redact("mysql://me:a@h/d?sslpassword=b"), "mysql://me@h/d");
        let plain = "postgres://me@host/db?sslmode=disable";
        assert_eq!(Address::redact_build(Path::new(plain)), Path::new(plain));
    }

    #[test]
    fn a_password_of_any_letters_is_kept_and_not_shown() {
        let given = "postgres://me:two words\tand \\n\n@odd/db";
        let redacted = "postgres://me@odd/db";
        assert_eq!(Address::redact_build(Path::new(given)), Path::new(redacted));
        assert_eq!(redact(given), redacted);
        let password = "two words\tand \\n\n";
        assert_eq!(secrets(given).0.as_deref(), Some(password));
    }

    #[test]
    fn an_address_truncated_within_its_password_is_not_shown_whole() {
        assert_eq!(redact("postgres://me:hush"), "postgres://me");
        assert_eq!(
            redact("postgresql@postgres://me:hush/x"),
            "postgresql@postgres://me"
        );
        for whole in [
            "postgres://host:5432/db",
            "postgres://[::1]:5432",
            "postgres://host",
            "http://a:2379,b:2379,c:2379",
        ] {
            assert_eq!(redact(whole), whole);
        }
    }

    #[test]
    fn what_was_to_be_an_address_is_shown_without_what_could_be_a_password() {
        for (given, expected) in [
            ("postgres:/u:hush@host/db", "postgres:/u:…@host/db"),
            ("mysql:u:hush@host", "mysql:u:…@host"),
            ("mysql:hush@host", "mysql:…@host"),
            ("user:hush@host/db", "user:…@host/db"),
            ("host=h user=u password=hush x", "host=h user=u password=…"),
            ("postgres://u:hu@sh@host/db", "postgres://u@host/db"),
            ("postgres://u:12/hu@host/db", "postgres://u@host/db"),
            ("postgres://u:hu/a@b@host/db", "postgres://u@host/db"),
            ("postgres://u:hush", "postgres://u"),
            ("u:hush", "u:…"),
        ] {
            assert_eq!(
                Address::redact_build(Path::new(given)),
                Path::new(expected),
                "{given}"
            );
            assert_eq!(redact_word(given), expected);
        }
        for plain in ["/opt/a:b/librocksdb.so", "libs/a:b.so", "ext4", "host:5432"] {
            assert_eq!(Address::redact_build(Path::new(plain)), Path::new(plain));
        }
        for recorded in [
            "--filesystem=ext4:mkfs=-O",
            "folder:/mnt/x",
            "--set=a:b",
            "none,any:stall=1s@1s,write:eio@100000",
            "results/a:fault=any:stall=1s@1s",
        ] {
            assert_eq!(redact(recorded), recorded);
        }
        let words = ["postgresql@postgres:/u:hush@h".to_owned()];
        let message = "cannot read postgres:/u:hush@h or postgresql@postgres:/u:hush@h";
        assert!(!redact_message(message, &words).contains("hush"));
        for (word, is_kept) in [
            ("fsync:eio@0", true),
            ("--fault=any:stall=1s@,read:flip@2", true),
            ("fsync:hush@0", false),
            ("fsync:eio@0,u:hush@h", false),
        ] {
            let words = [word.to_owned()];
            assert_eq!(redact_message(word, &words) == word, is_kept, "{word}");
        }
    }

    #[test]
    fn a_list_may_begin_with_commas() {
        assert_eq!(split_list(",,lmdb,"), ["", "", "lmdb", ""]);
        assert_eq!(split_list(""), [""]);
    }

    #[test]
    fn a_comma_in_a_password_does_not_part_an_address() {
        let given = "lmdb,postgresql@postgres://u:hu,sh@host/db,sqlite";
        let expected = ["lmdb", "postgresql@postgres://u:hu,sh@host/db", "sqlite"];
        assert_eq!(split_list(given), expected);
        assert_eq!(split_list("lmdb,p@postgres://u:hu,sh").len(), 2);
    }

    #[test]
    fn a_connection_string_is_shown_without_what_is_secret_in_it() {
        let given = "Driver={My Driver};Server=h;PWD={a;b=c,d}};e};SSLKeyPassword=x;Database=d";
        let redacted = "Driver={My Driver};Server=h;Database=d";
        assert_eq!(Address::redact_build(Path::new(given)), Path::new(redacted));
        let kept = secrets(given).0.unwrap();
        assert_eq!(kept, "PWD={a;b=c,d}};e};SSLKeyPassword=x");
        assert_eq!(attributes(&kept).count(), 2);
        let word = format!("--engine=lmdb,odbc@{given},odbc@DSN=x;password=y");
        let expected = format!("--engine=lmdb,odbc@{redacted},odbc@DSN=x");
        assert_eq!(redact(&word), expected);
        assert_eq!(
            split_list(&format!("lmdb,odbc@{given}"))[1],
            format!("odbc@{given}")
        );
        for plain in ["DSN=mine", "finish=1000", "lmdb.map_size=1GiB"] {
            assert_eq!(redact(plain), plain);
        }
    }

    /// Forms of addresses, right and wrong, with `{}` for the password.
    const FORMS: [&str; 16] = [
        "postgres://me:{}@host/db",
        "postgres:/me:{}@host/db",
        "postgres:me:{}@host",
        "postgresql://me:{}@host:5432/db?sslmode=disable",
        "postgres://me:{}",
        "postgres://host/db?password={}",
        "postgres://host/db&password={}",
        "mysql:me:{}@host",
        "mysql:/me:{}@host/trueput",
        "mysql://me:{}@host:many/trueput",
        "me:{}@host/db",
        "host=h user=me password={}",
        "password={} host=h",
        "Server=h;UID=me;PWD={}",
        "Server=h;password = {}",
        "me@home:{}@host",
    ];

    /// Returns whether a text has four consecutive letters of the password.
    fn leaks(text: &str, password: &str) -> bool {
        let letters: Vec<char> = password.chars().collect();
        letters
            .windows(4)
            .any(|part| text.contains(&part.iter().collect::<String>()))
    }

    proptest::proptest! {
        #[test]
        fn no_form_of_an_address_shows_its_password(
            form in 0..FORMS.len(),
            // No part of it is in a form; digits alone would be a port.
            password in "[XYZ@:/?#&%+!*]{0,6}[XYZ]{4,8}[XYZ0-9@:/?#&%+!*]{0,6}",
        ) {
            // Without a host, text after an @ could be one, and text that begins with / a database.
            let is_truncated = FORMS[form].ends_with("://me:{}");
            proptest::prop_assume!(
                !is_truncated || (!password.contains('@') && password.starts_with(['X', 'Y', 'Z']))
            );
            let address = FORMS[form].replace("{}", &password);
            let kept = Address::redact_build(Path::new(&address)).display().to_string();
            proptest::prop_assert!(!leaks(&kept, &password), "{address}: keep: {kept}");
            let said = redact_word(&address);
            proptest::prop_assert!(!leaks(&said, &password), "{address}: shown: {said}");
            let word = format!("--engine=lmdb,postgresql@{address}");
            let message = format!("cannot read {address}, of {word}");
            let said = redact_message(&message, &[word]);
            proptest::prop_assert!(!leaks(&said, &password), "{address}: {said}");
        }
    }
}
