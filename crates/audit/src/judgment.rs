//! The judgment of a state: what a level promises, against what an inspection found.

use crate::history::{Commit, Demand, broken_order};
use crate::worker::Inspection;
use trueput_record::Survival;
use trueput_record::audit::{Damage, DamageKind};

/// Returns the damage of a state in which `demand` was acknowledged, if the level promises
/// `survival`.
pub(crate) fn judge(
    inspection: &Inspection,
    commits: &[Vec<Commit>],
    demand: &Demand,
    survival: Survival,
) -> Option<Damage> {
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
    let ((missing_worker, missing), (worker, there)) = broken_order(commits, &inspection.found)?;
    Some(Damage {
        kind: DamageKind::OrderBroken,
        detail: format!(
            "commit {missing} of worker {missing_worker} was acknowledged before commit {there} \
             of worker {worker} began; only the later one is there"
        ),
    })
}

fn missing_commit(inspection: &Inspection, demand: &Demand) -> Option<Damage> {
    let workers = inspection.found.iter().zip(&demand.acknowledged);
    let (worker, (found, acknowledged)) = workers
        .enumerate()
        .find(|(_, (found, acknowledged))| found < acknowledged)?;
    let first = found + 1;
    Some(Damage {
        kind: DamageKind::CommitMissing,
        detail: match first == *acknowledged {
            true => format!("commit {first} of worker {worker}"),
            false => format!("commits {first} to {acknowledged} of worker {worker}"),
        },
    })
}
