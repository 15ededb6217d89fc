//! One size for the caches of all engines, each by its own knob.

use super::{EngineCandidate, Error, Expansion};
use trueput_engine::parameter::resolve;
use trueput_engine::{CacheKnob, Engine, ParameterValues};
use trueput_record::trial::Settings;
use trueput_record::value::format_bytes;

/// The plan's key, and the option's name.
const CACHE: &str = "cache";

impl Expansion<'_> {
    /// Refuses engines without a cache of their own, all of them in one sentence, or skips them if
    /// the plan skips unsupported cells. An engine that retains no data needs no cache.
    pub(super) fn check_caches(
        &self,
        candidates: &mut Vec<EngineCandidate>,
        skipped: &mut Vec<String>,
    ) -> Result<(), Error> {
        if self.plan.conditions.cache_bytes.iter().all(Option::is_none) {
            return Ok(());
        }
        let (mut reasons, mut names) = (Vec::new(), Vec::new());
        for candidate in candidates.iter() {
            let engine = candidate.build.engine();
            if let Err(why) = self.default_cache_knob(engine)? {
                reasons.push(format!("{} {why}", candidate.contender.engine));
                names.push(candidate.contender.engine.as_str());
            }
        }
        if !reasons.is_empty() {
            let message = format!(
                "cache sets every engine's own cache, and there is none to set: {}; leave out {}, \
                 or leave out cache and limit all engines alike with memory",
                reasons.join("; "),
                names.join(", ")
            );
            self.leave_out_or_refuse(CACHE, message, skipped)?;
        }
        let mut kept = Vec::new();
        for candidate in std::mem::take(candidates) {
            if self.default_cache_knob(candidate.build.engine())?.is_ok() {
                kept.push(candidate);
            }
        }
        *candidates = kept;
        Ok(())
    }

    /// Returns whether an engine has a cache with default knobs; `Ok` if it retains no data.
    fn default_cache_knob(&self, engine: &dyn Engine) -> Result<Result<(), &'static str>, Error> {
        if !engine.capabilities().retains_data {
            return Ok(Ok(()));
        }
        let defaults = resolve(engine.info().name, engine.knobs(), &Settings::new())
            .map_err(|why| self.plan_error("knobs", why))?;
        Ok(engine.cache_knob(&defaults).map(|_| ()))
    }

    /// Returns the knobs of an engine with each cache size of the plan; unchanged if the plan sets
    /// none, or the engine retains no data.
    pub(super) fn with_caches(
        &self,
        engine: &dyn Engine,
        given: &Settings,
        skipped: &mut Vec<String>,
    ) -> Result<Vec<Settings>, Error> {
        let sizes = &self.plan.conditions.cache_bytes;
        if sizes.iter().all(Option::is_none) || !engine.capabilities().retains_data {
            return Ok(vec![given.clone()]);
        }
        let name = engine.info().name;
        let resolved =
            resolve(name, engine.knobs(), given).map_err(|why| self.plan_error("knobs", why))?;
        let knob = match engine.cache_knob(&resolved) {
            Ok(knob) => knob,
            Err(why) => {
                self.leave_out_or_refuse(CACHE, format!("cache: {name} {why}"), skipped)?;
                return Ok(Vec::new());
            }
        };
        if given.contains_key(knob.name) {
            let message = format!(
                "cache and {name}.{} both size {name}'s cache: leave one of them out",
                knob.name
            );
            return Err(self.plan_error(CACHE, message));
        }
        let sized = |bytes: &Option<u64>| {
            let mut knobs = given.clone();
            let Some(bytes) = *bytes else {
                return Ok(knobs);
            };
            knobs.insert(knob.name.to_owned(), knob.value(bytes));
            let fits = resolve(name, engine.knobs(), &knobs);
            fits.map(|_| knobs).map_err(|why| {
                self.plan_error(CACHE, format!("cache {}: {why}", format_bytes(bytes)))
            })
        };
        sizes.iter().map(sized).collect()
    }
}

/// Suggests how to size an engine's cache, for a user whose memory limit killed it.
pub(crate) fn suggest_cache_size(
    engine: &dyn Engine,
    knobs: &ParameterValues,
    workers: u32,
    limit: u64,
) -> String {
    let name = engine.info().name;
    let knob = match engine.cache_knob(knobs) {
        Ok(knob) => knob,
        Err(why) => return format!("{name} {why}: it needs a larger --memory"),
    };
    let CacheKnob {
        name: of,
        size_bytes: size,
        ..
    } = knob;
    let copies = if knob.per_session {
        u64::from(workers)
    } else {
        1
    };
    let each = if knob.per_session {
        " for each worker"
    } else {
        ""
    };
    let sizes = format!("{name}.{of} sizes its cache, {}{each}", format_bytes(size));
    let fitting = limit / 2 / copies;
    match size > fitting {
        true => format!("{sizes}; about {} would fit", plain_size(fitting)),
        false => format!("{sizes}, which fits: give it a larger --memory"),
    }
}

/// Formats a size as an option takes it, rounded down to whole MiB unless smaller.
fn plain_size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{}KiB", bytes >> 10),
        mebibytes => format!("{mebibytes}MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_written_as_the_option_takes_it() {
        assert_eq!(plain_size(32 << 20), "32MiB");
        assert_eq!(plain_size((32 << 20) + 5), "32MiB");
        assert_eq!(plain_size(512 << 10), "512KiB");
    }
}
