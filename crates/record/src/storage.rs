//! The storage below a trial's database: its layers, and what flushed data can be promised when
//! power is lost.

use crate::{Durability, Survival};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The layers below a trial's database and log, and what they promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StorageStack {
    /// Each layer, from the database's file system down to the devices, and then those of the log
    /// if it is apart: `ext4 on /data from /dev/vda (rw,noatime)`, `device vda, write back cache`.
    pub layers: Vec<String>,
    /// What flushed data can be promised.
    pub power_loss: PowerLoss,
}

/// What becomes of flushed data when power is lost, as far as the layers show; the best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "flushed_data", rename_all = "snake_case")]
pub enum PowerLoss {
    /// It survives, if the devices keep what they acknowledge.
    #[default]
    Survives,
    /// The device is a storage model. As on any other it survives if the device keeps what it
    /// acknowledges, but nothing can show that it does: the model's flushes take time, and write
    /// nothing here.
    Simulated,
    /// It survives, but files may have unflushed parts with stale data in them.
    StaleUnflushed {
        /// The layer that does this, as a clause.
        reason: String,
    },
    /// It is not known: a layer could not be resolved.
    Unresolved {
        /// Where the resolution stopped, as a clause.
        reason: String,
    },
    /// Nothing is promised.
    Lost {
        /// The layer that loses it, as a clause: `its ext4 is mounted with nobarrier`.
        reason: String,
        /// Whether the database or its log is on a file system in memory.
        in_memory: bool,
    },
}

/// What a stack of storage leaves of the promise of a durability level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LevelOnStorage {
    /// The promise, as far as known.
    Kept,
    /// It is not known, for this reason.
    Unresolved(String),
    /// Nothing at lost power, for this reason.
    Lost {
        /// The layer that loses data, as a clause.
        reason: String,
        /// Whether the database or its log is on a file system in memory.
        in_memory: bool,
    },
}

/// File systems that are memory.
const MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];

/// Mount options that keep flushes from the device, or `fsync` from writing at all, in whatever
/// file system has them (`docs/METHOD.md`, "What the storage promises", has the sources).
const WITHOUT_FLUSHES: [&str; 10] = [
    "nobarrier",
    "barrier=0",
    "barrier=none",
    "barrier=off",
    "fsync_mode=nobarrier",
    "volatile",
    "fsync=volatile",
    "nointegrity",
    "journal_flush_disabled",
    "nochanges",
];

/// Returns whether a file system of this kind is memory.
#[must_use]
pub fn is_memory(kind: &str) -> bool {
    MEMORY.contains(&kind)
}

impl PowerLoss {
    /// Returns what a file system of this kind, mounted with these options, leaves of the promise
    /// of the layers below. `place` names it in the reason: `its ext4`, `ext4 on /data`.
    #[must_use]
    pub fn of_mount(place: &str, kind: &str, options: &str) -> Self {
        if is_memory(kind) {
            return Self::Lost {
                reason: format!("{place} is memory"),
                in_memory: true,
            };
        }
        let mut all = options.split(',');
        if let Some(option) = all.find(|option| WITHOUT_FLUSHES.contains(option)) {
            let reason = format!("{place} is mounted with {option}");
            let in_memory = false;
            return Self::Lost { reason, in_memory };
        }
        // Without order, a file can have grown before its data arrived.
        if options.split(',').any(|option| option == "data=writeback") {
            let reason = format!("{place} is mounted with data=writeback");
            return Self::StaleUnflushed { reason };
        }
        Self::Survives
    }

    /// Returns the worse of two, the first of two that are alike.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let severity = |it: &Self| match it {
            Self::Survives => 0,
            Self::Simulated => 1,
            Self::StaleUnflushed { .. } => 2,
            Self::Unresolved { .. } => 3,
            Self::Lost { in_memory, .. } => 4 + u8::from(!in_memory),
        };
        if severity(&other) > severity(&self) {
            other
        } else {
            self
        }
    }

    /// Returns what is left of the promise of a level.
    #[must_use]
    pub fn at(&self, level: Durability) -> LevelOnStorage {
        let promise = level.after_lost_power();
        match self {
            _ if promise == Survival::Nothing => LevelOnStorage::Kept,
            Self::Survives | Self::Simulated => LevelOnStorage::Kept,
            // What is flushed is as safe as elsewhere, and a commit at `sync` is flushed.
            Self::StaleUnflushed { .. } if promise == Survival::EveryCommit => LevelOnStorage::Kept,
            Self::StaleUnflushed { reason } | Self::Unresolved { reason } => {
                LevelOnStorage::Unresolved(reason.clone())
            }
            Self::Lost { reason, in_memory } => LevelOnStorage::Lost {
                reason: reason.clone(),
                in_memory: *in_memory,
            },
        }
    }

    /// Returns it in one phrase: `survives`, `simulated`, `unresolved: …`, `lost: …`.
    #[must_use]
    pub fn phrase(&self) -> String {
        match self {
            Self::Survives => "survives".to_owned(),
            Self::Simulated => "simulated".to_owned(),
            Self::StaleUnflushed { reason } => format!("survives; unflushed parts stale: {reason}"),
            Self::Unresolved { reason } => format!("unresolved: {reason}"),
            Self::Lost { reason, .. } => format!("lost: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, options: &str) -> PowerLoss {
        PowerLoss::of_mount(&format!("its {kind}"), kind, options)
    }

    #[test]
    fn options_that_keep_flushes_from_the_device_leave_nothing_of_the_promise() {
        for (kind, options, says) in [
            ("ext4", "rw,noatime,nobarrier", "nobarrier"),
            ("ext3", "rw,barrier=0", "barrier=0"),
            ("btrfs", "rw,nobarrier,space_cache=v2", "nobarrier"),
            ("f2fs", "rw,fsync_mode=nobarrier", "fsync_mode=nobarrier"),
            ("reiserfs", "rw,barrier=none", "barrier=none"),
            ("jfs", "rw,nointegrity", "nointegrity"),
            ("overlay", "rw,upperdir=/u,volatile", "volatile"),
            ("overlay", "rw,upperdir=/u,fsync=volatile", "fsync=volatile"),
        ] {
            let PowerLoss::Lost { reason, in_memory } = of(kind, options) else {
                panic!("{kind} {options}");
            };
            assert_eq!(reason, format!("its {kind} is mounted with {says}"));
            assert!(!in_memory);
        }
        for options in ["rw,noatime", "rw,barrier=1", "rw,upperdir=/volatile", ""] {
            assert_eq!(of("ext4", options), PowerLoss::Survives, "{options}");
        }
    }

    #[test]
    fn memory_keeps_nothing_and_the_worst_layer_decides() {
        let memory = of("tmpfs", "rw,size=4k");
        assert!(matches!(
            memory,
            PowerLoss::Lost {
                in_memory: true,
                ..
            }
        ));
        let unbarred = of("xfs", "rw,nobarrier");
        assert_eq!(memory.clone().worse(unbarred.clone()), unbarred);
        assert_eq!(PowerLoss::Survives.worse(memory.clone()), memory);
        let open = PowerLoss::Unresolved {
            reason: "9p".to_owned(),
        };
        assert_eq!(open.clone().worse(PowerLoss::Survives), open);
        assert_eq!(open.worse(memory.clone()), memory);
    }

    #[test]
    fn a_simulated_device_keeps_what_the_layers_above_it_flush() {
        for level in Durability::ALL {
            assert_eq!(PowerLoss::Simulated.at(level), LevelOnStorage::Kept);
        }
        assert_eq!(
            PowerLoss::Survives.worse(PowerLoss::Simulated),
            PowerLoss::Simulated
        );
        // What the file system above it keeps from it is lost all the same.
        for above in [of("ext4", "nobarrier"), of("ext4", "data=writeback")] {
            assert_eq!(PowerLoss::Simulated.worse(above.clone()), above);
        }
        let text = serde_json::to_string(&PowerLoss::Simulated).unwrap();
        assert_eq!(text, r#"{"flushed_data":"simulated"}"#);
        let read: PowerLoss = serde_json::from_str(&text).unwrap();
        assert_eq!(read, PowerLoss::Simulated);
    }

    #[test]
    fn only_what_a_level_promises_at_lost_power_can_be_lost() {
        let unbarred = of("ext4", "nobarrier");
        for level in [Durability::Sync, Durability::Async, Durability::Buffered] {
            let left = unbarred.at(level);
            assert!(matches!(left, LevelOnStorage::Lost { .. }), "{level}");
        }
        for level in [Durability::Process, Durability::None] {
            assert_eq!(unbarred.at(level), LevelOnStorage::Kept, "{level}");
        }
        let stale = of("ext4", "rw,data=writeback");
        assert_eq!(stale.at(Durability::Sync), LevelOnStorage::Kept);
        let weaker = stale.at(Durability::Async);
        assert!(
            matches!(weaker, LevelOnStorage::Unresolved(_)),
            "{weaker:?}"
        );
    }
}
