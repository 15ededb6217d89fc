//! The graph of dependencies between committed transactions.

use super::recency::ZoneIndex;
use super::versions::VersionIndex;
use crate::history::version::{Key, Version};
use std::collections::HashMap;

/// A way in which a transaction depends on another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DependencyKind {
    /// It wrote the version that follows the other's.
    WriteWrite,
    /// It read the other's version.
    WriteRead,
    /// It wrote the version that follows one that the other read.
    ReadWrite {
        /// Whether the other found nothing under the key, which is a search and no read of a
        /// record.
        is_predicate: bool,
    },
}

impl DependencyKind {
    /// Returns whether it is an anti-dependency.
    pub fn is_read_write(self) -> bool {
        matches!(self, Self::ReadWrite { .. })
    }
}

/// A dependency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dependency {
    /// The index of the transaction that comes first.
    pub from: u32,
    /// The index of the transaction that depends on it.
    pub to: u32,
    /// The kind.
    pub kind: DependencyKind,
    /// The key.
    pub key: Key,
    /// The version that the first one wrote or read.
    pub before: Version,
    /// The version that the second one wrote or read.
    pub after: Version,
}

/// All dependencies, in the order of the first transactions.
pub(super) struct DependencyGraph {
    dependencies: Vec<Dependency>,
    /// The place of the first dependency of each transaction, and the number of all.
    starts: Vec<u32>,
}

impl DependencyGraph {
    /// Builds the graph of a history.
    ///
    /// A version follows another one of its key if its writer had read that one, or if the key can
    /// have had it only later. Where neither is so, their order is not known, and no dependency
    /// follows from it.
    pub fn new(versions: &VersionIndex<'_>, zones: &ZoneIndex) -> Self {
        let mut dependencies = Vec::new();
        let successors = Successors::new(versions, zones);
        let mut add = |dependency: Dependency| {
            if dependency.from != dependency.to {
                dependencies.push(dependency);
            }
        };
        for &(key, before, after) in &successors.pairs {
            let writers = versions.installer(before).zip(versions.installer(after));
            if let Some((from, to)) = writers {
                add(Dependency {
                    from: from.transaction,
                    to: to.transaction,
                    kind: DependencyKind::WriteWrite,
                    key,
                    before,
                    after,
                });
            }
        }
        for read in &versions.reads {
            let (key, version, reader) = (read.key, read.version, read.transaction);
            if let Some(write) = versions.installer(version) {
                add(Dependency {
                    from: write.transaction,
                    to: reader,
                    kind: DependencyKind::WriteRead,
                    key,
                    before: version,
                    after: version,
                });
            }
            let is_predicate = version == Version::ABSENT;
            for &after in successors.of(key, version) {
                if let Some(write) = versions.installer(after) {
                    add(Dependency {
                        from: reader,
                        to: write.transaction,
                        kind: DependencyKind::ReadWrite { is_predicate },
                        key,
                        before: version,
                        after,
                    });
                }
            }
        }
        dependencies.sort_by_key(|dependency| dependency.from);
        Self::of(dependencies, versions.history.transactions().len())
    }

    fn of(dependencies: Vec<Dependency>, transactions: usize) -> Self {
        let mut starts = vec![0; transactions + 1];
        for dependency in &dependencies {
            starts[dependency.from as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self {
            dependencies,
            starts,
        }
    }

    /// Returns the number of transactions.
    pub fn transactions(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns all dependencies.
    pub fn all(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// Returns the dependencies on a transaction, and the place of the first.
    pub fn on(&self, transaction: u32) -> (usize, &[Dependency]) {
        let at = transaction as usize;
        let (start, end) = (self.starts[at] as usize, self.starts[at + 1] as usize);
        (start, &self.dependencies[start..end])
    }
}

/// The versions that follow each version.
struct Successors {
    /// Key, version, and a version that follows it.
    pairs: Vec<(Key, Version, Version)>,
    /// The place of the first pair of a key and a version, and their number.
    places: HashMap<(Key, Version), (usize, usize)>,
}

impl Successors {
    fn new(versions: &VersionIndex<'_>, zones: &ZoneIndex) -> Self {
        let mut pairs = zones.successions();
        let installations = versions.installations.iter();
        let parents = installations.filter_map(|one| Some((one.key, one.parent?, one.version)));
        pairs.extend(parents);
        // A version that is known to follow no other one follows the state without the key.
        let followers: std::collections::HashSet<Version> = pairs
            .iter()
            .filter(|(_, before, _)| *before != Version::ABSENT)
            .map(|(_, _, after)| *after)
            .collect();
        let installations = versions.installations.iter();
        let roots = installations.filter(|one| !followers.contains(&one.version));
        pairs.extend(roots.map(|one| (one.key, Version::ABSENT, one.version)));
        pairs.sort_unstable();
        pairs.dedup();
        let mut places = HashMap::new();
        let mut start = 0;
        for group in pairs.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            places.insert((group[0].0, group[0].1), (start, group.len()));
            start += group.len();
        }
        Self { pairs, places }
    }

    fn of(&self, key: Key, version: Version) -> impl Iterator<Item = &Version> {
        let (start, count) = self.places.get(&(key, version)).copied().unwrap_or((0, 0));
        self.pairs[start..start + count]
            .iter()
            .map(|(_, _, after)| after)
    }
}
