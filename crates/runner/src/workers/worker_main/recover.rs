//! Opening a database whose processes were killed, in a worker process.

use super::error::WorkerError;
use super::pipe::Reporter;
use crate::plan::resolution::ResolvedTrial;
use crate::workers::protocol::{Assignment, Report};
use std::time::Instant;
use trueput_engine::{Database, Error, Mode, Session};

/// A key that no workload uses: put and deleted in the first transaction after a crash.
const KEY: &[u8] = b"\xff\xfftrueput";

/// Opens the database and commits a first transaction; reports the time until each, from the start.
///
/// # Errors
/// [`WorkerError`], if the database does not open or a transaction fails.
pub(super) fn recover(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    reporter: &Reporter,
) -> Result<(), WorkerError> {
    let began = Instant::now();
    let database = super::open_alone(resolved, assignment)?;
    let open_s = began.elapsed().as_secs_f64();
    let committed = commit_first_transaction(&*database);
    let committed = committed.map_err(WorkerError::of_engine("its first transaction"))?;
    let first_commit_s = committed.then(|| began.elapsed().as_secs_f64());
    super::close(database)?;
    reporter.send(&Report::Recovered {
        open_s,
        first_commit_s,
    })?;
    Ok(())
}

/// Commits a transaction that writes and leaves nothing behind; `false` if the engine has no
/// key-value interface.
fn commit_first_transaction(database: &dyn Database) -> Result<bool, Error> {
    let mut session = database.session()?;
    session.begin(Mode::Write)?;
    match put_and_delete(&mut *session) {
        Ok(()) => session.commit().map(|()| true),
        Err(error) => {
            session.abort()?;
            match error {
                Error::Unsupported(_) => Ok(false),
                error => Err(error),
            }
        }
    }
}

fn put_and_delete(session: &mut dyn Session) -> Result<(), Error> {
    session.put(KEY, KEY)?;
    session.delete(KEY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::reference::Reference;
    use trueput_engine::{Durability, Engine, KeyRange, OpenSpec, ParameterValues};

    #[test]
    fn the_first_transaction_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let database = Reference
            .open(&OpenSpec {
                directory: folder.path(),
                durability: Durability::None,
                knobs: &ParameterValues::default(),
                sessions: 1,
            })
            .unwrap();
        assert_eq!(commit_first_transaction(&*database), Ok(true));
        let mut session = database.session().unwrap();
        session.begin(Mode::Read).unwrap();
        let forward = trueput_engine::Direction::Forward;
        let visitor = &mut |_: &[u8], _: &[u8]| std::ops::ControlFlow::Continue(());
        assert_eq!(session.scan(KeyRange::ALL, forward, visitor), Ok(0));
    }
}
