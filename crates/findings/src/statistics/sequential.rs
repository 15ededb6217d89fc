//! Verdicts while a run goes on: which contender leads, which are equal, and when a run may end.
//!
//! A group-sequential test of pairs of contenders, whose unit is the repeat (a new database and new
//! processes). `docs/STATISTICS.md` has the rule, its sources and its observed error rates; a
//! simulation (`tests/it/sequential.rs`) repeats them.

mod boundaries;
mod pairs;

use super::{ALPHA, Interval};
use boundaries::{boundaries, looks, student_critical};
use pairs::Repeats;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::search::DecisionSettings;

/// The fewest contenders with an early look. It relies on the variance of all pairs, which few of
/// them do not tell (`docs/STATISTICS.md`).
const EARLY_CONTENDERS: usize = 8;

/// The logarithm of the ratio from which on a contender is far behind.
const LN_FAR_BEHIND: f64 = std::f64::consts::LN_2;

/// One contender's result in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observation {
    /// The logarithm of its rate: of its operations over its measured time.
    LogRate(f64),
    /// Its trial failed, or does not count.
    Invalid,
    /// Other programs disturbed the repeat: it counts for nobody.
    Disturbed,
    /// Its trial has not run.
    Missing,
}

/// A rule that decides a ranking while its repeats run.
#[derive(Debug)]
pub struct SequentialRule {
    /// The repeats after which the results are looked at.
    looks: Vec<u32>,
    /// The difference of logarithms below which contenders are equal.
    ln_equal: f64,
    /// The place of the early look.
    early_look: Option<usize>,
    /// The rankings that are read together.
    comparisons: usize,
}

/// How a contender stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StandingKind {
    /// Of those that run, it has the highest rate.
    Leader,
    /// The leader is faster: it gets no more repeats.
    Led,
    /// It is not shown to be slower than the leader, and at most so little that they are equal.
    Equal,
    /// Neither is shown.
    Open,
    /// Its trials failed: it gets no more repeats.
    Failed,
}

/// How one contender stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// How.
    pub kind: StandingKind,
    /// The contender that it was compared with, by place: the leader at its last look.
    pub against: Option<usize>,
    /// The rate of that leader over its own: for equals the interval that makes them equal, else
    /// the one that decides who leads. `None` before the first look, and for the leader.
    pub ratio: Option<Interval>,
    /// The repeats that it was compared by, from 0.
    pub repeats: Vec<usize>,
    /// The complete repeats, of a later look, that might decide it; `None` if it is not open, or if
    /// that takes more than the limit.
    pub needed: Option<u32>,
}

impl Standing {
    /// That of a contender that is not compared with others.
    fn uncompared(kind: StandingKind) -> Self {
        Self {
            kind,
            against: None,
            ratio: None,
            repeats: Vec::new(),
            needed: None,
        }
    }
}

/// How a ranking stands after some repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Each contender, in the order given.
    pub standings: Vec<Standing>,
    /// Complete repeats: every contender that still runs has a result.
    pub repeats: u32,
    /// The repeats at the next look; `None` if nothing more is to be run.
    pub next_look: Option<u32>,
    /// Whether there is a leader, another contender is led or equal to it, and none is open.
    pub is_decided: bool,
    /// Whether adjacent repeats were merged, because noise lasts longer than one.
    pub is_merged: bool,
}

impl Judgement {
    /// The place of the contender that leads, surely or not.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        let mut kinds = self.standings.iter().map(|standing| standing.kind);
        kinds.position(|kind| kind == StandingKind::Leader)
    }

    /// Whether a contender gets further repeats.
    #[must_use]
    pub fn runs_on(&self, contender: usize) -> bool {
        let kind = self.standings.get(contender).map(|standing| standing.kind);
        let is_out = matches!(kind, None | Some(StandingKind::Led | StandingKind::Failed));
        self.next_look.is_some() && !is_out
    }
}

impl SequentialRule {
    /// The rule for at most `limit` repeats, which must be fixed before the first one, and
    /// contenders that are equal if they differ by less than the part `equal_within`.
    #[must_use]
    pub fn new(limit: u32, equal_within: f64) -> Self {
        Self {
            looks: looks(limit, None),
            ln_equal: equal_within.ln_1p(),
            early_look: None,
            comparisons: 1,
        }
    }

    /// The same rule for each of so many rankings that are read together: together they claim a
    /// difference between equals as seldom as one of them would.
    #[must_use]
    pub fn among(self, comparisons: usize) -> Self {
        let comparisons = comparisons.max(1);
        Self {
            comparisons,
            ..self
        }
    }

    /// The same rule for so many contenders, with a look after `early` repeats if they are many.
    /// It drops those that are far behind, and decides nothing.
    #[must_use]
    pub fn with_early_look(self, early: Option<u32>, contenders: usize) -> Self {
        let early = early.filter(|_| contenders >= EARLY_CONTENDERS);
        let limit = self.looks.last().copied().unwrap_or_default();
        let looks = looks(limit, early);
        Self {
            early_look: (looks.len() > self.looks.len()).then_some(0),
            looks,
            ..self
        }
    }

    /// The first look after so many repeats or more; `None` beyond the limit.
    #[must_use]
    pub fn look_from(&self, repeats: u32) -> Option<u32> {
        self.looks.iter().copied().find(|&look| look >= repeats)
    }

    /// Judges the results of contenders, repeat by repeat, as if each repeat had just ended: so the
    /// results alone determine who was dropped when.
    #[must_use]
    pub fn judge(&self, contenders: &[Vec<Observation>]) -> Judgement {
        let mut replay = ReplayState::new(contenders);
        let is_last = |look: usize| look + 1 == self.looks.len();
        while replay.advance() {
            if let Some(look) = self.due_look(&replay) {
                self.look(&mut replay, look);
            }
            if replay.is_settled() || replay.last_look.is_some_and(is_last) {
                break;
            }
        }
        let is_settled = replay.is_settled();
        replay.set_provisional_leader();
        let next = replay.last_look.map_or(0, |last| last + 1);
        Judgement {
            repeats: replay.complete.len() as u32,
            next_look: self.looks.get(next).copied().filter(|_| !is_settled),
            is_decided: is_settled && replay.has_order(),
            is_merged: replay.is_merged,
            standings: replay.standings,
        }
    }

    /// The look for which there are enough repeats now, by place.
    fn due_look(&self, replay: &ReplayState<'_>) -> Option<usize> {
        let repeats = replay.complete.len() as u32;
        let look = self.looks.iter().rposition(|&look| look <= repeats)?;
        let is_new = replay.last_look.is_none_or(|last| last < look);
        (is_new && !replay.running().is_empty()).then_some(look)
    }

    /// Compares all that run with the leader, by as many repeats as the look has: where a contender
    /// that failed had been missing in some, there are more.
    fn look(&self, replay: &mut ReplayState<'_>, look: usize) {
        let running = replay.running();
        let counted = replay.complete[..self.looks[look] as usize].to_vec();
        let repeats = Repeats::of(replay.contenders, &running, &counted);
        replay.is_merged = repeats.is_merged();
        let leader = repeats.leader();
        for (place, &contender) in running.iter().enumerate() {
            let mut standing = if place == leader {
                Standing::uncompared(StandingKind::Leader)
            } else {
                let compared = self.compare(&repeats, look, (leader, place), running.len());
                Standing {
                    against: compared.ratio.map(|_| running[leader]),
                    ..compared
                }
            };
            standing.repeats.clone_from(&counted);
            replay.standings[contender] = standing;
        }
        if self.early_look == Some(look) {
            self.keep_undecided(replay, &running);
        }
        replay.last_look = Some(look);
        if replay.is_settled() {
            replay.complete = counted;
        }
    }

    /// After the early look somebody is compared with the leader again: if all are far behind, the
    /// nearest.
    fn keep_undecided(&self, replay: &mut ReplayState<'_>, running: &[usize]) {
        let led = |&&it: &&usize| replay.standings[it].kind == StandingKind::Led;
        if running.iter().filter(led).count() + 1 < running.len() {
            return;
        }
        let lead = |it: &usize| {
            let ratio = replay.standings[*it].ratio;
            ratio.map_or(f64::INFINITY, |ratio| ratio.estimate)
        };
        let nearest = running.iter().filter(led).copied();
        let nearest = nearest.min_by(|one, other| lead(one).total_cmp(&lead(other)));
        if let Some(nearest) = nearest {
            replay.standings[nearest].kind = StandingKind::Open;
            replay.standings[nearest].needed = self.looks.get(1).copied();
        }
    }

    /// Compares two of so many contenders that run: the leader with another.
    fn compare(
        &self,
        repeats: &Repeats,
        look: usize,
        (leader, other): (usize, usize),
        running: usize,
    ) -> Standing {
        let open = Standing::uncompared(StandingKind::Open);
        let Some(lead) = repeats.difference(leader, other) else {
            return open;
        };
        // The leader is chosen from the data, so any pair of those that run might be the one.
        let alpha = ALPHA / (pairs(running) * self.comparisons as f64);
        let reach =
            |alpha: f64| student_critical(boundaries(&self.looks, alpha)[look], lead.freedom);
        let leads_by = reach(alpha) * lead.error;
        // One-sided at 0.05: only the slower of two could be worse than equal.
        let equal_by = reach(2.0 * ALPHA) * lead.error;
        let is_early = self.early_look == Some(look);
        let kind = if lead.mean - leads_by > 0.0 && (!is_early || lead.mean > LN_FAR_BEHIND) {
            StandingKind::Led
        } else if lead.mean + equal_by < self.ln_equal && !is_early {
            StandingKind::Equal
        } else {
            StandingKind::Open
        };
        let (half, level) = if kind == StandingKind::Equal {
            (equal_by, 1.0 - 2.0 * ALPHA)
        } else {
            (leads_by, 1.0 - alpha)
        };
        let is_open = kind == StandingKind::Open;
        Standing {
            kind,
            ratio: Some(Interval {
                estimate: lead.mean.exp(),
                low: (lead.mean - half).exp(),
                high: (lead.mean + half).exp(),
                level,
            }),
            needed: self.needed(look, lead.mean, leads_by).filter(|_| is_open),
            ..open
        }
    }

    /// The repeats, of a later look, after which an interval of this half-width has narrowed until
    /// it shows either that there is a lead or that there is none that counts: it narrows with the
    /// square root of the repeats. `None` beyond the limit of repeats.
    fn needed(&self, look: usize, lead: f64, half: f64) -> Option<u32> {
        let wanted = lead.max(self.ln_equal - lead);
        let needed = f64::from(self.looks[look]) * (half / wanted).powi(2);
        let mut later = self.looks[look + 1..].iter().copied();
        later.find(|&look| f64::from(look) >= needed)
    }
}

/// The number of pairs of so many contenders, at least 1.
fn pairs(contenders: usize) -> f64 {
    (contenders * contenders.saturating_sub(1) / 2).max(1) as f64
}

/// A ranking replayed repeat by repeat.
struct ReplayState<'a> {
    contenders: &'a [Vec<Observation>],
    standings: Vec<Standing>,
    /// The repeats seen so far.
    seen: usize,
    /// Those in which every contender that runs has a result.
    complete: Vec<usize>,
    last_look: Option<usize>,
    is_merged: bool,
}

impl<'a> ReplayState<'a> {
    fn new(contenders: &'a [Vec<Observation>]) -> Self {
        let open = Standing::uncompared(StandingKind::Open);
        Self {
            contenders,
            standings: vec![open; contenders.len()],
            seen: 0,
            complete: Vec::new(),
            last_look: None,
            is_merged: false,
        }
    }

    fn observation(&self, contender: usize, repeat: usize) -> Observation {
        let all = &self.contenders[contender];
        all.get(repeat).copied().unwrap_or(Observation::Missing)
    }

    /// The contenders that still run.
    fn running(&self) -> Vec<usize> {
        let is_out = |&place: &usize| {
            matches!(
                self.standings[place].kind,
                StandingKind::Led | StandingKind::Failed
            )
        };
        (0..self.contenders.len())
            .filter(|place| !is_out(place))
            .collect()
    }

    /// Takes the next repeat, if every contender that runs has ended its trial. One that went on
    /// later has no result of the repeats before.
    fn advance(&mut self) -> bool {
        let running = self.running();
        let has_ended = |contender: &usize| {
            let mut later = self.contenders[*contender].iter().skip(self.seen);
            later.any(|one| *one != Observation::Missing)
        };
        if running.is_empty() || !running.iter().all(has_ended) {
            return false;
        }
        self.seen += 1;
        for contender in running {
            let seen = self.contenders[contender].iter().take(self.seen);
            let failures = seen.filter(|one| **one == Observation::Invalid).count();
            if failures >= DecisionSettings::MAX_FAILURES {
                self.fail(contender);
            }
        }
        let running = self.running();
        // If nobody runs, what was complete stays so.
        if !running.is_empty() {
            let is_valid = |contender: usize, repeat: usize| {
                let one = self.observation(contender, repeat);
                matches!(one, Observation::LogRate(_))
            };
            let is_complete = |&repeat: &usize| running.iter().all(|&it| is_valid(it, repeat));
            self.complete = (0..self.seen).filter(is_complete).collect();
        }
        true
    }

    /// Leaves a contender out. Those that it led go on: there must be somebody to be slower than.
    fn fail(&mut self, failed: usize) {
        for standing in &mut self.standings {
            if standing.against == Some(failed) {
                *standing = Standing::uncompared(StandingKind::Open);
            }
        }
        self.standings[failed] = Standing::uncompared(StandingKind::Failed);
    }

    /// Whether further repeats would compare nothing.
    fn is_settled(&self) -> bool {
        let running = self.running();
        let is_open = |&it: &usize| self.standings[it].kind == StandingKind::Open;
        let is_compared = running.len() < 2 || !running.iter().any(is_open);
        running.is_empty() || self.last_look.is_some() && is_compared
    }

    /// Whether a contender leads, and another is led or equal to it.
    fn has_order(&self) -> bool {
        let is = |kind| self.standings.iter().any(|standing| standing.kind == kind);
        is(StandingKind::Leader) && (is(StandingKind::Led) || is(StandingKind::Equal))
    }

    /// Names a leader before the first look, and after the former one failed: it is the one with
    /// the highest mean.
    fn set_provisional_leader(&mut self) {
        let running = self.running();
        let is_leader = |&it: &usize| self.standings[it].kind == StandingKind::Leader;
        if !running.iter().any(is_leader) && !running.is_empty() && !self.complete.is_empty() {
            let leader = Repeats::of(self.contenders, &running, &self.complete).leader();
            self.standings[running[leader]].kind = StandingKind::Leader;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::random::SplitMix64;

    /// Contenders at these rates, whose logarithms have that deviation.
    fn observations(rates: &[f64], deviation: f64, repeats: usize) -> Vec<Vec<Observation>> {
        let of = |(place, rate): (u64, &f64)| {
            let mut random = SplitMix64::for_use(1, place);
            let mut at = |_| Observation::LogRate(rate.ln() + deviation * random.normal());
            (0..repeats).map(&mut at).collect()
        };
        (0..).zip(rates).map(of).collect()
    }

    fn kinds(judgement: &Judgement) -> Vec<StandingKind> {
        judgement.standings.iter().map(|it| it.kind).collect()
    }

    fn rule() -> SequentialRule {
        SequentialRule::new(60, 0.05)
    }

    /// The rule for eight contenders: the fewest with an early look.
    fn rule_of_many() -> SequentialRule {
        rule().with_early_look(Some(3), 8)
    }

    #[test]
    fn a_clear_leader_is_named_at_the_first_look_and_not_before() {
        let results = observations(&[100.0, 200.0, 50.0], 0.02, 4);
        let early: Vec<_> = results.iter().map(|it| it[..3].to_vec()).collect();
        let early = rule().judge(&early);
        assert_eq!(
            (early.leader(), early.next_look, early.is_decided),
            (Some(1), Some(4), false)
        );
        let judged = rule().judge(&results);
        use StandingKind::{Leader, Led};
        assert_eq!(kinds(&judged), [Led, Leader, Led]);
        assert_eq!((judged.is_decided, judged.next_look), (true, None));
        let ratio = judged.standings[0].ratio.unwrap();
        assert!(
            ratio.low > 1.8 && ratio.high < 2.2 && ratio.holds(ratio.estimate),
            "{ratio:?}"
        );
    }

    #[test]
    fn of_many_contenders_those_far_behind_are_dropped_after_three_repeats() {
        let rates = [100.0, 95.0, 90.0, 85.0, 60.0, 95.0, 20.0, 10.0];
        let results = observations(&rates, 0.02, 3);
        let judged = rule_of_many().judge(&results);
        let led: Vec<_> = (0..rates.len()).filter(|&it| !judged.runs_on(it)).collect();
        assert_eq!((led, judged.next_look), (vec![6, 7], Some(4)));
        assert_eq!(judged.standings[7].repeats, [0, 1, 2]);
        // Fewer, and those of an older run, have no early look.
        for other in [
            rule().with_early_look(Some(3), 7),
            rule().with_early_look(None, 8),
        ] {
            let judged = other.judge(&results);
            assert!((0..rates.len()).all(|it| judged.runs_on(it)));
        }
    }

    #[test]
    fn an_early_look_decides_nothing() {
        let rates = [100.0, 40.0, 30.0, 25.0, 20.0, 15.0, 10.0, 5.0];
        let judged = rule_of_many().judge(&observations(&rates, 0.02, 3));
        let goes_on: Vec<_> = (0..rates.len()).filter(|&it| judged.runs_on(it)).collect();
        assert_eq!((goes_on, judged.is_decided), (vec![0, 1], false));
        assert_eq!(judged.standings[1].needed, Some(4));
        let equals = rule_of_many().judge(&observations(&[100.0; 8], 0.0001, 3));
        assert!((0..8).all(|it| equals.runs_on(it)) && !equals.is_decided);
        let kinds = kinds(&equals);
        assert!(!kinds.contains(&StandingKind::Equal), "{kinds:?}");
    }

    #[test]
    fn a_noisy_one_of_many_equals_seldom_leads_or_is_led_early() {
        for noisy in [0.12, 0.4] {
            let mut random = SplitMix64::new(8);
            let mut claims = 0;
            for _ in 0..2_000 {
                let deviations = [0.02; 7].into_iter().chain([noisy]);
                let of = |deviation: f64| {
                    let mut at = || Observation::LogRate(deviation * random.normal());
                    vec![at(), at(), at()]
                };
                let results: Vec<_> = deviations.map(of).collect();
                let judged = rule_of_many().judge(&results);
                claims += usize::from(kinds(&judged).contains(&StandingKind::Led));
            }
            // At most 0.2 % by simulation, and three deviations of that.
            assert!(claims <= 10, "{noisy}: {claims} of 2,000");
        }
    }

    #[test]
    fn what_is_led_is_dropped_and_the_rest_goes_on() {
        let results = observations(&[100.0, 100.5, 50.0], 0.05, 60);
        let rule = rule();
        let until = |repeats: usize| {
            let cut: Vec<_> = results.iter().map(|it| it[..repeats].to_vec()).collect();
            rule.judge(&cut)
        };
        let first = until(4);
        assert_eq!(first.standings[2].kind, StandingKind::Led);
        assert!(!first.runs_on(2) && first.runs_on(0) && first.runs_on(1));
        assert_eq!(first.next_look, Some(5));
        // What was dropped needs no further results.
        let mut dropped = results.clone();
        dropped[2].truncate(4);
        let last = rule.judge(&dropped);
        assert_eq!(last.standings[2].repeats, [0, 1, 2, 3]);
        assert!(
            last.is_decided
                && last
                    .standings
                    .iter()
                    .any(|it| it.kind == StandingKind::Equal)
        );
    }

    #[test]
    fn a_disturbed_repeat_counts_for_nobody_and_is_no_failure() {
        let mut results = observations(&[100.0, 200.0], 0.02, 7);
        for contender in &mut results {
            contender[0] = Observation::Disturbed;
            contender[3] = Observation::Disturbed;
            contender[4] = Observation::Disturbed;
        }
        let judged = rule().judge(&results);
        use StandingKind::{Leader, Led};
        assert_eq!(kinds(&judged), [Led, Leader]);
        assert_eq!((judged.repeats, judged.is_decided), (4, true));
        let early: Vec<_> = results.iter().map(|it| it[..6].to_vec()).collect();
        let early = rule().judge(&early);
        assert_eq!((early.repeats, early.next_look), (3, Some(4)));
    }

    #[test]
    fn equals_are_equal_and_noise_leaves_them_open() {
        let equal = rule().judge(&observations(&[100.0, 100.2], 0.01, 8));
        assert!(equal.is_decided);
        assert!(
            equal
                .standings
                .iter()
                .any(|it| it.kind == StandingKind::Equal)
        );
        let noisy = rule().judge(&observations(&[100.0, 101.0], 0.40, 8));
        let open: Vec<_> = noisy
            .standings
            .iter()
            .filter(|it| it.ratio.is_some())
            .collect();
        assert_eq!(
            (open[0].kind, noisy.next_look),
            (StandingKind::Open, Some(10))
        );
        assert!(open[0].ratio.unwrap().holds(1.0));
    }

    #[test]
    fn at_the_limit_of_repeats_what_is_open_stays_so() {
        let rule = SequentialRule::new(5, 0.05);
        let judged = rule.judge(&observations(&[100.0, 101.0], 0.40, 5));
        assert_eq!((judged.is_decided, judged.next_look), (false, None));
        assert!(!judged.runs_on(0) && !judged.runs_on(1));
        assert!(judged.standings.iter().all(|it| it.needed.is_none()));
    }

    #[test]
    fn a_contender_that_fails_twice_is_out_and_one_failure_leaves_its_repeat_out() {
        let mut results = observations(&[100.0, 200.0], 0.02, 5);
        results[0][1] = Observation::Invalid;
        let once = rule().judge(&results);
        assert_eq!(
            (once.repeats, once.standings[0].kind),
            (4, StandingKind::Led)
        );
        results[0][2] = Observation::Invalid;
        let twice = rule().judge(&results);
        assert_eq!(
            (twice.repeats, twice.standings[0].kind),
            (4, StandingKind::Failed)
        );
        assert_eq!(
            (twice.is_decided, twice.next_look),
            (false, None),
            "nobody else is left"
        );
    }

    #[test]
    fn where_everybody_failed_the_complete_repeats_are_told_and_nothing_more_is_run() {
        let mut results = observations(&[100.0, 101.0], 0.40, 7);
        for contender in &mut results {
            contender[5..].fill(Observation::Invalid);
        }
        let judged = rule().judge(&results);
        assert_eq!(kinds(&judged), [StandingKind::Failed; 2]);
        assert_eq!(
            (judged.repeats, judged.next_look, judged.is_decided),
            (5, None, false)
        );
        let nobody = rule().judge(&[vec![Observation::Invalid; 3]]);
        assert_eq!((nobody.leader(), nobody.repeats), (None, 0));
        assert!(!nobody.runs_on(0));
    }

    #[test]
    fn whom_a_contender_led_that_failed_later_goes_on() {
        use StandingKind::{Failed, Leader, Led, Open};
        let mut results = observations(&[100.0, 201.0, 200.0], 0.05, 12);
        results[0].truncate(4);
        assert_eq!(kinds(&rule().judge(&results)), [Led, Leader, Open]);
        results[1][4] = Observation::Invalid;
        results[1][5] = Observation::Invalid;
        for contender in &mut results {
            contender.truncate(6);
        }
        let judged = rule().judge(&results);
        assert_eq!(kinds(&judged), [Open, Failed, Leader]);
        assert_eq!((judged.repeats, judged.next_look), (4, Some(5)));
        assert!(judged.runs_on(0) && judged.runs_on(2) && !judged.runs_on(1));
        // The repeats that it missed do not count.
        let missed = [Observation::Missing; 2];
        let later = [4.6, 4.61].map(Observation::LogRate);
        results[0].extend(missed.into_iter().chain(later));
        results[2].extend([5.3, 5.31].map(Observation::LogRate));
        let judged = rule().judge(&results);
        assert_eq!(kinds(&judged), [Led, Failed, Leader]);
        assert_eq!(judged.standings[0].repeats, [0, 1, 2, 3, 6]);
        assert!(judged.is_decided);
    }

    #[test]
    fn a_look_counts_its_own_repeats_where_one_contender_less_leaves_more() {
        let mut results = observations(&[100.0, 200.0, 150.0], 0.02, 5);
        results[2][3..].fill(Observation::Invalid);
        let mut rule = rule();
        rule.looks = vec![4, 8];
        let judged = rule.judge(&results);
        assert_eq!((judged.repeats, judged.is_decided), (4, true));
        assert_eq!(judged.standings[0].repeats, [0, 1, 2, 3]);
    }

    #[test]
    fn what_is_open_needs_a_later_look() {
        let judged = rule().judge(&observations(&[100.0, 104.0], 0.02, 4));
        let open: Vec<_> = judged.standings.iter().filter_map(|it| it.needed).collect();
        assert_eq!((judged.next_look, open.len()), (Some(5), 1));
        assert!(rule().look_from(open[0]) == Some(open[0]) && open[0] >= 5);
        assert_eq!(
            [1, 7, 60, 61].map(|it| rule().look_from(it)),
            [Some(4), Some(8), Some(60), None]
        );
    }

    #[test]
    fn a_repeat_that_has_not_ended_is_not_judged() {
        let mut results = observations(&[100.0, 200.0], 0.02, 4);
        results[1][3] = Observation::Missing;
        assert_eq!(rule().judge(&results).repeats, 3);
        assert_eq!(rule().judge(&[]).repeats, 0);
    }
}
