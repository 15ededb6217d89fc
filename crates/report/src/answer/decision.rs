//! The sentences of a run that goes on until its rankings are decided.

use super::name_list::{all_listed, listed};
use trueput_findings::answer::RankingAnswer;
use trueput_findings::decision::{DecidedContender, RankingDecision};
use trueput_findings::disturbed_repeats::MAX_SHARE;
use trueput_findings::statistics::{Interval, StandingKind};
use trueput_findings::units::counted;
use trueput_record::folder::MAX_TRIALS;
use trueput_record::search::SearchEnd;

/// A lead whose ratio is above these, at the low or the high end, is given as a factor.
const MAX_PERCENT_LOW: f64 = 2.0;
const MAX_PERCENT_HIGH: f64 = 3.0;

/// Differences that are left open by name.
const MAX_OPEN: usize = 2;

/// The verdict on a ranking, in one or two sentences: `leveldb leads rocksdb by 7-13 % (10 repeats,
/// 20 s).` Every name has to be in it if it is not `short`.
pub(crate) fn verdict(decision: &RankingDecision, is_short: bool) -> String {
    let Some(leader) = decision.leader() else {
        return without_leader(decision, is_short);
    };
    let of = |kind| decision.of_kind(kind).collect::<Vec<_>>();
    let (open, equal, led) = (
        of(StandingKind::Open),
        of(StandingKind::Equal),
        of(StandingKind::Led),
    );
    let mut clauses = Vec::new();
    if !open.is_empty() {
        clauses.push(undecided(decision, leader, &open));
    }
    if !equal.is_empty() {
        clauses.push(equals(decision, leader, &equal, is_short));
    }
    clauses.extend(leads(
        decision,
        &led,
        open.is_empty() && equal.is_empty(),
        is_short,
    ));
    if decision.is_merged {
        clauses.push("repeats were merged, in case noise outlasts one".to_owned());
    }
    if let Some(failures) = failures(decision, is_short) {
        let is_alone = open.is_empty() && equal.is_empty() && led.is_empty();
        let undecided = if is_alone { "Undecided: " } else { "" };
        clauses.push(format!("{undecided}{failures}"));
    }
    let text = clauses.join("; ");
    format!("{text}.{}", disturbed(decision))
}

/// The verdict before a repeat counts, or if every contender failed.
fn without_leader(decision: &RankingDecision, is_short: bool) -> String {
    let failures = failures(decision, is_short);
    let reason = failures.unwrap_or_else(|| "no repeat counts so far".to_owned());
    format!("Undecided: {reason}.{}", disturbed(decision))
}

/// Whose trials failed.
fn failures(decision: &RankingDecision, is_short: bool) -> Option<String> {
    let names = names(decision.of_kind(StandingKind::Failed));
    (!names.is_empty()).then(|| format!("trials of {} failed", listed_by(is_short)(&names)))
}

fn names<'a>(contenders: impl IntoIterator<Item = &'a DecidedContender>) -> Vec<&'a str> {
    let names = contenders.into_iter().map(|it| it.contender.as_str());
    names.collect()
}

/// The sentence on repeats that do not count; nothing if all do.
fn disturbed(decision: &RankingDecision) -> String {
    let count = decision.disturbed_repeats;
    if count == 0 {
        return String::new();
    }
    format!(
        " Not counted: {}, in which other programs and the hypervisor used more than {:.0} % of \
         the processors.",
        repeats(count),
        MAX_SHARE * 100.0
    )
}

/// Who is behind, the nearest with its distance: all, if they are the whole verdict.
fn leads(
    decision: &RankingDecision,
    led: &[&DecidedContender],
    is_whole: bool,
    is_short: bool,
) -> Option<String> {
    let (nearest, others) = led.split_first()?;
    if !is_whole {
        let names = names(led.iter().copied());
        let are = if names.len() == 1 { "is" } else { "are" };
        return Some(format!("{} {are} slower", listed_by(is_short)(&names)));
    }
    let mut text = lead(decision, nearest);
    match others {
        [] => {}
        [one] => text += &format!("; {} is slower, too", one.contender),
        several if is_short => text += &format!("; {} others are slower, too", several.len()),
        several => {
            let names = names(several.iter().copied());
            text += &format!("; {} are slower, too", all_listed(&names));
        }
    }
    Some(text)
}

/// `leveldb leads rocksdb by 7-13 % (10 repeats, 20 s)`, and whether that makes them equal.
fn lead(decision: &RankingDecision, behind: &DecidedContender) -> String {
    let leader = behind.against.as_deref().unwrap_or_default();
    let name = &behind.contender;
    let Some(ratio) = behind.ratio else {
        return format!("{leader} leads {name}");
    };
    let within = decision.equal_within;
    let equal = if ratio.high < 1.0 + within.part() {
        format!(", so they are equal within {within}")
    } else {
        String::new()
    };
    format!(
        "{leader} leads {name} by {}{equal} ({})",
        distance(ratio),
        effort(behind)
    )
}

fn equals(
    decision: &RankingDecision,
    leader: &DecidedContender,
    equal: &[&DecidedContender],
    is_short: bool,
) -> String {
    let within = decision.equal_within;
    let leader = &leader.contender;
    match equal {
        [one] => format!(
            "{leader} and {} are equal within {within} ({}{})",
            one.contender,
            ratio_text(one).map_or_else(String::new, |ratio| format!("{ratio}; ")),
            effort(one)
        ),
        // Each to the leader: two of them may differ by more.
        _ => format!(
            "{} are equal to {leader} within {within} ({})",
            listed_by(is_short)(&names(equal.iter().copied())),
            effort(equal[0])
        ),
    }
}

fn undecided(
    decision: &RankingDecision,
    leader: &DecidedContender,
    open: &[&DecidedContender],
) -> String {
    let state = match (decision.next_look, decision.search_end) {
        (None, _) => format!("after {}", repeats(decision.repeats)),
        (Some(_), Some(SearchEnd::TimeUp)) => "at the time limit".to_owned(),
        (Some(_), Some(SearchEnd::TrialLimit)) => {
            format!("at the limit of {MAX_TRIALS} trials of a run")
        }
        (Some(_), _) => format!("after {} so far", repeats(decision.repeats)),
    };
    let mut ratios: Vec<_> = open.iter().filter_map(|it| ratio_text(it)).collect();
    if ratios.is_empty() {
        let names = names(std::iter::once(leader).chain(open.iter().copied()));
        return format!("Undecided {state}: too few repeats of {}", listed(&names));
    }
    ratios.truncate(MAX_OPEN);
    let more = open.len() - ratios.len();
    let and_more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let time = match decision.more_s() {
        Some(more_s) => format!("; about {} more might decide", seconds(more_s)),
        None if decision.next_look.is_some() && !decision.may_be_decided() => {
            "; not even the most repeats that a run may have are likely to decide".to_owned()
        }
        None => String::new(),
    };
    format!("Undecided {state}: {}{and_more}{time}", ratios.join(", "))
}

/// `A/B 0.97 to 1.09`; `None` if the repeats are too few to tell.
fn ratio_text(one: &DecidedContender) -> Option<String> {
    let ratio = one.ratio.filter(|ratio| !ratio.is_boundless())?;
    Some(format!(
        "{}/{} {:.2} to {:.2}",
        one.against.as_deref()?,
        one.contender,
        ratio.low,
        ratio.high
    ))
}

/// How far the faster one is ahead: `7-13 %`, `up to 4 %`, or where that is long or wide `a factor
/// of 2.1 to 2.4`.
fn distance(ratio: Interval) -> String {
    if ratio.is_boundless() {
        return format!("a factor of {:.1} or more", ratio.low);
    }
    if ratio.low > MAX_PERCENT_LOW || ratio.high > MAX_PERCENT_HIGH {
        return format!("a factor of {:.1} to {:.1}", ratio.low, ratio.high);
    }
    let [low, high] = [ratio.low, ratio.high].map(|end| (end - 1.0) * 100.0);
    let decimals = usize::from(high < 10.0 && high - low < 2.0);
    if high < 0.1 {
        "less than 0.1 %".to_owned()
    } else if low < 1.0 {
        format!("up to {high:.decimals$} %")
    } else {
        format!("{low:.decimals$}-{high:.decimals$} %")
    }
}

/// `10 repeats, 20 s`: the measured time of each contender.
fn effort(of: &DecidedContender) -> String {
    format!("{}, {}", repeats(of.repeats), seconds(of.measured_s))
}

fn repeats(count: u32) -> String {
    counted(u64::from(count), "repeat")
}

/// A time for people: `0.8 s`, `20 s`, `3 min`.
pub(crate) fn seconds(time_s: f64) -> String {
    if time_s < 10.0 {
        format!("{time_s:.1} s")
    } else if time_s < 120.0 {
        format!("{time_s:.0} s")
    } else {
        format!("{:.0} min", (time_s / 60.0).ceil())
    }
}

fn listed_by(is_short: bool) -> fn(&[&str]) -> String {
    if is_short { listed } else { all_listed }
}

/// A line for each ranking that is decided, with its place: `sync: leveldb leads rocksdb by 7-13 %
/// (10 repeats, 20 s)`.
#[must_use]
pub fn decided_lines(rankings: &[RankingAnswer]) -> Vec<(usize, String)> {
    let line = |ranking: &RankingAnswer| {
        let decision = ranking.decision.as_ref().filter(|it| it.is_decided)?;
        let subject = super::standings::named(ranking, rankings);
        let verdict = verdict(decision, true);
        let verdict = verdict.trim_end_matches('.');
        Some((ranking.subject.index, format!("{subject}: {verdict}")))
    };
    rankings.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::search::EqualityMargin;

    fn contender(name: &str, kind: StandingKind, ratio: Option<(f64, f64)>) -> DecidedContender {
        DecidedContender {
            cell: 0,
            contender: name.to_owned(),
            kind,
            against: ratio.map(|_| "lmdb".to_owned()),
            ratio: ratio.map(|(low, high)| Interval {
                estimate: (low * high).sqrt(),
                low,
                high,
                level: 0.95,
            }),
            of_leader: None,
            repeats: 10,
            measured_s: 20.4,
            more_s: (kind == StandingKind::Open).then_some(88.0),
            runs_on: false,
        }
    }

    fn said(next_look: Option<u32>, end: Option<SearchEnd>, behind: &[DecidedContender]) -> String {
        let mut contenders = vec![contender("lmdb", StandingKind::Leader, None)];
        contenders.extend(behind.iter().cloned());
        let decision = RankingDecision {
            equal_within: EqualityMargin::default(),
            repeats: 10,
            disturbed_repeats: 0,
            next_look,
            is_decided: true,
            is_merged: false,
            search_end: end,
            contenders,
        };
        verdict(&decision, true)
    }

    #[test]
    fn repeats_that_do_not_count_are_told_and_before_one_counts_nobody_has_failed() {
        let decision = |kind, disturbed_repeats| RankingDecision {
            equal_within: EqualityMargin::default(),
            repeats: 0,
            disturbed_repeats,
            next_look: Some(4),
            is_decided: false,
            is_merged: false,
            search_end: None,
            contenders: vec![contender("lmdb", kind, None)],
        };
        assert_eq!(
            verdict(&decision(StandingKind::Open, 2), true),
            "Undecided: no repeat counts so far. Not counted: 2 repeats, in which other programs \
             and the hypervisor used more than 10 % of the processors."
        );
        assert_eq!(
            verdict(&decision(StandingKind::Failed, 0), true),
            "Undecided: trials of lmdb failed."
        );
    }

    #[test]
    fn a_lead_is_told_with_its_interval_and_what_it_took() {
        let led = |low, high| contender("redb", StandingKind::Led, Some((low, high)));
        assert_eq!(
            said(None, None, &[led(1.07, 1.13)]),
            "lmdb leads redb by 7-13 % (10 repeats, 20 s)."
        );
        assert_eq!(
            said(None, None, &[led(1.01, 1.04)]),
            "lmdb leads redb by 1-4 %, so they are equal within 5 % (10 repeats, 20 s)."
        );
        assert_eq!(
            said(None, None, &[led(2.11, 2.4), led(3.0, 4.0)]),
            "lmdb leads redb by a factor of 2.1 to 2.4 (10 repeats, 20 s); redb is slower, too."
        );
        for (low, high, distance) in [
            (1.013, 1.019, "by 1.3-1.9 %, so"),
            (1.000_1, 1.000_3, "by less than 0.1 %, so"),
            (1.002, 1.013, "by up to 1.3 %, so"),
            (1.009, 1.13, "by up to 13 % "),
            (1.3, 2.9, "by 30-190 % "),
            (1.3, 3.4, "by a factor of 1.3 to 3.4 "),
            (1.3, 1e5, "by a factor of 1.3 or more "),
        ] {
            let text = said(None, None, &[led(low, high)]);
            assert!(text.contains(distance), "{text}");
        }
    }

    #[test]
    fn failed_contenders_are_named_and_without_others_nothing_is_decided() {
        let failed = contender("sqlite", StandingKind::Failed, None);
        let led = contender("redb", StandingKind::Led, Some((1.07, 1.13)));
        assert_eq!(
            said(None, None, std::slice::from_ref(&failed)),
            "Undecided: trials of sqlite failed."
        );
        assert_eq!(
            said(None, None, &[led, failed]),
            "lmdb leads redb by 7-13 % (10 repeats, 20 s); trials of sqlite failed."
        );
    }

    #[test]
    fn equals_and_what_is_open_have_their_ratio() {
        let of = |kind| contender("redb", kind, Some((0.98, 1.03)));
        assert_eq!(
            said(None, None, &[of(StandingKind::Equal)]),
            "lmdb and redb are equal within 5 % (lmdb/redb 0.98 to 1.03; 10 repeats, 20 s)."
        );
        let sqlite = contender("sqlite", StandingKind::Equal, Some((0.97, 1.04)));
        assert_eq!(
            said(None, None, &[of(StandingKind::Equal), sqlite]),
            "redb and sqlite are equal to lmdb within 5 % (10 repeats, 20 s)."
        );
        let open = of(StandingKind::Open);
        assert_eq!(
            said(
                Some(12),
                Some(SearchEnd::TimeUp),
                std::slice::from_ref(&open)
            ),
            "Undecided at the time limit: lmdb/redb 0.98 to 1.03; about 88 s more might decide."
        );
        let never = DecidedContender {
            more_s: None,
            ..open
        };
        assert_eq!(
            said(
                None,
                Some(SearchEnd::NothingLeft),
                std::slice::from_ref(&never)
            ),
            "Undecided after 10 repeats: lmdb/redb 0.98 to 1.03."
        );
        assert_eq!(
            said(Some(12), Some(SearchEnd::TimeUp), &[never]),
            "Undecided at the time limit: lmdb/redb 0.98 to 1.03; not even the most repeats that \
             a run may have are likely to decide."
        );
        let boundless = contender("redb", StandingKind::Open, Some((0.01, 100.0)));
        assert_eq!(
            said(Some(12), None, &[boundless]),
            "Undecided after 10 repeats so far: too few repeats of lmdb and redb."
        );
        let early = contender("redb", StandingKind::Open, None);
        assert_eq!(
            said(Some(4), None, &[early]),
            "Undecided after 10 repeats so far: too few repeats of lmdb and redb."
        );
    }
}
