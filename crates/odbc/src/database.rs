//! An open database: its connections for sessions, and one for other work.

use super::connection::{OdbcConnection, SourceInfo};
use super::dialect::{self, DialectProfile, DurabilitySettings, REPEATABLE_READ};
use super::knobs::{NAME, OdbcKnobs, check_dialect, isolation, isolation_word};
use super::schema;
use super::session::{OdbcSession, TransactionIsolation};
use super::source::DataSource;
use super::statement;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use trueput_engine::{Database, Error, OpenSpec, Result, Session, Value};

/// An open database.
pub(super) struct OdbcDatabase {
    source: DataSource,
    profile: &'static DialectProfile,
    info: SourceInfo,
    durability_settings: DurabilitySettings,
    isolations: TransactionIsolation,
    /// The connection for work outside sessions.
    own: Mutex<OdbcConnection>,
}

impl OdbcDatabase {
    /// Connects, checks the level, and takes over our schema.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level that the data source does not have with its settings;
    /// errors of the data source.
    pub(super) fn open(
        source: &DataSource,
        info: &SourceInfo,
        spec: &OpenSpec<'_>,
    ) -> Result<Self> {
        let profile = dialect::info(source.dialect(), info)?;
        let knobs = OdbcKnobs::from(spec.knobs);
        check_dialect(&knobs, profile)?;
        let durability_settings = (profile.durability_settings)(spec.durability)
            .ok_or_else(|| Error::no_durability(NAME, spec.durability))?;
        let isolation = isolation(&knobs, profile, info)?;
        if !info.has_transactions {
            return Err(Error::Unsupported(format!(
                "{} has no transactions: an Informix database is made WITH LOG for them",
                source.shown()
            )));
        }
        let own = OdbcConnection::open(source, (profile.more)(info), profile.native_errors)?;
        for statement in durability_settings.set {
            own.execute(statement)?;
        }
        for (name, query, wanted) in durability_settings.asked {
            let found = statement::texts(&own, query)?
                .into_iter()
                .next()
                .unwrap_or_default();
            if !wanted.contains(&found.as_str()) {
                return Err(Error::Unsupported(format!(
                    "{} has {name} = {found}, durability '{}' needs {}",
                    source.shown(),
                    spec.durability,
                    wanted.join(" or ")
                )));
            }
        }
        schema::take(&own, profile, source, spec.directory)?;
        Ok(Self {
            source: source.clone(),
            profile,
            info: info.clone(),
            durability_settings,
            isolations: TransactionIsolation {
                write: isolation,
                // A read transaction sees one snapshot if the data source has snapshots.
                read: if profile.has_snapshots {
                    isolation.max(REPEATABLE_READ)
                } else {
                    isolation
                },
            },
            own: Mutex::new(own),
        })
    }

    /// A connection that is set as every session is.
    fn connect(&self) -> Result<OdbcConnection> {
        let more = (self.profile.more)(&self.info);
        let connection = OdbcConnection::open(&self.source, more, self.profile.native_errors)?;
        for statement in self
            .profile
            .setup
            .iter()
            .chain(self.durability_settings.set)
        {
            connection.execute(statement)?;
        }
        Ok(connection)
    }

    fn with_connection<T>(&self, work: impl FnOnce(&OdbcConnection) -> Result<T>) -> Result<T> {
        work(&self.own.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Database for OdbcDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(OdbcSession::new(
            self.connect()?,
            self.profile,
            self.isolations,
        )?))
    }

    /// Empty: ODBC has no call for counters.
    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let dialect = self.profile.dialect;
        let run = if dialect::is_tested(dialect) {
            ""
        } else {
            " (written to its manuals and not run by this program's authors)"
        };
        let mut settings: BTreeMap<String, Value> = [
            ("dbms", self.info.dbms.clone()),
            ("dbms_version", self.info.dbms_version.clone()),
            ("driver", self.info.driver.clone()),
            ("driver_version", self.info.driver_version.clone()),
            ("dialect", format!("{}{run}", dialect.name())),
            (
                "isolation",
                isolation_word(self.isolations.write).to_owned(),
            ),
            (
                "connection_added",
                (self.profile.more)(&self.info).to_owned(),
            ),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
        for (name, query, _) in self.durability_settings.asked {
            let found = self.with_connection(|own| statement::texts(own, query))?;
            let found = found.into_iter().next().unwrap_or_default();
            settings.insert((*name).to_owned(), Value::from(found));
        }
        Ok(settings)
    }

    /// Executes the dialect's statement, if there is one that affects only this database. A server
    /// checkpoints as its owner has configured it; the promise about commits does not depend on it.
    fn checkpoint(&self) -> Result<()> {
        match self.profile.checkpoint {
            Some(statement) => self.with_connection(|own| own.execute(statement)),
            None => Ok(()),
        }
    }
}
