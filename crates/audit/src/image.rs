//! Files in memory, rebuilt from a recording: what a crash state contains.

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Uid, fchmod, fchown, linkat, mkdirat, openat, symlinkat,
};
use std::collections::{BTreeMap, HashMap, HashSet, hash_map::DefaultHasher};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{Access, Entry, Inode, InodeKind, Operation};
use trueput_record::audit::{CrashState, Tear, TornRest};

/// The unit in which data persist.
pub(crate) const PAGE_BYTES: u64 = 4096;
const PAGE: usize = PAGE_BYTES as usize;

/// Folders within each other at most: no engine comes near, and a directory in a log of unknown
/// origin may lie in itself.
const DEEPEST: usize = 64;

/// Names in an image at most.
const MAX_ENTRIES: u64 = 1_000_000;

const PRIVATE_FOLDER: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The permission bits that a file keeps: others do not write, and nobody runs as its owner.
const KEPT_MODE: u32 = 0o755;

/// A page of a file, with the hash of its content.
#[derive(Debug)]
struct Page {
    data: [u8; PAGE],
    hash: u64,
}

impl Page {
    fn new(data: [u8; PAGE]) -> Self {
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        Self {
            data,
            hash: hasher.finish(),
        }
    }
}

#[derive(Debug, Clone)]
enum Content {
    File {
        size: u64,
        pages: BTreeMap<u64, Arc<Page>>,
    },
    Directory(BTreeMap<String, Inode>),
    Symlink(String),
    Special,
}

#[derive(Debug, Clone)]
struct Node {
    content: Content,
    access: Access,
}

/// The files and directories after some operations.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    nodes: HashMap<Inode, Arc<Node>>,
}

/// The parts of the operations before a cut that did not persist.
struct Losses<'a> {
    /// By page, the first write that did not persist.
    pages: HashMap<(Inode, u64), usize>,
    operations: HashSet<usize>,
    tear: Option<&'a Tear>,
}

impl Image {
    /// Creates an image with an empty root directory.
    pub(crate) fn new() -> Self {
        let root = Node {
            content: Content::Directory(BTreeMap::new()),
            access: Access {
                mode: 0o755,
                uid: 0,
                gid: 0,
            },
        };
        Self {
            nodes: HashMap::from([(Inode::ROOT, Arc::new(root))]),
        }
    }

    /// Applies the operations of a range, all of them.
    pub(crate) fn apply(&mut self, recording: &Recording, range: std::ops::Range<usize>) {
        let nothing = Losses {
            pages: HashMap::new(),
            operations: HashSet::new(),
            tear: None,
        };
        self.apply_but(recording, range, &nothing);
    }

    /// Applies the operations from `start` up to the state's cut, without what it lacks.
    pub(crate) fn apply_state(&mut self, recording: &Recording, start: usize, state: &CrashState) {
        let losses = Losses {
            pages: state
                .lost_pages
                .iter()
                .map(|lost| ((Inode(lost.inode), lost.page), lost.from))
                .collect(),
            operations: state.lost_operations.iter().copied().collect(),
            tear: state.tear.as_ref(),
        };
        self.apply_but(recording, start..state.cut, &losses);
    }

    fn apply_but(
        &mut self,
        recording: &Recording,
        range: std::ops::Range<usize>,
        losses: &Losses<'_>,
    ) {
        let start = range.start;
        for (offset, logged) in recording.operations[range].iter().enumerate() {
            let index = start + offset;
            let operation = &logged.operation;
            match operation {
                Operation::Write { inode, offset, .. } => {
                    let mut data = recording.data(operation).to_vec();
                    let tear = losses.tear.filter(|tear| tear.operation == index);
                    if let Some(tear) = tear {
                        tear_data(&mut data, tear);
                    }
                    let grows = !losses.operations.contains(&index);
                    self.write(*inode, *offset, &data, grows, |page| {
                        let lost = losses.pages.get(&(*inode, page));
                        lost.is_some_and(|from| index >= *from)
                    });
                }
                _ if losses.operations.contains(&index) => self.note_inode(operation),
                _ => self.change(operation),
            }
        }
    }

    fn node_mut(&mut self, inode: Inode) -> Option<&mut Node> {
        self.nodes.get_mut(&inode).map(Arc::make_mut)
    }

    fn entries_mut(&mut self, directory: Inode) -> Option<&mut BTreeMap<String, Inode>> {
        match &mut self.node_mut(directory)?.content {
            Content::Directory(entries) => Some(entries),
            _ => None,
        }
    }

    fn add_name(&mut self, entry: &Entry, inode: Inode) {
        if let Some(entries) = self.entries_mut(entry.directory) {
            entries.insert(entry.name.clone(), inode);
        }
    }

    /// Removes a name if it still names that inode.
    fn remove_name(&mut self, entry: &Entry, inode: Inode) {
        if let Some(entries) = self.entries_mut(entry.directory)
            && entries.get(&entry.name) == Some(&inode)
        {
            entries.remove(&entry.name);
        }
    }

    /// Creates the inode of an operation whose name did not persist: later ones may refer to it.
    fn note_inode(&mut self, operation: &Operation) {
        if let Operation::Create {
            inode,
            kind,
            access,
            ..
        } = operation
        {
            let content = match kind {
                InodeKind::File => Content::File {
                    size: 0,
                    pages: BTreeMap::new(),
                },
                InodeKind::Directory => Content::Directory(BTreeMap::new()),
                InodeKind::Symlink(target) => Content::Symlink(target.clone()),
                InodeKind::Special => Content::Special,
            };
            let access = *access;
            self.nodes
                .insert(*inode, Arc::new(Node { content, access }));
        }
    }

    fn change(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { inode, entry, .. } => {
                self.note_inode(operation);
                self.add_name(entry, *inode);
            }
            Operation::Truncate { inode, size } => self.truncate(*inode, *size),
            Operation::Allocate {
                inode,
                offset,
                length,
                grows,
            } => {
                if *grows {
                    self.grow(*inode, offset + length);
                }
            }
            Operation::Link { inode, entry } => self.add_name(entry, *inode),
            Operation::Unlink { inode, entry } | Operation::RemoveDirectory { inode, entry } => {
                self.remove_name(entry, *inode);
            }
            Operation::Rename {
                inode,
                from,
                to,
                replaced,
                exchanged,
            } => {
                self.remove_name(from, *inode);
                if let (true, Some(replaced)) = (exchanged, replaced) {
                    self.add_name(from, *replaced);
                }
                self.add_name(to, *inode);
            }
            Operation::SetAccess { inode, access } => {
                if let Some(node) = self.node_mut(*inode) {
                    node.access = *access;
                }
            }
            Operation::Write { .. }
            | Operation::Flush { .. }
            | Operation::FlushAll { .. }
            | Operation::FlushDirectory { .. } => {}
        }
    }

    fn grow(&mut self, inode: Inode, to: u64) {
        if let Some(Node {
            content: Content::File { size, .. },
            ..
        }) = self.node_mut(inode)
        {
            *size = to.max(*size);
        }
    }

    fn truncate(&mut self, inode: Inode, to: u64) {
        let Some(Node {
            content: Content::File { size, pages },
            ..
        }) = self.node_mut(inode)
        else {
            return;
        };
        if to < *size {
            pages.split_off(&to.div_ceil(PAGE_BYTES));
            let within = (to % PAGE_BYTES) as usize;
            if let Some(last) = pages.get_mut(&(to / PAGE_BYTES)).filter(|_| within > 0) {
                let mut data = last.data;
                data[within..].fill(0);
                *last = Arc::new(Page::new(data));
            }
        }
        *size = to;
    }

    /// Writes the pages that are not lost. The file grows to their end, or, if it `grows`, to that
    /// of the whole write.
    fn write(
        &mut self,
        inode: Inode,
        offset: u64,
        data: &[u8],
        grows: bool,
        is_lost: impl Fn(u64) -> bool,
    ) {
        let Some(Node {
            content: Content::File { size, pages },
            ..
        }) = self.node_mut(inode)
        else {
            return;
        };
        let end = offset + data.len() as u64;
        let mut at = offset;
        while at < end {
            let page = at / PAGE_BYTES;
            let next = ((page + 1) * PAGE_BYTES).min(end);
            if !is_lost(page) {
                let part = &data[(at - offset) as usize..(next - offset) as usize];
                let within = (at % PAGE_BYTES) as usize;
                let mut content = pages.get(&page).map_or([0; PAGE], |page| page.data);
                content[within..within + part.len()].copy_from_slice(part);
                pages.insert(page, Arc::new(Page::new(content)));
                *size = next.max(*size);
            }
            at = next;
        }
        if grows {
            *size = end.max(*size);
        }
    }

    /// Returns a hash of all names and contents, by which equal states are found.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash_directory(Inode::ROOT, 0, &mut hasher);
        hasher.finish()
    }

    fn hash_directory(&self, inode: Inode, depth: usize, hasher: &mut DefaultHasher) {
        if depth > DEEPEST {
            return;
        }
        for (name, inode, node) in self.children(inode) {
            name.hash(hasher);
            match &node.content {
                Content::Directory(_) => {
                    "directory".hash(hasher);
                    self.hash_directory(inode, depth + 1, hasher);
                    "end".hash(hasher);
                }
                Content::File { size, pages } => {
                    size.hash(hasher);
                    for (page, content) in pages {
                        if page * PAGE_BYTES < *size {
                            (page, content.hash).hash(hasher);
                        }
                    }
                }
                Content::Symlink(target) => target.hash(hasher),
                Content::Special => {}
            }
        }
    }

    fn children(&self, directory: Inode) -> impl Iterator<Item = (&String, Inode, &Node)> {
        let entries = match self.nodes.get(&directory).map(|node| &node.content) {
            Some(Content::Directory(entries)) => Some(entries),
            _ => None,
        };
        let entries = entries.into_iter().flatten();
        entries.filter_map(|(name, inode)| Some((name, *inode, &**self.nodes.get(inode)?)))
    }

    /// Writes all files below a folder that exists. No link is followed on the way, and files get
    /// neither set-user-ID bits nor write access for others.
    ///
    /// # Errors
    /// The file system's own; also for folders nested too deep.
    pub(crate) fn materialize(&self, folder: &Path) -> io::Result<()> {
        let root = open_folder(CWD, folder)?;
        if let Some(node) = self.nodes.get(&Inode::ROOT) {
            set_access(&root, node.access)?;
        }
        let mut written = WrittenFiles {
            root: &root,
            files: HashMap::new(),
            left: MAX_ENTRIES,
        };
        self.materialize_directory(Inode::ROOT, &root, &mut Vec::new(), &mut written)
    }

    /// Writes what a directory holds. `way` are the names that lead to it.
    fn materialize_directory(
        &self,
        directory: Inode,
        folder: &OwnedFd,
        way: &mut Vec<String>,
        written: &mut WrittenFiles<'_>,
    ) -> io::Result<()> {
        if way.len() > DEEPEST {
            return Err(io::Error::other("folders are nested too deep"));
        }
        for (name, inode, node) in self.children(directory) {
            let left = written.left.checked_sub(1);
            written.left = left.ok_or_else(|| io::Error::other("there are too many files"))?;
            way.push(name.clone());
            match &node.content {
                Content::Directory(_) => {
                    mkdirat(folder, name, PRIVATE_FOLDER)?;
                    let below = open_folder(folder, name)?;
                    set_access(&below, node.access)?;
                    self.materialize_directory(inode, &below, way, written)?;
                }
                Content::File { size, pages } => match written.files.get(&inode) {
                    Some(first) => linkat(written.root, first, folder, name, AtFlags::empty())?,
                    None => {
                        let file = File::from(openat(folder, name, NEW_FILE, PRIVATE_FILE)?);
                        write_file(&file, *size, pages)?;
                        set_access(&file, node.access)?;
                        written.files.insert(inode, way.join("/"));
                    }
                },
                Content::Symlink(target) => symlinkat(target, folder, name)?,
                Content::Special => {}
            }
            way.pop();
        }
        Ok(())
    }
}

/// What has been written of an image.
struct WrittenFiles<'a> {
    root: &'a OwnedFd,
    /// The first path of each file, from the root.
    files: HashMap<Inode, String>,
    /// The names that may still be written.
    left: u64,
}

fn open_folder(at: impl AsFd, folder: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, folder, flags, Mode::empty())?)
}

fn tear_data(data: &mut Vec<u8>, tear: &Tear) {
    let persisted = usize::try_from(tear.persisted).unwrap_or(usize::MAX);
    let Some(rest) = data.get_mut(persisted..) else {
        return;
    };
    match tear.rest {
        TornRest::Old => data.truncate(persisted),
        TornRest::Zero => rest.fill(0),
        TornRest::Garbage => {
            for (index, byte) in rest.iter_mut().enumerate() {
                *byte =
                    (crate::transaction::mix(&[tear.operation as u64, index as u64]) >> 56) as u8;
            }
        }
    }
}

fn write_file(file: &File, size: u64, pages: &BTreeMap<u64, Arc<Page>>) -> io::Result<()> {
    file.set_len(size)?;
    let mut run: Vec<u8> = Vec::new();
    let mut run_start = 0;
    for (page, content) in pages.range(..size.div_ceil(PAGE_BYTES)) {
        let at = page * PAGE_BYTES;
        if run_start + run.len() as u64 != at {
            file.write_all_at(&run, run_start)?;
            run.clear();
            run_start = at;
        }
        let end = (size - at).min(PAGE_BYTES) as usize;
        run.extend_from_slice(&content.data[..end]);
    }
    file.write_all_at(&run, run_start)
}

fn set_access(file: impl AsFd, access: Access) -> io::Result<()> {
    // Without root all files are this user's own.
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(access.uid), Gid::from_raw(access.gid));
        fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(fchmod(file, Mode::from_raw_mode(access.mode & KEPT_MODE))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_faultfs::operation::LoggedOperation;
    use trueput_record::audit::LostPage;

    const FILE: Inode = Inode(2);

    /// A file whose first page is written with `a`, then its beginning with `b`, then its second
    /// page with `c`.
    fn recording() -> Recording {
        let create = Operation::Create {
            inode: FILE,
            entry: Entry {
                directory: Inode::ROOT,
                name: "table".to_owned(),
            },
            kind: InodeKind::File,
            access: Access {
                mode: 0o600,
                uid: 0,
                gid: 0,
            },
        };
        let write = |offset, data_at, length| Operation::Write {
            inode: FILE,
            offset,
            data_at,
            length,
            cached: false,
        };
        let writes = [
            write(0, 0, 4096),
            write(0, 4096, 100),
            write(4096, 8192, 1000),
        ];
        let operations = std::iter::once(create).chain(writes);
        let phase = 0;
        let operations = operations.map(|operation| LoggedOperation { operation, phase });
        let data = [[b'a'; 4096], [b'b'; 4096], [b'c'; 4096]].concat();
        Recording::new(operations.collect(), 0, data)
    }

    fn content(state: &CrashState) -> Vec<u8> {
        let mut image = Image::new();
        image.apply_state(&recording(), 0, state);
        let folder = tempfile::tempdir().unwrap();
        image.materialize(folder.path()).unwrap();
        std::fs::read(folder.path().join("table")).unwrap()
    }

    fn state(lost: &[(u64, usize)]) -> CrashState {
        let lost = lost.iter().map(|(page, from)| LostPage {
            inode: FILE.0,
            page: *page,
            from: *from,
        });
        CrashState {
            cut: 4,
            lost_pages: lost.collect(),
            ..CrashState::default()
        }
    }

    #[test]
    fn a_state_without_losses_is_the_file_as_it_was() {
        let content = content(&state(&[]));
        assert_eq!(content.len(), 5096);
        assert_eq!(
            (content[0], content[100], content[4096]),
            (b'b', b'a', b'c')
        );
    }

    #[test]
    fn a_lost_page_lacks_later_writes_and_its_size_stays() {
        let lost_later = content(&state(&[(0, 2)]));
        assert_eq!((lost_later[0], lost_later[4096]), (b'a', b'c'));
        let lost_all = content(&state(&[(0, 1), (1, 3)]));
        assert_eq!(lost_all, [0; 5096]);
    }

    #[test]
    fn a_size_that_is_lost_with_its_write_is_the_old_one() {
        let shorter = CrashState {
            lost_operations: vec![3],
            ..state(&[(1, 3)])
        };
        assert_eq!(content(&shorter).len(), 4096);
    }

    #[test]
    fn a_torn_write_ends_in_the_middle() {
        let torn = |rest| CrashState {
            tear: Some(Tear {
                operation: 1,
                persisted: 512,
                rest,
            }),
            ..state(&[(0, 2)])
        };
        let zero = content(&torn(TornRest::Zero));
        assert_eq!((zero[511], zero[512]), (b'a', 0));
        let garbage = content(&torn(TornRest::Garbage));
        assert_ne!(garbage[512..520], [b'a'; 8]);
    }

    #[test]
    fn equal_files_have_equal_hashes_and_others_do_not() {
        let hash = |state: &CrashState| {
            let mut image = Image::new();
            image.apply_state(&recording(), 0, state);
            image.hash()
        };
        assert_eq!(hash(&state(&[])), hash(&state(&[])));
        assert_ne!(hash(&state(&[])), hash(&state(&[(0, 2)])));
    }
}
