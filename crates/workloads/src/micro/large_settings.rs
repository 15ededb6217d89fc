//! What the settings say of large values: their sizes, and their parts on an engine.

use super::config::{LOAD_BATCH, MicroConfig, Test};
use super::error::MicroError;
use super::settings::MIN_LARGE_BYTES;
use super::value_parts::ValueParts;
use crate::keyed::error::RecordError;
use trueput_engine::Capabilities;

/// Bytes of values in a transaction of the load of large values; a longer value has one of its own.
const LOAD_BYTES: usize = 1 << 20;

impl MicroConfig {
    /// Whether values may be in parts.
    pub(super) fn is_large(&self) -> bool {
        matches!(self.test, Test::Large { .. })
    }

    /// The parts in which an engine with these capabilities stores a value: one, of other tests.
    pub(super) fn value_parts(&self, capabilities: &Capabilities) -> ValueParts {
        let longest = || capabilities.max_value_bytes.max(MIN_LARGE_BYTES as usize);
        ValueParts::new(
            self.value_bytes,
            self.max_part_bytes.unwrap_or_else(longest),
        )
    }

    /// The same as far as the settings tell: one part where the engine decides.
    pub(super) fn planned_parts(&self) -> ValueParts {
        ValueParts::planned(self.value_bytes, self.max_part_bytes)
    }

    /// Bytes of the keys and of the value of a record. A value that is to be whole has one key.
    pub(super) fn user_bytes(&self) -> u64 {
        self.planned_parts().user_bytes(self.key_bytes)
    }

    /// Records of a transaction of the load, if values are in these parts. Parts count as records,
    /// and those of a value are in one transaction.
    pub(super) fn load_batch(&self, parts: ValueParts) -> u64 {
        if self.is_large() {
            (LOAD_BYTES / self.value_bytes).max(1) as u64 * parts.count()
        } else {
            LOAD_BATCH
        }
    }

    /// What the parts add to the key of a load.
    pub(super) fn parts_key(&self) -> String {
        match self.max_part_bytes {
            _ if !self.is_large() => String::new(),
            Some(bytes) => format!(" in parts of {bytes}"),
            None => " whole".to_owned(),
        }
    }

    /// The parts in which an engine with these capabilities stores a large value.
    ///
    /// # Errors
    /// The engine has no room for a part, or its transactions would tear a value.
    pub(super) fn check_parts(
        &self,
        capabilities: &Capabilities,
    ) -> Result<ValueParts, MicroError> {
        let parts = self.value_parts(capabilities);
        let (bytes, max_bytes) = (parts.longest_bytes(), capabilities.max_value_bytes);
        if bytes > max_bytes {
            return Err(RecordError::TooLong {
                subject: "parts",
                bytes,
                max_bytes,
                setting: "part_size",
            }
            .into());
        }
        // An engine that keeps nothing cannot tear it.
        let is_torn = capabilities.retains_data && !capabilities.atomic_transactions;
        if is_torn && parts.are_several() && self.updates() {
            let parts = parts.count();
            return Err(MicroError::TornParts { parts });
        }
        Ok(parts)
    }
}
