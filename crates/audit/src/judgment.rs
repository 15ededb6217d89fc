//! The judgment of a state: what a level promises, against what an inspection found.

use crate::guarantee::Guarantee;
use crate::history::{AcknowledgedCommits, Commit, broken_order};
use crate::worker::Inspection;
use std::fmt;
use trueput_record::Survival;
use trueput_record::audit::{Damage, DamageKind};

/// Returns the damage of a state in which `demand` was acknowledged, if it breaks the guarantee.
pub(crate) fn judge(
    inspection: &Inspection,
    commits: &[Vec<Commit>],
    demand: &AcknowledgedCommits,
    guarantee: Guarantee,
) -> Option<Damage> {
    let survival = guarantee.survival;
    if survival == Survival::Nothing {
        return None;
    }
    // What is missing says more than what follows from it.
    if let Some(damage) = &inspection.damage {
        return Some(damage.clone());
    }
    if survival == Survival::EveryCommit
        && let Some(damage) = missing_commit(inspection, demand)
    {
        return Some(damage);
    }
    broken_prefix(inspection, commits)
        .or_else(|| exceeded_window(inspection, demand, guarantee.window_commits?))
}

fn broken_prefix(inspection: &Inspection, commits: &[Vec<Commit>]) -> Option<Damage> {
    let ((missing_worker, missing), (worker, there)) = broken_order(commits, &inspection.found)?;
    Some(Damage {
        kind: DamageKind::OrderBroken,
        detail: format!(
            "commit {missing} of worker {missing_worker} was acknowledged before commit {there} \
             of worker {worker} began; only the later one is there"
        ),
    })
}

fn missing_commit(inspection: &Inspection, demand: &AcknowledgedCommits) -> Option<Damage> {
    let first = missing_commits(inspection, demand).next()?;
    Some(Damage {
        kind: DamageKind::CommitMissing,
        detail: first.to_string(),
    })
}

fn exceeded_window(
    inspection: &Inspection,
    demand: &AcknowledgedCommits,
    window: u64,
) -> Option<Damage> {
    let missing: Vec<MissingCommits> = missing_commits(inspection, demand).collect();
    let count: u64 = missing.iter().map(MissingCommits::count).sum();
    if count <= window {
        return None;
    }
    let listed: Vec<String> = missing.iter().map(MissingCommits::to_string).collect();
    let listed = listed.join(", ");
    Some(Damage {
        kind: DamageKind::WindowExceeded,
        detail: format!("{count} are missing, at most {window} may be: {listed}"),
    })
}

/// The commits of a worker that were acknowledged and are missing, by the number of the first and
/// the last one.
struct MissingCommits {
    worker: usize,
    first: u64,
    last: u64,
}

impl MissingCommits {
    fn count(&self) -> u64 {
        self.last - self.first + 1
    }
}

impl fmt::Display for MissingCommits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            worker,
            first,
            last,
        } = self;
        if first == last {
            write!(formatter, "commit {first} of worker {worker}")
        } else {
            write!(formatter, "commits {first} to {last} of worker {worker}")
        }
    }
}

fn missing_commits(
    inspection: &Inspection,
    demand: &AcknowledgedCommits,
) -> impl Iterator<Item = MissingCommits> {
    let workers = inspection.found.iter().zip(&demand.acknowledged);
    workers
        .enumerate()
        .filter(|(_, (found, acknowledged))| found < acknowledged)
        .map(|(worker, (&found, &last))| MissingCommits {
            worker,
            first: found + 1,
            last,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOGETHER: Commit = Commit {
        begun: 1,
        acknowledged: Some(2),
        operation: 0,
    };

    fn judged(found: [u64; 2], survival: Survival, window_commits: Option<u64>) -> Option<Damage> {
        let inspection = Inspection {
            found: found.to_vec(),
            damage: None,
            close_error: None,
        };
        let demand = AcknowledgedCommits {
            acknowledged: vec![4, 7],
        };
        let commits = [vec![TOGETHER; 4], vec![TOGETHER; 7]];
        let guarantee = Guarantee {
            survival,
            window_commits,
        };
        judge(&inspection, &commits, &demand, guarantee)
    }

    #[test]
    fn a_window_limits_the_missing_commits_of_all_workers_together() {
        let prefix = Survival::ConsistentPrefix;
        assert_eq!(judged([4, 7], prefix, Some(0)), None);
        assert_eq!(judged([3, 5], prefix, Some(3)), None);
        let damage = judged([3, 5], prefix, Some(2)).unwrap();
        assert_eq!(damage.kind, DamageKind::WindowExceeded);
        let expected = "3 are missing, at most 2 may be: commit 4 of worker 0, commits 6 to 7 of \
                        worker 1";
        assert_eq!(damage.detail, expected);
        // A commit that was not acknowledged may be there.
        assert_eq!(judged([5, 6], prefix, Some(1)), None);
    }

    #[test]
    fn without_a_window_any_prefix_is_accepted() {
        assert_eq!(judged([0, 0], Survival::ConsistentPrefix, None), None);
    }

    #[test]
    fn a_level_that_keeps_every_commit_has_no_window() {
        let damage = judged([4, 6], Survival::EveryCommit, Some(1)).unwrap();
        assert_eq!(damage.kind, DamageKind::CommitMissing);
        assert_eq!(judged([0, 0], Survival::Nothing, Some(1)), None);
    }
}
