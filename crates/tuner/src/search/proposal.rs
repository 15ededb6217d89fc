//! New configurations to try.

use super::archive::{Configuration, ConfigurationId, Fate, Purpose};
use super::{Entry, FOREST_FROM, Search, Strategy, stream};
use crate::forest::{Forest, Sample};
use crate::random::Random;
use crate::sobol::SobolSequence;
use trueput_record::trial::Settings;

/// Of so many proposals, one is random: no part of the space is left out for ever, whatever the
/// model believes (SMAC interleaves random configurations for the same reason).
const RANDOM_EVERY: usize = 4;
/// The share of the search's trials that its even sample may take at most.
const SAMPLE_SHARE: f64 = 0.3;
/// Random points among which the model chooses.
const RANDOM_CANDIDATES: usize = 1000;
/// Good configurations whose neighbors are candidates, and neighbors of each.
const PARENTS: usize = 6;
const NEIGHBORS: usize = 60;
/// The deviation of a neighbor's coordinate (SMAC's 0.2).
const STEP: f64 = 0.2;
/// Draws after which the space counts as exhausted: all are known or refused by the fence.
const MOST_DRAWS: usize = 2000;

impl Search {
    /// Adds up to `slots` configurations that have not run yet.
    pub(super) fn propose(&mut self, slots: usize, entries: &mut Vec<Entry>) {
        let waiting = self
            .archive
            .configurations()
            .iter()
            .filter(|one| one.fate == Fate::Waiting && one.id != ConfigurationId::DEFAULT);
        let entry = |one: &Configuration| Entry {
            configuration: one.id,
            purpose: one.purpose,
        };
        let waiting: Vec<_> = waiting.map(entry).take(slots).collect();
        let free = slots - waiting.len();
        entries.extend(waiting);
        for place in 0..free {
            let round = self.archive.rounds().len();
            let mut random = Random::new(self.plan.seed, stream(round, 1 + place as u64));
            let Some((settings, purpose)) = self.proposal(&mut random) else {
                return;
            };
            let configuration = self.archive.add(settings, purpose, None);
            entries.push(Entry {
                configuration,
                purpose,
            });
        }
    }

    fn proposal(&self, random: &mut Random) -> Option<(Settings, Purpose)> {
        match self.plan.strategy {
            Strategy::Presets => None,
            Strategy::Random => self.random_settings(random),
            Strategy::OneAtATime => self.step().or_else(|| self.random_step(random)),
            Strategy::Model => self.modeled(random),
        }
    }

    fn modeled(&self, random: &mut Random) -> Option<(Settings, Purpose)> {
        let sampled = self.archive.count(Purpose::LowDiscrepancy);
        let has_model = self.plan.trials >= FOREST_FROM;
        if sampled < self.sample_size() || !has_model {
            return self
                .sobol_settings(sampled)
                .or_else(|| self.random_settings(random));
        }
        let drawn = self.archive.count(Purpose::Random) + self.archive.count(Purpose::Model);
        match drawn % RANDOM_EVERY == RANDOM_EVERY - 1 {
            true => self.random_settings(random),
            false => self
                .best_expected(random)
                .or_else(|| self.random_settings(random)),
        }
    }

    /// Twice as many points as parameters; fewer if the budget is small.
    fn sample_size(&self) -> usize {
        let affordable = (self.search_trials() as f64 * SAMPLE_SHARE) as usize;
        affordable.min(2 * self.space.dimensions()).max(4)
    }

    /// Whether settings are new and the fence allows them.
    fn is_open(&self, settings: &Settings) -> bool {
        !self.archive.contains(settings) && self.space.check(settings).is_ok()
    }

    fn sobol_settings(&self, from: usize) -> Option<(Settings, Purpose)> {
        let sequence = SobolSequence::new(self.plan.seed, self.space.dimensions());
        // Points that the fence refuses are skipped again each time: the state is the archive.
        let index = u32::try_from(from).unwrap_or(u32::MAX);
        let points = (index..index.saturating_add(MOST_DRAWS as u32)).map(|at| sequence.point(at));
        let mut settings = points.map(|point| self.space.settings(&point));
        let settings = settings.find(|settings| self.is_open(settings))?;
        Some((settings, Purpose::LowDiscrepancy))
    }

    fn random_settings(&self, random: &mut Random) -> Option<(Settings, Purpose)> {
        let mut draw = || self.space.settings(&random.point(self.space.dimensions()));
        let mut draws = (0..MOST_DRAWS).map(|_| draw());
        let settings = draws.find(|settings| self.is_open(settings))?;
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
                let settings = self.space.settings(&point);
                if self.is_open(&settings) {
                    return Some((settings, Purpose::OneAtATime));
                }
            }
        }
        None
    }

    /// A random value of one random parameter, beside the incumbent.
    fn random_step(&self, random: &mut Random) -> Option<(Settings, Purpose)> {
        let start = self
            .space
            .point(&self.archive.configurations()[self.incumbent.0].settings);
        for _ in 0..MOST_DRAWS {
            let mut point = start.clone();
            point[random.below(start.len())] = random.uniform();
            let settings = self.space.settings(&point);
            if self.is_open(&settings) {
                return Some((settings, Purpose::OneAtATime));
            }
        }
        None
    }

    /// The candidate of the greatest expected improvement.
    fn best_expected(&self, random: &mut Random) -> Option<(Settings, Purpose)> {
        let samples = self.samples();
        let forest = Forest::fit(&samples, &self.space.categories(), random)?;
        let believed = samples.iter().map(|sample| forest.predict(&sample.point).0);
        let best = believed.fold(f64::NEG_INFINITY, f64::max);
        let mut candidates: Vec<_> = self
            .candidates(&samples, random)
            .into_iter()
            .map(|point| (forest.expected_improvement(&point, best), point))
            .collect();
        candidates.sort_by(|one, other| other.0.total_cmp(&one.0));
        let settings = candidates
            .iter()
            .map(|(_, point)| self.space.settings(point));
        let settings = settings
            .take(MOST_DRAWS)
            .find(|settings| self.is_open(settings))?;
        Some((settings, Purpose::Model))
    }

    /// What the model learns from: one sample for each configuration. A failure has the worst
    /// effect. A proposal of this round, which has not run, is believed to be as the default is, so
    /// that the proposals of one round differ.
    fn samples(&self) -> Vec<Sample> {
        let effects = || {
            self.archive
                .configurations()
                .iter()
                .map(|one| self.effects.of(one.id))
        };
        let worst = effects().map(|effect| effect.mean).fold(0.0, f64::min);
        let sample = |one: &Configuration| Sample {
            point: self.space.point(&one.settings),
            value: match (one.fate, self.effects.of(one.id)) {
                (Fate::Failed, _) => worst,
                (_, effect) => effect.shrunk,
            },
        };
        self.archive.configurations().iter().map(sample).collect()
    }

    /// Random points, and neighbors of the good configurations.
    fn candidates(&self, samples: &[Sample], random: &mut Random) -> Vec<Vec<f64>> {
        let categories = self.space.categories();
        let mut points: Vec<_> = (0..RANDOM_CANDIDATES)
            .map(|_| random.point(categories.len()))
            .collect();
        let mut parents: Vec<_> = samples.iter().collect();
        parents.sort_by(|one, other| other.value.total_cmp(&one.value));
        parents.truncate(PARENTS);
        for parent in &parents {
            for _ in 0..NEIGHBORS {
                let other = &parents[random.below(parents.len())].point;
                points.push(neighbor(&parent.point, other, &categories, random));
            }
        }
        points
    }

    /// Returns each parameter's importance, the greatest first: its share of what the forest's
    /// predictions lose when its values are exchanged at random among the configurations that a
    /// tree has not learned (Breiman, "Random Forests", 2001).
    /// Empty while there is too little data.
    #[must_use]
    pub fn importance(&self) -> Vec<(&'static str, f64)> {
        let scored = self
            .samples()
            .into_iter()
            .zip(self.archive.configurations());
        let is_known =
            |one: &Configuration| one.fate == Fate::Failed || self.effects.of(one.id).repeats > 0;
        let samples: Vec<_> = scored
            .filter(|(_, one)| is_known(one))
            .map(|(sample, _)| sample)
            .collect();
        let mut random = Random::new(self.plan.seed, stream(0, 15));
        let Some(forest) = Forest::fit(&samples, &self.space.categories(), &mut random) else {
            return Vec::new();
        };
        let shares = forest.importance(&samples, &mut random);
        let mut named: Vec<_> = self.space.names().zip(shares).collect();
        named.sort_by(|one, other| other.1.total_cmp(&one.1));
        named
    }
}

/// A point beside one parent, half of them with a random part of another one's coordinates: what
/// two good configurations have from different parameters is often good together.
fn neighbor(parent: &[f64], other: &[f64], categories: &[usize], random: &mut Random) -> Vec<f64> {
    let mut point = parent.to_vec();
    let share = if random.below(2) == 0 {
        0.0
    } else {
        random.uniform()
    };
    for (own, other) in point.iter_mut().zip(other) {
        if random.uniform() < share {
            *own = *other;
        }
    }
    for _ in 0..=random.below(3) {
        let axis = random.below(point.len());
        // A category or a special value is reached by a jump only.
        let is_jump = categories[axis] > 0 || random.below(4) == 0;
        point[axis] = match is_jump {
            true => random.uniform(),
            false => (point[axis] + STEP * random.normal()).clamp(0.0, 1.0),
        };
    }
    point
}
