//! A cluster of shell processes, whose roles are files.

use super::log::is_doubtful;
use super::{ClusterHost, OrderError, run, send_order};
use crate::network::tests::reason_for_no_network;
use std::collections::BTreeMap;
use std::fs::{read_to_string, write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueput_engine::cluster::{
    ClusterAssignment, ClusterSite, ClusterState, NetworkQuality, NodeRole, connect_to_host,
    node_folder,
};
use trueput_engine::service::Signal;
use trueput_engine::{
    Cluster, Durability, Error, OpenSpec, ParameterValues, Result, Service, SettingContradiction,
    parameter,
};

/// Writes its process number and waits for SIGTERM.
const NODE: &str = "[ -e aborts ] && kill -ABRT $$; echo $$ > pid; trap 'exit 0' TERM; \
    while :; do sleep 0.02; done";

/// The file by which a node does not answer what its role is, and the one by which it does not
/// follow a new leader.
const SLOW: &str = "slow";
const DEAF: &str = "deaf";

/// The file with a sign for each time that a node was asked for its settings.
const ASKED: &str = "asked";

/// The file by which a node does not say what it runs with.
const SECRETIVE: &str = "secretive";

/// The time that a change of the cluster may take.
const TIMEOUT: Duration = Duration::from_secs(30);

struct ShellCluster {
    nodes: u32,
    elects_leader: bool,
    failover_after_ms: u64,
}

/// Three nodes whose leader the host replaces, later than a busy machine lets it wait.
const REPLACED: ShellCluster = ShellCluster {
    nodes: 3,
    elects_leader: false,
    failover_after_ms: 2_000,
};

struct ShellNode {
    leads: bool,
}

/// Returns the state of a node's process, as proc(5) writes it; `None` if it has ended.
fn process_state(folder: &Path) -> Option<char> {
    let pid = read_to_string(folder.join("pid")).ok()?;
    let stat = read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

impl Cluster for ShellCluster {
    /// Counts the questions in a file of the node.
    fn contradictions(
        &self,
        number: u32,
        site: &ClusterSite,
        _spec: &OpenSpec<'_>,
    ) -> Result<Vec<SettingContradiction>> {
        if site.folder(number).join(SECRETIVE).exists() {
            return Err(Error::engine("it tells nobody"));
        }
        let file = site.folder(number).join(ASKED);
        let asked = read_to_string(&file).unwrap_or_default();
        write(file, asked + ".").map_err(Error::engine)?;
        Ok(Vec::new())
    }

    fn nodes(&self, _knobs: &ParameterValues) -> u32 {
        self.nodes
    }

    fn node(&self, number: u32, site: &ClusterSite) -> Box<dyn Service> {
        Box::new(ShellNode {
            leads: number == site.leader,
        })
    }

    fn role(&self, number: u32, site: &ClusterSite) -> Result<NodeRole> {
        let folder = site.folder(number);
        let runs = |number| matches!(process_state(&site.folder(number)), Some('R' | 'S' | 'D'));
        if !runs(number) || folder.join(SLOW).exists() {
            return Err(Error::Disconnected(format!(
                "node {number} does not answer"
            )));
        }
        if number == 3 && runs(1) && site.folder(1).join(SLOW).exists() {
            // Node 1 goes on to acknowledge transactions, by node 2, which was asked before.
            write(site.folder(2).join("role"), "follower 100").map_err(Error::engine)?;
        }
        let role = read_to_string(folder.join("role")).map_err(Error::engine)?;
        Ok(match role.trim().strip_prefix("follower ") {
            Some(received) => NodeRole::Follower {
                received: received.parse().unwrap(),
            },
            None => NodeRole::Leader,
        })
    }

    fn elects_leader(&self) -> bool {
        self.elects_leader
    }

    /// Recovers every one, as a cluster does that compares them.
    fn start_order(
        &self,
        numbers: &[u32],
        site: &ClusterSite,
        _spec: &OpenSpec<'_>,
        recover: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<Vec<u32>> {
        numbers.iter().try_for_each(|number| recover(*number))?;
        let mut order = numbers.to_vec();
        order.sort_by_key(|number| (*number != site.leader, *number));
        Ok(order)
    }

    fn promote(&self, number: u32, site: &ClusterSite) -> Result<()> {
        write(site.folder(number).join("role"), "leader").map_err(Error::engine)
    }

    fn follow(&self, number: u32, _leader: u32, site: &ClusterSite) -> Result<()> {
        if site.folder(number).join(DEAF).exists() {
            Err(Error::Disconnected(format!("node {number} does not hear")))
        } else {
            Ok(())
        }
    }

    fn failover_after_ms(&self, _knobs: &ParameterValues) -> u64 {
        self.failover_after_ms
    }

    fn network(&self, _knobs: &ParameterValues) -> NetworkQuality {
        NetworkQuality::default()
    }
}

impl Service for ShellNode {
    fn users(&self) -> &'static [&'static str] {
        &[]
    }

    fn make(&self, _spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        let role = if self.leads { "leader" } else { "follower 0" };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo {role} > role")]);
        Ok(vec![command])
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        spec.directory.join("role").exists()
    }

    fn command(&self, _spec: &OpenSpec<'_>) -> Result<Command> {
        let mut command = Command::new("sh");
        command.args(["-c", NODE]);
        Ok(command)
    }

    fn recover(&self, _spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        let mut command = Command::new("sh");
        // A node that is to abort does so at its next start only.
        let recovery = "echo once >> recovered; rm -f aborts; mv to-abort aborts 2>&-; :";
        command.args(["-c", recovery]);
        Ok(vec![command])
    }

    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        let aborts = spec.directory.join("aborts").exists();
        Ok(!aborts && process_state(spec.directory).is_some())
    }

    fn stop_signal(&self) -> Signal {
        Signal::Terminate
    }
}

/// A cluster that is hosted by another thread.
struct HostedCluster {
    directory: PathBuf,
}

impl HostedCluster {
    fn leader(&self) -> Option<u32> {
        ClusterState::read(&self.directory).ok()?.leader
    }

    fn wait_for(&self, condition: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < TIMEOUT, "{condition}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn order(&self, text: &str) -> std::result::Result<Vec<u32>, OrderError> {
        send_order(&self.directory, text.parse().unwrap())
    }

    fn folder(&self, number: u32) -> PathBuf {
        node_folder(&self.directory, number)
    }

    fn set_leader(&self, number: u32) {
        write(self.folder(number).join("role"), "leader").unwrap();
    }

    fn set_received(&self, number: u32, received: u32) {
        write(
            self.folder(number).join("role"),
            format!("follower {received}"),
        )
        .unwrap();
    }
}

/// Runs a test on a cluster whose leader the host replaces, and stops the cluster.
fn with_cluster(test: impl FnOnce(&HostedCluster)) {
    with(&REPLACED, test);
}

/// Runs a test on a cluster that chooses its leader itself, and stops the cluster.
fn with_electing_cluster(test: impl FnOnce(&HostedCluster)) {
    let electing = ShellCluster {
        elects_leader: true,
        ..REPLACED
    };
    with(&electing, test);
}

fn assign(directory: &Path) -> (ClusterAssignment, ParameterValues) {
    let assignment = ClusterAssignment {
        engine: "shell".to_owned(),
        library: None,
        directory: directory.to_owned(),
        durability: Durability::None,
        knobs: BTreeMap::new(),
        sessions: 1,
    };
    let knobs = parameter::resolve("shell", &[], &BTreeMap::new()).unwrap();
    (assignment, knobs)
}

fn with(shell: &ShellCluster, test: impl FnOnce(&HostedCluster)) {
    if let Some(reason) = reason_for_no_network() {
        eprintln!("skipped: {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (assignment, knobs) = assign(folder.path());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let host = scope.spawn(|| run(shell, &assignment, &knobs, &stop));
        let cluster = HostedCluster {
            directory: folder.path().to_owned(),
        };
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            cluster.wait_for("the cluster runs", |cluster| {
                connect_to_host(&cluster.directory).is_ok()
            });
            test(&cluster);
        }));
        stop.store(true, Ordering::SeqCst);
        let stopped = host.join().unwrap();
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
        stopped.unwrap();
    });
    for number in 1..=3 {
        let left = process_state(&node_folder(folder.path(), number));
        assert_eq!(left, None, "node {number}");
    }
}

#[test]
fn a_killed_leader_is_replaced_by_the_follower_that_has_received_most() {
    with_cluster(|cluster| {
        assert_eq!(cluster.leader(), Some(1));
        cluster.set_received(2, 5);
        cluster.set_received(3, 9);
        write(cluster.folder(1).join("old"), "").unwrap();
        assert_eq!(cluster.order("kill=leader").unwrap(), [1]);
        cluster.wait_for("node 3 leads", |cluster| cluster.leader() == Some(3));
        let stale = ClusterState::read(&cluster.directory).unwrap().stale_nodes;
        assert_eq!(stale, [1]);
        // It led without the others: what it has may differ, so it is made anew.
        assert_eq!(cluster.order("start=node-1").unwrap(), [1]);
        assert!(!cluster.folder(1).join("old").exists());
        let role = read_to_string(cluster.folder(1).join("role")).unwrap();
        assert_eq!(role.trim(), "follower 0");
    });
}

#[test]
fn a_node_is_asked_for_its_settings_when_it_starts_and_when_it_leads() {
    let asked = |cluster: &HostedCluster, number| {
        let file = cluster.folder(number).join(ASKED);
        read_to_string(file).map_or(0, |signs| signs.len())
    };
    with_cluster(|cluster| {
        let all_are = |cluster: &HostedCluster| (1..=3).all(|number| asked(cluster, number) > 0);
        cluster.wait_for("every node is asked", all_are);
        let before = asked(cluster, 2);
        assert_eq!(cluster.order("kill=node-2").unwrap(), [2]);
        assert_eq!(cluster.order("start=node-2").unwrap(), [2]);
        cluster.wait_for("it is asked again", |cluster| asked(cluster, 2) > before);
        cluster.set_received(3, 9);
        let before = asked(cluster, 3);
        assert_eq!(cluster.order("kill=leader").unwrap(), [1]);
        cluster.wait_for("the new leader is asked", |cluster| {
            cluster.leader() == Some(3) && asked(cluster, 3) > before
        });
    });
}

#[test]
fn a_node_that_could_say_what_it_runs_with_and_does_not_is_doubtful() {
    if let Some(reason) = reason_for_no_network() {
        eprintln!("skipped: {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (assignment, knobs) = assign(folder.path());
    let mut host = ClusterHost::set_up(&REPLACED, &assignment, &knobs).unwrap();
    host.start(&[1, 2, 3], &mut || true).unwrap();
    let all = host.list_available();
    assert_eq!(all, [1, 2, 3]);
    let secret = node_folder(folder.path(), 2).join(SECRETIVE);
    write(&secret, "").unwrap();
    let doubts = |lines: Vec<String>| {
        let doubtful = lines.iter().filter(|line| is_doubtful(line)).cloned();
        (lines.len(), doubtful.collect::<Vec<_>>())
    };
    let (lines, doubtful) = doubts(host.check_promises_at_end(&all, Duration::ZERO));
    let expected = "node 2 did not say at the end what it runs with: it tells nobody";
    assert_eq!((lines, doubtful), (1, vec![expected.to_owned()]));
    // One that was paused until now may not be able to.
    let lines = host.check_promises_at_end(&[1, 3], Duration::ZERO);
    assert_eq!(doubts(lines), (1, Vec::new()));
    // It takes no time, either from the others or from the limit for the cluster to stop: with a
    // limit that never ends, it would never be given up.
    let lines = host.check_promises_at_end(&[1, 3], Duration::from_secs(1 << 30));
    assert_eq!(doubts(lines), (1, Vec::new()));
    std::fs::remove_file(secret).unwrap();
    assert!(host.check_promises_at_end(&all, Duration::ZERO).is_empty());
    host.stop(&all).unwrap();
}

#[test]
fn what_a_slow_leader_acknowledges_until_it_is_killed_is_not_lost() {
    with_cluster(|cluster| {
        cluster.set_received(2, 5);
        cluster.set_received(3, 9);
        write(cluster.folder(1).join(SLOW), "").unwrap();
        cluster.wait_for("node 2 leads", |cluster| cluster.leader() == Some(2));
        assert_eq!(process_state(&cluster.folder(1)), None);
    });
}

#[test]
fn a_node_that_does_not_follow_the_new_leader_is_made_anew() {
    with_cluster(|cluster| {
        cluster.set_received(2, 5);
        write(cluster.folder(3).join(DEAF), "").unwrap();
        assert_eq!(cluster.order("kill=leader").unwrap(), [1]);
        cluster.wait_for("node 2 leads", |cluster| cluster.leader() == Some(2));
        let stale = || ClusterState::read(&cluster.directory).unwrap().stale_nodes;
        assert_eq!(stale(), [1, 3]);
        assert_eq!(cluster.order("start=node-1").unwrap(), [1]);
        assert!(!cluster.folder(3).join(DEAF).exists());
        assert_eq!(stale(), [0; 0]);
    });
}

#[test]
fn a_node_is_recovered_once_before_it_is_started_again() {
    with_cluster(|cluster| {
        let recovered = cluster.folder(2).join("recovered");
        assert!(!recovered.exists());
        assert_eq!(cluster.order("kill=node-2").unwrap(), [2]);
        assert_eq!(cluster.order("start=node-2").unwrap(), [2]);
        assert_eq!(read_to_string(&recovered).unwrap(), "once\n");
        assert_eq!(cluster.order("kill=node-2").unwrap(), [2]);
        assert_eq!(cluster.order("start=node-2").unwrap(), [2]);
        assert_eq!(read_to_string(&recovered).unwrap(), "once\nonce\n");
    });
}

#[test]
fn a_node_that_aborts_while_it_starts_is_started_once_more() {
    with_cluster(|cluster| {
        assert_eq!(cluster.order("kill=node-2").unwrap(), [2]);
        std::fs::write(cluster.folder(2).join("to-abort"), "").unwrap();
        assert_eq!(cluster.order("start=node-2").unwrap(), [2]);
        let recovered = read_to_string(cluster.folder(2).join("recovered")).unwrap();
        assert_eq!(recovered, "once\nonce\n");
    });
}

#[test]
fn orders_that_concern_no_node_are_refused() {
    let one = ShellCluster {
        nodes: 1,
        ..REPLACED
    };
    with(&one, |cluster| {
        for order in ["kill=minority", "kill=follower"] {
            let error = cluster.order(order).unwrap_err().to_string();
            assert!(error.contains("concerns no node"), "{error}");
        }
        assert_eq!(cluster.order("kill=majority").unwrap(), [1]);
    });
}

#[test]
fn a_leader_is_not_given_up_between_two_answers() {
    let hasty = ShellCluster {
        elects_leader: true,
        failover_after_ms: 10,
        ..REPLACED
    };
    with(&hasty, |cluster| {
        let leaders = (0..50).map(|_| {
            std::thread::sleep(super::PAUSE);
            cluster.leader()
        });
        // A busy machine may delay an answer.
        let without = leaders.filter(Option::is_none).count();
        assert!(without < 25, "{without} of 50");
    });
}

#[test]
fn a_paused_leader_is_replaced_and_killed_so_that_there_are_never_two() {
    with_cluster(|cluster| {
        cluster.set_received(2, 7);
        assert_eq!(cluster.order("pause=leader").unwrap(), [1]);
        cluster.wait_for("node 2 leads", |cluster| cluster.leader() == Some(2));
        assert_eq!(process_state(&cluster.folder(1)), None);
    });
}

#[test]
fn without_a_majority_nobody_leads_until_enough_are_back() {
    with_cluster(|cluster| {
        assert_eq!(cluster.order("kill=majority").unwrap(), [1, 2]);
        cluster.wait_for("nobody leads", |cluster| cluster.leader().is_none());
        assert_eq!(cluster.order("start=node-2").unwrap(), [2]);
        cluster.wait_for("one of two leads", |cluster| cluster.leader().is_some());
    });
}

#[test]
fn what_cannot_be_done_is_said() {
    with_cluster(|cluster| {
        let error = cluster.order("kill=node-7").unwrap_err().to_string();
        assert!(error.contains("3 nodes"), "{error}");
        if crate::is_root() {
            assert_eq!(cluster.order("partition=minority").unwrap(), [2]);
            assert_eq!(cluster.order("heal").unwrap(), [1, 2, 3]);
        } else {
            let error = cluster.order("partition=minority").unwrap_err().to_string();
            assert!(error.contains("root"), "{error}");
        }
    });
}

#[test]
fn nodes_that_choose_their_leader_are_only_watched() {
    with_electing_cluster(|cluster| {
        assert_eq!(cluster.leader(), Some(1));
        cluster.set_received(2, 5);
        write(cluster.folder(1).join("old"), "").unwrap();
        assert_eq!(cluster.order("kill=leader").unwrap(), [1]);
        cluster.wait_for("nobody leads", |cluster| cluster.leader().is_none());
        cluster.set_leader(3);
        cluster.wait_for("node 3 leads", |cluster| cluster.leader() == Some(3));
        // Its folder is left as it is, and it says that it leads as before.
        assert_eq!(cluster.order("start=node-1").unwrap(), [1]);
        assert!(cluster.folder(1).join("old").exists());
        let state = ClusterState::read(&cluster.directory).unwrap();
        assert_eq!((state.leader, state.stale_nodes), (Some(3), Vec::new()));
        cluster.set_received(3, 9);
        cluster.wait_for("node 1 leads", |cluster| cluster.leader() == Some(1));
    });
}

#[test]
fn a_paused_leader_is_not_killed_where_nodes_choose_theirs() {
    with_electing_cluster(|cluster| {
        assert_eq!(cluster.order("pause=leader").unwrap(), [1]);
        cluster.wait_for("nobody leads", |cluster| cluster.leader().is_none());
        assert_eq!(cluster.order("resume=node-1").unwrap(), [1]);
        cluster.wait_for("node 1 leads", |cluster| cluster.leader() == Some(1));
        assert!(process_state(&cluster.folder(1)).is_some());
    });
}
