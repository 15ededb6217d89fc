//! The knobs of a Galera cluster, and what a commit there survives.

use super::knobs::{IsolationLevel, MariaDbKnobs};
use super::settings;
use std::sync::LazyLock;
use std::time::Duration;
use trueput_engine::{
    ClusterSurvival, Durability, Error, Parameter, ParameterValues, Result, choices, parameters,
};

/// The engine's name.
pub(super) const NAME: &str = "galera";

parameters! {
    /// The knobs of a cluster, beside those of its servers.
    pub(super) struct GaleraKnobs {
        /// Number of servers.
        nodes: Choice = "3" of ["3", "5"], unit "servers", cost "more: memory and CPU time",
        /// Where sessions go. one: all to the same server, and to another one when it fails. all:
        /// each session to the next server.
        writers: Choice<Writers> = One,
            cost "all: transactions on different servers that write the same record conflict when \
                they commit",
        /// The statements that wait until their server has applied what is committed elsewhere
        /// (the bits of wsrep_sync_wait: 1 for reads and the begin of a transaction, 2 for updates
        /// and deletes, 4 for inserts and replaces). by-writers: 0 with one writer, 7 with all.
        wsrep_sync_wait: Choice = "by-writers" of ["by-writers", "0", "1", "3", "7"],
            cost "less with all writers: a read can miss commits of other servers. More: the time \
                of a message between the servers",
        /// Number of threads that apply the transactions of other servers.
        wsrep_slave_threads: Integer = 1 in 1..=512, unit "threads",
            cost "more: memory, and more conflicts between what they apply",
        /// Time without a message after which the other servers may exclude one
        /// (evs.suspect_timeout). So long no commit is acknowledged after a server fails.
        evs_suspect_timeout: Integer = 5000 in 300..=600_000, unit "ms",
            cost "shorter: a slow server is taken for a dead one",
        /// Time without a message after which a server is excluded even if not all suspect it
        /// (evs.inactive_timeout).
        evs_inactive_timeout: Integer = 15_000 in 300..=600_000, unit "ms",
        /// Size of the file of transactions for servers that were away; one that needs older ones
        /// gets a copy of all files.
        gcache_size: Bytes = 128 MiB in 1 MiB..=1 TiB, cost "disk space",
        /// Time without an answer of the server that sessions use after which they use another
        /// one.
        failover_after: Integer = 1000 in 500..=600_000, unit "ms",
            cost "shorter: a slow server is taken for a dead one",
        /// Time that a session waits for an answer. Then its connection counts as lost.
        answer_timeout: Integer = 60_000 in 100..=3_600_000, unit "ms",
            cost "shorter: long statements, and waits for locks, end as lost connections",
        /// Delay of every packet between the nodes, one way.
        network_delay: Integer = 0 in 0..=10_000_000, unit "us",
        /// Part of the packets between the nodes that is lost.
        network_loss: Fraction = 0.0 in 0.0..=0.5,
    }
}

choices! {
    /// Where sessions go.
    pub(super) enum Writers {
        One = "one",
        All = "all",
    }
}

/// Knobs of a server that a node has not: MyRocks is not replicated, and a log folder of its own
/// would be one for all nodes.
fn is_of_a_node(knob: &&Parameter) -> bool {
    !knob.name.starts_with("rocksdb_") && !["storage_engine", "log_directory"].contains(&knob.name)
}

/// Every knob, the cluster's first.
pub(super) static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let of_servers = MariaDbKnobs::PARAMETERS.iter().filter(is_of_a_node);
    GaleraKnobs::PARAMETERS
        .iter()
        .chain(of_servers)
        .copied()
        .collect()
});

impl GaleraKnobs {
    /// Returns the number of servers.
    pub(super) fn node_count(&self) -> u32 {
        // The choices are numbers.
        self.nodes.parse().unwrap_or(3)
    }

    /// Returns the value of wsrep_sync_wait in sessions.
    pub(super) fn sync_wait(&self) -> &str {
        match (self.wsrep_sync_wait, self.writers) {
            ("by-writers", Writers::One) => "0",
            ("by-writers", Writers::All) => "7",
            (bits, _) => bits,
        }
    }

    /// Returns the time that a session waits for an answer.
    pub(super) fn answer_limit(&self) -> Duration {
        Duration::from_millis(self.answer_timeout)
    }

    /// Returns the options of Galera that the knobs set.
    pub(super) fn provider_options(&self) -> String {
        let suspect_ms = self.evs_suspect_timeout;
        let period = |ms: u64| format!("PT{}S", ms as f64 / 1e3);
        [
            ("gcache.size", self.gcache_size.to_string()),
            ("evs.suspect_timeout", period(suspect_ms)),
            ("evs.inactive_timeout", period(self.evs_inactive_timeout)),
            // Several within the timeout, at Galera's defaults where that has them.
            ("evs.keepalive_period", period((suspect_ms / 5).min(1000))),
            (
                "evs.inactive_check_period",
                period((suspect_ms / 10).min(500)),
            ),
        ]
        .map(|(name, value)| format!("{name}={value}"))
        .join(";")
    }
}

/// Checks that a cluster can have this level with these knobs.
///
/// # Errors
/// [`Error::Unsupported`] for knobs that contradict each other or the level.
pub(super) fn check(durability: Durability, values: &ParameterValues) -> Result<()> {
    if durability == Durability::None {
        return Err(Error::no_durability(NAME, durability));
    }
    settings::levels(durability, values)?;
    let knobs = GaleraKnobs::from(values);
    if knobs.evs_inactive_timeout < knobs.evs_suspect_timeout {
        return Err(Error::Unsupported(format!(
            "{NAME}.evs_inactive_timeout is {} ms: it is not shorter than evs_suspect_timeout, {} \
             ms",
            knobs.evs_inactive_timeout, knobs.evs_suspect_timeout
        )));
    }
    let isolation = MariaDbKnobs::from(values).isolation;
    if isolation == IsolationLevel::Serializable {
        return Err(Error::Unsupported(format!(
            "{NAME}.isolation serializable: locks of reads are not replicated; it is \
             read-committed, repeatable-read or snapshot"
        )));
    }
    Ok(())
}

/// Returns what an acknowledged commit survives. All nodes of the view have received it, which are
/// two at least after failures, and its own node has flushed it at level sync.
pub(super) fn survival(durability: Durability) -> ClusterSurvival {
    let is_flushed = durability == Durability::Sync;
    ClusterSurvival {
        process: true,
        machine: true,
        majority_power: is_flushed,
        all_power: is_flushed,
    }
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
        parameter::resolve(NAME, &PARAMETERS, &given).unwrap()
    }

    #[test]
    fn reads_wait_for_other_servers_where_other_servers_write() {
        let wait = |given: &[(&str, Value)]| {
            let values = values(given);
            GaleraKnobs::from(&values).sync_wait().to_owned()
        };
        let all = ("writers", Value::from("all"));
        assert_eq!(wait(&[]), "0");
        assert_eq!(wait(std::slice::from_ref(&all)), "7");
        assert_eq!(wait(&[all, ("wsrep_sync_wait", Value::from("1"))]), "1");
    }

    #[test]
    fn a_commit_survives_a_node_at_every_level_and_lost_power_if_it_is_flushed() {
        let text = |durability| survival(durability).to_string();
        assert_eq!(text(Durability::Buffered), "one process, one machine");
        let all = "one process, one machine, a majority's power, all power";
        assert_eq!(text(Durability::Sync), all);
    }

    #[test]
    fn what_galera_cannot_do_is_refused() {
        let refusal = |given: &[(&str, Value)], durability| {
            check(durability, &values(given)).unwrap_err().to_string()
        };
        let serializable = ("isolation", Value::from("serializable"));
        let reason = refusal(&[serializable], Durability::Sync);
        assert!(reason.contains("not replicated"), "{reason}");
        let short = ("evs_inactive_timeout", Value::Integer(1000));
        let reason = refusal(&[short], Durability::Sync);
        assert!(reason.contains("evs_suspect_timeout"), "{reason}");
        refusal(&[], Durability::None);
        assert_eq!(check(Durability::Async, &values(&[])), Ok(()));
    }

    #[test]
    fn periods_of_the_provider_are_shorter_than_its_timeouts() {
        let values = values(&[("evs_suspect_timeout", Value::Integer(500))]);
        let options = GaleraKnobs::from(&values).provider_options();
        assert!(options.contains("evs.suspect_timeout=PT0.5S"), "{options}");
        assert!(options.contains("evs.keepalive_period=PT0.1S"), "{options}");
    }
}
