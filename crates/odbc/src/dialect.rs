//! The differences between data sources, one file each: statements of the key-value table, settings
//! of a session, isolation, error numbers, and how each durability level is achieved.

mod informix;
mod iris;
mod mariadb;
mod postgresql;
mod sqlite;

use super::binding::BindingOptions;
use super::connection::{NativeErrors, SourceInfo};
use super::source::DIALECT;
use super::statement::StatementText;
use trueput_engine::sql::scan::ScanShape;
use trueput_engine::{Dialect, Direction, Durability, Error, KeyRange, Promise, Result, Window};

/// Bits of ODBC for levels of isolation.
pub(super) const READ_COMMITTED: u32 = 2;
pub(super) const REPEATABLE_READ: u32 = 4;
pub(super) const SERIALIZABLE: u32 = 8;

/// The most records of a scan's first statement, of the second, and of each later one.
pub(super) const BATCHES: [usize; 3] = [16, 128, 1024];

/// The table that marks a schema as this program's.
pub(super) const MARKER: &str = "trueput_marker";

/// The statements, settings and error numbers of one kind of data source.
pub(super) struct DialectProfile {
    pub(super) dialect: Dialect,
    /// The beginnings of `SQL_DBMS_NAME`, in lower case.
    reported: &'static [&'static str],
    /// The isolation if the plan leaves it to the driver.
    pub(super) isolation: u32,
    /// Whether a read transaction sees one state at its isolation.
    pub(super) has_snapshots: bool,
    /// Whether several write transactions run at once.
    pub(super) has_writers: bool,
    /// Statements that each session begins with.
    pub(super) setup: &'static [&'static str],
    /// The attributes that are added to a connection string.
    pub(super) more: fn(&SourceInfo) -> &'static str,
    pub(super) native_errors: NativeErrors,
    pub(super) binding_options: BindingOptions,
    pub(super) keys: Keys,
    /// The settings of a level; `None` if the data source does not have it.
    pub(super) durability_settings: fn(Durability) -> Option<DurabilitySettings>,
    /// A statement that brings committed data to storage, if there is one that affects only our
    /// database: on shared servers it would write the data of all users.
    pub(super) checkpoint: Option<&'static str>,
    pub(super) schema: Schema,
}

/// The key-value table.
pub(super) struct Keys {
    /// The columns of the table `record`.
    pub(super) columns: &'static str,
    /// Keys and values are text: two hexadecimal digits for a byte.
    pub(super) is_hex: bool,
    pub(super) max_key_bytes: usize,
    pub(super) max_value_bytes: usize,
    pub(super) put: PutMethod,
    /// The statement by which a write transaction begins; it takes the lock of the database.
    pub(super) begin_write: Option<&'static str>,
    /// The lock of a row that a write transaction reads.
    lock: RowLock,
    /// The syntax that limits a query to a number of rows.
    paging: Paging,
}

/// The statements that put a record, existing or new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutMethod {
    /// By one statement: key, value.
    One(&'static str),
    /// An update (value, key), then an insert (key, value) if the update changed nothing.
    UpdateOrInsert,
}

/// The lock of a row that a write transaction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLock {
    /// By the isolation level, or by the database's own lock.
    ByIsolation,
    /// By `FOR UPDATE`.
    ForUpdate,
    /// By an update that sets the row to its own values.
    ByUpdate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paging {
    Limit,
    First,
    Top,
}

/// A setting's name, the query that reads it, and the accepted values.
pub(super) type SettingCheck = (&'static str, &'static str, &'static [&'static str]);

/// The settings of a level of durability.
pub(super) struct DurabilitySettings {
    /// Statements that each session begins with.
    pub(super) set: &'static [&'static str],
    /// Settings that must be so.
    pub(super) asked: &'static [SettingCheck],
    /// In words, for the record.
    pub(super) text: &'static str,
    /// Until when a commit can be lost.
    until: Option<&'static str>,
    /// A fault that breaks the promise at times.
    doubt: Option<&'static str>,
    source: &'static str,
}

impl DurabilitySettings {
    /// Returns the promise that they make at a level.
    pub(super) fn promise(&self, durability: Durability) -> Promise {
        let window = self.until.map(Window::until);
        Promise {
            doubt: self.doubt.map(str::to_owned),
            ..Promise::new(durability, self.text, window, self.source)
        }
    }
}

/// The schema of this program in a data source.
pub(super) struct Schema {
    /// Statements before anything is looked at; they change nothing that stays.
    pub(super) enter: &'static [&'static str],
    /// Statements that make a schema that is not there.
    pub(super) make: &'static [&'static str],
    /// An object that must be ours by its name, on servers where this program cannot create it.
    pub(super) check: Option<NameCheck>,
    /// The query for the names of the existing tables.
    pub(super) tables: &'static str,
    /// The type of the mark's column in the table that marks the schema as ours.
    pub(super) mark_type: &'static str,
    /// The end of the statement that makes that table.
    pub(super) mark_end: &'static str,
    /// The end of a statement that makes another table.
    pub(super) table_end: &'static str,
    /// A name as a statement has it.
    pub(super) quoted: fn(&str) -> String,
}

/// A name that the user must have chosen for this program.
pub(super) struct NameCheck {
    /// The query for it.
    pub(super) query: &'static str,
    /// The advice to the user if the name is wrong.
    pub(super) hint: &'static str,
}

impl NameCheck {
    /// Whether a schema or a database of that name is this program's.
    pub(super) fn is_for_trueput(name: &str) -> bool {
        let name = name.trim().to_lowercase();
        name == "trueput" || name.starts_with("trueput_")
    }
}

/// Every manner.
static ALL: [&DialectProfile; 5] = [
    &postgresql::PROFILE,
    &mariadb::PROFILE,
    &sqlite::PROFILE,
    &informix::PROFILE,
    &iris::PROFILE,
];

/// The manner of a dialect.
pub(super) fn of(dialect: Dialect) -> &'static DialectProfile {
    match dialect {
        Dialect::Postgresql => &postgresql::PROFILE,
        Dialect::Mariadb => &mariadb::PROFILE,
        Dialect::Sqlite => &sqlite::PROFILE,
        Dialect::Informix => &informix::PROFILE,
        Dialect::Iris => &iris::PROFILE,
    }
}

/// The profile of a data source, by the dialect that its connection string names or by the product
/// name that it reports.
///
/// # Errors
/// [`Error::Unsupported`] if the dialect is unknown.
pub(super) fn info(named: Option<Dialect>, info: &SourceInfo) -> Result<&'static DialectProfile> {
    if let Some(dialect) = named {
        return Ok(of(dialect));
    }
    let name = info.dbms.to_lowercase();
    let is_it =
        |profile: &&&DialectProfile| profile.reported.iter().any(|word| name.starts_with(word));
    ALL.iter().find(is_it).copied().ok_or_else(|| {
        Error::Unsupported(format!(
            "the data source is '{}', whose SQL is not known here; where it is near one of \
             postgresql, mariadb, sqlite, informix, iris, say so in the connection string, as \
             {DIALECT}=informix",
            info.dbms
        ))
    })
}

/// Whether this dialect has been tested on a real server, or only written to the manuals.
pub(super) fn is_tested(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Informix | Dialect::Iris)
}

/// The parts of a scan that its statement depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanKind {
    scan: ScanShape,
    batch: usize,
    locks: bool,
}

impl ScanKind {
    /// The number of kinds.
    pub(super) const COUNT: usize = 2 * ScanShape::COUNT * BATCHES.len();

    pub(super) fn of(
        range: &KeyRange<'_>,
        direction: Direction,
        batch: usize,
        locks: bool,
    ) -> Self {
        Self {
            scan: ScanShape::of(range, direction),
            batch,
            locks,
        }
    }

    /// A number below [`ScanKind::COUNT`] of its own.
    pub(super) fn number(self) -> usize {
        let first = usize::from(self.locks) * ScanShape::COUNT;
        (first + self.scan.index()) * BATCHES.len() + self.batch
    }
}

impl DialectProfile {
    /// Whether a read of a write transaction must lock its row, by its query.
    pub(super) fn locks(&self) -> bool {
        self.keys.lock == RowLock::ForUpdate
    }

    /// The statement that locks a row before it is read, if locking needs one; its parameter is the
    /// key.
    pub(super) fn touch(&self) -> Option<&'static str> {
        (self.keys.lock == RowLock::ByUpdate).then_some("UPDATE record SET v = v WHERE k = ?")
    }

    /// The query for a value: key.
    pub(super) fn get(&self, locks: bool) -> String {
        let lock = if locks { " FOR UPDATE" } else { "" };
        format!("SELECT v FROM record WHERE k = ?{lock}")
    }

    /// The query of a scan: its lower and its upper end, as far as it has them.
    pub(super) fn scan(&self, shape: ScanKind) -> String {
        let count = BATCHES[shape.batch];
        let (first, last) = match self.keys.paging {
            Paging::Limit => (String::new(), format!(" LIMIT {count}")),
            Paging::First => (format!("FIRST {count} "), String::new()),
            Paging::Top => (format!("TOP {count} "), String::new()),
        };
        let lock = if shape.locks { " FOR UPDATE" } else { "" };
        let clauses = shape.scan.clauses("k", |_, _| "?".to_owned());
        format!("SELECT {first}k, v FROM record {clauses}{last}{lock}")
    }

    /// The statement that makes the key-value table.
    pub(super) fn create(&self) -> String {
        let (columns, end) = (self.keys.columns, self.schema.table_end);
        format!("CREATE TABLE record ({columns}){end}")
    }

    /// A workload's statement as the driver takes it.
    pub(super) fn written(&self, statement: &str) -> StatementText {
        let first = statement.split_whitespace().next().unwrap_or_default();
        let is_reading = ["select", "with", "values", "show", "explain"]
            .iter()
            .any(|word| first.eq_ignore_ascii_case(word));
        match self.dialect {
            Dialect::Postgresql => postgresql::unnumbered(statement, is_reading),
            Dialect::Sqlite => sqlite::written_as_query(statement, is_reading),
            _ => StatementText {
                text: statement.to_owned(),
                order: None,
                is_reading,
            },
        }
    }
}

#[cfg(test)]
mod tests;
