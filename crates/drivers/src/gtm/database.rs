//! An open database.

use super::folder::DatabaseFolder;
use super::install::GtmInstallation;
use super::knobs::{DatabaseLayout, GtmKnobs, JournalMode};
use super::process::{DatabaseId, Process};
use super::session::GtmSession;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueput_engine::setting_contradiction::NeededSettings;
use trueput_engine::{
    Database, Durability, OpenSpec, Result, Session, SettingContradiction, Value,
};

/// The fields of the header that say how the database works; times in milliseconds or seconds.
const REPORTED: [&str; 15] = [
    "acc_meth",
    "alignsize",
    "asyncio",
    "autoswitchlimit",
    "blk_size",
    "epoch_interval",
    "flush_time",
    "jnl_before_image",
    "jnl_buffer_size",
    "jnl_state",
    "jnl_sync_io",
    "max_key_size",
    "max_rec_size",
    "n_bts",
    "write_fullblk",
];

/// The state of a database whose journal is written (`jnl_open` in GT.M's gdsfhead.h); 1 is that of
/// one whose journal was turned off.
const JOURNALING_ON: &str = "2";

pub(super) struct GtmDatabase {
    process: &'static Process,
    database: DatabaseId,
    installation: GtmInstallation,
    directory: PathBuf,
    durability: Durability,
    knobs: GtmKnobs,
}

impl GtmDatabase {
    pub(super) fn open(installation: GtmInstallation, spec: &OpenSpec<'_>) -> Result<Self> {
        let directory = spec
            .directory
            .canonicalize()
            .unwrap_or_else(|_| spec.directory.to_owned());
        let knobs = GtmKnobs::from(spec.knobs);
        let folder = DatabaseFolder {
            installation: &installation,
            path: &directory,
            layout: &DatabaseLayout::of(knobs, spec.durability)?,
        };
        let in_use = folder.prepare()?;
        let process = Process::start(&installation, &directory)?;
        let global_directory = directory.join(super::install::files::DIRECTORY);
        let database = process.attach(global_directory, in_use)?;
        Ok(Self {
            process,
            database,
            installation,
            directory,
            durability: spec.durability,
            knobs,
        })
    }
}

impl Drop for GtmDatabase {
    fn drop(&mut self) {
        // A drop cannot report. What GT.M cannot flush now it flushes when the process ends.
        let _ = self.checkpoint();
    }
}

impl Database for GtmDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let durable = self.durability == Durability::Sync;
        Ok(Box::new(GtmSession::new(
            self.process,
            self.database,
            durable,
        )))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let text = self.process.guard(self.database)?.statistics()?;
        Ok(counters(&text))
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let folder = DatabaseFolder {
            installation: &self.installation,
            path: &self.directory,
            layout: &DatabaseLayout::of(self.knobs, self.durability)?,
        };
        let mut header = folder.header()?;
        let mut settings: BTreeMap<String, Value> = REPORTED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), typed(&header.remove(*name)?))))
            .collect();
        let transaction = match self.durability {
            Durability::Sync => "durable",
            _ => "BATCH",
        };
        settings.insert("transaction".to_owned(), Value::from(transaction));
        Ok(settings)
    }

    /// GT.M turns journaling off by itself where the journal cannot be written, and goes on.
    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        let layout = DatabaseLayout::of(self.knobs, self.durability)?;
        let mut needed = NeededSettings::of(self.durability);
        if layout.journaling != JournalMode::Off {
            needed.add("jnl_state", JOURNALING_ON);
            let before = u8::from(layout.journaling == JournalMode::Before);
            needed.add("jnl_before_image", before.to_string());
        }
        let folder = DatabaseFolder {
            installation: &self.installation,
            path: &self.directory,
            layout: &layout,
        };
        let header = folder.header()?;
        Ok(needed.contradictions("the database", |name| header.get(name).cloned()))
    }

    fn checkpoint(&self) -> Result<()> {
        self.process.guard(self.database)?.flush()
    }
}

/// Converts a header's field to a number if it is one, otherwise to a text.
fn typed(text: &str) -> Value {
    text.parse()
        .map_or_else(|_| Value::from(text), Value::Integer)
}

/// The counters of `$VIEW("GVSTAT")`: `SET:1,KIL:0,…`.
fn counters(text: &str) -> BTreeMap<String, Value> {
    let counter = |item: &str| {
        let (name, number) = item.split_once(':')?;
        Some((name.to_owned(), Value::Integer(number.parse().ok()?)))
    };
    text.split(',').filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let counters = counters("SET:13,KIL:0,odd,GET:x");
        let expected = [("KIL", 0), ("SET", 13)]
            .map(|(name, number)| (name.to_owned(), Value::Integer(number)));
        assert_eq!(counters, BTreeMap::from(expected));
    }
}
