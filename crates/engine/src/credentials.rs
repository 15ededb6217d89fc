//! Passwords in the addresses of users' servers: kept in memory, handed to worker processes through
//! the pipe that they are ordered by, and never written or shown: not in their environment either,
//! which others can read and which is handed on to whatever they start.
//!
//! An address is `SCHEME://USER:PASSWORD@HOST…?OPTION=VALUE…`, or a connection string of ODBC's:
//! `Driver={NAME};Server=HOST;UID=USER;PWD=PASSWORD`. An [`Address`] keeps what is secret apart
//! from what is shown: a password, and options whose names say that they are secret. Whoever
//! selects builds keeps [`Credentials`], and elsewhere an address is known as it is shown.

mod redaction;
mod syntax;

pub use redaction::{redact, redact_message, redact_word, split_list};
pub use syntax::attributes;
pub use trueput_record::address::is_address;

use crate::{Engine, Result};
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

/// The address of a user's server or data source, shown without what is secret in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    shown: String,
    /// The password, or the attributes of a connection string; empty if there is none.
    password: Secret,
    /// The options of a URL, `NAME=VALUE` each, with `&` between them; likewise.
    options: Secret,
}

impl Address {
    /// Takes what is secret out of an address. Of what was to be an address, and is none, nothing
    /// is kept that could be a password.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let (shown, password, options) = match syntax::split(text) {
            // What was taken for an option or a user may itself hold a part of a password.
            Some(parts) => (
                syntax::masked(&parts.shown).unwrap_or(parts.shown),
                parts.password,
                parts.options,
            ),
            None => {
                let hidden = match Path::new(text).exists() {
                    true => None,
                    false => syntax::torn(text).or_else(|| syntax::masked(text)),
                };
                let shown = hidden.unwrap_or_else(|| text.to_owned());
                (shown, String::new(), String::new())
            }
        };
        Self {
            shown,
            password: Secret(password),
            options: Secret(options),
        }
    }

    /// Returns a build as it may be shown.
    #[must_use]
    pub fn shown_of(build: &Path) -> PathBuf {
        let shown = build
            .to_str()
            .map(|text| PathBuf::from(Self::of(text).shown));
        shown.unwrap_or_else(|| build.to_owned())
    }

    /// Returns the address without what is secret in it.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the password as the address has it: with `%` escapes, or with the names of its
    /// attributes.
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
        formatter.write_str(&self.shown)
    }
}

/// The addresses that have something secret in them, by what is shown of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials(BTreeMap<String, Address>);

impl Credentials {
    /// Keeps what is secret in a build that is an address, and returns the build as it may be
    /// shown.
    pub fn add(&mut self, build: &Path) -> PathBuf {
        let Some(text) = build.to_str() else {
            return build.to_owned();
        };
        let address = Address::of(text);
        let shown = PathBuf::from(address.shown());
        if address.has_secrets() {
            self.0.insert(address.shown.clone(), address);
        }
        shown
    }

    /// Returns the address that is shown as `shown`, with its secrets where they are known.
    fn address(&self, shown: &str) -> Address {
        let known = self.0.get(shown).cloned();
        known.unwrap_or_else(|| Address::of(shown))
    }

    /// The address that a build of an engine is; `None` if it is a file.
    fn address_for(&self, engine: &dyn Engine, build: &Path) -> Option<Address> {
        let is_address = is_address_for(engine.info().name, build);
        is_address
            .then(|| build.to_str())
            .flatten()
            .map(|shown| self.address(shown))
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

    /// As [`Credentials::open`], as far as the build's name alone tells.
    ///
    /// # Errors
    /// As [`Engine::unopened`] and [`Engine::unopened_address`].
    pub fn unopened(&self, engine: &dyn Engine, build: &Path) -> Result<Box<dyn Engine>> {
        match self.address_for(engine, build) {
            Some(address) => engine.unopened_address(&address),
            None => engine.unopened(build),
        }
    }

    /// Returns what another process is to [`Credentials::import`]: of each address what is shown,
    /// its password and its options. It is not to be written or shown.
    #[must_use]
    pub fn export(&self) -> Vec<[String; 3]> {
        let addresses = self.0.values().cloned();
        addresses
            .map(|address| [address.shown, address.password.0, address.options.0])
            .collect()
    }

    /// Takes over what [`Credentials::export`] gave in another process.
    #[must_use]
    pub fn import(exported: Vec<[String; 3]>) -> Self {
        let addresses = exported
            .into_iter()
            .map(|[shown, password, options]| Address {
                shown,
                password: Secret(password),
                options: Secret(options),
            });
        let by_name = addresses.map(|address| (address.shown.clone(), address));
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

    /// The password of an address, and its secret options.
    fn secrets(address: &str) -> (Option<String>, Vec<String>) {
        let address = Address::of(address);
        let password = address.password().map(|secret| secret.expose().to_owned());
        let options = address.secret_options().map(str::to_owned);
        (password, options.collect())
    }

    #[test]
    fn a_password_is_kept_and_not_shown() {
        let given = "postgres://me:p%40ss@host:7/db";
        let shown = "postgres://me@host:7/db";
        let mut credentials = Credentials::default();
        assert_eq!(credentials.add(Path::new(given)), Path::new(shown));
        let address = credentials.address(shown);
        assert_eq!(address.password(), Some(&Secret::new("p%40ss")));
        assert_eq!(address.to_string(), shown);
        let printed = format!("{credentials:?} {address:?} {}", Secret::new("p%40ss"));
        assert!(!printed.contains("p%40ss"), "{printed}");
        assert_eq!(
            credentials.address("postgres://you@host:7/db").password(),
            None
        );
        let exported = credentials.export();
        assert_eq!(exported, [[shown, "p%40ss", ""].map(str::to_owned)]);
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
            assert_eq!(Address::shown_of(Path::new(text)), Path::new(text));
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_command_line_is_recorded_without_passwords() {
        let word = "lmdb,postgresql@postgres://me:secret@host/db";
        assert_eq!(redact(word), "lmdb,postgresql@postgres://me@host/db");
        assert_eq!(redact("--engine"), "--engine");
        assert_eq!(redact("mysql://me:a/b@host/db"), "mysql://me@host/db");
        assert_eq!(
            redact("--engine=postgresql@postgres://me:se@cret@host"),
            "--engine=postgresql@postgres://me@host"
        );
    }

    #[test]
    fn options_that_are_secret_are_kept_and_not_shown() {
        let given = "mysql://me@host/trueput_q?Password=hush&socket=/run/s&api_token=t&passwd=a&b";
        let shown = "mysql://me@host/trueput_q?socket=/run/s";
        assert_eq!(Address::shown_of(Path::new(given)), Path::new(shown));
        let (password, options) = secrets(given);
        assert_eq!(password, None);
        assert_eq!(options, ["Password=hush", "api_token=t", "passwd=a", "b"]);
        assert_eq!(
            redact(&format!("--engine=mariadb@{given}")),
            format!("--engine=mariadb@{shown}")
        );
        assert_eq!(redact("mysql://me:a@h/d?sslpassword=b"), "mysql://me@h/d");
        let plain = "postgres://me@host/db?sslmode=disable";
        assert_eq!(Address::shown_of(Path::new(plain)), Path::new(plain));
    }

    #[test]
    fn a_password_of_any_letters_is_kept_and_not_shown() {
        let given = "postgres://me:two words\tand \\n\n@odd/db";
        let shown = "postgres://me@odd/db";
        assert_eq!(Address::shown_of(Path::new(given)), Path::new(shown));
        assert_eq!(redact(given), shown);
        let password = "two words\tand \\n\n";
        assert_eq!(secrets(given).0.as_deref(), Some(password));
    }

    #[test]
    fn an_address_that_is_torn_within_its_password_is_not_shown_whole() {
        assert_eq!(redact("postgres://me:hush"), "postgres://me");
        assert_eq!(
            redact("postgresql@postgres://me:hush/x"),
            "postgresql@postgres://me"
        );
        for whole in [
            "postgres://host:5432/db",
            "postgres://[::1]:5432",
            "postgres://host",
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
                Address::shown_of(Path::new(given)),
                Path::new(expected),
                "{given}"
            );
            assert_eq!(redact_word(given), expected);
        }
        for plain in ["/opt/a:b/librocksdb.so", "libs/a:b.so", "ext4", "host:5432"] {
            assert_eq!(Address::shown_of(Path::new(plain)), Path::new(plain));
        }
        for recorded in ["--filesystem=ext4:mkfs=-O", "folder:/mnt/x", "--set=a:b"] {
            assert_eq!(redact(recorded), recorded);
        }
        let words = ["postgresql@postgres:/u:hush@h".to_owned()];
        let message = "cannot read postgres:/u:hush@h or postgresql@postgres:/u:hush@h";
        assert!(!redact_message(message, &words).contains("hush"));
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
        let shown = "Driver={My Driver};Server=h;Database=d";
        assert_eq!(Address::shown_of(Path::new(given)), Path::new(shown));
        let kept = secrets(given).0.unwrap();
        assert_eq!(kept, "PWD={a;b=c,d}};e};SSLKeyPassword=x");
        assert_eq!(attributes(&kept).count(), 2);
        let word = format!("--engine=lmdb,odbc@{given},odbc@DSN=x;password=y");
        let expected = format!("--engine=lmdb,odbc@{shown},odbc@DSN=x");
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

    /// Whether a text has four letters of the password in a row.
    fn tells(text: &str, password: &str) -> bool {
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
            // Without a host, what follows an @ could be one, and what begins with / a database.
            let is_torn = FORMS[form].ends_with("://me:{}");
            proptest::prop_assume!(
                !is_torn || (!password.contains('@') && password.starts_with(['X', 'Y', 'Z']))
            );
            let address = FORMS[form].replace("{}", &password);
            let kept = Address::shown_of(Path::new(&address)).display().to_string();
            proptest::prop_assert!(!tells(&kept, &password), "{address}: keep: {kept}");
            let said = redact_word(&address);
            proptest::prop_assert!(!tells(&said, &password), "{address}: shown: {said}");
            let word = format!("--engine=lmdb,postgresql@{address}");
            let message = format!("cannot read {address}, of {word}");
            let said = redact_message(&message, &[word]);
            proptest::prop_assert!(!tells(&said, &password), "{address}: {said}");
        }
    }
}
