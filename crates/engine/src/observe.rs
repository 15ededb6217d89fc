//! What can be seen of an engine's doings in its files while it works, where it keeps no record of
//! them that could be read afterwards: how far its checkpoints and its log have come.

use crate::Happening;
use std::path::Path;
use std::time::SystemTime;

/// Looks from outside, now and then while workers are measured, at what an engine's files tell of its
/// doings, where the engine keeps no record of them that could be read afterwards.
///
/// Its first look, as it is made, notes where things stand.
pub trait Observer: Send {
    /// What has happened since the last look, at the moment of this one. It reads what little the
    /// files tell, and asks the engine nothing.
    fn look(&mut self) -> Vec<Happening>;
}

/// How far an engine has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Changes with each checkpoint.
    pub checkpoint: u64,
    /// Grows by one where the log goes on in another file, or begins anew; 0 where that is not known.
    pub log: u64,
}

/// Makes marks of the difference between one look and the next. A checkpoint that is seen at looks
/// one after the other is one, from the first of them on; it ends at the first look that sees none.
#[derive(Debug)]
pub struct Marks<R> {
    read: R,
    last: Option<Progress>,
    is_in_checkpoint: bool,
}

impl<R: FnMut() -> Option<Progress> + Send> Marks<R> {
    /// Looks for the first time, by `read`, which says how far the engine has come; `None` where its
    /// files do not tell at the moment.
    pub fn new(mut read: R) -> Self {
        let last = read();
        Self {
            read,
            last,
            is_in_checkpoint: false,
        }
    }
}

impl<R: FnMut() -> Option<Progress> + Send> Observer for Marks<R> {
    fn look(&mut self) -> Vec<Happening> {
        let mut seen = Vec::new();
        let Some(now) = (self.read)() else {
            return seen;
        };
        let Some(last) = self.last.replace(now) else {
            return seen;
        };
        let at = SystemTime::now();
        let mut mark = |kind, detail: String| seen.push(Happening { at, kind, detail });
        let is_in_checkpoint = now.checkpoint != last.checkpoint;
        match (self.is_in_checkpoint, is_in_checkpoint) {
            (false, true) => mark(Happening::CHECKPOINT, "since the last look".to_owned()),
            (true, false) => mark(
                Happening::CHECKPOINT_ENDED,
                "none since the last look".to_owned(),
            ),
            _ => {}
        }
        self.is_in_checkpoint = is_in_checkpoint;
        match now.log.wrapping_sub(last.log) {
            0 => {}
            1 => mark(Happening::LOG_SWITCH, String::new()),
            times => mark(
                Happening::LOG_SWITCH,
                format!("{times} since the last look"),
            ),
        }
        seen
    }
}

/// The highest number of the files in a folder whose names are `prefix` and a decimal number; `None`
/// where there is none.
#[must_use]
pub fn highest(folder: &Path, prefix: &str) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?;
    let numbers = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(prefix)?.parse().ok()
    });
    numbers.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(steps: &[Option<(u64, u64)>]) -> Vec<Vec<&'static str>> {
        let mut steps = steps.iter();
        let mut marks = Marks::new(move || {
            let step = steps.next().copied().flatten();
            step.map(|(checkpoint, log)| Progress { checkpoint, log })
        });
        let looks = (0..4).map(|_| marks.look());
        looks
            .map(|seen| seen.into_iter().map(|one| one.kind).collect())
            .collect()
    }

    #[test]
    fn a_checkpoint_over_several_looks_is_one_and_ends() {
        let steps = [(1, 0), (2, 0), (5, 0), (5, 0), (5, 0)].map(Some);
        let none: Vec<&str> = Vec::new();
        assert_eq!(
            kinds(&steps),
            [
                vec![Happening::CHECKPOINT],
                none.clone(),
                vec![Happening::CHECKPOINT_ENDED],
                none
            ]
        );
    }

    #[test]
    fn a_log_that_goes_on_in_another_file_is_a_switch_and_standing_still_is_nothing() {
        let steps = [
            Some((1, 7)),
            Some((1, 8)),
            Some((1, 8)),
            None,
            Some((1, 10)),
        ];
        let none: Vec<&str> = Vec::new();
        let switch = vec![Happening::LOG_SWITCH];
        assert_eq!(kinds(&steps), [switch.clone(), none.clone(), none, switch]);
    }

    #[test]
    fn files_are_counted_by_the_number_in_their_names() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(highest(folder.path(), "log."), None);
        for name in ["log.0000000009", "log.0000000010", "log.tmp", "other.11"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(highest(folder.path(), "log."), Some(10));
    }
}
