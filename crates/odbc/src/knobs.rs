//! The knobs: the data source, and the isolation of its transactions.

use super::connection::SourceInfo;
use super::dialect::{DialectProfile, READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE};
use super::source::DIALECT;
use trueput_engine::{Dialect, Error, Isolation, Result, parameters};

pub(super) const NAME: &str = "odbc";

/// Isolation by its word and its bit.
const LEVELS: [(&str, u32); 3] = [
    ("read-committed", READ_COMMITTED),
    ("repeatable-read", REPEATABLE_READ),
    ("serializable", SERIALIZABLE),
];

parameters! {
    /// The knobs.
    pub(super) struct OdbcKnobs {
        /// The dialect that the data source must be written to in; auto takes whichever the
        /// connection string names (TRUEPUT_DIALECT), or the driver says that its server speaks.
        dialect: Choice = "auto" of [
            "auto",
            "postgresql",
            "mariadb",
            "sqlite",
            "informix",
            "iris",
        ],
        /// The isolation of write transactions; auto is repeatable-read, serializable with SQLite,
        /// read-committed with IRIS.
        isolation: Choice = "auto" of [
            "auto",
            "read-committed",
            "repeatable-read",
            "serializable",
        ],
            cost "read-committed: repeated reads. Stronger than auto: more conflicts",
    }
}

/// Checks that the data source has the dialect that the plan names.
///
/// # Errors
/// [`Error::Unsupported`], if it has another: the engine's earlier answers were for that one.
pub(super) fn check_dialect(knobs: &OdbcKnobs, profile: &DialectProfile) -> Result<()> {
    let (word, name) = (knobs.dialect, profile.dialect.name());
    if word == "auto" || word == name {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "odbc.dialect is {word}, and the data source is written to as {name}: name the dialect in \
         the connection string, {DIALECT}={word}"
    )))
}

/// The isolation of write transactions that is asked for, by its bit.
pub(super) fn bit(knobs: &OdbcKnobs, profile: &DialectProfile) -> u32 {
    let word = knobs.isolation;
    let asked = LEVELS.iter().find(|(name, _)| *name == word);
    asked.map_or(profile.isolation, |(_, bit)| *bit)
}

/// Returns the isolation that the engine states for the one that is asked for.
pub(super) fn stated(knobs: &OdbcKnobs, profile: &DialectProfile) -> Option<Isolation> {
    let bit = bit(knobs, profile);
    Some(match profile.dialect {
        Dialect::Postgresql if bit == REPEATABLE_READ => Isolation::Snapshot,
        // Every read of a write transaction is FOR UPDATE, with locks on gaps.
        Dialect::Mariadb if bit >= REPEATABLE_READ => Isolation::Serializable,
        // The standard's definition of the level.
        _ => match bit {
            READ_COMMITTED => Isolation::ReadCommitted,
            REPEATABLE_READ => Isolation::RepeatableRead,
            SERIALIZABLE => Isolation::Serializable,
            _ => return None,
        },
    })
}

/// The isolation of write transactions, by its bit.
///
/// # Errors
/// [`Error::Unsupported`] if the driver does not have it, or it would lose updates.
pub(super) fn isolation(
    knobs: &OdbcKnobs,
    profile: &DialectProfile,
    info: &SourceInfo,
) -> Result<u32> {
    let bit = bit(knobs, profile);
    // At a weaker one than its own, locks on rows do not make up for it: a key that is not there
    // has none, so that two transactions that find it missing would both put it.
    if bit >= profile.isolation && info.isolations & bit != 0 {
        return Ok(bit);
    }
    let can = |(_, bit): &&(&str, u32)| info.isolations & bit != 0 && *bit >= profile.isolation;
    let has: Vec<_> = LEVELS.iter().filter(can).map(|(name, _)| *name).collect();
    Err(Error::Unsupported(format!(
        "odbc.isolation {} cannot be had from {}; there is {}",
        isolation_word(bit),
        info.dbms,
        has.join(", ")
    )))
}

/// The word for an isolation.
pub(super) fn isolation_word(bit: u32) -> &'static str {
    let found = LEVELS.iter().find(|(_, of)| *of == bit);
    found.map_or("unknown", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::super::dialect;
    use super::*;
    use trueput_engine::{Dialect, Value, parameter};

    #[test]
    fn a_dialect_other_than_the_data_sources_is_refused() {
        let checked = |word: &str| {
            let given = [("dialect".to_owned(), Value::from(word))].into();
            let knobs = parameter::resolve(NAME, OdbcKnobs::PARAMETERS, &given).unwrap();
            check_dialect(&OdbcKnobs::from(&knobs), dialect::of(Dialect::Iris))
        };
        assert_eq!(checked("auto"), Ok(()));
        assert_eq!(checked("iris"), Ok(()));
        let reason = checked("informix").unwrap_err().to_string();
        assert!(reason.contains("TRUEPUT_DIALECT=informix"), "{reason}");
    }

    fn resolved_isolation(word: &str, dialect: Dialect, isolations: u32) -> Result<u32> {
        let given = [("isolation".to_owned(), Value::from(word))].into();
        let knobs = parameter::resolve(NAME, OdbcKnobs::PARAMETERS, &given).unwrap();
        let info = SourceInfo {
            dbms: "It".to_owned(),
            dbms_version: String::new(),
            driver: String::new(),
            driver_version: String::new(),
            isolations,
            has_transactions: true,
        };
        isolation(&OdbcKnobs::from(&knobs), dialect::of(dialect), &info)
    }

    #[test]
    fn an_isolation_is_one_that_the_driver_has_and_that_loses_no_update() {
        assert_eq!(
            resolved_isolation("auto", Dialect::Postgresql, 15),
            Ok(REPEATABLE_READ)
        );
        assert_eq!(
            resolved_isolation("serializable", Dialect::Mariadb, 15),
            Ok(SERIALIZABLE)
        );
        for dialect in [Dialect::Postgresql, Dialect::Mariadb] {
            assert!(resolved_isolation("read-committed", dialect, 15).is_err());
        }
        assert_eq!(
            resolved_isolation("auto", Dialect::Sqlite, 8),
            Ok(SERIALIZABLE)
        );
        assert_eq!(
            resolved_isolation("auto", Dialect::Iris, 3),
            Ok(READ_COMMITTED)
        );
        assert_eq!(
            resolved_isolation("auto", Dialect::Informix, 15),
            Ok(REPEATABLE_READ)
        );
        let refused = resolved_isolation("read-committed", Dialect::Informix, 15).unwrap_err();
        let expected = "unsupported: odbc.isolation read-committed cannot be had from It; \
                        there is repeatable-read, serializable";
        assert_eq!(refused.to_string(), expected);
        assert!(resolved_isolation("serializable", Dialect::Iris, 3).is_err());
    }
}
