//! The stand-in for an engine if a workload needs none: the folder itself, on its file system. Such
//! a workload reads and writes its own files.

use crate::{
    Build, COMPILED_IN, Capabilities, Database, Direction, Durability, Engine, Error, Info,
    Isolation, KeyRange, Mode, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor,
    Result, Session, Value, ValueVisitor,
};
use std::collections::BTreeMap;

/// The name that is in an engine's place.
pub const NAME: &str = "storage";

/// The storage below every engine. It opens a folder and does nothing else; its sessions refuse
/// every call. It is in no registry: the runner passes it to workloads that need no engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Storage;

impl Engine for Storage {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: NAME,
            summary: "no engine: files in a folder, through the kernel's own calls",
            license: "MIT OR Apache-2.0",
            homepage: "docs/workloads/log-flush.md",
            install: COMPILED_IN,
        }
    }

    /// The measured software is the kernel, so its release is the version.
    fn build(&self) -> Result<Build> {
        let file = "/proc/sys/kernel/osrelease";
        let release = std::fs::read_to_string(file)
            .map_err(|error| Error::engine(format!("reading {file}: {error}")))?;
        Ok(Build {
            version: format!("Linux {}", release.trim()),
            library: None,
            assertions: None,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: true,
            retains_data: true,
            atomic_transactions: false,
            snapshot_reads: false,
            batch_get: false,
            conditional_put: false,
            bulk_load: false,
            max_key_bytes: 0,
            max_value_bytes: 0,
        }
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        let mapped_to = match durability {
            Durability::Sync => "each commit waits for the flush that the settings name",
            Durability::None => "no commit waits for a flush",
            Durability::Async | Durability::Buffered | Durability::Process => {
                return Err(Error::no_durability(self.info().name, durability));
            }
        };
        let source = "https://man7.org/linux/man-pages/man2/fsync.2.html";
        Ok(Promise::new(durability, mapped_to, None, source))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // Without data there is nothing to isolate.
        None
    }

    fn knobs(&self) -> &'static [Parameter] {
        &[]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        if spec.directory.is_dir() {
            Ok(Box::new(Folder))
        } else {
            Err(Error::engine(format!(
                "{} is no folder",
                spec.directory.display()
            )))
        }
    }
}

struct Folder;

impl Database for Folder {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(UnsupportedSession))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        Ok(BTreeMap::new())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

/// A session that refuses every call.
struct UnsupportedSession;

fn refusal<T>() -> Result<T> {
    Err(Error::Unsupported(format!(
        "{NAME} holds files and no records: a workload that needs an engine cannot run on it"
    )))
}

impl Session for UnsupportedSession {
    fn begin(&mut self, _mode: Mode) -> Result<()> {
        refusal()
    }

    fn get(&mut self, _key: &[u8], _visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        refusal()
    }

    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        refusal()
    }

    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        refusal()
    }

    fn scan(
        &mut self,
        _range: KeyRange<'_>,
        _direction: Direction,
        _visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        refusal()
    }

    fn commit(&mut self) -> Result<()> {
        refusal()
    }

    fn abort(&mut self) -> Result<()> {
        refusal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParameterValues;
    use std::path::Path;

    fn open(directory: &Path, durability: Durability) -> Result<Box<dyn Database>> {
        Storage.open(&OpenSpec {
            directory,
            durability,
            knobs: &ParameterValues::default(),
            sessions: 1,
        })
    }

    #[test]
    fn a_folder_opens_and_every_call_on_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path(), Durability::Sync).unwrap();
        let mut session = database.session().unwrap();
        let refused = [
            session.begin(Mode::Write),
            session.put(b"a", b"b"),
            session.commit(),
        ];
        for said in refused {
            assert!(said.unwrap_err().to_string().contains("no records"));
        }
    }

    #[test]
    fn what_is_no_folder_and_a_level_that_it_has_not_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert!(open(&missing, Durability::Sync).is_err());
        assert!(open(folder.path(), Durability::Async).is_err());
    }

    #[test]
    fn its_version_is_the_kernels() {
        let version = Storage.build().unwrap().version;
        assert!(version.starts_with("Linux "), "{version}");
    }
}
