//! Loads records by files that RocksDB takes over as tables (RocksDB's wiki, "Creating and
//! Ingesting SST files").

use super::symbols::{IngestionFunctions, RocksDbLibrary};
use crate::lsm::{BulkLoader, Handle, LsmDatabase};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use trueput_engine::{Error, RecordSource, Result};

/// The file that is written, in the database's folder: it is renamed when it is taken over.
const FILE: &str = "trueput-load.sst";
/// Bytes of keys and values of a file.
const FILE_BYTES: usize = 256 << 20;

/// Writes files of records and has them taken over.
pub(super) struct SstLoader {
    functions: IngestionFunctions,
    /// The plain database.
    database: Handle,
    /// The database's options, by which its tables are written.
    options: Handle,
    directory: PathBuf,
}

// SAFETY: the handles are of the database and of its options, which several threads may use; the
// rest is plain data.
unsafe impl Send for SstLoader {}
// SAFETY: as above.
unsafe impl Sync for SstLoader {}

impl SstLoader {
    /// A loader of an open plain database with these options, which both outlive it; `None` if the
    /// library has none.
    pub(super) fn of(
        symbols: &RocksDbLibrary,
        database: Handle,
        options: Handle,
        directory: &Path,
    ) -> Option<Self> {
        Some(Self {
            functions: symbols.ingestion?,
            database,
            options,
            directory: directory.to_owned(),
        })
    }

    /// Writes a file of the next records; `None` if there are none, else whether there may be more.
    fn write_file(
        &self,
        path: &CString,
        store: &LsmDatabase,
        records: &mut dyn RecordSource,
    ) -> Result<Option<bool>> {
        let put = self.functions.sstfilewriter_put;
        let mut file: Option<SstFile> = None;
        let mut bytes = 0;
        while bytes < FILE_BYTES {
            let Some((key, value)) = records.next_record() else {
                return match file {
                    Some(file) => file.finish(store).map(|()| Some(false)),
                    None => Ok(None),
                };
            };
            store.limits.check(key, value)?;
            if file.is_none() {
                file = Some(SstFile::open(self, path, store)?);
            }
            let writer = file
                .as_ref()
                .map_or(std::ptr::null_mut(), |file| file.writer);
            // SAFETY: the file is open, and RocksDB copies the key and the value.
            store.call(|error| unsafe {
                let (from, to) = (key.as_ptr(), value.as_ptr());
                put(writer, from, key.len(), to, value.len(), error);
            })?;
            bytes += key.len() + value.len();
        }
        match file {
            Some(file) => file.finish(store).map(|()| Some(true)),
            None => Ok(None),
        }
    }

    /// Writes files of all records, and has each taken over.
    fn load_files(
        &self,
        path: &CString,
        store: &LsmDatabase,
        records: &mut dyn RecordSource,
    ) -> Result<()> {
        while let Some(has_more) = self.write_file(path, store, records)? {
            self.ingest(path, store)?;
            if !has_more {
                break;
            }
        }
        Ok(())
    }

    /// Has a file taken over.
    fn ingest(&self, path: &CString, store: &LsmDatabase) -> Result<()> {
        let functions = &self.functions;
        let files = [path.as_ptr()];
        // SAFETY: the database is open and plain; the options are new and ours; the path outlives
        // the call.
        store.call(|error| unsafe {
            let options = (functions.ingestexternalfileoptions_create)();
            (functions.ingestexternalfileoptions_set_move_files)(options, 1);
            let ingest = functions.ingest_external_file;
            ingest(self.database, files.as_ptr(), files.len(), options, error);
            (functions.ingestexternalfileoptions_destroy)(options);
        })
    }
}

impl BulkLoader for SstLoader {
    fn load(&self, store: &LsmDatabase, records: &mut dyn RecordSource) -> Result<()> {
        let path = self.directory.join(FILE);
        let name = CString::new(path.as_os_str().as_bytes()).map_err(Error::engine)?;
        self.load_files(&name, store, records).inspect_err(|_| {
            // The first error is the one to report.
            let _ = std::fs::remove_file(&path);
        })
    }
}

/// A file that is being written.
struct SstFile {
    functions: IngestionFunctions,
    environment: Handle,
    writer: Handle,
}

impl SstFile {
    fn open(loader: &SstLoader, path: &CString, store: &LsmDatabase) -> Result<Self> {
        let functions = loader.functions;
        // SAFETY: the options live as long as the database.
        let file = unsafe {
            let environment = (functions.envoptions_create)();
            let writer = (functions.sstfilewriter_create)(environment, loader.options);
            Self {
                functions,
                environment,
                writer,
            }
        };
        // SAFETY: the writer is new, and the path outlives the call.
        store.call(|error| unsafe {
            (functions.sstfilewriter_open)(file.writer, path.as_ptr(), error);
        })?;
        Ok(file)
    }

    fn finish(self, store: &LsmDatabase) -> Result<()> {
        // SAFETY: the file is open and has a record.
        store.call(|error| unsafe { (self.functions.sstfilewriter_finish)(self.writer, error) })
    }
}

impl Drop for SstFile {
    fn drop(&mut self) {
        // SAFETY: both are ours and not used any more.
        unsafe {
            (self.functions.sstfilewriter_destroy)(self.writer);
            (self.functions.envoptions_destroy)(self.environment);
        }
    }
}
