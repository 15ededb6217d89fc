//! The store: a treap in memory whose nodes never change, and its log. A write copies the path to
//! the root, so that readers keep the tree of their beginning.

use crate::trueput_engine::{Failure, FailureKind};
use std::cmp::Ordering;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A tree; `None` if it is empty.
pub type Tree = Option<Arc<Node>>;

/// A node of a tree.
#[derive(Debug, Clone)]
pub struct Node {
    /// The record's key.
    pub key: Vec<u8>,
    /// The record's value.
    pub value: Vec<u8>,
    /// Of the heap: higher ones are nearer to the root.
    priority: u32,
    left: Tree,
    right: Tree,
}

impl Node {
    /// A node without children. A hash of the key (FNV-1a) is its priority, so that the tree's form
    /// depends on its keys alone.
    pub fn new(key: &[u8], value: &[u8]) -> Arc<Self> {
        let hash = key.iter().fold(2_166_136_261_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(16_777_619)
        });
        Arc::new(Self {
            key: key.to_vec(),
            value: value.to_vec(),
            priority: hash.wrapping_mul(2_654_435_761),
            left: None,
            right: None,
        })
    }

    fn with(&self, left: Tree, right: Tree) -> Arc<Self> {
        Arc::new(Self {
            left,
            right,
            ..self.clone()
        })
    }
}

/// Puts a node into a tree.
pub fn insert(root: &Tree, added: Arc<Node>) -> Arc<Node> {
    let Some(root) = root else {
        return added;
    };
    match added.key.cmp(&root.key) {
        Ordering::Equal => added.with(root.left.clone(), root.right.clone()),
        Ordering::Less => {
            let left = insert(&root.left, added);
            if left.priority > root.priority {
                let right = root.with(left.right.clone(), root.right.clone());
                left.with(left.left.clone(), Some(right))
            } else {
                root.with(Some(left), root.right.clone())
            }
        }
        Ordering::Greater => {
            let right = insert(&root.right, added);
            if right.priority > root.priority {
                let left = root.with(root.left.clone(), right.left.clone());
                right.with(Some(left), right.right.clone())
            } else {
                root.with(root.left.clone(), Some(right))
            }
        }
    }
}

/// Joins two trees, of which the first has the lower keys.
fn join(low: &Tree, high: &Tree) -> Tree {
    match (low, high) {
        (None, other) | (other, None) => other.clone(),
        (Some(one), Some(other)) => Some(if one.priority > other.priority {
            one.with(one.left.clone(), join(&one.right, high))
        } else {
            other.with(join(low, &other.left), other.right.clone())
        }),
    }
}

/// Removes a key.
pub fn remove(root: &Tree, key: &[u8]) -> Tree {
    let node = root.as_ref()?;
    match key.cmp(&node.key) {
        Ordering::Equal => join(&node.left, &node.right),
        Ordering::Less => Some(node.with(remove(&node.left, key), node.right.clone())),
        Ordering::Greater => Some(node.with(node.left.clone(), remove(&node.right, key))),
    }
}

/// The node of a key.
pub fn find<'t>(root: &'t Tree, key: &[u8]) -> Option<&'t Node> {
    let mut at = root.as_deref();
    while let Some(node) = at {
        at = match key.cmp(&node.key) {
            Ordering::Equal => return Some(node),
            Ordering::Less => node.left.as_deref(),
            Ordering::Greater => node.right.as_deref(),
        };
    }
    None
}

/// The first node from a bound on: upwards, or downwards.
pub fn first(root: &Tree, from: Bound<&[u8]>, is_backward: bool) -> Tree {
    let mut best = &None;
    let mut at = root;
    while let Some(node) = at {
        let order = match from {
            Bound::Unbounded if is_backward => Ordering::Less,
            Bound::Unbounded => Ordering::Greater,
            Bound::Included(key) | Bound::Excluded(key) => node.key.as_slice().cmp(key),
        };
        let is_included = matches!(from, Bound::Included(_)) && order.is_eq();
        let is_beyond = if is_backward {
            order.is_lt()
        } else {
            order.is_gt()
        };
        let is_candidate = is_included || is_beyond;
        if is_candidate {
            best = at;
        }
        at = if is_candidate == is_backward {
            &node.right
        } else {
            &node.left
        };
    }
    best.clone()
}

/// The log: for each commit its size and its checksum, 4 bytes each, and its changes. A change is
/// `P` or `D`, the sizes of key and value, 4 bytes each, the key, the value.
pub struct Log {
    file: File,
    is_sync: bool,
    /// The file grows by this much at once; 0: by each commit.
    step: u64,
    end: u64,
    /// The file's size.
    reserved: u64,
    /// A flush failed: what the log has is unknown.
    is_broken: bool,
}

/// Adds a change to those of a transaction.
pub fn append_change(changes: &mut Vec<u8>, kind: u8, key: &[u8], value: &[u8]) {
    changes.push(kind);
    changes.extend((key.len() as u32).to_le_bytes());
    changes.extend((value.len() as u32).to_le_bytes());
    changes.extend(key);
    changes.extend(value);
}

/// CRC-32 (IEEE 802.3), without a table: the log is short.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

impl Log {
    /// Opens the log, and returns it with what its commits made. It ends at the first commit that
    /// is not whole.
    pub fn open(folder: &Path, is_sync: bool, step: u64) -> Result<(Self, Tree), Failure> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(folder.join("log"))?;
        // The entry of the log in its folder is durable, too.
        File::open(folder)?.sync_all()?;
        if file.try_lock().is_err() {
            let text = "the database is open already";
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (mut root, mut rest) = (None, text.as_slice());
        while let Some((changed, after)) = replay(&root, rest) {
            (root, rest) = (changed, after);
        }
        let end = (text.len() - rest.len()) as u64;
        file.set_len(end)?;
        let log = Self {
            file,
            is_sync,
            step,
            end,
            reserved: end,
            is_broken: false,
        };
        Ok((log, root))
    }

    /// Appends a commit, and flushes it at `sync`.
    pub fn append(&mut self, changes: &[u8]) -> Result<(), Failure> {
        if self.is_broken {
            let text = "a flush failed: open the database again";
            return Err(Failure::new(FailureKind::Engine, text));
        }
        let Ok(size) = u32::try_from(changes.len()) else {
            let text = "a transaction of 4 GiB or more";
            return Err(Failure::new(FailureKind::Unsupported, text));
        };
        let mut commit = size.to_le_bytes().to_vec();
        commit.extend(checksum(changes).to_le_bytes());
        commit.extend(changes);
        let end = self.end + commit.len() as u64;
        if self.step > 0 && end > self.reserved {
            let more = (end - self.reserved).div_ceil(self.step) * self.step;
            self.file.set_len(self.reserved + more)?;
            self.reserved += more;
        }
        if let Err(error) = self.file.write_all_at(&commit, self.end) {
            // Part of it may be there; it is written over or cut off.
            self.is_broken = self.file.set_len(self.end).is_err();
            self.reserved = self.end;
            return Err(error.into());
        }
        if self.is_sync {
            self.is_broken = true;
            self.file.sync_data()?;
            self.is_broken = false;
        }
        self.end = end;
        Ok(())
    }

    /// Flushes what was appended.
    pub fn flush(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }
}

/// Applies the first commit of a text, and returns the rest; `None` if it is not whole.
fn replay<'t>(root: &Tree, text: &'t [u8]) -> Option<(Tree, &'t [u8])> {
    let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let (size, text) = text.split_first_chunk()?;
    let (sum, text) = text.split_first_chunk()?;
    let (mut changes, rest) = text.split_at_checked(number(size) as usize)?;
    if changes.is_empty() || checksum(changes) != number(sum) {
        return None;
    }
    let mut root = root.clone();
    while let Some((kind, after)) = changes.split_first() {
        let (key_size, after) = after.split_first_chunk()?;
        let (value_size, after) = after.split_first_chunk()?;
        let (key, after) = after.split_at_checked(number(key_size) as usize)?;
        let (value, after) = after.split_at_checked(number(value_size) as usize)?;
        root = match kind {
            b'P' => Some(insert(&root, Node::new(key, value))),
            b'D' => remove(&root, key),
            _ => return None,
        };
        changes = after;
    }
    Some((root, rest))
}
