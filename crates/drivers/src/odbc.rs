//! Any data source of ODBC's that speaks one of the known dialects of SQL, by its connection string:
//! PostgreSQL, MariaDB and SQLite through their drivers, and Informix and InterSystems IRIS, which
//! are written to their manuals and were not run.
//!
//! The data source is the user's. Nothing is made, changed or dropped in it outside a schema named
//! `trueput`; see `schema`.

mod batch;
mod column;
mod connection;
mod convert;
mod database;
mod dialect;
mod hex;
mod hold;
mod knobs;
mod manager;
mod parameter;
mod schema;
mod session;
mod source;
mod sql;
mod statement;

use crate::{common_errors, promise};
use connection::{Connection, Natives, Told};
use database::OdbcDatabase;
use dialect::Manner;
use knobs::{NAME, OdbcKnobs, check_dialect};
use source::Source;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use trueput_engine::{
    Build, Capabilities, Database, Dialect, Durability, Engine, Error, Info, Isolation, OpenSpec,
    Parameter, ParameterValues, Promise, Result,
};

/// The ODBC driver.
#[derive(Default)]
pub struct Odbc {
    named: Option<Named>,
}

/// The data source that a plan names.
struct Named {
    source: Source,
    /// What it says of itself, once it was asked.
    told: OnceLock<Told>,
}

impl Odbc {
    /// ODBC without a data source, which a plan must name.
    #[must_use]
    pub const fn new() -> Self {
        Self { named: None }
    }

    /// The data source, and what it says of itself.
    fn told(&self) -> Result<(&Source, &Told)> {
        let named = self.named.as_ref().ok_or_else(source::unnamed)?;
        if named.told.get().is_none() {
            let told = Connection::open(&named.source, "", Natives::default())?.told()?;
            // Another thread may have been first; it was told the same.
            let _ = named.told.set(told);
        }
        let told = named.told.get().ok_or_else(source::unnamed)?;
        Ok((&named.source, told))
    }

    /// How it is written to, by its connection string or by what it says of itself; `None` as long
    /// as no data source is named, or it cannot be asked.
    fn manner(&self) -> Option<&'static Manner> {
        let (source, told) = self.told().ok()?;
        dialect::told(source.dialect(), told).ok()
    }
}

/// What a data source that is not known yet is held to.
fn unknown_promise(durability: Durability) -> Result<Promise> {
    let (mapped_to, window) = match durability {
        Durability::Sync => ("a commit waits for its log's flush, by the dialect", None),
        Durability::Buffered => (
            "a commit does not wait for its log, by the dialect",
            Some(promise::until("the data source writes and flushes its log")),
        ),
        _ => return Err(common_errors::no_durability(NAME, durability)),
    };
    Ok(Promise {
        durability,
        mapped_to: mapped_to.to_owned(),
        window,
        source: "docs/ENGINES.md, odbc".to_owned(),
    })
}

impl Engine for Odbc {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: "ODBC",
            summary: "SQL server through its ODBC driver, in its own dialect",
            license: "LGPL-2.1-or-later",
            homepage: "https://www.unixodbc.org",
            install: "make engines, then odbc@DSN=NAME or 'odbc@Driver={NAME};…' for a data source \
                      of yours: PostgreSQL, MariaDB, SQLite; Informix and InterSystems IRIS, not \
                      run here",
        }
    }

    fn build(&self) -> Result<Build> {
        let (source, told) = self.told()?;
        let connection = Connection::open(source, "", Natives::default())?;
        let manner = dialect::told(source.dialect(), told)?;
        schema::check(&connection, manner, source)?;
        Ok(Build {
            version: format!(
                "{} {} by {} {}",
                told.dbms, told.dbms_version, told.driver, told.driver_version
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
        let named = Named {
            source: Source::new(text)?,
            told: OnceLock::new(),
        };
        Ok(Box::new(Self { named: Some(named) }))
    }

    /// As long as it is not connected to, its dialect is not known.
    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        self.with_library(library)?;
        Ok(Box::new(Self::new()))
    }

    fn capabilities(&self) -> Capabilities {
        let manner = self.manner();
        // Of one that is not known, what all have.
        let keys = &manner.unwrap_or(dialect::of(Dialect::Informix)).keys;
        Capabilities {
            several_processes: true,
            concurrent_writers: manner.is_none_or(|manner| manner.has_writers),
            retains_data: true,
            atomic_transactions: true,
            snapshot_reads: manner.is_none_or(|manner| manner.has_snapshots),
            max_key_bytes: keys.longest_key,
            max_value_bytes: keys.longest_value,
        }
    }

    fn promise(&self, durability: Durability) -> Option<Promise> {
        promise::with_defaults(self, durability)
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let Some(manner) = self.manner() else {
            return unknown_promise(durability);
        };
        check_dialect(&knobs.into(), manner)?;
        let keeping = (manner.keeping)(durability)
            .ok_or_else(|| common_errors::no_durability(NAME, durability))?;
        Ok(Promise {
            durability,
            mapped_to: keeping.text.to_owned(),
            window: keeping.window(),
            source: keeping.source.to_owned(),
        })
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let manner = self.manner()?;
        knobs::stated(&knobs.into(), manner)
    }

    fn isolation_in_sql(&self, knobs: &ParameterValues) -> Option<Isolation> {
        let manner = self.manner()?;
        let knobs = OdbcKnobs::from(knobs);
        match (manner.dialect, knobs::stated(&knobs, manner)?) {
            // Without locks, an UPDATE overwrites what was committed since the SELECT.
            (Dialect::Mariadb, _) if knobs::bit(&knobs, manner) < dialect::SERIALIZABLE => {
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
        let (source, told) = self.told()?;
        Ok(Box::new(OdbcDatabase::open(source, told, spec)?))
    }

    fn dialect(&self) -> Option<Dialect> {
        // Some dialect: it is asked for before a data source is named.
        let manner = self.manner();
        Some(manner.map_or(Dialect::Informix, |manner| manner.dialect))
    }
}
