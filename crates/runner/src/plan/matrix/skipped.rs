//! The parts of a plan that are skipped because something does not support them.

use super::{Error, Expansion};
use trueput_engine::Engine;
use trueput_record::plan::{PRESENT_ENGINES, UnsupportedPolicy};
use trueput_record::skipped::SkippedPart;

/// The hint that names the option for skipping unsupported cells.
pub(super) const SKIP_HINT: &str = "; --skip-unsupported (in a plan: unsupported = \"skip\") skips \
    what is not supported";

/// The reason why a plan without an engine has no trial.
pub(super) const NO_ENGINE: &str =
    "the plan names no engine: give one with --engine ('trueput engines' lists them)";

/// Says why a plan has no trial.
pub(super) fn nothing_left(skipped: &[SkippedPart]) -> String {
    match skipped {
        [] => NO_ENGINE.to_owned(),
        _ => format!("nothing to run: {}", joined(skipped)),
    }
}

/// Joins the sentences on skipped parts.
pub(super) fn joined<'p>(skipped: impl IntoIterator<Item = &'p SkippedPart>) -> String {
    let sentences = skipped.into_iter().map(|part| part.sentence.as_str());
    sentences.collect::<Vec<_>>().join("; ")
}

/// Adds a part unless it is noted.
pub(super) fn note(skipped: &mut Vec<SkippedPart>, part: SkippedPart) {
    if !skipped.contains(&part) {
        skipped.push(part);
    }
}

impl Expansion<'_> {
    /// As [`Expansion::skip_or_refuse`], for what one engine does not support: it is skipped, too,
    /// if the plan has the engine only by `present`.
    pub(super) fn skip_or_refuse_of(
        &self,
        engine: &dyn Engine,
        key: &str,
        part: impl Into<SkippedPart>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        let name = engine.info().name;
        let has = |name: &str| self.engines.iter().any(|named| named.engine == name);
        if has(name) || !has(PRESENT_ENGINES) {
            return self.skip_or_refuse(key, part, skipped);
        }
        note(skipped, part.into());
        Ok(())
    }

    /// Skips an unsupported cell with one note, or refuses it, as the plan says.
    pub(super) fn skip_or_refuse(
        &self,
        key: &str,
        part: impl Into<SkippedPart>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        let part = part.into();
        match self.plan.unsupported {
            UnsupportedPolicy::Skip => {
                note(skipped, part);
                Ok(())
            }
            UnsupportedPolicy::Refuse => {
                Err(self.plan_error(key, format!("{}{SKIP_HINT}", part.sentence)))
            }
        }
    }
}
