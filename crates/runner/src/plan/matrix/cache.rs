//! One size for the caches of all engines, each by its own knob.

use super::{EngineCandidate, Error, Expansion};
use crate::Registry;
use trueput_engine::parameter::resolve_knobs;
use trueput_engine::{CacheKnob, Engine, Parameter, ParameterValues};
use trueput_record::search::{FittedCache, SearchSettings};
use trueput_record::skipped::SkippedPart;
use trueput_record::value::{Settings, format_bytes};
use trueput_record::{TrialSpec, Value};

/// The plan's key, and the option's name.
const CACHE: &str = "cache";

impl Expansion<'_> {
    /// Refuses engines without a cache of their own, all of them in one sentence, or skips them if
    /// the plan skips unsupported cells. An engine that retains no data needs no cache.
    pub(super) fn check_caches(
        &self,
        candidates: &mut Vec<EngineCandidate>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        if self.plan.conditions.cache_bytes.iter().all(Option::is_none) {
            return Ok(());
        }
        let (mut reasons, mut names) = (Vec::new(), Vec::new());
        for candidate in candidates.iter() {
            let engine = candidate.build.engine();
            if let Err(reason) = self.default_cache_knob(engine)? {
                reasons.push(format!("{} {reason}", candidate.contender.engine));
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
            self.skip_or_refuse(CACHE, message, skipped)?;
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
        let defaults = resolve_knobs(engine.info().name, engine.knobs(), &Settings::new())
            .map_err(|reason| self.plan_error("knobs", reason))?;
        Ok(engine.cache_knob(&defaults).map(|_| ()))
    }

    /// Returns the knobs of an engine with each cache size of the plan; unchanged if the plan sets
    /// none, or the engine retains no data.
    pub(super) fn with_caches(
        &self,
        engine: &dyn Engine,
        given: &Settings,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<Vec<Settings>, Error> {
        let sizes = &self.plan.conditions.cache_bytes;
        if sizes.iter().all(Option::is_none) || !engine.capabilities().retains_data {
            return Ok(vec![given.clone()]);
        }
        let name = engine.info().name;
        let resolved = resolve_knobs(name, engine.knobs(), given)
            .map_err(|reason| self.plan_error("knobs", reason))?;
        let knob = match engine.cache_knob(&resolved) {
            Ok(knob) => knob,
            Err(reason) => {
                self.skip_or_refuse(CACHE, format!("cache: {name} {reason}"), skipped)?;
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
            let fits = resolve_knobs(name, engine.knobs(), &knobs);
            fits.map(|_| knobs).map_err(|reason| {
                self.plan_error(CACHE, format!("cache {}: {reason}", format_bytes(bytes)))
            })
        };
        sizes.iter().map(sized).collect()
    }
}

/// Returns the cache size of a plan if every trial keeps it. A step can change a cache, and a
/// search for knobs tries other sizes where the given one is the knob's default.
pub(crate) fn shared_cache_bytes(
    given: Option<u64>,
    trials: &[TrialSpec],
    search: Option<&SearchSettings>,
    registry: &Registry,
) -> Option<u64> {
    let bytes = given?;
    let is_tuned = match search {
        Some(SearchSettings::Tuning(_)) => true,
        Some(SearchSettings::Choice(choice)) => choice.tuning.is_some(),
        Some(SearchSettings::Capacity(_) | SearchSettings::Decision(_)) | None => false,
    };
    let keeps_it = |spec: &TrialSpec| {
        let engine = registry.engine(&spec.engine).ok()?;
        if !engine.capabilities().retains_data {
            return Some(true);
        }
        let knob_with = |knobs: &Settings| {
            let resolved = resolve_knobs(&spec.engine, engine.knobs(), knobs).ok()?;
            engine.cache_knob(&resolved).ok()
        };
        let (knob, default) = (knob_with(&spec.knobs)?, knob_with(&Settings::new())?);
        let is_searched = is_tuned && knob.size_bytes == default.size_bytes;
        Some(knob.value(knob.size_bytes) == knob.value(bytes) && !is_searched)
    };
    trials
        .iter()
        .all(|spec| keeps_it(spec) == Some(true))
        .then_some(bytes)
}

/// Sets the default caches that do not fit their memory limit to the size that does, which
/// [`suggest_memory`] suggests as well; those that the plan sets stay. Returns what it set.
pub fn fit_caches(trials: &mut [TrialSpec], registry: &Registry) -> Vec<FittedCache> {
    let mut fitted = Vec::new();
    for (contender, spec) in (0..).zip(trials) {
        let Some((knob, bytes)) = fitting_cache(spec, registry) else {
            continue;
        };
        spec.knobs.insert(knob.name.to_owned(), knob.value(bytes));
        fitted.push(FittedCache {
            contender: spec.role.map_or(contender, |role| role.contender),
            knob: format!("{}.{}", spec.engine, knob.name),
            default_bytes: knob.size_bytes,
            bytes,
        });
    }
    fitted
}

/// The knob of a default cache that does not fit the memory limit, and the size that does.
fn fitting_cache(spec: &TrialSpec, registry: &Registry) -> Option<(CacheKnob, u64)> {
    let limit = spec.conditions.memory_bytes?;
    let engine = registry.engine(&spec.engine).ok()?;
    let resolved = resolve_knobs(&spec.engine, engine.knobs(), &spec.knobs).ok()?;
    let knob = engine.cache_knob(&resolved).ok()?;
    let is_default = !spec.knobs.contains_key(knob.name);
    let bytes = fitting_bytes(&knob, spec.workers, limit);
    let is_too_large = knob.size_bytes > bytes;
    let mut knobs = spec.knobs.clone();
    knobs.insert(knob.name.to_owned(), knob.value(bytes));
    let is_possible = || resolve_knobs(&spec.engine, engine.knobs(), &knobs).is_ok();
    (is_default && is_too_large && is_possible()).then_some((knob, bytes))
}

/// Caches fit a memory limit if they take at most one part of so many.
const CACHE_PART: u64 = 2;

/// The largest size of a cache that fits a memory limit.
fn fitting_bytes(knob: &CacheKnob, workers: u32, limit: u64) -> u64 {
    let caches = if knob.per_session {
        u64::from(workers.max(1))
    } else {
        1
    };
    limit / CACHE_PART / caches
}

/// Suggests what to change for a user whose memory limit killed an engine: the cache if that is too
/// large, else the largest of the other knobs that size memory.
pub(crate) fn suggest_memory(
    engine: &dyn Engine,
    knobs: &ParameterValues,
    workers: u32,
    limit: u64,
) -> String {
    let name = engine.info().name;
    let cache = engine.cache_knob(knobs);
    let cache_name = cache.as_ref().map_or("", |knob| knob.name);
    let others = other_memory_knobs(engine.knobs(), knobs, cache_name, limit);
    let others = others.join(", ");
    let knob = match cache {
        Ok(knob) => knob,
        Err(reason) if others.is_empty() => {
            return format!("{name} {reason}: it needs a larger --memory");
        }
        Err(reason) => return format!("{name} {reason}; lower {others}, or raise --memory"),
    };
    let CacheKnob {
        name: of,
        size_bytes: size,
        ..
    } = knob;
    let each = if knob.per_session {
        " for each worker"
    } else {
        ""
    };
    let size_text = format!("{}{each}", format_bytes(size));
    let fitting = fitting_bytes(&knob, workers, limit);
    if size > fitting {
        let fits = plain_size(fitting);
        let also = if others.is_empty() {
            String::new()
        } else {
            format!("; {others} may be too large, too")
        };
        return format!("{name}.{of} sizes its cache, {size_text}; about {fits} would fit{also}");
    }
    let cache = format!("{name}'s cache of {size_text} ({of}) is not the cause");
    if others.is_empty() {
        return format!("{cache}: raise --memory");
    }
    format!("{cache}: lower {others}, or raise --memory")
}

/// More knobs than these are not suggested.
const MAX_SUGGESTED: usize = 3;

/// A knob that takes less than this part of the memory is not what is too large.
const NOTABLE_PART: u64 = 16;

/// The knobs beside the cache whose memory is notable, with their sizes, the largest first.
fn other_memory_knobs(
    parameters: &[Parameter],
    knobs: &ParameterValues,
    cache: &str,
    limit: u64,
) -> Vec<String> {
    let sizes = parameters.iter().filter(|one| one.sizes_memory());
    let sizes = sizes.filter(|one| one.name != cache).filter_map(|one| {
        let Some(Value::Integer(bytes)) = knobs.get(one.name) else {
            return None;
        };
        let bytes = u64::try_from(*bytes).ok()?;
        (bytes >= limit / NOTABLE_PART).then_some((bytes, one.name))
    });
    let mut sizes: Vec<_> = sizes.collect();
    sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    sizes.truncate(MAX_SUGGESTED);
    sizes
        .into_iter()
        .map(|(bytes, name)| format!("{name} ({})", format_bytes(bytes)))
        .collect()
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

    #[test]
    fn the_largest_knob_in_memory_is_suggested_and_no_other_size() {
        let bytes = |name, cost| Parameter {
            name,
            summary: "",
            cost,
            kind: trueput_engine::ValueKind::Bytes {
                default: trueput_engine::parameter::DefaultValue::Value(0),
                min: 0,
                max: 1 << 40,
            },
            unit: "",
        };
        let parameters = [
            bytes("block_cache", "host memory; smaller: more reads"),
            bytes("write_buffer_size", "larger: memory, a longer log"),
            bytes("map_size", "address space"),
            bytes(
                "block_size",
                "larger: reads more; smaller: larger index in memory",
            ),
            bytes("small_buffer", "memory"),
            bytes("lock_memory", "more: memory; less: wider locks"),
        ];
        let sizes = [32 << 20, 64 << 20, 1 << 30, 64 << 20, 1 << 10, 128 << 20];
        let given = parameters.iter().zip(sizes);
        let given = given.map(|(one, size)| (one.name.to_owned(), Value::from(size as u64)));
        let knobs = resolve_knobs("engine", &parameters, &given.collect()).unwrap();
        let found = other_memory_knobs(&parameters, &knobs, "block_cache", 64 << 20);
        assert_eq!(
            found,
            ["lock_memory (128 MiB)", "write_buffer_size (64 MiB)"]
        );
    }
}
