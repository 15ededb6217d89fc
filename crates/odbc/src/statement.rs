//! A prepared statement with its parameters and columns in buffers that stay where they are.

use super::binding::BindingOptions;
use super::column::Column;
use super::connection::{OdbcConnection, c_text};
use super::manager::{self, Handle, Manager, NO_DATA, ReturnCode, is_success};
use super::parameter::ParameterSlot;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::ptr::null_mut;
use trueput_engine::sql::RowVisitor;
use trueput_engine::{Datum, Error, Result, common_errors};

const NTS: i32 = -3;
const CLOSE: u16 = 0;
/// Rows of this many columns need no memory of their own.
const COLUMNS: usize = 32;

/// A statement as a driver takes it: parameters are `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatementText {
    pub(super) text: String,
    /// For each `?`, the index of its parameter, from 0; `None` if they are in order.
    pub(super) order: Option<Vec<usize>>,
    /// Whether it only reads.
    pub(super) is_reading: bool,
}

/// A prepared statement.
pub(super) struct OdbcStatement {
    manager: &'static Manager,
    handle: Handle,
    text: CString,
    binding_options: BindingOptions,
    slots: Box<[ParameterSlot]>,
    order: Option<Vec<usize>>,
    /// The number of parameters bound.
    given: usize,
    columns: Box<[Column]>,
    /// Whether the driver has described a column as what it is not, and must prepare it again.
    is_misdescribed: bool,
    pub(super) is_reading: bool,
}

impl OdbcStatement {
    /// Prepares a statement of this driver's own, whose parameters are `?`, in the standard's ways
    /// or with columns fetched one by one.
    ///
    /// # Errors
    /// Errors of the data source.
    pub(super) fn new(
        connection: &OdbcConnection,
        text: &str,
        binds_columns: bool,
    ) -> Result<Self> {
        let written = StatementText {
            text: text.to_owned(),
            order: None,
            is_reading: false,
        };
        let binding_options = BindingOptions {
            binds_columns,
            ..BindingOptions::STANDARD
        };
        Self::of(connection, &written, binding_options)
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// Errors of the data source.
    pub(super) fn of(
        connection: &OdbcConnection,
        written: &StatementText,
        binding_options: BindingOptions,
    ) -> Result<Self> {
        let mut prepared = Self {
            manager: connection.manager,
            text: c_text(&written.text)?,
            handle: connection.statement()?,
            binding_options,
            slots: Box::default(),
            order: written.order.clone(),
            given: 0,
            columns: Box::default(),
            is_misdescribed: false,
            is_reading: written.is_reading,
        };
        prepared.prepare(connection)?;
        let (handle, functions) = (prepared.handle, &connection.manager.functions);
        let (mut parameters, mut columns) = (0, 0);
        // SAFETY: both are asked of a statement that is prepared. A driver that puts off preparing
        // does it for the second question.
        unsafe {
            let code = (functions.NumParams)(handle, &raw mut parameters);
            prepared.check(connection, code)?;
            let code = (functions.NumResultCols)(handle, &raw mut columns);
            prepared.check(connection, code)?;
        }
        let parameters = usize::try_from(parameters).unwrap_or(0);
        prepared.slots = (0..parameters).map(|_| ParameterSlot::default()).collect();
        let of_order = |order: &Vec<usize>| order.iter().map(|index| index + 1).max();
        let numbered = prepared.order.as_ref().map(of_order);
        prepared.given = numbered.map_or(parameters, Option::unwrap_or_default);
        prepared.columns = (0..columns).map(|_| Column::default()).collect();
        prepared.describe(connection)?;
        if binding_options.binds_columns {
            prepared.bind_columns(connection)?;
        }
        Ok(prepared)
    }

    /// Has the driver prepare the text; parameters stay bound.
    fn prepare(&self, connection: &OdbcConnection) -> Result<()> {
        let prepare = self.manager.functions.Prepare;
        // SAFETY: the statement is a live one without an open result, and the text ends with a NUL.
        let code = unsafe { prepare(self.handle, self.text.as_ptr(), NTS) };
        self.check(connection, code)
    }

    /// Whether it returns rows.
    pub(super) fn is_query(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Reads the types of the columns.
    fn describe(&mut self, connection: &OdbcConnection) -> Result<()> {
        for (index, column) in self.columns.iter_mut().enumerate() {
            let (mut of_type, mut size) = (0, 0);
            let (mut name, mut digits, mut nullable) = (0, 0, 0);
            // SAFETY: the column is one of the statement's; no room is given for its name.
            let code = unsafe {
                (self.manager.functions.DescribeCol)(
                    self.handle,
                    number(index),
                    null_mut(),
                    0,
                    &raw mut name,
                    &raw mut of_type,
                    &raw mut size,
                    &raw mut digits,
                    &raw mut nullable,
                )
            };
            if !is_success(code) {
                return Err(connection.error(manager::STATEMENT, self.handle));
            }
            column.is_of(of_type, size);
        }
        Ok(())
    }

    /// Binds the columns up to the first one of unknown size: the columns after it must be fetched
    /// in order.
    fn bind_columns(&mut self, connection: &OdbcConnection) -> Result<()> {
        for (index, column) in self.columns.iter_mut().enumerate() {
            let Some(binding) = column.binding() else {
                break;
            };
            // SAFETY: the buffer is on the heap for as long as the statement does, and is as long
            // as is said.
            let code = unsafe {
                (self.manager.functions.BindCol)(
                    self.handle,
                    number(index),
                    binding.c_type,
                    binding.at,
                    binding.room,
                    binding.indicator,
                )
            };
            if !is_success(code) {
                return Err(connection.error(manager::STATEMENT, self.handle));
            }
        }
        Ok(())
    }

    fn check(&self, connection: &OdbcConnection, code: ReturnCode) -> Result<()> {
        if is_success(code) || code == NO_DATA {
            Ok(())
        } else {
            Err(connection.error(manager::STATEMENT, self.handle))
        }
    }

    /// Copies the parameters into their buffers, and binds those whose buffer has changed.
    fn bind(&mut self, connection: &OdbcConnection, given: &[Datum<'_>]) -> Result<()> {
        common_errors::check_parameters(self.given, given)?;
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let datum = match &self.order {
                Some(order) => order.get(index).and_then(|index| given.get(*index)),
                None => given.get(index),
            };
            let datum = *datum.ok_or_else(common_errors::no_statement)?;
            if !slot.put(datum, self.binding_options)? {
                continue;
            }
            let binding = slot.binding(self.binding_options);
            // SAFETY: the buffer is on the heap for as long as the statement does, or until the
            // parameter is bound again, with the given length.
            let code = unsafe {
                (self.manager.functions.BindParameter)(
                    self.handle,
                    number(index),
                    1,
                    binding.c_type,
                    binding.sql_type,
                    binding.size,
                    binding.digits,
                    binding.at,
                    binding.room,
                    binding.indicator,
                )
            };
            if !is_success(code) {
                slot.forget();
                return Err(connection.error(manager::STATEMENT, self.handle));
            }
        }
        Ok(())
    }

    /// Executes it; whether there is anything to fetch.
    fn run(&mut self, connection: &OdbcConnection, given: &[Datum<'_>]) -> Result<bool> {
        if self.is_misdescribed {
            self.prepare(connection)?;
            self.is_misdescribed = false;
        }
        self.bind(connection, given)?;
        // SAFETY: the statement is prepared, and every parameter is bound to a buffer that is
        // there.
        let code = unsafe { (self.manager.functions.Execute)(self.handle) };
        self.check(connection, code).inspect_err(|_| self.close())?;
        Ok(code != NO_DATA)
    }

    /// Executes it; returns the number of rows changed.
    ///
    /// # Errors
    /// [`Error::Conflict`] with another transaction; errors of the data source.
    pub(super) fn execute(
        &mut self,
        connection: &OdbcConnection,
        given: &[Datum<'_>],
    ) -> Result<u64> {
        if self.is_query() {
            return Err(Error::Unsupported("execute of a query".to_owned()));
        }
        let changed = if self.run(connection, given)? {
            let mut rows = 0;
            // SAFETY: the statement was executed.
            let code = unsafe { (self.manager.functions.RowCount)(self.handle, &raw mut rows) };
            self.check(connection, code)?;
            rows.max(0)
        } else {
            0
        };
        self.close();
        Ok(changed.unsigned_abs() as u64)
    }

    /// Executes it, and shows its rows.
    ///
    /// # Errors
    /// See [`OdbcStatement::execute`].
    pub(super) fn query(
        &mut self,
        connection: &OdbcConnection,
        given: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let has_rows = self.run(connection, given)?;
        let shown = if has_rows && self.is_query() {
            self.show(connection, visitor)
        } else {
            Ok(0)
        };
        self.close();
        shown
    }

    fn show(&mut self, connection: &OdbcConnection, visitor: &mut RowVisitor<'_>) -> Result<u64> {
        if !self.binding_options.binds_columns {
            self.describe(connection)?;
        }
        let mut shown = 0;
        loop {
            // SAFETY: the statement was executed and has rows; bound buffers are there.
            let code = unsafe { (self.manager.functions.Fetch)(self.handle) };
            if code == NO_DATA {
                return Ok(shown);
            }
            self.check(connection, code)?;
            self.get_unbound(connection)?;
            if shown == 0 && !self.binding_options.binds_columns {
                self.is_misdescribed = self.columns.iter().any(Column::may_be_misdescribed);
            }
            shown += 1;
            let (mut few, mut many);
            let row: &mut [Datum<'_>] = if self.columns.len() <= COLUMNS {
                few = [Datum::Null; COLUMNS];
                &mut few[..self.columns.len()]
            } else {
                many = vec![Datum::Null; self.columns.len()];
                &mut many
            };
            for (datum, column) in row.iter_mut().zip(&self.columns) {
                *datum = column.datum()?;
            }
            if visitor(row).is_break() {
                return Ok(shown);
            }
        }
    }

    /// Fetches the unbound columns of the current row.
    fn get_unbound(&mut self, connection: &OdbcConnection) -> Result<()> {
        let (handle, get) = (self.handle, self.manager.functions.GetData);
        for (index, column) in self.columns.iter_mut().enumerate() {
            let got = column.get(|c_type, at, room, indicator| {
                // SAFETY: the statement is on a row, and the buffer is as long as is said.
                unsafe { get(handle, number(index), c_type, at, room, indicator) }
            });
            if !got {
                return Err(connection.error(manager::STATEMENT, handle));
            }
        }
        Ok(())
    }

    /// Ends a query, whether its rows were fetched or not.
    fn close(&self) {
        // SAFETY: the statement is a live one; without rows nothing is done.
        unsafe { (self.manager.functions.FreeStmt)(self.handle, CLOSE) };
    }
}

impl Drop for OdbcStatement {
    fn drop(&mut self) {
        // SAFETY: the statement is used no more. It goes before its connection does.
        unsafe { (self.manager.functions.FreeHandle)(manager::STATEMENT, self.handle) };
    }
}

/// Returns the first column of each row of a query, as text; NULL is an empty text.
///
/// # Errors
/// See [`OdbcConnection::execute`].
pub(super) fn texts(connection: &OdbcConnection, query: &str) -> Result<Vec<String>> {
    let mut statement = OdbcStatement::new(connection, query, false)?;
    let mut texts = Vec::new();
    statement.query(connection, &[], &mut |row| {
        texts.push(match row.first() {
            Some(Datum::Text(text)) => (*text).to_owned(),
            Some(Datum::Integer(number)) => number.to_string(),
            Some(Datum::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            Some(Datum::Decimal { units, scale: 0 }) => units.to_string(),
            _ => String::new(),
        });
        ControlFlow::Continue(())
    })?;
    Ok(texts)
}

/// The number of a parameter or column, from 1.
fn number(index: usize) -> u16 {
    u16::try_from(index + 1).unwrap_or(u16::MAX)
}
