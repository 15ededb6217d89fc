//! Any data source of ODBC's that speaks one of the known dialects of SQL, by its connection
//! string: PostgreSQL, MariaDB and SQLite through their drivers, and Informix and InterSystems
//! IRIS, which are written to their manuals and were not run.
//!
//! The data source is the user's. Nothing is made, changed or dropped in it outside a schema named
//! `trueput`; see `schema`.

mod batch;
mod binding;
mod column;
mod connection;
mod convert;
mod database;
mod dialect;
mod hex;
mod knobs;
mod manager;
mod parameter;
mod schema;
mod schema_lock;
mod session;
mod source;
mod sql;
mod statement;
use connection::{NativeErrors, OdbcConnection, SourceInfo};
use database::OdbcDatabase;
use dialect::DialectProfile;
use knobs::{NAME, OdbcKnobs, check_dialect};
use source::DataSource;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use trueput_engine::{
    Address, Build, Capabilities, Database, Dialect, Durability, Engine, Error, Info, Isolation,
    OpenSpec, Parameter, ParameterValues, Promise, Result, Window,
};

/// The ODBC driver.
#[derive(Default)]
pub struct Odbc {
    named: Option<SelectedSource>,
}

/// The data source that a plan names.
struct SelectedSource {
    source: DataSource,
    /// Its own information, once it was asked.
    info: OnceLock<SourceInfo>,
}

impl Odbc {
    /// ODBC without a data source, which a plan must name.
    #[must_use]
    pub const fn new() -> Self {
        Self { named: None }
    }

    /// The data source, and the information that its driver reports.
    fn info(&self) -> Result<(&DataSource, &SourceInfo)> {
        let named = self.named.as_ref().ok_or_else(source::unnamed)?;
        if named.info.get().is_none() {
            let info = OdbcConnection::open(&named.source, "", NativeErrors::default())?.info()?;
            // Another thread may have been first; it got the same answer.
            let _ = named.info.set(info);
        }
        let info = named.info.get().ok_or_else(source::unnamed)?;
        Ok((&named.source, info))
    }

    /// The dialect profile, by the connection string or by the name that the data source reports;
    /// `None` if no data source is named or it cannot be reached.
    fn profile(&self) -> Option<&'static DialectProfile> {
        let (source, info) = self.info().ok()?;
        dialect::info(source.dialect(), info).ok()
    }
}

/// The promise of a data source that is not known yet.
fn unknown_promise(durability: Durability) -> Result<Promise> {
    let (mapped_to, window) = match durability {
        Durability::Sync => ("a commit waits for its log's flush, by the dialect", None),
        Durability::Buffered => (
            "a commit does not wait for its log, by the dialect",
            Some(Window::until("the data source writes and flushes its log")),
        ),
        _ => return Err(Error::no_durability(NAME, durability)),
    };
    Ok(Promise::new(
        durability,
        mapped_to,
        window,
        "docs/ENGINES.md, odbc",
    ))
}

impl Engine for Odbc {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: "ODBC",
            summary: "SQL server through its ODBC driver, in its own dialect",
            license: "LGPL-2.1-or-later",
            homepage: "https://www.unixodbc.org",
            install: "trueput engines install odbc, then odbc@DSN=NAME or \
                      'odbc@Driver={NAME};…' for a data source \
                      of yours: PostgreSQL, MariaDB, SQLite; Informix and InterSystems IRIS, not \
                      run here",
        }
    }

    fn build(&self) -> Result<Build> {
        let (source, info) = self.info()?;
        let connection = OdbcConnection::open(source, "", NativeErrors::default())?;
        let profile = dialect::info(source.dialect(), info)?;
        schema::check(&connection, profile, source)?;
        Ok(Build {
            version: format!(
                "{} {} by {} {}",
                info.dbms, info.dbms_version, info.driver, info.driver_version
            ),
            library: Some(PathBuf::from(source.shown())),
            assertions: None,
        })
    }

    fn requires_address(&self) -> bool {
        self.named.is_none()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let text = library
            .to_str()
            .ok_or_else(|| Error::Unsupported("odbc: a connection string is UTF-8".to_owned()))?;
        self.with_address(&Address::of(text))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        self.with_library(library)?;
        Ok(Box::new(Self::new()))
    }

    fn with_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        let named = SelectedSource {
            source: DataSource::new(address)?,
            info: OnceLock::new(),
        };
        Ok(Box::new(Self { named: Some(named) }))
    }

    /// The address of a data source that is not connected: its dialect is not known yet.
    fn unopened_address(&self, address: &Address) -> Result<Box<dyn Engine>> {
        self.with_address(address)?;
        Ok(Box::new(Self::new()))
    }

    fn capabilities(&self) -> Capabilities {
        let profile = self.profile();
        // For an unknown dialect, the limits that all of them share.
        let keys = &profile.unwrap_or(dialect::of(Dialect::Informix)).keys;
        Capabilities {
            several_processes: true,
            concurrent_writers: profile.is_none_or(|profile| profile.has_writers),
            snapshot_reads: profile.is_none_or(|profile| profile.has_snapshots),
            ..Capabilities::transactional(keys.max_key_bytes, keys.max_value_bytes)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let Some(profile) = self.profile() else {
            return unknown_promise(durability);
        };
        check_dialect(&knobs.into(), profile)?;
        let durability_settings = (profile.durability_settings)(durability)
            .ok_or_else(|| Error::no_durability(NAME, durability))?;
        Ok(durability_settings.promise(durability))
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let profile = self.profile()?;
        knobs::stated(&knobs.into(), profile)
    }

    fn isolation_in_sql(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let profile = self.profile()?;
        let knobs = OdbcKnobs::from(knobs);
        match (profile.dialect, knobs::stated(&knobs, profile)?) {
            // Without locks, an UPDATE overwrites rows committed since the SELECT.
            (Dialect::Mariadb, _) if knobs::bit(&knobs, profile) < dialect::SERIALIZABLE => {
                Some(Isolation::ReadCommitted)
            }
            (_, stated) => Some(stated),
        }
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["isolation"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        OdbcKnobs::PARAMETERS
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let (source, info) = self.info()?;
        Ok(Box::new(OdbcDatabase::open(source, info, spec)?))
    }

    fn dialect(&self) -> Option<Dialect> {
        // Some dialect: it is asked for before a data source is named.
        let profile = self.profile();
        Some(profile.map_or(Dialect::Informix, |profile| profile.dialect))
    }
}
