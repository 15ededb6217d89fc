//! Replays a recording and compares it with a folder: bytes per inode, names per directory.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{Access, Entry, FlushExtent, Inode, InodeKind, Operation};

#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    Directory,
    File(Vec<u8>),
    Symlink(String),
    Special,
}

impl fmt::Debug for Content {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => to.write_str("directory"),
            Self::File(bytes) => write!(to, "file of {} bytes", bytes.len()),
            Self::Symlink(target) => write!(to, "link to {target}"),
            Self::Special => to.write_str("special"),
        }
    }
}

/// A file or directory under a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    content: Content,
    access: Access,
    /// The first path of the same inode.
    first: PathBuf,
}

pub type Tree = BTreeMap<PathBuf, Node>;

/// Reads a folder.
pub fn read(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut firsts = HashMap::new();
    read_below(folder, Path::new(""), &mut firsts, &mut tree);
    tree
}

fn read_below(folder: &Path, path: &Path, firsts: &mut HashMap<u64, PathBuf>, tree: &mut Tree) {
    let full = folder.join(path);
    let metadata = full.symlink_metadata().unwrap();
    let kind = metadata.file_type();
    let content = if kind.is_dir() {
        Content::Directory
    } else if kind.is_file() {
        Content::File(std::fs::read(&full).unwrap())
    } else if kind.is_symlink() {
        Content::Symlink(std::fs::read_link(&full).unwrap().display().to_string())
    } else {
        Content::Special
    };
    let first = firsts.entry(metadata.ino()).or_insert(path.to_owned());
    let found = Node {
        content,
        access: Access {
            mode: metadata.mode() & 0o7777,
            uid: metadata.uid(),
            gid: metadata.gid(),
        },
        first: first.clone(),
    };
    tree.insert(path.to_owned(), found);
    if kind.is_dir() {
        let entries = std::fs::read_dir(&full).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        for name in names {
            read_below(folder, &path.join(name), firsts, tree);
        }
    }
}

/// Applies all operations of a recording. Each must fit the state that it meets.
pub fn replay(recording: &Recording) -> Tree {
    let mut state = State::default();
    state.contents.insert(Inode::ROOT, Content::Directory);
    for logged in &recording.operations {
        state.apply(recording, &logged.operation);
    }
    let mut tree = Tree::new();
    let mut firsts = HashMap::new();
    state.list(Inode::ROOT, Path::new(""), &mut firsts, &mut tree);
    tree
}

#[derive(Default)]
struct State {
    contents: HashMap<Inode, Content>,
    accesses: HashMap<Inode, Access>,
    names: BTreeMap<(Inode, String), Inode>,
}

impl State {
    fn bytes(&mut self, inode: Inode) -> &mut Vec<u8> {
        match self.contents.get_mut(&inode) {
            Some(Content::File(bytes)) => bytes,
            other => panic!("{inode:?} is {other:?}"),
        }
    }

    fn add(&mut self, entry: &Entry, inode: Inode) {
        let key = (entry.directory, entry.name.clone());
        assert_eq!(self.names.insert(key, inode), None, "{entry:?}");
    }

    fn remove(&mut self, entry: &Entry) -> Option<Inode> {
        self.names.remove(&(entry.directory, entry.name.clone()))
    }

    fn apply(&mut self, recording: &Recording, operation: &Operation) {
        match operation {
            Operation::Create {
                inode,
                entry,
                kind,
                access,
            } => {
                let content = match kind {
                    InodeKind::File => Content::File(Vec::new()),
                    InodeKind::Directory => Content::Directory,
                    InodeKind::Symlink(target) => Content::Symlink(target.clone()),
                    InodeKind::Special => Content::Special,
                };
                assert_eq!(self.contents.insert(*inode, content), None, "{inode:?}");
                self.accesses.insert(*inode, *access);
                self.add(entry, *inode);
            }
            Operation::Write { inode, offset, .. } => {
                let data = recording.data(operation);
                let start = usize::try_from(*offset).unwrap();
                let end = start + data.len();
                let bytes = self.bytes(*inode);
                bytes.resize(bytes.len().max(end), 0);
                bytes[start..end].copy_from_slice(data);
            }
            Operation::Truncate { inode, size } => {
                self.bytes(*inode)
                    .resize(usize::try_from(*size).unwrap(), 0);
            }
            Operation::Allocate {
                inode,
                offset,
                length,
                grows,
            } => {
                let end = usize::try_from(offset + length).unwrap();
                let bytes = self.bytes(*inode);
                if *grows && bytes.len() < end {
                    bytes.resize(end, 0);
                }
            }
            Operation::SetAccess { inode, access } => {
                self.accesses.insert(*inode, *access);
            }
            Operation::Flush { inode, .. } => assert!(self.contents.contains_key(inode)),
            Operation::FlushAll { .. } => {}
            Operation::FlushDirectory { inode, .. } => {
                assert_eq!(self.contents.get(inode), Some(&Content::Directory));
            }
            operation => self.apply_to_names(operation),
        }
    }

    fn apply_to_names(&mut self, operation: &Operation) {
        match operation {
            Operation::Link { inode, entry } => self.add(entry, *inode),
            Operation::Unlink { inode, entry } | Operation::RemoveDirectory { inode, entry } => {
                assert_eq!(self.remove(entry), Some(*inode), "{entry:?}");
                let is_directory = self.contents[inode] == Content::Directory;
                let removes = matches!(operation, Operation::RemoveDirectory { .. });
                assert_eq!(is_directory, removes, "{entry:?}");
            }
            Operation::Rename {
                inode,
                from,
                to,
                replaced,
                exchanged,
            } => {
                assert_eq!(self.remove(from), Some(*inode), "{from:?}");
                assert_eq!(self.remove(to), *replaced, "{to:?}");
                self.add(to, *inode);
                if *exchanged {
                    self.add(from, replaced.unwrap());
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn list(
        &self,
        inode: Inode,
        path: &Path,
        firsts: &mut HashMap<Inode, PathBuf>,
        tree: &mut Tree,
    ) {
        let first = firsts.entry(inode).or_insert(path.to_owned());
        let found = Node {
            content: self.contents[&inode].clone(),
            access: self.accesses[&inode],
            first: first.clone(),
        };
        tree.insert(path.to_owned(), found);
        let names = self.names.range((inode, String::new())..);
        for ((_, name), below) in names.take_while(|((directory, _), _)| *directory == inode) {
            self.list(*below, &path.join(name), firsts, tree);
        }
    }
}

/// Describes each operation in a few words, with the name under which an inode was created.
pub fn describe(recording: &Recording) -> Vec<String> {
    let mut names = HashMap::from([(Inode::ROOT, String::from("/"))]);
    let operations = &recording.operations[recording.base..];
    let operations = operations.iter().map(|logged| &logged.operation);
    let mut described = Vec::new();
    for operation in operations {
        if let Operation::Create { inode, entry, .. } = operation {
            names.insert(*inode, entry.name.clone());
        }
        described.push(describe_one(operation, &names));
    }
    described
}

fn describe_one(operation: &Operation, names: &HashMap<Inode, String>) -> String {
    match operation {
        Operation::Create { entry, kind, .. } => match kind {
            InodeKind::File => format!("create {}", entry.name),
            InodeKind::Directory => format!("mkdir {}", entry.name),
            InodeKind::Symlink(to) => format!("symlink {} to {to}", entry.name),
            InodeKind::Special => format!("mknod {}", entry.name),
        },
        Operation::Write {
            inode,
            offset,
            length,
            cached,
            ..
        } => {
            let verb = if *cached { "write back" } else { "write" };
            format!("{verb} {} {offset}+{length}", names[inode])
        }
        Operation::Truncate { inode, size } => format!("truncate {} {size}", names[inode]),
        Operation::Allocate {
            inode,
            offset,
            length,
            grows: true,
        } => format!("grow {} {offset}+{length}", names[inode]),
        Operation::Allocate {
            inode,
            offset,
            length,
            grows: false,
        } => format!("allocate {} {offset}+{length}", names[inode]),
        Operation::Link { inode, entry } => format!("link {} of {}", entry.name, names[inode]),
        Operation::Unlink { entry, .. } => format!("unlink {}", entry.name),
        Operation::RemoveDirectory { entry, .. } => format!("rmdir {}", entry.name),
        Operation::Rename {
            from,
            to,
            replaced,
            exchanged,
            ..
        } => {
            let verb = if *exchanged { "exchange" } else { "rename" };
            let over = replaced.map_or(String::from("nothing"), |inode| names[&inode].clone());
            format!("{verb} {} to {} over {over}", from.name, to.name)
        }
        Operation::SetAccess { inode, access } => {
            format!("chmod {} {:o}", names[inode], access.mode)
        }
        Operation::Flush {
            inode,
            data_only,
            extent,
            ..
        } => {
            let call = if *data_only { "fdatasync" } else { "fsync" };
            let extent = match extent {
                FlushExtent::Whole => String::new(),
                FlushExtent::Unknown => " of what?".to_owned(),
                FlushExtent::Ranges(ranges) => ranges
                    .iter()
                    .map(|range| format!(" {}..{}", range.start, range.end))
                    .collect(),
            };
            format!("{call} {}{extent}", names[inode])
        }
        Operation::FlushAll { .. } => "flush all".to_owned(),
        Operation::FlushDirectory { inode, .. } => format!("fsync directory {}", names[inode]),
    }
}
