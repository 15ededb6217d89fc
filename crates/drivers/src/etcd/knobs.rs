//! The knobs of a cluster of etcd's nodes, and what a commit there survives.

use super::NAME;
use trueput_engine::{
    ClusterSurvival, Durability, Error, Parameter, ParameterValues, Result, choices, parameters,
};

parameters! {
    /// The knobs: those of sessions first.
    pub(super) struct EtcdKnobs {
        /// What a transaction's first read asks. linearizable: the leader makes sure of its
        /// majority, so the read sees every commit that was acknowledged. serializable: the node
        /// answers from what it has.
        reads: Choice<Reads> = Linearizable,
            cost "serializable: a read can miss the latest commits after a change of the leader",
        /// Time after which a call without an answer counts as a lost connection.
        request_timeout: Integer = 10_000 in 100..=600_000, unit "ms",
            cost "shorter: a slow answer is taken for a lost one",
        /// Number of nodes.
        nodes: Choice = "3" of ["1", "3", "5"], unit "nodes",
            cost "more: memory and CPU time. 1: no node takes its place when it fails",
        /// Interval at which the leader says that it is there.
        heartbeat_interval as "heartbeat-interval": Integer = 100 in 1..=60_000, unit "ms",
            cost "shorter: CPU time",
        /// Time without a heartbeat after which a node wants to lead: five times the interval or
        /// more.
        election_timeout as "election-timeout": Integer = 1000 in 10..=50_000, unit "ms",
            cost "shorter: a slow leader is taken for a dead one",
        /// Whether a node asks before an election whether it can win it.
        pre_vote as "pre-vote": Boolean = false,
        /// Commits after which a node writes a snapshot and cuts its log.
        snapshot_count as "snapshot-count": Integer = 100_000 in 100..=100_000_000,
            unit "commits",
            cost "more: memory, and a longer restart. Fewer: more is written",
        /// Longest time before a node writes applied commits to its store; its log has them.
        backend_batch_interval as "backend-batch-interval": Integer = 100 in 1..=60_000,
            unit "ms",
            cost "longer: a longer restart",
        /// Most operations before it does so.
        backend_batch_limit as "backend-batch-limit": Integer = 10_000 in 1..=10_000_000,
            unit "operations",
            cost "more: a longer restart",
        /// Most operations of a transaction. etcd's own default is 128.
        max_txn_ops as "max-txn-ops": Integer = 100_000 in 1..=10_000_000, unit "operations",
            cost "fewer: larger transactions are refused",
        /// Largest request, and so the largest transaction. etcd's own default is 1.5 MiB.
        max_request_bytes as "max-request-bytes": Bytes = 10 MiB in 64 KiB..=512 MiB,
            cost "smaller: larger transactions are refused",
        /// Size of the store from which on writes are refused. etcd's own default is 2 GiB.
        quota_backend_bytes as "quota-backend-bytes": Bytes = 8 GiB in 64 MiB..=1 TiB,
            cost "larger: memory and disk space",
        /// Time for which versions of records are kept; then they are removed (mode periodic). A
        /// transaction that reads older ones gets a conflict. etcd's own default keeps them all.
        auto_compaction_retention as "auto-compaction-retention":
            Integer = 60 in 10..=86_400, unit "s",
            cost "longer: disk space, until the quota is reached",
        /// Delay of every packet between the nodes, one way. Needs root.
        network_delay: Integer = 0 in 0..=10_000_000, unit "us",
        /// Part of the packets between the nodes that is lost. Needs root.
        network_loss: Fraction = 0.0 in 0.0..=0.5,
    }
}

choices! {
    /// What a transaction's first read asks.
    pub(super) enum Reads {
        Linearizable = "linearizable",
        Serializable = "serializable",
    }
}

/// The knobs that a user's cluster has too: those of its sessions.
pub(super) const OF_A_SESSION: &[Parameter] = EtcdKnobs::PARAMETERS.split_at(2).0;

/// Returns the number of nodes.
pub(super) fn node_count(knobs: &EtcdKnobs) -> u32 {
    // The choices are numbers.
    knobs.nodes.parse().unwrap_or(1)
}

/// Checks that the engine has a level of durability with these knobs.
///
/// # Errors
/// [`Error::Unsupported`], if not.
pub(super) fn check(durability: Durability, values: &ParameterValues) -> Result<()> {
    if !matches!(durability, Durability::Sync | Durability::Process) {
        return Err(Error::no_durability(NAME, durability));
    }
    let knobs = EtcdKnobs::from(values);
    let (heartbeat, election) = (knobs.heartbeat_interval, knobs.election_timeout);
    if election < 5 * heartbeat {
        return Err(Error::Unsupported(format!(
            "{NAME}.election-timeout: {election} ms are less than five times heartbeat-interval \
             ({heartbeat} ms)"
        )));
    }
    Ok(())
}

/// Returns what a commit survives: a majority of the nodes has it in their logs.
pub(super) fn survival(durability: Durability, nodes: u32) -> ClusterSurvival {
    let is_replicated = nodes > 1;
    let is_flushed = durability == Durability::Sync;
    ClusterSurvival {
        process: is_replicated,
        machine: is_replicated,
        majority_power: is_flushed,
        all_power: is_flushed,
    }
}

/// Returns the options of a node's server for the knobs and a level.
pub(super) fn options(knobs: &EtcdKnobs, durability: Durability) -> Vec<String> {
    let mut options: Vec<String> = [
        ("heartbeat-interval", knobs.heartbeat_interval.to_string()),
        ("election-timeout", knobs.election_timeout.to_string()),
        ("pre-vote", knobs.pre_vote.to_string()),
        ("snapshot-count", knobs.snapshot_count.to_string()),
        (
            "backend-batch-interval",
            format!("{}ms", knobs.backend_batch_interval),
        ),
        ("backend-batch-limit", knobs.backend_batch_limit.to_string()),
        ("max-txn-ops", knobs.max_txn_ops.to_string()),
        ("max-request-bytes", knobs.max_request_bytes.to_string()),
        ("quota-backend-bytes", knobs.quota_backend_bytes.to_string()),
        ("auto-compaction-mode", "periodic".to_owned()),
        (
            "auto-compaction-retention",
            format!("{}s", knobs.auto_compaction_retention),
        ),
    ]
    .iter()
    .map(|(name, value)| format!("--{name}={value}"))
    .collect();
    if durability == Durability::Process {
        options.push("--unsafe-no-fsync".to_owned());
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trueput_engine::{Value, parameter};

    fn values(given: &[(&str, Value)]) -> ParameterValues {
        let given: BTreeMap<_, _> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        parameter::resolve(NAME, EtcdKnobs::PARAMETERS, &given).unwrap()
    }

    #[test]
    fn a_user_sets_on_his_own_cluster_what_is_of_a_session() {
        let names: Vec<_> = OF_A_SESSION.iter().map(|knob| knob.name).collect();
        assert_eq!(names, ["reads", "request_timeout"]);
    }

    #[test]
    fn a_commit_survives_a_node_if_others_have_it_and_power_if_they_flushed_it() {
        let names = |durability, nodes| survival(durability, nodes).to_string();
        let all = "one process, one machine, a majority's power, all power";
        assert_eq!(names(Durability::Sync, 3), all);
        assert_eq!(names(Durability::Process, 3), "one process, one machine");
        assert_eq!(names(Durability::Sync, 1), "a majority's power, all power");
    }

    #[test]
    fn levels_and_knobs_that_cannot_be_are_refused() {
        let default = values(&[]);
        assert!(check(Durability::Sync, &default).is_ok());
        assert!(check(Durability::Process, &default).is_ok());
        assert!(check(Durability::Buffered, &default).is_err());
        let slow = values(&[("heartbeat-interval", Value::Integer(500))]);
        let reason = check(Durability::Sync, &slow).unwrap_err().to_string();
        assert!(reason.contains("five times"), "{reason}");
    }

    #[test]
    fn only_the_level_process_leaves_flushes_out() {
        let knobs = EtcdKnobs::from(&values(&[]));
        let has = |durability| {
            let options = options(&knobs, durability);
            options.iter().any(|option| option == "--unsafe-no-fsync")
        };
        assert!(has(Durability::Process) && !has(Durability::Sync));
    }
}
