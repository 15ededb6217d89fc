//! New configurations to try.

use super::archive::{ConfigurationId, Fate, Purpose};
use super::{Entry, FOREST_FROM, Rounds, stream};
use crate::sobol::SobolSequence;
use trueput_findings::forest::{Forest, Sample, expected_improvement};
use trueput_findings::tuning::FAILURE_FACTOR;
use trueput_record::random::SplitMix64;
use trueput_record::search::TuningStrategy;
use trueput_record::value::Settings;

/// Of so many proposals, one is random: no part of the space is left out for ever, whatever the
/// model believes (SMAC interleaves random configurations for the same reason).
const RANDOM_EVERY: usize = 4;
/// The part of the search's trials that its even sample may take at most.
const SAMPLE_PART: f64 = 0.35;
/// Random points among which the model chooses.
const RANDOM_CANDIDATES: usize = 400;
/// Good configurations whose neighbors are candidates, and neighbors of each.
const PARENTS: usize = 6;
const NEIGHBORS: usize = 40;
/// The deviation of a neighbor's coordinate (SMAC's 0.2).
const STEP: f64 = 0.2;
/// Draws after which the space counts as exhausted: all are known.
const MAX_DRAWS: usize = 2000;
/// The part of the forest's deviation that counts as uncertainty. Most of it is the noise of the
/// trials, which another trial at that point would not remove.
const DEVIATION_PART: f64 = 0.3;

impl Rounds {
    /// Adds up to `slots` new configurations.
    pub(super) fn propose(&mut self, slots: usize, entries: &mut Vec<Entry>) {
        let mut samples = self.samples();
        let round = self.archive.rounds().len();
        for place in 0..slots {
            let mut random = SplitMix64::for_use(self.plan.seed, stream(round, 1 + place as u64));
            let Some((settings, purpose)) = self.proposal(&mut samples, &mut random) else {
                return;
            };
            let configuration = self.archive.add(settings, purpose, None);
            entries.push(Entry {
                configuration,
                purpose,
            });
        }
    }

    fn proposal(
        &self,
        samples: &mut Vec<Sample>,
        random: &mut SplitMix64,
    ) -> Option<(Settings, Purpose)> {
        match self.plan.strategy {
            TuningStrategy::Presets => None,
            TuningStrategy::Random => self.random_settings(random),
            TuningStrategy::OneAtATime => self.step().or_else(|| self.random_step(random)),
            TuningStrategy::Model => self.modeled(samples, random),
        }
    }

    fn modeled(
        &self,
        samples: &mut Vec<Sample>,
        random: &mut SplitMix64,
    ) -> Option<(Settings, Purpose)> {
        if self.is_sampling() || self.plan.trials < FOREST_FROM {
            return self
                .sobol_settings(self.archive.count(Purpose::LowDiscrepancy))
                .or_else(|| self.random_settings(random));
        }
        let drawn = self.archive.count(Purpose::Random) + self.archive.count(Purpose::Model);
        if drawn % RANDOM_EVERY == RANDOM_EVERY - 1 {
            self.random_settings(random)
        } else {
            self.best_expected(samples, random)
                .or_else(|| self.random_settings(random))
        }
    }

    /// Whether the even sample at the start is not complete.
    pub(super) fn is_sampling(&self) -> bool {
        let is_meant = self.plan.strategy == TuningStrategy::Model;
        is_meant && self.archive.count(Purpose::LowDiscrepancy) < self.sample_size()
    }

    /// Twice as many points as parameters; fewer if the budget is small.
    fn sample_size(&self) -> usize {
        let affordable = (self.search_trials() as f64 * SAMPLE_PART) as usize;
        affordable.min(2 * self.space.dimensions())
    }

    /// Returns the settings at a point, as far as the fence allows them; `None` if they are known.
    fn new_settings(&self, point: &[f64]) -> Option<Settings> {
        let settings = self.space.allowed_settings(point);
        (!self.archive.contains(&settings)).then_some(settings)
    }

    fn sobol_settings(&self, from: usize) -> Option<(Settings, Purpose)> {
        let sequence = SobolSequence::new(self.plan.seed, self.space.dimensions());
        // Points that are known are skipped again each time: the state is the archive.
        let index = u32::try_from(from).unwrap_or(u32::MAX);
        let mut points = index..index.saturating_add(MAX_DRAWS as u32);
        let settings = points.find_map(|at| self.new_settings(&sequence.point(at)))?;
        Some((settings, Purpose::LowDiscrepancy))
    }

    fn random_settings(&self, random: &mut SplitMix64) -> Option<(Settings, Purpose)> {
        let mut draws = (0..MAX_DRAWS).map(|_| random.point(self.space.dimensions()));
        let settings = draws.find_map(|point| self.new_settings(&point))?;
        Some((settings, Purpose::Random))
    }

    /// The first value of the first parameter, beside the incumbent, that was not tried yet.
    fn step(&self) -> Option<(Settings, Purpose)> {
        let start = self
            .space
            .point(&self.archive.configurations()[self.incumbent.0].settings);
        for dimension in 0..self.space.dimensions() {
            for level in self.space.levels(dimension) {
                let mut point = start.clone();
                point[dimension] = level;
                if let Some(settings) = self.new_settings(&point) {
                    return Some((settings, Purpose::OneAtATime));
                }
            }
        }
        None
    }

    /// A random value of one random parameter, beside the incumbent.
    fn random_step(&self, random: &mut SplitMix64) -> Option<(Settings, Purpose)> {
        let start = self
            .space
            .point(&self.archive.configurations()[self.incumbent.0].settings);
        for _ in 0..MAX_DRAWS {
            let mut point = start.clone();
            point[random.below(start.len())] = random.unit_f64();
            if let Some(settings) = self.new_settings(&point) {
                return Some((settings, Purpose::OneAtATime));
            }
        }
        None
    }

    /// The candidate of the greatest expected improvement. It counts as observed at its prediction
    /// before the next one of the round is chosen ("Kriging believer": Ginsbourger, Le Riche and
    /// Carraro, 2010), so that the proposals of one round differ.
    fn best_expected(
        &self,
        samples: &mut Vec<Sample>,
        random: &mut SplitMix64,
    ) -> Option<(Settings, Purpose)> {
        let forest = Forest::fit(samples, &self.space.categories(), random)?;
        let parents = self.parents(&forest);
        let best = parents.first().map_or(0.0, |parent| parent.value);
        let improvement = |settings: &Settings| {
            let (mean, deviation) = forest.predict(&self.space.point(settings));
            expected_improvement((mean, DEVIATION_PART * deviation), best)
        };
        let candidates = self.candidates(&parents, random).into_iter();
        let new = candidates.filter_map(|point| self.new_settings(&point));
        let valued = new.map(|settings| (improvement(&settings), settings));
        let (_, settings) = valued.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let point = self.space.point(&settings);
        let value = forest.predict(&point).0;
        samples.push(Sample { point, value });
        Some((settings, Purpose::Model))
    }

    /// What the model learns from: each trial with a score, and each failed configuration.
    fn samples(&self) -> Vec<Sample> {
        let all = self.archive.configurations();
        let sample = |id: ConfigurationId, value: f64| Sample {
            point: self.space.point(&all[id.0].settings),
            value,
        };
        let scores = self.estimates.adjusted();
        let logarithms = scores.iter().map(|(_, log)| *log);
        let worst = logarithms.fold(FAILURE_FACTOR.ln(), f64::min);
        let failed = all.iter().filter(|one| one.fate == Fate::Failed);
        let failed = failed.map(|one| sample(one.id, worst));
        let sound = scores
            .iter()
            .filter(|(id, _)| all[id.0].fate != Fate::Failed);
        let sound = sound.map(|(id, log)| sample(*id, *log));
        sound.chain(failed).collect()
    }

    /// The configurations that the forest predicts to be best, with its predictions.
    fn parents(&self, forest: &Forest) -> Vec<Sample> {
        let all = self.archive.configurations().iter();
        let racing = all.filter(|one| one.fate == Fate::Racing);
        let mut parents: Vec<_> = racing
            .map(|one| {
                let point = self.space.point(&one.settings);
                let value = forest.predict(&point).0;
                Sample { point, value }
            })
            .collect();
        parents.sort_by(|one, other| other.value.total_cmp(&one.value));
        parents.truncate(PARENTS);
        parents
    }

    /// Random points, and neighbors of good configurations and of the incumbent.
    fn candidates(&self, parents: &[Sample], random: &mut SplitMix64) -> Vec<Vec<f64>> {
        let categories = self.space.categories();
        let incumbent = &self.archive.configurations()[self.incumbent.0].settings;
        let incumbent = self.space.point(incumbent);
        let parents = parents.iter().map(|parent| &parent.point);
        let mut points = Vec::new();
        for parent in parents.chain([&incumbent]) {
            points.extend((0..NEIGHBORS).map(|_| neighbor(parent, &categories, random)));
        }
        points.extend((0..RANDOM_CANDIDATES).map(|_| random.point(categories.len())));
        points
    }

    /// Returns each parameter's importance, the greatest first: its share of what the forest's
    /// predictions lose when its values are exchanged at random among the configurations that a
    /// tree has not learned (Breiman, "Random Forests", 2001).
    /// Empty while there is too little data.
    #[must_use]
    pub fn importance(&self) -> Vec<(&'static str, f64)> {
        let samples = self.samples();
        let mut random = SplitMix64::for_use(self.plan.seed, stream(0, 15));
        let Some(forest) = Forest::fit(&samples, &self.space.categories(), &mut random) else {
            return Vec::new();
        };
        let shares = forest.importance(&samples, &mut random).shares;
        let mut named: Vec<_> = self.space.names().zip(shares).collect();
        named.sort_by(|one, other| other.1.total_cmp(&one.1));
        named
    }
}

/// A point beside another one: one coordinate, or now and then more, is changed.
fn neighbor(parent: &[f64], categories: &[usize], random: &mut SplitMix64) -> Vec<f64> {
    let mut point = parent.to_vec();
    loop {
        let axis = random.below(point.len());
        point[axis] = match categories[axis] {
            0 => (point[axis] + STEP * random.normal()).clamp(0.0, 1.0),
            _ => random.unit_f64(),
        };
        if random.below(2) == 0 {
            return point;
        }
    }
}
