//! Racing: which configurations are repeated, dropped or become the incumbent.

use super::archive::{Configuration, ConfigurationId, Fate, Purpose};
use super::{Entry, Search};

/// The repeats after which a configuration is not repeated further, unless it is the incumbent.
const MOST_REPEATS: usize = 8;
/// The fewest repeats of an incumbent.
const CROWN_REPEATS: usize = 4;
/// Challengers of a round that are repeats, while there is something new to try.
const RACERS: usize = 2;
/// The share of the search, at its end, that is for racing alone.
const FINAL_SHARE: f64 = 0.3;
/// The standard errors by which a configuration must be worse to be dropped: a one-sided interval
/// at 95 %.
const DROP_ERRORS: f64 = 1.645;

impl Search {
    /// Chooses configurations to repeat: the most promising that may still win.
    pub(super) fn racers(&self, slots: usize) -> Vec<Entry> {
        let left = self.search_trials() - self.archive.trials();
        let is_final = (left as f64) <= FINAL_SHARE * self.search_trials() as f64;
        let slots = if is_final { slots } else { RACERS.min(slots) };
        let mut racers: Vec<_> = self
            .archive
            .configurations()
            .iter()
            .filter(|one| self.may_race(one))
            .map(|one| (self.priority_of(one.id), one.id))
            .collect();
        let by_value = |one: f64, other: f64| other.total_cmp(&one);
        racers.sort_by(|(one, first), (other, second)| {
            let by_rung = other.0.cmp(&one.0);
            by_rung
                .then(by_value(one.1, other.1))
                .then(first.cmp(second))
        });
        let entry = |(_, configuration)| Entry {
            configuration,
            purpose: Purpose::Racing,
        };
        racers.into_iter().take(slots).map(entry).collect()
    }

    /// Whether another repeat could make a configuration the incumbent.
    fn may_race(&self, one: &Configuration) -> bool {
        let effect = self.effects.of(one.id);
        let incumbent = self.effects.of(self.incumbent);
        one.id != self.incumbent
            && one.fate == Fate::Racing
            && effect.repeats < MOST_REPEATS.min(self.limit_of_repeats())
            && self.promise_of(one.id) > incumbent.shrunk
    }

    /// A challenger never has more repeats than the incumbent.
    fn limit_of_repeats(&self) -> usize {
        self.effects.of(self.incumbent).repeats + 1
    }

    /// A rung (2, 4, 8 repeats) that was begun is finished first; then the best so far begin one.
    fn priority_of(&self, id: ConfigurationId) -> (bool, f64) {
        let effect = self.effects.of(id);
        let is_begun = effect.repeats > 2 && !effect.repeats.is_power_of_two();
        (is_begun, effect.shrunk)
    }

    /// The effect that a configuration may well have.
    fn promise_of(&self, id: ConfigurationId) -> f64 {
        let effect = self.effects.of(id);
        effect.shrunk + effect.error
    }

    /// Gives each configuration its fate after a round.
    pub(super) fn judge(&mut self) {
        self.drop_losers();
        let before = self.incumbent;
        self.incumbent = self.best_repeated();
        if self.incumbent != before {
            let fate = &mut self.archive.configurations_mut()[before.0].fate;
            if *fate == Fate::Incumbent {
                *fate = Fate::Overtaken;
            }
        }
        self.archive.configurations_mut()[self.incumbent.0].fate = Fate::Incumbent;
    }

    fn drop_losers(&mut self) {
        let bar = self.effects.of(self.incumbent).shrunk;
        for one in self.archive.configurations_mut() {
            let effect = self.effects.of(one.id);
            one.fate = match one.fate {
                _ if one.id == ConfigurationId::DEFAULT => one.fate,
                _ if !one.failures.is_empty() => Fate::Failed,
                Fate::Waiting if effect.repeats > 0 => Fate::Racing,
                fate => fate,
            };
            let is_worse = effect.mean + DROP_ERRORS * effect.error < bar;
            if one.fate == Fate::Racing && is_worse {
                one.fate = Fate::Dropped;
            }
        }
    }

    /// The best configuration that has enough repeats, and at least as many as each challenger.
    fn best_repeated(&self) -> ConfigurationId {
        let all = self.archive.configurations();
        let racing = all.iter().filter(|one| one.fate == Fate::Racing);
        let most = racing
            .map(|one| self.effects.of(one.id).repeats)
            .max()
            .unwrap_or(0);
        let least = CROWN_REPEATS.max(most);
        let is_eligible = |one: &&Configuration| {
            let can_win = !matches!(one.fate, Fate::Waiting | Fate::Dropped | Fate::Failed);
            let is_known = self.effects.of(one.id).repeats >= least;
            one.id == ConfigurationId::DEFAULT || can_win && is_known
        };
        let value = |one: &&Configuration| self.effects.of(one.id).shrunk;
        // Of equals the first wins: the default.
        let best = all.iter().filter(is_eligible).rev();
        best.max_by(|one, other| value(one).total_cmp(&value(other)))
            .map_or(ConfigurationId::DEFAULT, |best| best.id)
    }
}
