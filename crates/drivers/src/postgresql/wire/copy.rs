//! COPY … FROM STDIN (PostgreSQL documentation, "COPY Operations").

use super::{CommandResult, PostgresqlConnection, server_error};
use crate::postgresql::message::push_text;
use std::ops::ControlFlow;
use trueput_engine::{Error, Result};

impl PostgresqlConnection {
    /// Executes a COPY from the client. `write` appends the next part of the data, and returns
    /// whether there may be more. If it fails, the server is told to give the COPY up.
    ///
    /// # Errors
    /// That of `write`, or the first one that the server reports.
    pub fn copy_in(
        &mut self,
        statement: &str,
        mut write: impl FnMut(&mut Vec<u8>) -> Result<bool>,
    ) -> Result<CommandResult> {
        self.message(b'Q', |out| push_text(out, statement))?;
        self.flush()?;
        self.await_copy()?;
        let mut has_more = true;
        while has_more {
            let written = self.message(b'd', |out| {
                has_more = write(out)?;
                Ok(())
            });
            if let Err(error) = written {
                self.message(b'f', |out| push_text(out, "the data ended in an error"))?;
                self.flush()?;
                // Its answer says that the COPY was given up.
                let _ = self.end_copy();
                return Err(error);
            }
            // A server that has given up drops the data, and says so at the end.
            self.flush()?;
        }
        self.message(b'c', |_| Ok(()))?;
        self.flush()?;
        self.end_copy()
    }

    /// Waits until the server expects data.
    fn await_copy(&mut self) -> Result<()> {
        loop {
            let (tag, body) = self.next()?;
            match tag {
                b'G' => return Ok(()),
                b'E' => {
                    let refused = server_error(&self.received[body]);
                    self.end_copy()?;
                    return Err(refused);
                }
                b'Z' => return Err(Error::engine("the server expects no data")),
                _ => self.note_parameter(tag, body),
            }
        }
    }

    fn end_copy(&mut self) -> Result<CommandResult> {
        self.receive(&mut |_| Ok(ControlFlow::Continue(())), &mut |_, _| Ok(()))
    }
}
