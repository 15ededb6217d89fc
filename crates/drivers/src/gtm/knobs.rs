//! GT.M's settings, as a plan turns them, and what they make of a new database.

use super::install::files;
use std::fmt::Write;
use std::path::Path;
use trueput_engine::{Durability, Error, Kind, Knob, Resolved, Result};

const fn knob(
    name: &'static str,
    summary: &'static str,
    gives_up: &'static str,
    kind: Kind,
    unit: &'static str,
) -> Knob {
    Knob {
        name,
        summary,
        gives_up,
        kind,
        unit,
    }
}

pub(super) const KNOBS: &[Knob] = &[
    knob(
        "access_method",
        "Buffers of the engine's own (BG), or the file mapped into memory (MM).",
        "MM: before-image journaling, so that recovery replays the whole journal",
        Kind::Choice {
            default: "BG",
            choices: &["BG", "MM"],
        },
        "",
    ),
    knob(
        "block_size",
        "Size of a block, a multiple of 512.",
        "",
        Kind::Bytes {
            default: 4096,
            min: 2048,
            max: 65_024,
        },
        "bytes",
    ),
    knob(
        "global_buffers",
        "Blocks kept in shared memory, with BG; a transaction may change half as many.",
        "memory",
        Kind::Integer {
            default: 16_384,
            min: 64,
            max: 65_536,
        },
        "blocks",
    ),
    knob(
        "journal_buffers",
        "Journal buffer in shared memory; the engine rounds it, and V7.0 needs at least 2,307.",
        "memory, and more of it lost with killed processes",
        Kind::Integer {
            default: 2312,
            min: 16,
            max: 1_048_576,
        },
        "512-byte blocks",
    ),
    knob(
        "journaling",
        "What is journaled: before-images and writes, or writes only. auto: before-image with BG, \
         no-before with MM; at the level none nothing.",
        "no-before: recovery replays the whole journal",
        Kind::Choice {
            default: "auto",
            choices: &["auto", "before-image", "no-before", "off"],
        },
        "",
    ),
    knob(
        "log_directory",
        "Directory of the journal: the database's folder, or its subfolder 'log', where another \
         device can be mounted.",
        "",
        Kind::Choice {
            default: "beside",
            choices: &["beside", "log"],
        },
        "",
    ),
    knob(
        "epoch_interval",
        "Time between two epochs, at which blocks and journal are flushed.",
        "a longer recovery; at buffered, more lost with power",
        Kind::Integer {
            default: 300,
            min: 1,
            max: 32_767,
        },
        "s",
    ),
    knob(
        "sync_io",
        "Opens the journal with O_DSYNC, so that each write is on storage when it ends.",
        "speed of each write of the journal",
        Kind::Boolean { default: false },
        "",
    ),
    knob(
        "full_block_writes",
        "Writes the used part of a block, whole blocks of the file system, or whole blocks of the \
         database.",
        "bytes written",
        Kind::Choice {
            default: "off",
            choices: &["off", "file-system", "database"],
        },
        "",
    ),
    knob(
        "host_language",
        "Language of the workload: Rust through call-ins, or M run by the engine itself.",
        "m: no latencies, and the workload threen1 with commit=per-store and snapshot=get alone",
        Kind::Choice {
            default: "rust",
            choices: &["rust", "m"],
        },
        "",
    ),
];

/// How a database journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Journaling {
    /// Blocks before their change, and writes.
    Before,
    /// Writes alone.
    NoBefore,
    Off,
}

/// What a database is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape<'k> {
    access_method: &'k str,
    block_bytes: u64,
    global_buffers: u64,
    journal_buffers: u64,
    pub(super) journaling: Journaling,
    log_directory: &'k str,
    epoch_interval_s: u64,
    sync_io: bool,
    full_block_writes: u8,
}

impl<'k> Shape<'k> {
    /// # Errors
    /// [`Error::Unsupported`] for settings that do not go together, or not with the level.
    pub(super) fn of(knobs: &'k Resolved, durability: Durability) -> Result<Self> {
        let refuse = |text: String| Err(Error::Unsupported(text));
        let access_method = knobs.text("access_method");
        let block_bytes = knobs.unsigned("block_size");
        if !block_bytes.is_multiple_of(512) {
            return refuse(format!(
                "gtm.block_size: {block_bytes} is no multiple of 512"
            ));
        }
        let level_keeps_nothing = durability == Durability::None;
        let journaling = match (knobs.text("journaling"), access_method) {
            ("auto", _) if level_keeps_nothing => Journaling::Off,
            ("before-image", "MM") => {
                return refuse(
                    "gtm.journaling: access_method=MM takes no before-image; it takes no-before"
                        .to_owned(),
                );
            }
            ("auto", "BG") | ("before-image", _) => Journaling::Before,
            ("auto" | "no-before", _) => Journaling::NoBefore,
            _ => Journaling::Off,
        };
        if (journaling == Journaling::Off) != level_keeps_nothing {
            let given = knobs.text("journaling");
            return refuse(format!(
                "gtm.journaling: {given} does not keep the promise of '{durability}'; auto does"
            ));
        }
        Ok(Self {
            access_method,
            block_bytes,
            global_buffers: knobs.unsigned("global_buffers"),
            journal_buffers: knobs.unsigned("journal_buffers"),
            journaling,
            log_directory: knobs.text("log_directory"),
            epoch_interval_s: knobs.unsigned("epoch_interval"),
            sync_io: knobs.boolean("sync_io"),
            full_block_writes: match knobs.text("full_block_writes") {
                "file-system" => 1,
                "database" => 2,
                _ => 0,
            },
        })
    }

    /// The journal's folder in the database's, where it lies apart.
    pub(super) fn log_folder(&self) -> Option<&'static str> {
        (self.log_directory == files::LOG).then_some(files::LOG)
    }

    /// The journal's file, from the database's folder.
    pub(super) fn journal(&self) -> &'static str {
        match self.log_folder() {
            Some(_) => files::JOURNAL_APART,
            None => files::JOURNAL,
        }
    }

    /// What the promise rests on: how it journals.
    pub(super) fn journal_settings(&self) -> String {
        let kind = match self.journaling {
            Journaling::Before => "before-image",
            Journaling::NoBefore => "no-before",
            Journaling::Off => return "journaling=off".to_owned(),
        };
        let sync_io = if self.sync_io { ", sync_io=on" } else { "" };
        format!("journaling={kind}{sync_io}")
    }

    /// What the Global Directory Editor is told.
    pub(super) fn editor_commands(&self, folder: &Path) -> String {
        let file = folder.join(files::DATABASE);
        let mut text = format!(
            "change -segment DEFAULT -file_name=\"{}\" -access_method={} -block_size={} \
             -allocation=10000 -extension_count=10000",
            file.display(),
            self.access_method,
            self.block_bytes
        );
        if self.access_method == "BG" {
            // Writing to a string cannot fail.
            let _ = write!(text, " -global_buffer_count={}", self.global_buffers);
        }
        text.push_str("\nchange -region DEFAULT -key_size=1019 -record_size=1048576\nexit\n");
        text
    }

    /// The argument of `mupip set` that turns journaling on.
    pub(super) fn journal_argument(&self) -> Option<String> {
        let kind = match self.journaling {
            Journaling::Before => "before",
            Journaling::NoBefore => "nobefore",
            Journaling::Off => return None,
        };
        let sync = if self.sync_io { "sync_io" } else { "nosync_io" };
        Some(format!(
            "-journal=enable,on,{kind},buffer_size={},epoch_interval={},{sync},file=\"{}\"",
            self.journal_buffers,
            self.epoch_interval_s,
            self.journal()
        ))
    }

    /// The argument of `mupip set` for writes of whole blocks.
    pub(super) fn block_writes_argument(&self) -> String {
        format!("-fullblkwrt={}", self.full_block_writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::{Value, knob};

    fn shape(level: Durability, given: &[(&str, &str)]) -> std::result::Result<Journaling, Error> {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
            .collect();
        let knobs = knob::resolve("gtm", KNOBS, &given).unwrap();
        Shape::of(&knobs, level).map(|shape| shape.journaling)
    }

    #[test]
    fn journaling_follows_the_access_method_and_the_level() {
        let mm = [("access_method", "MM")];
        assert_eq!(shape(Durability::Sync, &[]), Ok(Journaling::Before));
        assert_eq!(shape(Durability::Buffered, &mm), Ok(Journaling::NoBefore));
        assert_eq!(shape(Durability::None, &mm), Ok(Journaling::Off));
    }

    #[test]
    fn a_setting_that_breaks_the_promise_is_refused() {
        let off = [("journaling", "off")];
        assert!(shape(Durability::Sync, &off).is_err());
        assert!(shape(Durability::None, &off).is_ok());
        assert!(shape(Durability::None, &[("journaling", "no-before")]).is_err());
        let before = [("journaling", "before-image"), ("access_method", "MM")];
        assert!(shape(Durability::Sync, &before).is_err());
        assert!(shape(Durability::Sync, &[("block_size", "4097")]).is_err());
    }
}
