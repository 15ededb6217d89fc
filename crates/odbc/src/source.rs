//! A data source, given by its connection string, and the errors of one.

use super::manager::{Diagnostic, Manager};
use trueput_engine::credentials::attributes;
use trueput_engine::{Address, Dialect, Error, Result, Secret};

/// The form of a connection string, for messages.
const FORM: &str =
    "odbc@DSN=NAME, or 'odbc@Driver={PostgreSQL Unicode};Server=HOST;UID=USER;PWD=…'";

/// The login timeout of a data source, seconds.
pub(super) const LOGIN_TIMEOUT_S: usize = 30;

/// The packages that have a driver, by a word of its name.
const PACKAGES: [(&str, &str); 6] = [
    ("postgres", "the package odbc-postgresql"),
    ("maria", "the package odbc-mariadb"),
    ("mysql", "the package odbc-mariadb"),
    ("sqlite", "the package libsqliteodbc"),
    ("informix", "IBM's Informix Client SDK"),
    ("iris", "InterSystems' ODBC driver, which comes with IRIS"),
];

/// The attribute of a connection string that is this program's and no driver's: the dialect.
pub(super) const DIALECT: &str = "TRUEPUT_DIALECT";

/// A data source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataSource {
    /// The connection string.
    address: Address,
    /// The dialect that it names.
    dialect: Option<Dialect>,
}

impl DataSource {
    /// Reads a connection string.
    ///
    /// # Errors
    /// One line that never repeats a password.
    pub(super) fn new(address: &Address) -> Result<Self> {
        let mut source = Self {
            address: address.clone(),
            dialect: None,
        };
        if let Some(name) = source.attribute(DIALECT) {
            let dialect = Dialect::named(name);
            source.dialect = Some(dialect.ok_or_else(|| unknown_dialect(name))?);
        }
        let named = ["driver", "dsn", "filedsn"];
        if named.iter().any(|name| source.attribute(name).is_some()) {
            Ok(source)
        } else {
            Err(Error::Unsupported(format!(
                "odbc: '{}' names neither a driver nor a data source; a data source is {FORM}",
                source.shown()
            )))
        }
    }

    /// The connection string without passwords.
    pub(super) fn shown(&self) -> &str {
        self.address.redacted()
    }

    /// The dialect that the connection string names.
    pub(super) fn dialect(&self) -> Option<Dialect> {
        self.dialect
    }

    /// The connection string with passwords, and with `more` appended if it is not empty.
    pub(super) fn connect_string(&self, more: &str) -> String {
        let is_ours = |attribute: &&str| {
            let (name, _) = attribute.split_once('=').unwrap_or((attribute, ""));
            name.trim().eq_ignore_ascii_case(DIALECT)
        };
        let theirs = attributes(self.shown()).filter(|attribute| !is_ours(attribute));
        let theirs = theirs.collect::<Vec<_>>().join(";");
        let parts = [theirs.trim_end_matches(';'), self.secrets(), more];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(";")
    }

    /// The value of an attribute, without braces; the name's case does not matter.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        attributes(self.shown()).find_map(|attribute| {
            let (key, value) = attribute.split_once('=')?;
            let is_it = key.trim().eq_ignore_ascii_case(name);
            is_it.then(|| value.trim().trim_start_matches('{').trim_end_matches('}'))
        })
    }

    /// The attributes that are secret.
    fn secrets(&self) -> &str {
        self.address.password().map_or("", Secret::expose)
    }

    /// A message without the passwords that were given, should a driver repeat them.
    pub(super) fn without_secrets(&self, text: String) -> String {
        attributes(self.secrets()).fold(text, |text, attribute| {
            let value = attribute.split_once('=').map_or("", |(_, value)| value);
            let value = value.trim().trim_start_matches('{').trim_end_matches('}');
            if value.is_empty() || !text.contains(value) {
                text
            } else {
                text.replace(value, "…")
            }
        })
    }

    /// Returns the error for a connection that failed.
    #[cold]
    pub(super) fn refusal(&self, manager: &Manager, diagnostic: &Diagnostic) -> Error {
        let shown = self.shown();
        let has_no_driver =
            diagnostic.text.contains("Can't open lib") || diagnostic.state == "IM003";
        if has_no_driver {
            let driver = self.attribute("driver");
            let name = driver
                .or_else(|| diagnostic.text.split('\'').nth(1))
                .unwrap_or("?");
            let here = match manager.drivers() {
                none if none.is_empty() => "none is installed".to_owned(),
                some => format!("there are {}", some.join(", ")),
            };
            return Error::missing(format!(
                "no ODBC driver '{name}' on this machine: install {}; {here}",
                package(name)
            ));
        }
        if diagnostic.state == "IM002" {
            let name = self.attribute("dsn").unwrap_or(shown);
            return Error::engine(format!(
                "unknown ODBC data source '{name}': add it to odbc.ini (see `odbcinst -j`), \
                    or name its driver: {FORM}"
            ));
        }
        let text = self.without_secrets(diagnostic.text.clone());
        Error::engine(format!("cannot connect to {shown}: {text}"))
    }
}

fn unknown_dialect(name: &str) -> Error {
    let known = Dialect::ALL.map(Dialect::name).join(", ");
    Error::Unsupported(format!("odbc: {DIALECT}={name} is unknown; known: {known}"))
}

/// The refusal of an engine that was given no data source.
pub(super) fn unnamed() -> Error {
    Error::missing(format!(
        "a data source must be named: {FORM}; `trueput engines install odbc` installs drivers for \
         some"
    ))
}

/// Returns the package that has the driver of that name.
fn package(driver: &str) -> &'static str {
    let name = driver.to_lowercase();
    let known = PACKAGES.iter().find(|(word, _)| name.contains(word));
    known.map_or("it from its vendor", |(_, package)| package)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source_of(text: &str) -> Result<DataSource> {
        DataSource::new(&Address::of(text))
    }

    #[test]
    fn a_password_is_taken_out_and_put_back() {
        let source = source_of("Driver={X};PWD={s;1};Server=h;").unwrap();
        assert_eq!(source.shown(), "Driver={X};Server=h;");
        assert_eq!(
            source.connect_string("A=1"),
            "Driver={X};Server=h;PWD={s;1};A=1"
        );
        let diagnostic = source.without_secrets("login 's;1' refused".to_owned());
        assert_eq!(diagnostic, "login '…' refused");
        assert_eq!(source.attribute("driver"), Some("X"));
        assert_eq!(source.attribute("server"), Some("h"));
    }

    #[test]
    fn a_dialect_is_taken_from_the_string_and_no_driver_sees_it() {
        let source = source_of("DSN=x;trueput_dialect=iris;UID=me").unwrap();
        assert_eq!(source.dialect(), Some(Dialect::Iris));
        assert_eq!(source.connect_string(""), "DSN=x;UID=me");
        assert!(source.shown().contains("dialect=iris"));
        assert_eq!(source_of("DSN=x").unwrap().dialect(), None);
        let refused = source_of("DSN=x;TRUEPUT_DIALECT=cobol").unwrap_err();
        let reason = refused.to_string();
        assert!(
            reason.contains("cobol") && reason.contains("informix, iris"),
            "{reason}"
        );
    }

    #[test]
    fn what_names_no_driver_is_refused_without_its_password() {
        let refused = source_of("Server=h;Password=geheim")
            .unwrap_err()
            .to_string();
        assert!(refused.contains("'Server=h'"), "{refused}");
        assert!(refused.contains("odbc@DSN=NAME"), "{refused}");
        assert!(!refused.contains("geheim"), "{refused}");
    }

    #[test]
    fn a_missing_driver_is_named_with_its_package() {
        for (driver, name) in [
            ("PostgreSQL Unicode", "odbc-postgresql"),
            ("psqlodbcw.so: PostgreSQL", "odbc-postgresql"),
            ("MariaDB Unicode", "odbc-mariadb"),
            ("SQLite3", "libsqliteodbc"),
            ("IBM INFORMIX ODBC DRIVER", "Client SDK"),
            ("InterSystems IRIS ODBC35", "InterSystems"),
            ("Firebird", "vendor"),
        ] {
            assert!(package(driver).contains(name), "{driver}");
        }
    }
}
