//! Racing: which configurations are repeated, dropped or become the incumbent.

use super::Rounds;
use super::archive::{Configuration, ConfigurationId, Fate};

/// The repeats after which a configuration is not repeated further, unless it is the incumbent.
const MAX_REPEATS: usize = 8;
/// The fewest repeats of an incumbent.
const MIN_REPEATS: usize = 2;
/// An incumbent has as many repeats as the one before it, up to this many. More would keep later
/// configurations out: the incumbent is in every round.
const ENOUGH_REPEATS: usize = 4;
/// The level of the interval of the difference to the incumbent: what is below it, in 1 of 20 cases
/// for equals, is dropped.
const DROP_LEVEL: f64 = 0.9;

impl Rounds {
    /// Ranks the configurations that may be repeated, the most promising first: by the upper end of
    /// one standard error. One with more repeats than the incumbent waits for it.
    pub(super) fn racers(&self) -> Vec<ConfigurationId> {
        let most = self.estimates.repeats(self.incumbent).min(MAX_REPEATS - 1);
        let may_race = |one: &&Configuration| {
            one.fate == Fate::Racing
                && one.id != ConfigurationId::DEFAULT
                && one.id != self.incumbent
                && self.estimates.repeats(one.id) <= most
        };
        let promise = |one: &Configuration| {
            let (gain, error) = self.estimates.difference(one.id, self.incumbent)?;
            Some((gain + error, one.id))
        };
        let all = self.archive.configurations().iter();
        let mut racers: Vec<_> = all.filter(may_race).filter_map(promise).collect();
        racers.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        racers.into_iter().map(|(_, id)| id).collect()
    }

    /// Gives each configuration its fate after a round, and chooses the incumbent.
    pub(super) fn judge(&mut self) {
        for one in self.archive.configurations_mut() {
            if one.fate == Fate::Waiting && self.estimates.repeats(one.id) > 0 {
                one.fate = Fate::Racing;
            }
        }
        self.incumbent = self.best_repeated();
        self.drop_losers();
    }

    /// The greatest gain of those with enough repeats.
    fn best_repeated(&self) -> ConfigurationId {
        let all = self.archive.configurations();
        let needed = match all[self.incumbent.0].fate {
            Fate::Racing => self.estimates.repeats(self.incumbent).min(ENOUGH_REPEATS),
            _ => 0,
        };
        let needed = needed.max(MIN_REPEATS);
        let is_eligible = |one: &&Configuration| {
            let is_repeated = self.estimates.repeats(one.id) >= needed;
            one.fate == Fate::Racing && (one.id == self.incumbent || is_repeated)
        };
        let gain = |one: &Configuration| self.estimates.gain(one.id).map(|gain| (gain, one.id));
        // Of equals the first wins: the default.
        let gains = all.iter().filter(is_eligible).filter_map(gain).rev();
        gains
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map_or(ConfigurationId::DEFAULT, |(_, id)| id)
    }

    /// Drops what is worse than the incumbent by its interval.
    fn drop_losers(&mut self) {
        let reach = self.estimates.reach(DROP_LEVEL);
        for one in self.archive.configurations_mut() {
            let is_challenger = one.id != ConfigurationId::DEFAULT && one.id != self.incumbent;
            let difference = self.estimates.difference(one.id, self.incumbent);
            let is_worse = difference.is_some_and(|(gain, error)| gain + reach * error < 0.0);
            if one.fate == Fate::Racing && is_challenger && is_worse {
                one.fate = Fate::Dropped;
            }
        }
    }
}
