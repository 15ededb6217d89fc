//! The knobs of a cluster, and what a commit there survives.

use super::knobs::{PostgresqlKnobs, WalLevel, WalSettings};
use std::sync::LazyLock;
use trueput_engine::cluster::node_name;
use trueput_engine::{
    ClusterSurvival, Durability, Error, Parameter, ParameterValues, Result, choices, parameters,
};

parameters! {
    /// The knobs of a cluster, beside those of its servers.
    pub(super) struct ClusterKnobs {
        /// Number of servers: one leads, the others follow.
        nodes: Integer<u32> = 3 in 3..=9, unit "servers", cost "more: memory and CPU time",
        /// What a commit waits for (synchronous_commit). local: the leader's flush. remote-write:
        /// besides, followers have written the commit. on: they have flushed it. remote-apply: they
        /// show it to readers. by-level: on; at 'buffered' it is off, which waits for nothing.
        cluster_commit: Choice<ClusterCommit> = ByLevel,
            cost "local: commits that no follower has are lost with the leader. remote-write: \
                a power cut of several nodes loses what is not flushed",
        /// Number of followers that a commit waits for, the fastest ones (ANY of
        /// synchronous_standby_names).
        synchronous_standbys: Integer<u32> = 1 in 1..=8, unit "servers",
            cost "more: the time of a commit, and no commits once too few followers are left",
        /// Time without an answer of the leader after which a follower is promoted.
        failover_after: Integer = 5000 in 500..=600_000, unit "ms",
            cost "shorter: a slow leader is taken for a dead one",
        /// Delay of every packet between the nodes, one way. Needs root.
        network_delay: Integer = 0 in 0..=10_000_000, unit "us",
        /// Part of the packets between the nodes that is lost. Needs root.
        network_loss: Fraction = 0.0 in 0.0..=0.5,
    }
}

choices! {
    /// What a commit waits for.
    pub(super) enum ClusterCommit {
        ByLevel = "by-level",
        Local = "local",
        RemoteWrite = "remote-write",
        On = "on",
        RemoteApply = "remote-apply",
    }
}

/// The engine's name.
pub(super) const NAME: &str = "postgresql-cluster";

/// Every knob, the cluster's first. The log has no folder of its own: a node's is in the node's.
pub(super) static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let of_servers = PostgresqlKnobs::PARAMETERS.iter();
    let of_servers = of_servers.filter(|knob| knob.name != "log_directory");
    ClusterKnobs::PARAMETERS
        .iter()
        .chain(of_servers)
        .copied()
        .collect()
});

/// What a commit of a cluster waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommitWait {
    /// The value of synchronous_commit in sessions.
    pub synchronous_commit: &'static str,
    /// The number of followers in synchronous_standby_names.
    pub standbys: u32,
    nodes: u32,
    /// Whether servers flush.
    fsync: bool,
}

impl CommitWait {
    /// Returns that of a level with these knobs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for knobs that contradict each other or the level.
    pub fn of(values: &ParameterValues, durability: Durability) -> Result<Self> {
        let (knobs, of_servers) = (ClusterKnobs::from(values), PostgresqlKnobs::from(values));
        WalSettings::of_engine(NAME, &of_servers, durability)?;
        let refused = |reason: String| Err(Error::Unsupported(format!("{NAME}{reason}")));
        if of_servers.wal_level == WalLevel::Minimal {
            return refused(".wal_level: followers need 'replica' or 'logical'".to_owned());
        }
        let (standbys, nodes) = (knobs.synchronous_standbys, knobs.nodes);
        if standbys >= nodes {
            return refused(format!(
                ".synchronous_standbys: {nodes} nodes have {} followers, not {standbys}",
                nodes - 1
            ));
        }
        let synchronous_commit = match (durability, knobs.cluster_commit) {
            (Durability::Buffered, ClusterCommit::ByLevel) => "off",
            (Durability::Buffered, wait) => {
                return refused(format!(
                    ".cluster_commit: at 'buffered' a commit waits for nothing, so {wait} is not \
                     possible; leave it out, or use durability 'sync'"
                ));
            }
            (_, ClusterCommit::ByLevel | ClusterCommit::On) => "on",
            (_, ClusterCommit::Local) => "local",
            (_, ClusterCommit::RemoteWrite) => "remote_write",
            (_, ClusterCommit::RemoteApply) => "remote_apply",
        };
        let fsync = durability != Durability::Process;
        Ok(Self {
            synchronous_commit,
            standbys,
            nodes,
            fsync,
        })
    }

    /// Returns what a commit survives. A follower is promoted if a majority of the nodes is left
    /// and all of it follows, so a commit survives its leader if every such majority has a follower
    /// that the commit has waited for.
    pub fn survival(self) -> ClusterSurvival {
        let waits = ["remote_write", "on", "remote_apply"].contains(&self.synchronous_commit);
        let majority = self.nodes / 2 + 1;
        let is_replicated = waits && self.standbys + majority > self.nodes - 1;
        let is_flushed = self.fsync && self.synchronous_commit != "off";
        ClusterSurvival {
            process: is_replicated,
            machine: is_replicated,
            majority_power: is_replicated
                && is_flushed
                && self.synchronous_commit != "remote_write",
            all_power: is_flushed,
        }
    }

    /// Returns the value of synchronous_standby_names.
    pub fn standby_names(self) -> String {
        let names = (1..=self.nodes).map(|number| format!("\"{}\"", node_name(number)));
        let names: Vec<String> = names.collect();
        format!("ANY {} ({})", self.standbys, names.join(", "))
    }

    /// The settings as a promise puts them.
    pub fn text(self) -> String {
        let fsync = if self.fsync { "on" } else { "off" };
        let wait = self.synchronous_commit;
        let mut text = format!("fsync={fsync}, synchronous_commit={wait}");
        if !["off", "local"].contains(&wait) {
            text += &format!(
                ", synchronous_standby_names=ANY {} of {}",
                self.standbys,
                self.nodes - 1
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trueput_engine::{Value, parameter};

    fn wait(given: &[(&str, Value)], durability: Durability) -> Result<CommitWait> {
        let given: BTreeMap<_, _> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let values = parameter::resolve("postgresql-cluster", &PARAMETERS, &given).unwrap();
        CommitWait::of(&values, durability)
    }

    /// What survives, as a letter for each: process, machine, majority's power, all power.
    fn survives(given: &[(&str, Value)], durability: Durability) -> String {
        let survival = wait(given, durability).unwrap().survival();
        let all = [
            ('p', survival.process),
            ('m', survival.machine),
            ('j', survival.majority_power),
            ('a', survival.all_power),
        ];
        all.iter()
            .filter(|(_, yes)| *yes)
            .map(|(letter, _)| *letter)
            .collect()
    }

    fn commit(word: &str) -> (&'static str, Value) {
        ("cluster_commit", Value::from(word))
    }

    #[test]
    fn each_step_of_the_ladder_survives_what_its_followers_have() {
        let sync = Durability::Sync;
        assert_eq!(survives(&[], Durability::Buffered), "");
        assert_eq!(survives(&[commit("local")], sync), "a");
        assert_eq!(survives(&[commit("remote-write")], sync), "pma");
        assert_eq!(survives(&[commit("on")], sync), "pmja");
        assert_eq!(survives(&[commit("remote-apply")], sync), "pmja");
        assert_eq!(survives(&[], sync), "pmja");
        assert_eq!(survives(&[], Durability::Process), "pm");
    }

    #[test]
    fn of_five_nodes_a_majority_may_lack_the_only_follower_that_has_a_commit() {
        let five = ("nodes", Value::Integer(5));
        assert_eq!(survives(std::slice::from_ref(&five), Durability::Sync), "a");
        let two = ("synchronous_standbys", Value::Integer(2));
        assert_eq!(survives(&[five, two], Durability::Sync), "pmja");
    }

    #[test]
    fn two_nodes_are_refused_since_one_of_them_is_no_majority() {
        let given = BTreeMap::from([("nodes".to_owned(), Value::Integer(2))]);
        let refused = parameter::resolve(NAME, &PARAMETERS, &given).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("3 to 9"), "{refused}");
        let four = ("nodes", Value::Integer(4));
        assert_eq!(survives(&[four], Durability::Sync), "pmja");
    }

    #[test]
    fn knobs_that_contradict_each_other_are_refused() {
        let refusal =
            |given: &[(&str, Value)], durability| wait(given, durability).unwrap_err().to_string();
        let reason = refusal(&[commit("on")], Durability::Buffered);
        assert!(
            reason.contains("cluster_commit") && reason.contains("'sync'"),
            "{reason}"
        );
        let reason = refusal(
            &[("synchronous_standbys", Value::Integer(3))],
            Durability::Sync,
        );
        assert!(reason.contains("3 nodes have 2 followers"), "{reason}");
        let reason = refusal(&[("wal_level", Value::from("minimal"))], Durability::Sync);
        assert!(reason.contains("wal_level"), "{reason}");
    }
}
