//! Blocks and their claims, and the workload's records other than the step table.
//!
//! All of them begin with the byte `FF`, which neither an integer key (below `80`) nor a key of
//! words (UTF-8) does, and none has eight bytes:
//!
//! ```text
//! FF 'd'             the problem: what is being computed
//! FF 'c'             the cursor: how many released blocks there are, how many of them were given
//!                    out again, and the first block that was never given out
//! FF 'l'  FF 'm'     the longest sequence and the largest number: value, start
//! FF 'b' block       a block that was given out: whether it is finished, its last worker, and the
//!                    number of its starts that were done if the time was over before the others
//! FF 'r' place       a released block, in the order in which they are given out again
//! ```

use super::problem::Problem;
use crate::Result;
use crate::keyed::transaction::{TransactionError, transact_unmetered};
use std::ops::{Bound, ControlFlow};
use trueput_engine::{Direction, Error, KeyRange, Mode, Session};

/// The key of the longest sequence.
pub(super) const LONGEST: &[u8] = b"\xFFl";
/// The key of the largest number.
pub(super) const LARGEST: &[u8] = b"\xFFm";
/// Every key of the step table is below.
pub(super) const END_OF_STEPS: &[u8] = b"\xFF";
const DESCRIPTION: &[u8] = b"\xFFd";
const CURSOR: &[u8] = b"\xFFc";
const BLOCK: u8 = b'b';
const RELEASED: u8 = b'r';

fn key(tag: u8, number: u64) -> [u8; 10] {
    let mut key = [0xFF; 10];
    key[1] = tag;
    key[2..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The state of a block that was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockState {
    /// A worker has it, or had it when it died.
    Claimed,
    /// Each of its starts is done.
    Finished,
    /// The time was over when this many of its starts were done.
    Cut {
        /// The starts that are done, which are the first ones.
        starts: u64,
    },
}

/// Length of a cut block's record, bytes.
const CUT_BYTES: usize = 13;

impl BlockState {
    /// Stores the state within a write transaction.
    fn put(self, session: &mut dyn Session, block: u64, worker: u32) -> Result<(), Error> {
        let mut bytes = [0; CUT_BYTES];
        bytes[1..5].copy_from_slice(&worker.to_be_bytes());
        let mut length = 5;
        match self {
            Self::Claimed => {}
            Self::Finished => bytes[0] = 1,
            Self::Cut { starts } => {
                bytes[0] = 2;
                bytes[5..].copy_from_slice(&starts.to_be_bytes());
                length = CUT_BYTES;
            }
        }
        session.put(&key(BLOCK, block), &bytes[..length])
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0, _, _, _, _] => Some(Self::Claimed),
            [1, _, _, _, _] => Some(Self::Finished),
            [2, _, _, _, _, starts @ ..] => Some(Self::Cut {
                starts: u64::from_be_bytes(starts.try_into().ok()?),
            }),
            _ => None,
        }
    }
}

/// The blocks that are given out next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct BlockCursor {
    /// The number of blocks released when the run was last resumed.
    released: u64,
    /// The number of released blocks that were handed out again.
    again: u64,
    /// The first block that was never given out.
    fresh: u64,
}

impl BlockCursor {
    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (place, number) in [self.released, self.again, self.fresh]
            .into_iter()
            .enumerate()
        {
            bytes[8 * place..8 * place + 8].copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 24] = bytes.try_into().ok()?;
        let number = |at: usize| bytes[at..at + 8].try_into().ok().map(u64::from_be_bytes);
        Some(Self {
            released: number(0)?,
            again: number(8)?,
            fresh: number(16)?,
        })
    }

    fn read(session: &mut dyn Session) -> Result<Self, TransactionError> {
        let mut cursor = None;
        session.get(CURSOR, &mut |bytes| cursor = Self::from_bytes(bytes))?;
        cursor.ok_or_else(|| damaged("the cursor of the blocks is missing or damaged"))
    }
}

fn damaged(fault: &str) -> TransactionError {
    TransactionError::workload(format!(
        "{fault}: this database was not prepared, or something else wrote it"
    ))
}

/// Within a write transaction: takes the next block that no worker has. `None`: all are handed out.
pub(super) fn claim(
    session: &mut dyn Session,
    problem: &Problem,
    worker: u32,
) -> Result<Option<u64>, TransactionError> {
    let mut cursor = BlockCursor::read(session)?;
    let block = if cursor.again < cursor.released {
        let mut block = None;
        session.get(&key(RELEASED, cursor.again), &mut |bytes| {
            block = bytes.try_into().ok().map(u64::from_be_bytes);
        })?;
        cursor.again += 1;
        block.ok_or_else(|| damaged("a released block is missing or damaged"))?
    } else if cursor.fresh < problem.blocks() {
        cursor.fresh += 1;
        cursor.fresh - 1
    } else {
        return Ok(None);
    };
    session.put(CURSOR, &cursor.to_bytes())?;
    BlockState::Claimed.put(session, block, worker)?;
    Ok(Some(block))
}

/// Within a write transaction: marks a block as ended, after this many of its starts.
pub(super) fn finish(
    session: &mut dyn Session,
    problem: &Problem,
    (block, starts): (u64, u64),
    worker: u32,
) -> Result<(), TransactionError> {
    let state = if starts == problem.length(block) {
        BlockState::Finished
    } else {
        BlockState::Cut { starts }
    };
    Ok(state.put(session, block, worker)?)
}

/// Within a transaction: the number of blocks that were given out.
pub(super) fn given_out(session: &mut dyn Session) -> Result<u64, TransactionError> {
    BlockCursor::read(session).map(|cursor| cursor.fresh)
}

/// Writes the problem into an empty database, or, to resume, releases the blocks of the killed
/// workers.
///
/// # Errors
/// Errors of the engine; unexpected contents of the database.
pub(super) fn prepare(session: &mut dyn Session, problem: &Problem, resume: bool) -> Result<()> {
    let doing = || "writing the problem".to_owned();
    transact_unmetered(session, Mode::Write, doing, |session| {
        let mut description = None;
        session.get(DESCRIPTION, &mut |bytes| {
            description = Some(Problem::from_description(bytes));
        })?;
        match description {
            None => begin(session, problem),
            Some(None) => Err(damaged("the description of the problem is damaged")),
            Some(Some(stored)) if !resume => Err(TransactionError::workload(format!(
                "the database holds the 3n+1 problem {stored} already; resume it, or begin with an \
                 empty database"
            ))),
            Some(Some(stored)) if stored != *problem => Err(TransactionError::workload(format!(
                "the database holds the 3n+1 problem {stored}, and not {problem}; resume with the \
                 same settings, or begin with an empty database"
            ))),
            Some(Some(_)) => release(session),
        }
    })
}

fn begin(session: &mut dyn Session, problem: &Problem) -> Result<(), TransactionError> {
    let found = session.scan(KeyRange::ALL, Direction::Forward, &mut |_, _| {
        ControlFlow::Break(())
    })?;
    if found > 0 {
        return Err(TransactionError::workload(
            "the database holds records and no 3n+1 problem; begin with an empty one".to_owned(),
        ));
    }
    session.put(DESCRIPTION, &problem.describe())?;
    Ok(session.put(CURSOR, &BlockCursor::default().to_bytes())?)
}

/// Makes every block that was claimed and not finished one to be given out again. As many as there
/// were workers, so they fit in memory however many blocks there are.
fn release(session: &mut dyn Session) -> Result<(), TransactionError> {
    let cursor = BlockCursor::read(session)?;
    let mut unfinished = Vec::new();
    visit_all(session, &mut |block, state| {
        if state != Some(BlockState::Finished) {
            unfinished.push(block);
        }
    })?;
    for (place, block) in (0_u64..).zip(&unfinished) {
        session.put(&key(RELEASED, place), &block.to_be_bytes())?;
    }
    let cursor = BlockCursor {
        released: unfinished.len() as u64,
        again: 0,
        ..cursor
    };
    Ok(session.put(CURSOR, &cursor.to_bytes())?)
}

/// Within a transaction: shows every block that was handed out, and its state if it is intact.
pub(super) fn visit_all(
    session: &mut dyn Session,
    visitor: &mut dyn FnMut(u64, Option<BlockState>),
) -> Result<(), TransactionError> {
    let (first, last) = (key(BLOCK, 0), key(BLOCK, u64::MAX));
    let range = KeyRange {
        lower: Bound::Included(&first),
        upper: Bound::Included(&last),
    };
    session.scan(range, Direction::Forward, &mut |key, value| {
        if let Some(block) = key.get(2..).and_then(|bytes| bytes.try_into().ok()) {
            visitor(u64::from_be_bytes(block), BlockState::from_bytes(value));
        }
        ControlFlow::Continue(())
    })?;
    Ok(())
}
