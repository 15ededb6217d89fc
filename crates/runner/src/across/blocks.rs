//! Whole repeats, as blocks that are given to hosts: all contenders of a repeat run on the same
//! host, so that each difference is taken inside one.

use std::collections::{BTreeMap, HashMap, VecDeque};
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// The trials of a repeat that are still to run, in the plan's order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepeatBlock {
    /// The repeat.
    pub repeat: u32,
    /// Its trials.
    pub trials: Vec<TrialSpec>,
    /// The place of the host that is to run it.
    host: usize,
}

/// The blocks that wait for their hosts. Every host is to get equally many repeats, so that none
/// has more weight than another; those of a host that is lost go to the others.
#[derive(Debug)]
pub(crate) struct BlockQueue {
    waiting: VecDeque<RepeatBlock>,
    /// By host, the repeats that it has or is to have; `None` once it is lost.
    shares: Vec<Option<usize>>,
}

impl BlockQueue {
    /// Splits `planned`, all trials so far, into blocks of those that have not ended. A repeat that
    /// was begun goes on with the host that has begun it. If that is not among these hosts, all of
    /// its trials run again, elsewhere: what has ended is kept in the record, and superseded.
    pub fn new(planned: &[TrialSpec], stored: &[TrialRecord], hosts: &[String]) -> Self {
        let mut queue = Self {
            waiting: VecDeque::new(),
            shares: vec![Some(0); hosts.len()],
        };
        queue.fill(planned, stored, hosts);
        queue
    }

    /// Fills an empty queue, as [`BlockQueue::new`] does.
    pub fn fill(&mut self, planned: &[TrialSpec], stored: &[TrialRecord], hosts: &[String]) {
        self.shares
            .iter_mut()
            .flatten()
            .for_each(|share| *share = 0);
        let ended = hosts_of_ended(stored);
        let mut repeats: BTreeMap<u32, Vec<&TrialSpec>> = BTreeMap::new();
        for spec in planned {
            repeats.entry(spec.repeat).or_default().push(spec);
        }
        let mut open = Vec::new();
        for (repeat, specs) in repeats {
            let had = specs.iter().find_map(|spec| ended.get(spec.id.as_str()));
            let place = had.and_then(|host| hosts.iter().position(|name| Some(name) == *host));
            let is_open = |spec: &&&TrialSpec| !ended.contains_key(spec.id.as_str());
            let left: Vec<TrialSpec> = specs.iter().filter(is_open).copied().cloned().collect();
            let place = place.filter(|&place| self.shares[place].is_some());
            place.into_iter().for_each(|place| self.count(place));
            if left.is_empty() {
                continue;
            }
            // Of a repeat whose host is gone, nothing can be paired with what runs elsewhere.
            let is_moved = had.is_some() && place.is_none();
            let all = || specs.iter().copied().cloned().collect();
            let trials = if is_moved { all() } else { left };
            open.push((repeat, trials, place));
        }
        for (repeat, trials, place) in open {
            let Some(host) = place.or_else(|| self.least_loaded()) else {
                continue;
            };
            if place.is_none() {
                self.count(host);
            }
            let block = RepeatBlock {
                repeat,
                trials,
                host,
            };
            self.waiting.push_back(block);
        }
    }

    /// Takes the next block of a host; `None` if it has no more.
    pub fn next_of(&mut self, host: usize) -> Option<RepeatBlock> {
        let place = self.waiting.iter().position(|block| block.host == host)?;
        self.waiting.remove(place)
    }

    /// The first repeat that waits.
    pub fn first(&self) -> Option<&RepeatBlock> {
        self.waiting.front()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Gives the blocks of a lost host to the others, with that which it was running, whole, as
    /// `running`; returns whether there are others.
    pub fn lose(&mut self, host: usize, running: Option<RepeatBlock>) -> bool {
        self.shares[host] = None;
        if let Some(block) = running {
            self.waiting.push_front(block);
        }
        let mut moved = std::mem::take(&mut self.waiting);
        let mut has_others = true;
        for block in &mut moved {
            if block.host == host {
                match self.least_loaded() {
                    Some(other) => {
                        block.host = other;
                        self.count(other);
                    }
                    None => has_others = false,
                }
            }
        }
        self.waiting = moved;
        has_others && self.shares.iter().any(Option::is_some)
    }

    fn count(&mut self, host: usize) {
        if let Some(Some(share)) = self.shares.get_mut(host) {
            *share += 1;
        }
    }

    /// The host with the fewest repeats; of several, the first.
    fn least_loaded(&self) -> Option<usize> {
        let shares = self.shares.iter().enumerate();
        let alive = shares.filter_map(|(place, share)| Some((place, (*share)?)));
        alive
            .min_by_key(|(_, share)| *share)
            .map(|(place, _)| place)
    }
}

/// By the id of each trial that has ended, its host. The last line of a trial counts.
fn hosts_of_ended(stored: &[TrialRecord]) -> HashMap<&str, Option<&String>> {
    let ended = stored
        .iter()
        .filter(|record| record.outcome != Outcome::Interrupted);
    ended
        .map(|record| (record.spec.id.as_str(), record.host.as_ref()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::Durability;
    use trueput_record::testing::{spec, valid};

    fn plan(repeats: u32) -> Vec<TrialSpec> {
        let of = |repeat| ["lmdb", "sqlite"].map(|it| spec(cell(it), it, Durability::Sync, repeat));
        (1..=repeats).flat_map(of).collect()
    }

    fn cell(engine: &str) -> u32 {
        u32::from(engine == "sqlite")
    }

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn done(spec: &TrialSpec, host: &str) -> TrialRecord {
        TrialRecord {
            host: Some(host.to_owned()),
            ..valid(spec.clone(), 1_000.0)
        }
    }

    /// Takes all blocks of a host: their repeats and numbers of trials.
    fn taken(queue: &mut BlockQueue, host: usize) -> Vec<(u32, usize)> {
        let next = std::iter::from_fn(|| queue.next_of(host));
        next.map(|block| (block.repeat, block.trials.len()))
            .collect()
    }

    #[test]
    fn hosts_take_turns_with_whole_repeats() {
        let mut queue = BlockQueue::new(&plan(5), &[], &hosts(&["a", "b"]));
        assert_eq!(taken(&mut queue, 0), [(1, 2), (3, 2), (5, 2)]);
        assert_eq!(taken(&mut queue, 1), [(2, 2), (4, 2)]);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_repeats_of_a_lost_host_go_to_the_others_equally_and_whole() {
        let mut queue = BlockQueue::new(&plan(6), &[], &hosts(&["a", "b", "c"]));
        let running = queue.next_of(1).unwrap();
        assert_eq!(running.repeat, 2);
        assert!(queue.lose(1, Some(running)));
        assert_eq!(taken(&mut queue, 0), [(2, 2), (1, 2), (4, 2)]);
        assert_eq!(taken(&mut queue, 2), [(3, 2), (5, 2), (6, 2)]);
        assert!(queue.lose(0, None));
        assert!(!queue.lose(2, None), "nobody is left");
    }

    #[test]
    fn a_repeat_that_was_begun_goes_on_with_its_host_and_else_runs_whole_again() {
        let plan = plan(3);
        let stored = [
            done(&plan[0], "a"),
            done(&plan[1], "a"),
            done(&plan[2], "b"),
        ];
        let mut queue = BlockQueue::new(&plan, &stored, &hosts(&["a", "b"]));
        assert_eq!(taken(&mut queue, 1), [(2, 1)]);
        assert_eq!(taken(&mut queue, 0), [(3, 2)]);
        let mut queue = BlockQueue::new(&plan, &stored, &hosts(&["a", "c"]));
        // Host a has had a repeat.
        assert_eq!(taken(&mut queue, 1), [(2, 2)]);
        assert_eq!(taken(&mut queue, 0), [(3, 2)]);
    }
}
