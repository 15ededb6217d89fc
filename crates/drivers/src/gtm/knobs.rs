//! The knobs of GT.M, and the settings of a new database that follow from them.

use super::install::files;
use crate::log_directory::LogDirectory;
use std::fmt::Write;
use std::path::Path;
use trueput_engine::{Durability, Error, Result, choices, parameters};

parameters! {
    /// GT.M's knobs.
    pub(super) struct GtmKnobs {
        /// Buffers of the engine's own (BG), or the file mapped into memory (MM).
        access_method: Choice<AccessMethod> = Bg,
            cost "MM: before-image journaling, so that recovery replays the whole journal",
        /// Size of a block, a multiple of 512.
        block_size: Bytes = 4 KiB in 2 KiB..=65_024 B,
        /// Blocks kept in shared memory, with BG; a transaction may change half as many.
        global_buffers: Integer = 16_384 in 64..=65_536, unit "blocks", cost "memory",
        /// Journal buffer in shared memory; the engine rounds it, and V7.0 needs at least 2,307.
        journal_buffers: Integer = 2312 in 16..=1_048_576, unit "512-byte blocks",
            cost "memory, and more of it lost with killed processes",
        /// What is journaled: before-images and writes, or writes only. auto: before-image with BG,
        /// no-before with MM; at the level none nothing.
        journaling: Choice<JournalContent> = Auto,
            cost "no-before: recovery replays the whole journal",
        /// Directory of the journal: the database's folder, or its subfolder 'log', where another
        /// device can be mounted.
        log_directory: Choice<LogDirectory> = Beside,
        /// Time between two epochs, at which blocks and journal are flushed.
        epoch_interval: Integer = 300 in 1..=32_767, unit "s",
            cost "a longer recovery; at buffered, more lost with power",
        /// Opens the journal with O_DSYNC, so that each write is on storage when it ends.
        sync_io: Boolean = false, cost "speed of each write of the journal",
        /// Writes the used part of a block, whole blocks of the file system, or whole blocks of the
        /// database.
        full_block_writes: Choice<FullBlockWrites> = Off, cost "bytes written",
        /// Language of the workload: Rust through call-ins, or M run by the engine itself.
        host_language: Choice<HostLanguage> = Rust,
            cost "m: no latencies, and the workload threen1 with commit=per-store and \
                snapshot=get alone",
    }
}

choices! {
    /// The access method of blocks.
    pub(super) enum AccessMethod {
        /// Buffers of the engine's own.
        Bg = "BG",
        /// The file mapped into memory.
        Mm = "MM",
    }
}

choices! {
    /// The knob `journaling`.
    pub(super) enum JournalContent {
        Auto = "auto",
        BeforeImage = "before-image",
        NoBefore = "no-before",
        Off = "off",
    }
}

choices! {
    /// The part of a block that is written, by GT.M's own numbers.
    pub(super) enum FullBlockWrites {
        Off = "off",
        FileSystem = "file-system",
        Database = "database",
    }
}

choices! {
    /// The language of the workload.
    pub(super) enum HostLanguage {
        Rust = "rust",
        M = "m",
    }
}

/// The journaling of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JournalMode {
    /// Blocks before their change, and writes.
    Before,
    /// Writes alone.
    NoBefore,
    Off,
}

/// The settings that a database is made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DatabaseLayout {
    knobs: GtmKnobs,
    pub(super) journaling: JournalMode,
}

impl DatabaseLayout {
    /// # Errors
    /// [`Error::Unsupported`] for settings that contradict each other or the level.
    pub(super) fn of(knobs: GtmKnobs, durability: Durability) -> Result<Self> {
        let refuse = |text: String| Err(Error::Unsupported(text));
        let block_bytes = knobs.block_size;
        if !block_bytes.is_multiple_of(512) {
            return refuse(format!(
                "gtm.block_size: {block_bytes} is not a multiple of 512"
            ));
        }
        let level_keeps_nothing = durability == Durability::None;
        let journaling = match (knobs.journaling, knobs.access_method) {
            (JournalContent::Auto, _) if level_keeps_nothing => JournalMode::Off,
            (JournalContent::BeforeImage, AccessMethod::Mm) => {
                return refuse(
                    "gtm.journaling: access_method=MM takes no before-image; it takes no-before"
                        .to_owned(),
                );
            }
            (JournalContent::Auto, AccessMethod::Bg) | (JournalContent::BeforeImage, _) => {
                JournalMode::Before
            }
            (JournalContent::Auto | JournalContent::NoBefore, _) => JournalMode::NoBefore,
            (JournalContent::Off, _) => JournalMode::Off,
        };
        if (journaling == JournalMode::Off) != level_keeps_nothing {
            let given = knobs.journaling.word();
            return refuse(format!(
                "gtm.journaling: {given} does not keep the promise of '{durability}'; auto does"
            ));
        }
        Ok(Self { knobs, journaling })
    }

    /// The journal's folder within the database's, if it is separate.
    pub(super) fn log_folder(&self) -> Option<&'static str> {
        self.knobs.log_directory.subfolder()
    }

    /// The journal's file, from the database's folder.
    pub(super) fn journal(&self) -> &'static str {
        match self.log_folder() {
            Some(_) => files::JOURNAL_APART,
            None => files::JOURNAL,
        }
    }

    /// Returns the settings of journaling, on which the promise rests.
    pub(super) fn journal_settings(&self) -> String {
        let kind = match self.journaling {
            JournalMode::Before => "before-image",
            JournalMode::NoBefore => "no-before",
            JournalMode::Off => return "journaling=off".to_owned(),
        };
        let sync_io = if self.knobs.sync_io {
            ", sync_io=on"
        } else {
            ""
        };
        format!("journaling={kind}{sync_io}")
    }

    /// Returns the commands for the Global Directory Editor.
    pub(super) fn editor_commands(&self, folder: &Path) -> String {
        let file = folder.join(files::DATABASE);
        let mut text = format!(
            "change -segment DEFAULT -file_name=\"{}\" -access_method={} -block_size={} \
             -allocation=10000 -extension_count=10000",
            file.display(),
            self.knobs.access_method.word(),
            self.knobs.block_size
        );
        if self.knobs.access_method == AccessMethod::Bg {
            // Writing to a string cannot fail.
            let _ = write!(text, " -global_buffer_count={}", self.knobs.global_buffers);
        }
        text.push_str("\nchange -region DEFAULT -key_size=1019 -record_size=1048576\nexit\n");
        text
    }

    /// The argument of `mupip set` that turns journaling on.
    pub(super) fn journal_argument(&self) -> Option<String> {
        let kind = match self.journaling {
            JournalMode::Before => "before",
            JournalMode::NoBefore => "nobefore",
            JournalMode::Off => return None,
        };
        let sync = if self.knobs.sync_io {
            "sync_io"
        } else {
            "nosync_io"
        };
        Some(format!(
            "-journal=enable,on,{kind},buffer_size={},epoch_interval={},{sync},file=\"{}\"",
            self.knobs.journal_buffers,
            self.knobs.epoch_interval,
            self.journal()
        ))
    }

    /// The argument of `mupip set` for writes of whole blocks.
    pub(super) fn block_writes_argument(&self) -> String {
        format!("-fullblkwrt={}", self.knobs.full_block_writes as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::{Value, parameter};

    fn layout(
        level: Durability,
        given: &[(&str, &str)],
    ) -> std::result::Result<JournalMode, Error> {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
            .collect();
        let knobs = parameter::resolve("gtm", GtmKnobs::PARAMETERS, &given).unwrap();
        DatabaseLayout::of(GtmKnobs::from(&knobs), level).map(|layout| layout.journaling)
    }

    #[test]
    fn journaling_follows_the_access_method_and_the_level() {
        let mm = [("access_method", "MM")];
        assert_eq!(layout(Durability::Sync, &[]), Ok(JournalMode::Before));
        assert_eq!(layout(Durability::Buffered, &mm), Ok(JournalMode::NoBefore));
        assert_eq!(layout(Durability::None, &mm), Ok(JournalMode::Off));
    }

    #[test]
    fn a_setting_that_breaks_the_promise_is_refused() {
        let off = [("journaling", "off")];
        assert!(layout(Durability::Sync, &off).is_err());
        assert!(layout(Durability::None, &off).is_ok());
        assert!(layout(Durability::None, &[("journaling", "no-before")]).is_err());
        let before = [("journaling", "before-image"), ("access_method", "MM")];
        assert!(layout(Durability::Sync, &before).is_err());
        assert!(layout(Durability::Sync, &[("block_size", "4097")]).is_err());
    }
}
