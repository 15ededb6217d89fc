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
use serde::Serialize;

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

/// A contender that fails so often gets no more repeats.
const MAX_FAILURES: usize = 2;

/// A rule that decides a ranking while its repeats run.
#[derive(Debug)]
pub struct SequentialRule {
    /// The repeats after which the results are looked at.
    looks: Vec<u32>,
    /// The difference of logarithms below which contenders are equal.
    ln_equal: f64,
}

/// How a contender stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// How.
    pub kind: StandingKind,
    /// The contender that it was compared with, by place: the leader at its last look.
    pub against: Option<usize>,
    /// The rate of that leader over its own: for equals the interval that makes them equal, else
    /// the one that decides who leads. `None` before the first look, and for the leader.
    pub ratio: Option<Interval>,
    /// The repeats that it was compared by.
    pub repeats: u32,
    /// The measured time that might decide what is open, over the time so far; `None` if it is not
    /// open, or if it takes more repeats than the limit.
    pub more_time: Option<f64>,
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
    /// Whether every other contender is led by the leader or equal to it.
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
            looks: looks(limit),
            ln_equal: equal_within.ln_1p(),
        }
    }

    /// Judges the results of contenders, repeat by repeat, as if each repeat had just ended: so the
    /// results alone determine who was dropped when.
    #[must_use]
    pub fn judge(&self, contenders: &[Vec<Observation>]) -> Judgement {
        let mut course = Course::new(contenders);
        while course.advance() {
            let repeats = course.complete.len() as u32;
            if let Some(look) = self.looks.iter().rposition(|&look| look <= repeats)
                && course.last_look.is_none_or(|last| last < look)
            {
                self.look(&mut course, look);
                course.last_look = Some(look);
                if course.is_decided() || look + 1 == self.looks.len() {
                    break;
                }
            }
        }
        course.set_provisional_leader();
        let next = course.last_look.map_or(0, |last| last + 1);
        let is_decided = course.last_look.is_some() && course.is_decided();
        Judgement {
            repeats: course.complete.len() as u32,
            next_look: self.looks.get(next).copied().filter(|_| !is_decided),
            is_decided,
            is_merged: course.is_merged,
            standings: course.standings,
        }
    }

    /// Compares all that run with the leader.
    fn look(&self, course: &mut Course<'_>, look: usize) {
        let running = course.running();
        let repeats = Repeats::of(course.contenders, &running, &course.complete);
        course.is_merged |= repeats.is_merged();
        let leader = repeats.leader();
        // The leader is chosen from the data, so any pair of those that run might be the one.
        let alpha = ALPHA / pairs(running.len());
        let lead_z = boundaries(&self.looks, alpha)[look];
        // One-sided at 0.05: only the slower of two could be worse than equal.
        let equal_z = boundaries(&self.looks, 2.0 * ALPHA)[look];
        for (place, &contender) in running.iter().enumerate() {
            let standing = &mut course.standings[contender];
            *standing = Standing {
                kind: StandingKind::Leader,
                against: None,
                ratio: None,
                repeats: course.complete.len() as u32,
                more_time: None,
            };
            if place == leader {
                continue;
            }
            let Some(lead) = repeats.difference(leader, place) else {
                standing.kind = StandingKind::Open;
                continue;
            };
            let reach = |z: f64| student_critical(z, lead.freedom) * lead.error;
            let leads_by = reach(lead_z);
            let equal_by = reach(equal_z);
            standing.kind = if lead.mean - leads_by > 0.0 {
                StandingKind::Led
            } else if lead.mean + equal_by < self.ln_equal {
                StandingKind::Equal
            } else {
                StandingKind::Open
            };
            let (half, level) = if standing.kind == StandingKind::Equal {
                (equal_by, 1.0 - 2.0 * ALPHA)
            } else {
                (leads_by, 1.0 - alpha)
            };
            standing.against = Some(running[leader]);
            standing.ratio = Some(Interval {
                estimate: lead.mean.exp(),
                low: (lead.mean - half).exp(),
                high: (lead.mean + half).exp(),
                level,
            });
            standing.more_time = self
                .more_time(lead.mean, leads_by, standing.repeats)
                .filter(|_| standing.kind == StandingKind::Open);
        }
    }

    /// The time over that so far in which an interval of this half-width narrows until it shows
    /// either that there is a lead or that there is none that counts: it narrows with the square
    /// root of the repeats. `None` beyond the limit of repeats.
    fn more_time(&self, lead: f64, half: f64, repeats: u32) -> Option<f64> {
        let wanted = lead.max(self.ln_equal - lead);
        let more = (half / wanted).powi(2) - 1.0;
        let limit = f64::from(*self.looks.last()?);
        let repeats = f64::from(repeats);
        // At the next look at the earliest.
        let more = more.max(1.0 / repeats);
        (repeats * (1.0 + more) <= limit).then_some(more)
    }
}

/// The number of pairs of so many contenders, at least 1.
fn pairs(contenders: usize) -> f64 {
    (contenders * contenders.saturating_sub(1) / 2).max(1) as f64
}

/// The course of a ranking, repeat by repeat.
struct Course<'a> {
    contenders: &'a [Vec<Observation>],
    standings: Vec<Standing>,
    /// The repeats seen so far.
    seen: usize,
    /// Those in which every contender that runs has a result.
    complete: Vec<usize>,
    last_look: Option<usize>,
    is_merged: bool,
}

impl<'a> Course<'a> {
    fn new(contenders: &'a [Vec<Observation>]) -> Self {
        let open = Standing {
            kind: StandingKind::Open,
            against: None,
            ratio: None,
            repeats: 0,
            more_time: None,
        };
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

    /// Takes the next repeat, if every contender that runs has ended its trial.
    fn advance(&mut self) -> bool {
        let repeat = self.seen;
        let running = self.running();
        let is =
            |contender: usize, wanted: Observation| self.observation(contender, repeat) == wanted;
        if running.is_empty() || running.iter().any(|&it| is(it, Observation::Missing)) {
            return false;
        }
        let failures = |contender: usize| {
            let all = self.contenders[contender].iter().take(repeat + 1);
            all.filter(|one| **one == Observation::Invalid).count()
        };
        let failed: Vec<usize> = running
            .iter()
            .copied()
            .filter(|&contender| failures(contender) >= MAX_FAILURES)
            .collect();
        self.seen += 1;
        for contender in failed {
            self.standings[contender].kind = StandingKind::Failed;
        }
        let running = self.running();
        let is_complete = |repeat: &usize| {
            let valid =
                |&it: &usize| matches!(self.observation(it, *repeat), Observation::LogRate(_));
            !running.is_empty() && running.iter().all(valid)
        };
        self.complete = (0..self.seen).filter(is_complete).collect();
        true
    }

    /// Whether there is a leader, and nobody that runs is open.
    fn is_decided(&self) -> bool {
        let is = |kind| self.standings.iter().any(|standing| standing.kind == kind);
        is(StandingKind::Leader) && !is(StandingKind::Open)
    }

    /// Names the leader before the first look, where it is the one with the highest mean.
    fn set_provisional_leader(&mut self) {
        let running = self.running();
        if self.last_look.is_none() && !self.complete.is_empty() {
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
        assert_eq!(last.standings[2].repeats, 4);
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
        assert!(judged.standings.iter().all(|it| it.more_time.is_none()));
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
        assert!(twice.is_decided, "nobody else is left");
        let nobody = rule().judge(&[vec![Observation::Invalid; 3]]);
        assert_eq!((nobody.leader(), nobody.repeats), (None, 0));
        assert!(!nobody.runs_on(0));
    }

    #[test]
    fn a_repeat_that_has_not_ended_is_not_judged() {
        let mut results = observations(&[100.0, 200.0], 0.02, 4);
        results[1][3] = Observation::Missing;
        assert_eq!(rule().judge(&results).repeats, 3);
        assert_eq!(rule().judge(&[]).repeats, 0);
    }
}
