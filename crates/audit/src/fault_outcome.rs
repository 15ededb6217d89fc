//! The outcome of a storage fault: from what was seen, and from nothing else.

use trueput_record::audit::DamageKind;
use trueput_record::fault_record::{FaultOutcome, FaultTrial, WorkloadEnd};

/// Decides the outcome of a trial by what was seen in it: the worst that happened. `is_lie` says
/// whether the fault is a flush that is acknowledged and not done.
pub(crate) fn decide(seen: &FaultTrial, is_lie: bool) -> FaultOutcome {
    if seen.injected == 0 {
        // Whatever went wrong, the fault did not do it.
        return if is_undisturbed(seen) {
            FaultOutcome::NotTriggered
        } else {
            FaultOutcome::NotRun
        };
    }
    if is_lie && !seen.damage.is_empty() {
        return FaultOutcome::LostByDevice;
    }
    // Who is told nothing after a commit knows that something is wrong, too.
    let is_reported = !seen.errors.is_empty() || seen.end.is_some();
    let damage = seen.damage.iter();
    let damage = damage.map(|damage| of_damage(damage.kind, is_reported));
    let end = seen.end.iter().map(|end| match end {
        WorkloadEnd::Crashed(_) => FaultOutcome::Crashed,
        WorkloadEnd::Hung(_) => FaultOutcome::Hung,
    });
    let otherwise = if is_reported {
        FaultOutcome::Reported
    } else {
        FaultOutcome::Harmless
    };
    damage.chain(end).max().unwrap_or(otherwise)
}

/// Returns whether nothing went wrong.
fn is_undisturbed(seen: &FaultTrial) -> bool {
    seen.errors.is_empty() && seen.damage.is_empty() && seen.end.is_none()
}

fn of_damage(kind: DamageKind, is_reported: bool) -> FaultOutcome {
    match kind {
        // Nothing could be verified: it is not known that nothing is lost.
        DamageKind::Hang
        | DamageKind::Crash
        | DamageKind::FileSystemLost
        | DamageKind::Unopenable
        | DamageKind::Unreadable
        | DamageKind::Unwritable => FaultOutcome::RefusesToOpen,
        DamageKind::CommitMissing | DamageKind::WindowExceeded | DamageKind::OrderBroken
            if is_reported =>
        {
            FaultOutcome::ReportedLoss
        }
        DamageKind::CommitMissing | DamageKind::WindowExceeded | DamageKind::OrderBroken => {
            FaultOutcome::SilentLoss
        }
        DamageKind::TornValue
        | DamageKind::HiddenCommit
        | DamageKind::PartialTransaction
        | DamageKind::DamagedLater
        | DamageKind::CheckFailed => FaultOutcome::WrongData,
    }
}

/// Describes what went wrong in a trial to which no fault came; `None` if nothing did.
pub(crate) fn describe_trouble(seen: &FaultTrial) -> Option<String> {
    let error = seen.errors.first();
    let error = error.map(|error| format!("{}: {}", error.during, error.text));
    let end = || seen.end.as_ref().map(|end| end.words().to_owned());
    let damage = || seen.damage.first().map(ToString::to_string);
    error.or_else(end).or_else(damage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::audit::Damage;
    use trueput_record::fault_record::{FaultCourse, ReportedError};

    /// A trial to which a fault came, and in which nothing else happened.
    fn trial() -> FaultTrial {
        FaultTrial {
            course: FaultCourse::Kill,
            outcome: FaultOutcome::NotRun,
            errors: Vec::new(),
            damage: Vec::new(),
            end: None,
            acknowledged: 9,
            injected: 1,
            first_injected: None,
        }
    }

    fn reported() -> FaultTrial {
        let error = ReportedError {
            during: "commit".to_owned(),
            text: "disk I/O error".to_owned(),
            count: 1,
        };
        FaultTrial {
            errors: vec![error],
            ..trial()
        }
    }

    fn damaged(kinds: &[DamageKind], seen: FaultTrial) -> FaultTrial {
        let damage = kinds.iter().map(|kind| Damage {
            kind: *kind,
            detail: "x".to_owned(),
        });
        FaultTrial {
            damage: damage.collect(),
            ..seen
        }
    }

    fn decided(seen: &FaultTrial) -> FaultOutcome {
        decide(seen, false)
    }

    #[test]
    fn without_damage_the_outcome_is_what_the_engine_reported() {
        assert_eq!(decided(&trial()), FaultOutcome::Harmless);
        assert_eq!(decided(&reported()), FaultOutcome::Reported);
        // A lie that nobody notices is harmless, too: all of it had been flushed before.
        assert_eq!(decide(&trial(), true), FaultOutcome::Harmless);
    }

    #[test]
    fn a_loss_is_silent_unless_something_was_reported() {
        use DamageKind::{CommitMissing, OrderBroken, WindowExceeded};
        for kind in [CommitMissing, OrderBroken, WindowExceeded] {
            let outcome = decided(&damaged(&[kind], trial()));
            assert_eq!(outcome, FaultOutcome::SilentLoss);
            let outcome = decided(&damaged(&[kind], reported()));
            assert_eq!(outcome, FaultOutcome::ReportedLoss);
        }
        let crashed = FaultTrial {
            end: Some(WorkloadEnd::Crashed("abort".to_owned())),
            ..damaged(&[CommitMissing], trial())
        };
        assert_eq!(decided(&crashed), FaultOutcome::ReportedLoss);
    }

    #[test]
    fn data_that_nobody_wrote_are_wrong_whatever_was_reported() {
        use DamageKind::{CheckFailed, DamagedLater, HiddenCommit, PartialTransaction, TornValue};
        for kind in [
            TornValue,
            HiddenCommit,
            PartialTransaction,
            DamagedLater,
            CheckFailed,
        ] {
            for seen in [trial(), reported()] {
                assert_eq!(decided(&damaged(&[kind], seen)), FaultOutcome::WrongData);
            }
        }
        let both = damaged(&[DamageKind::CommitMissing, TornValue], reported());
        assert_eq!(decided(&both), FaultOutcome::WrongData);
    }

    #[test]
    fn a_database_that_cannot_be_used_refuses() {
        use DamageKind::{Crash, FileSystemLost, Hang, Unopenable, Unreadable, Unwritable};
        let kinds = [
            Crash,
            FileSystemLost,
            Hang,
            Unopenable,
            Unreadable,
            Unwritable,
        ];
        for kind in kinds {
            let outcome = decided(&damaged(&[kind], reported()));
            assert_eq!(outcome, FaultOutcome::RefusesToOpen);
        }
    }

    #[test]
    fn a_crash_or_a_hang_under_the_fault_loses_nothing() {
        let ended = |end: WorkloadEnd| {
            decided(&FaultTrial {
                end: Some(end),
                ..reported()
            })
        };
        let words = || "x".to_owned();
        assert_eq!(ended(WorkloadEnd::Crashed(words())), FaultOutcome::Crashed);
        assert_eq!(ended(WorkloadEnd::Hung(words())), FaultOutcome::Hung);
    }

    #[test]
    fn a_device_that_lies_is_to_blame_for_any_damage() {
        for kind in [DamageKind::CommitMissing, DamageKind::Unopenable] {
            let outcome = decide(&damaged(&[kind], trial()), true);
            assert_eq!(outcome, FaultOutcome::LostByDevice);
        }
    }

    #[test]
    fn a_fault_that_never_came_did_nothing() {
        let untouched = |seen| FaultTrial {
            injected: 0,
            ..seen
        };
        assert_eq!(decided(&untouched(trial())), FaultOutcome::NotTriggered);
        assert_eq!(describe_trouble(&untouched(trial())), None);
        assert_eq!(decided(&untouched(reported())), FaultOutcome::NotRun);
        let words = describe_trouble(&reported()).unwrap();
        assert_eq!(words, "commit: disk I/O error");
        let lost = untouched(damaged(&[DamageKind::CommitMissing], trial()));
        assert_eq!(decided(&lost), FaultOutcome::NotRun);
    }
}
