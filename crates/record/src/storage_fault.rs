//! Faults of storage, as a user names them: which requests fail, how, and when.
//!
//! ```text
//! fsync:eio@3              the third fsync fails with EIO
//! fsync:eio@3..            … and every one after it
//! write:eio@1000           the thousandth write fails with EIO
//! write:short@10           the tenth write writes half of its bytes, and says so
//! write:enospc@64MiB       the device is full once the files hold 64 MiB
//! read:eio@100             the hundredth read fails with EIO
//! read:flip@1e-6           each byte that is read has a flipped bit with that probability
//! fsync:lie                every fsync is acknowledged and not done
//! any:stall=10s@5s         nothing is answered for 10 s from the fifth second on
//! ```

use crate::suggest::{UnknownName, find_named};
use crate::value::{ParseSecondsError, exact_bytes, format_seconds, parse_bytes, parse_seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

crate::choices! {
    /// The requests that a storage fault concerns.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum FaultOperation {
        /// Reads that reach the storage: what the kernel has in its cache, it does not read again.
        Read = "read",
        /// Writes, and pages of mapped files that are written back.
        Write = "write",
        /// Flushes: fsync, fdatasync, msync, writes that flush, fsync of a directory.
        Fsync = "fsync",
        /// All of these.
        Any = "any",
    }
}

crate::choices! {
    /// What the kernel does with the pages that a failed fsync did not write (Rebello et al., "Can
    /// Applications Recover from fsync Failures?", USENIX ATC 2020).
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    pub enum FailedFlush {
        /// They count as clean, as on ext4 and XFS: the cache has the new content until it is
        /// evicted, the storage the old one, and a later fsync does not write them.
        #[default]
        #[serde(rename = "dropped")]
        Dropped = "dropped",
        /// They stay dirty: a later fsync that succeeds writes them.
        #[serde(rename = "kept")]
        KeptDirty = "kept",
    }
}

impl FromStr for FailedFlush {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let words = ["behavior after a failed fsync", "it is one of"];
        find_named(text, Self::ALL, Self::word, words)
    }
}

/// The effect of a storage fault on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// It fails with EIO. An fsync has then written nothing ([`FailedFlush`]).
    InputOutputError,
    /// It fails with ENOSPC if it would make the files larger.
    NoSpace,
    /// It writes half of its bytes, and says so: a caller must write the rest itself. Concerns
    /// writes of two bytes or more.
    ShortWrite,
    /// One bit of the bytes that are read is another; the file itself stays as it is. Concerns
    /// reads of at least one byte.
    FlippedBit,
    /// It is acknowledged and not done.
    Lie,
    /// It is done, and answered so much later. A stalled [`FaultOperation::Any`] is a stalled
    /// device: nothing else is answered meanwhile.
    Stall {
        /// The time; more than zero.
        length: Duration,
    },
}

impl FaultEffect {
    const WORDS: [&'static str; 6] = ["eio", "enospc", "short", "flip", "lie", "stall"];

    /// Its name, without a length.
    const fn word(self) -> &'static str {
        match self {
            Self::InputOutputError => "eio",
            Self::NoSpace => "enospc",
            Self::ShortWrite => "short",
            Self::FlippedBit => "flip",
            Self::Lie => "lie",
            Self::Stall { .. } => "stall",
        }
    }

    /// Returns the only requests that it can concern; `None`: all.
    const fn only_operation(self) -> Option<FaultOperation> {
        match self {
            Self::InputOutputError | Self::Stall { .. } => None,
            Self::NoSpace | Self::ShortWrite => Some(FaultOperation::Write),
            Self::FlippedBit => Some(FaultOperation::Read),
            Self::Lie => Some(FaultOperation::Fsync),
        }
    }
}

impl fmt::Display for FaultEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())?;
        match self {
            Self::Stall { length } => {
                write!(formatter, "={}", format_seconds(length.as_secs_f64()))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for FaultEffect {
    type Err = FaultSyntaxError;

    fn from_str(text: &str) -> Result<Self, FaultSyntaxError> {
        let (word, length) = match text.split_once('=') {
            Some((word, length)) => (word, Some(length)),
            None => (text, None),
        };
        let words = ["effect of a storage fault", "it is one of"];
        match (find_named(word, Self::WORDS, |word| word, words)?, length) {
            ("stall", Some(length)) => match Duration::from_secs_f64(parse_seconds(length)?) {
                Duration::ZERO => Err(FaultSyntaxError::NoLength),
                length => Ok(Self::Stall { length }),
            },
            ("stall", None) | (_, Some(_)) => Err(FaultSyntaxError::NoLength),
            ("eio", None) => Ok(Self::InputOutputError),
            ("enospc", None) => Ok(Self::NoSpace),
            ("short", None) => Ok(Self::ShortWrite),
            ("flip", None) => Ok(Self::FlippedBit),
            (_, None) => Ok(Self::Lie),
        }
    }
}

/// When a storage fault comes. Only requests count that it concerns, from its arming on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultTrigger {
    /// Once: at the request of this number, from 1 on.
    Request(u64),
    /// At the request of this number and at every one after it.
    RequestsFrom(u64),
    /// From when the files of the folder hold so many bytes; for [`FaultEffect::NoSpace`].
    Bytes(u64),
    /// At each request with this probability, more than 0 and at most 1; for
    /// [`FaultEffect::FlippedBit`] at each byte that is read, at most once in a request.
    Rate(f64),
    /// Once: at the first request so long after the arming.
    Time(Duration),
    /// At every request.
    Always,
}

impl FaultTrigger {
    /// Returns whether it may come more than once.
    #[must_use]
    pub fn can_repeat(self) -> bool {
        match self {
            Self::Request(_) | Self::Time(_) => false,
            Self::RequestsFrom(_) | Self::Bytes(_) | Self::Rate(_) | Self::Always => true,
        }
    }

    /// Reads what follows the `@` of a fault with this effect.
    fn parse(text: &str, effect: FaultEffect) -> Option<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| {
            let number = is_number(text).then(|| text.parse::<u64>().ok())?;
            number.filter(|number| *number > 0)
        };
        if effect == FaultEffect::NoSpace {
            // A bare number could be meant as that of a request.
            let size = (!is_number(text)).then(|| parse_bytes(text).ok())?;
            return size.map(Self::Bytes);
        }
        if let Some(first) = text.strip_suffix("..") {
            return number(first).map(Self::RequestsFrom);
        }
        if is_number(text) {
            return number(text).map(Self::Request);
        }
        if text.ends_with(|last: char| last.is_ascii_alphabetic()) {
            let time = parse_seconds(text).ok()?;
            return Some(Self::Time(Duration::from_secs_f64(time)));
        }
        let rate = text.parse::<f64>().ok();
        let rate = rate.filter(|rate| *rate > 0.0 && *rate <= 1.0);
        rate.map(Self::Rate)
    }
}

impl fmt::Display for FaultTrigger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(number) => write!(formatter, "@{number}"),
            Self::RequestsFrom(number) => write!(formatter, "@{number}.."),
            Self::Bytes(bytes) => {
                let size = exact_bytes(*bytes);
                let unit = if size.ends_with('B') { "" } else { "B" };
                write!(formatter, "@{size}{unit}")
            }
            // With a point or an exponent, which tell it from a number of requests.
            Self::Rate(rate) => write!(formatter, "@{rate:?}"),
            Self::Time(time) => write!(formatter, "@{}", format_seconds(time.as_secs_f64())),
            Self::Always => Ok(()),
        }
    }
}

/// A text that is no storage fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum FaultSyntaxError {
    #[error(
        "'{text}' is not a storage fault; write OPERATION:EFFECT@WHEN, as in fsync:eio@3, \
         write:enospc@64MiB or read:flip@1e-6"
    )]
    NoEffect { text: String },
    #[error(transparent)]
    Name(#[from] UnknownName),
    #[error(
        "{effect} is not a fault of {operation} requests but of {only} requests: write \
         {only}:{effect}"
    )]
    OtherOperation {
        effect: &'static str,
        operation: FaultOperation,
        only: FaultOperation,
    },
    #[error("a stall has a length, and no other effect has one: write any:stall=10s@5s")]
    NoLength,
    #[error(transparent)]
    Length(#[from] ParseSecondsError),
    #[error(
        "'@{text}' does not say when the device is full; write a size with its unit, as in \
         write:enospc@64MiB"
    )]
    Size { text: String },
    #[error(
        "'@{text}' does not say when {effect} comes; write @3 for the third request, @3.. for all \
         from the third on, @1e-6 or @0.5 for a probability, @5s for a time, or nothing for every \
         request"
    )]
    Trigger { text: String, effect: &'static str },
}

/// A storage fault: `fsync:eio@3`. Its text is its form in plans and records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct StorageFault {
    /// The requests that it concerns.
    pub operation: FaultOperation,
    /// Its effect.
    pub effect: FaultEffect,
    /// When it comes.
    pub trigger: FaultTrigger,
}

impl fmt::Display for StorageFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            effect,
            trigger,
        } = self;
        write!(formatter, "{operation}:{effect}{trigger}")
    }
}

impl FromStr for StorageFault {
    type Err = FaultSyntaxError;

    fn from_str(text: &str) -> Result<Self, FaultSyntaxError> {
        let parts = text.split_once(':');
        let (operation, effect) = parts.ok_or_else(|| FaultSyntaxError::NoEffect {
            text: text.to_owned(),
        })?;
        let (effect, trigger) = match effect.split_once('@') {
            Some((effect, trigger)) => (effect, Some(trigger)),
            None => (effect, None),
        };
        let words = ["operation of a storage fault", "it is one of"];
        let operation = find_named(operation, FaultOperation::ALL, FaultOperation::word, words)?;
        let effect: FaultEffect = effect.parse()?;
        if let Some(only) = effect.only_operation().filter(|only| *only != operation) {
            return Err(FaultSyntaxError::OtherOperation {
                effect: effect.word(),
                operation,
                only,
            });
        }
        let trigger = match trigger {
            None => FaultTrigger::Always,
            Some(text) => FaultTrigger::parse(text, effect).ok_or_else(|| match effect {
                FaultEffect::NoSpace => FaultSyntaxError::Size {
                    text: text.to_owned(),
                },
                _ => FaultSyntaxError::Trigger {
                    text: text.to_owned(),
                    effect: effect.word(),
                },
            })?,
        };
        Ok(Self {
            operation,
            effect,
            trigger,
        })
    }
}

impl TryFrom<String> for StorageFault {
    type Error = FaultSyntaxError;

    fn try_from(text: String) -> Result<Self, FaultSyntaxError> {
        text.parse()
    }
}

impl From<StorageFault> for String {
    fn from(fault: StorageFault) -> Self {
        fault.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_as_it_is_written() {
        for text in [
            "fsync:eio@3",
            "fsync:eio@3..",
            "fsync:eio",
            "write:eio@1000",
            "write:short@10",
            "write:enospc@64MiB",
            "write:enospc@1500B",
            "write:enospc",
            "read:flip@1e-6",
            "read:flip@0.5",
            "read:eio@100",
            "read:eio@1.0",
            "fsync:lie",
            "fsync:stall=300ms@0.25",
            "any:stall=10s@5s",
            "any:eio@2m",
        ] {
            let fault: StorageFault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
            let json = serde_json::to_string(&fault).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<StorageFault>(&json).unwrap(), fault);
        }
    }

    #[test]
    fn the_parts_of_a_fault_are_told_apart() {
        let trigger = |text: &str| text.parse::<StorageFault>().unwrap().trigger;
        assert_eq!(trigger("any:eio@7"), FaultTrigger::Request(7));
        assert_eq!(trigger("any:eio@7.."), FaultTrigger::RequestsFrom(7));
        assert_eq!(trigger("any:eio@1e-3"), FaultTrigger::Rate(1e-3));
        let seven = Duration::from_secs(7);
        assert_eq!(trigger("any:eio@7s"), FaultTrigger::Time(seven));
        assert_eq!(trigger("any:eio"), FaultTrigger::Always);
        assert_eq!(trigger("write:enospc@7K"), FaultTrigger::Bytes(7 << 10));
        assert!(!trigger("any:eio@7").can_repeat() && !trigger("any:eio@7s").can_repeat());
        for again in ["any:eio", "any:eio@7..", "any:eio@0.5", "write:enospc@7K"] {
            assert!(trigger(again).can_repeat(), "{again}");
        }
        let stall: StorageFault = "fsync:stall=7s".parse().unwrap();
        assert_eq!(stall.effect, FaultEffect::Stall { length: seven });
        assert_eq!(stall.operation, FaultOperation::Fsync);
    }

    #[test]
    fn what_is_no_fault_is_refused_with_what_would_be_right() {
        for (text, right) in [
            ("", "fsync:eio@3"),
            ("none", "fsync:eio@3"),
            ("fsync", "fsync:eio@3"),
            ("sync:eio", "did you mean 'fsync'?"),
            ("fsync:EIO", "eio, enospc, short, flip, lie, stall"),
            ("write:flip", "read:flip"),
            ("any:lie", "fsync:lie"),
            ("read:enospc@1MiB", "write:enospc"),
            ("any:stall", "any:stall=10s@5s"),
            ("any:stall=0s", "any:stall=10s@5s"),
            ("fsync:eio=10s", "any:stall=10s@5s"),
            ("any:stall=long", "500ms"),
            ("write:enospc@64", "write:enospc@64MiB"),
            ("write:enospc@0.5", "write:enospc@64MiB"),
            ("fsync:eio@", "@3 for the third"),
            ("fsync:eio@0", "@3 for the third"),
            ("fsync:eio@0..", "@3 for the third"),
            ("fsync:eio@64MiB", "@3 for the third"),
            ("read:flip@2.0", "a probability"),
            ("read:flip@-0.5", "a probability"),
            ("read:flip@0.0", "a probability"),
        ] {
            let refused = text.parse::<StorageFault>().unwrap_err().to_string();
            assert!(refused.contains(right), "{text}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }

    #[test]
    fn the_behavior_of_the_kernel_has_a_word() {
        for behavior in FailedFlush::ALL {
            assert_eq!(behavior.word().parse::<FailedFlush>(), Ok(behavior));
            let json = serde_json::to_string(&behavior).unwrap();
            assert_eq!(json, format!("\"{behavior}\""));
        }
        let refused = "droped".parse::<FailedFlush>().unwrap_err().to_string();
        assert!(refused.contains("did you mean 'dropped'?"), "{refused}");
        assert_eq!(FailedFlush::default(), FailedFlush::Dropped);
    }
}
