//! Galera's nodes under failures: what was acknowledged is there, and the cluster finds its way
//! back.

use crate::support::{Bench, assert_contains, is_alive, is_installed, signal, stdout};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trueput_engine::cluster::{
    ClusterAssignment, ClusterSite, ClusterState, HOST_COMMAND, NodeRole, connect_to_host,
    node_folder,
};
use trueput_engine::{
    Database, Durability, Engine, Error, Mode, OpenSpec, ParameterValues, Result, Session, Value,
    parameter,
};
use trueput_host::cluster::{OrderError, send_order};

/// The time that a change of the cluster may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Returns whether Galera can run here; says why not.
fn can_run() -> bool {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: galera's nodes need network namespaces, which need root");
        return false;
    }
    is_installed("galera")
}

/// A cluster with short timeouts, hosted by the program.
struct Cluster {
    engine: &'static dyn Engine,
    folder: PathBuf,
    knobs: ParameterValues,
    host: Option<Child>,
}

impl Cluster {
    fn start(bench: &Bench, knobs: &[(&str, Value)]) -> Self {
        let mut engines = trueput::registry().engines.iter();
        let engine = engines
            .find(|engine| engine.info().name == "galera")
            .unwrap();
        // Shorter than by default, and longer than a busy machine lets a node wait: two nodes that
        // lose each other while the third is separated find no majority again.
        let short = [
            ("evs_suspect_timeout", Value::Integer(2000)),
            ("evs_inactive_timeout", Value::Integer(6000)),
            ("innodb_buffer_pool_size", Value::Integer(32 << 20)),
            ("innodb_log_file_size", Value::Integer(32 << 20)),
            ("gcache_size", Value::Integer(16 << 20)),
            ("answer_timeout", Value::Integer(20_000)),
        ];
        let given: BTreeMap<String, Value> = short
            .iter()
            .chain(knobs)
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let knobs = parameter::resolve("galera", engine.knobs(), &given).unwrap();
        let folder = bench.path().join("cluster");
        std::fs::create_dir_all(&folder).unwrap();
        let mut cluster = Self {
            engine: *engine,
            folder,
            knobs,
            host: None,
        };
        cluster.run();
        cluster
    }

    /// Starts the host, which starts the nodes.
    fn run(&mut self) {
        let assignment = ClusterAssignment {
            engine: "galera".to_owned(),
            library: None,
            directory: self.folder.clone(),
            durability: Durability::Sync,
            knobs: self.knobs.as_settings().clone(),
            sessions: 8,
        };
        let log = std::fs::File::create(self.folder.join("host.log")).unwrap();
        let host = Command::new(assert_cmd::cargo::cargo_bin!("trueput"))
            .arg(HOST_COMMAND)
            .arg(serde_json::to_string(&assignment).unwrap())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.host = Some(host.unwrap());
        let folder = self.folder.clone();
        self.wait_for("the cluster runs", || connect_to_host(&folder).is_ok());
    }

    /// Stops the nodes in good order.
    fn stop(&mut self) {
        let mut host = self.host.take().unwrap();
        signal(host.id().cast_signed(), Signal::SIGTERM);
        let status = host.wait().unwrap();
        assert!(status.success(), "{}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("host.log")).unwrap_or_default()
    }

    fn wait_for(&self, condition: &str, is_so: impl Fn() -> bool) {
        self.wait_until(condition, || is_so().then_some(()));
    }

    /// Tries until there is a result. A node that waits long for a processor is left by the others
    /// for a moment: what a client asks for then has to be asked again.
    fn wait_until<T>(&self, condition: &str, attempt: impl Fn() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(result) = attempt() {
                return result;
            }
            assert!(began.elapsed() < TIMEOUT, "{condition}: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn order(&self, text: &str) -> std::result::Result<Vec<u32>, OrderError> {
        send_order(&self.folder, text.parse().unwrap())
    }

    fn leader(&self) -> Option<u32> {
        ClusterState::read(&self.folder).unwrap().leader
    }

    fn open(&self) -> Result<Box<dyn Database>> {
        self.engine.open(&OpenSpec {
            directory: &self.folder,
            durability: Durability::Sync,
            knobs: &self.knobs,
            sessions: 8,
        })
    }

    /// Opens the database as soon as the cluster takes transactions again, and puts a key.
    fn put_when_possible(&self, key: &str) {
        let put = || put_one(&*self.open()?, key);
        self.wait_for("the cluster takes transactions", || put().is_ok());
    }

    /// Returns the number of nodes in the part of the cluster that goes on.
    fn nodes_together(&self) -> i64 {
        let counters = self.open().and_then(|database| database.counters());
        match counters.unwrap_or_default().get("wsrep_cluster_size") {
            Some(Value::Integer(size)) => *size,
            _ => 0,
        }
    }

    /// A node that still receives what it missed is a member already, but no fault may meet it.
    fn all_take_transactions(&self) -> bool {
        let site = ClusterSite {
            directory: self.folder.clone(),
            addresses: None,
            nodes: 3,
            leader: 1,
        };
        let nodes = self.engine.cluster().unwrap();
        (1..=3).all(|number| matches!(nodes.role(number, &site), Ok(NodeRole::Leader)))
    }

    fn keys(&self) -> Vec<String> {
        self.wait_until("the keys can be read", || self.read_keys().ok())
    }

    fn read_keys(&self) -> Result<Vec<String>> {
        let database = self.open()?;
        let mut session = database.session()?;
        session.begin(Mode::Read)?;
        let mut keys = Vec::new();
        let all = trueput_engine::KeyRange::from(b"");
        let forward = trueput_engine::Direction::Forward;
        session.scan(all, forward, &mut |key, _| {
            keys.push(String::from_utf8_lossy(key).into_owned());
            std::ops::ControlFlow::Continue(())
        })?;
        session.abort()?;
        Ok(keys)
    }

    /// Puts a key, harms the node that took it, and returns that node and what its session says to
    /// the next put.
    fn harm_leader(&self, fault: &str, before: &str) -> (u32, Error) {
        self.wait_until("a leader takes a transaction", || {
            let leader = self.leader()?;
            let database = self.open().ok()?;
            let mut session = database.session().ok()?;
            put(&mut *session, before).ok()?;
            if self.leader() != Some(leader) {
                return None;
            }
            let concerned = self.order(&format!("{fault}=leader")).unwrap();
            assert_eq!(concerned, [leader]);
            Some((leader, put(&mut *session, "lost").unwrap_err()))
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut host) = self.host.take() {
            signal(host.id().cast_signed(), Signal::SIGTERM);
            let _ = host.wait();
        }
    }
}

fn put(session: &mut dyn Session, key: &str) -> Result<()> {
    session.begin(Mode::Write)?;
    session.put(key.as_bytes(), b"value")?;
    session.commit()
}

fn put_one(database: &dyn Database, key: &str) -> Result<()> {
    put(&mut *database.session()?, key)
}

fn server_of(folder: &Path, number: u32) -> i32 {
    let file = node_folder(folder, number).join("data/server.pid");
    let pid = std::fs::read_to_string(file).unwrap();
    pid.trim().parse().unwrap()
}

#[test]
#[ignore = "slow: make test runs it"]
fn galera_keeps_the_contract_at_every_level_with_one_writer_and_with_all() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let work = bench.path().to_str().unwrap().to_owned();
    let output = bench.run_expecting(0, &format!("check galera --work {work}"));
    let text = stdout(&output);
    for level in ["sync", "async", "buffered", "process"] {
        assert_contains(&text, &[&format!("galera {level}: ")]);
    }
    for (writers, stated) in [("one", "snapshot"), ("all", "nothing")] {
        let stated = format!("isolation=repeatable-read, writers={writers}: {stated} stated");
        assert_contains(&text, &[&stated]);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn nothing_acknowledged_is_missing_after_a_leader_is_killed_paused_or_separated() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let mut cluster = Cluster::start(&bench, &[("answer_timeout", Value::Integer(3000))]);
    for (index, fault) in ["kill", "pause", "partition"].iter().enumerate() {
        let before = format!("{index}-before-{fault}");
        let (leader, lost) = cluster.harm_leader(fault, &before);
        // A commit that the group has not ordered when it changes is a conflict.
        let is_expected = lost.is_disconnection() || lost.is_conflict();
        assert!(is_expected, "{fault}: {lost}");
        cluster.wait_for("another node is used", || {
            cluster.leader().is_some_and(|other| other != leader)
        });
        cluster.put_when_possible(&format!("{index}-during-{fault}"));
        assert!(cluster.keys().contains(&before), "{fault}");
        let undo = match *fault {
            "kill" => format!("start=node-{leader}"),
            "pause" => format!("resume=node-{leader}"),
            _ => "heal".to_owned(),
        };
        cluster.order(&undo).unwrap();
        cluster.put_when_possible(&format!("{index}-after-{fault}"));
        cluster.wait_for("all nodes are together again", || {
            cluster.nodes_together() == 3 && cluster.all_take_transactions()
        });
    }
    let mut keys = cluster.keys();
    keys.retain(|key| key != "lost");
    let expected: Vec<String> = ["kill", "pause", "partition"]
        .iter()
        .enumerate()
        .flat_map(|(index, fault)| {
            ["after", "before", "during"].map(|when| format!("{index}-{when}-{fault}"))
        })
        .collect();
    assert_eq!(keys, expected);
    let servers = [1, 2, 3].map(|number| server_of(&cluster.folder, number));
    cluster.stop();
    assert!(!servers.iter().any(|pid| is_alive(*pid)));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_cluster_that_was_stopped_or_killed_begins_anew_from_the_node_that_has_most() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let mut cluster = Cluster::start(&bench, &[]);
    cluster.put_when_possible("1");
    cluster.stop();
    cluster.run();
    assert_eq!(cluster.keys(), ["1"]);
    // Node 3 misses a transaction, then all fail.
    cluster.order("kill=node-3").unwrap();
    cluster.put_when_possible("2");
    cluster.order("kill=all").unwrap();
    cluster.wait_for("no node takes transactions", || cluster.leader().is_none());
    assert!(matches!(cluster.open(), Err(Error::Disconnected(_))));
    let reason = cluster.order("start=node-3").unwrap_err().to_string();
    assert!(reason.contains("has its last transaction"), "{reason}");
    cluster.order("start=all").unwrap();
    cluster.put_when_possible("3");
    assert_eq!(cluster.keys(), ["1", "2", "3"]);
    // Of a cluster without a majority, the node that is left goes on when others are started.
    cluster.order("kill=majority").unwrap();
    cluster.wait_for("no node takes transactions", || cluster.leader().is_none());
    cluster.order("start=all").unwrap();
    cluster.put_when_possible("4");
    // The host is killed, and all nodes with it.
    let mut host = cluster.host.take().unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    let servers = [1, 2, 3].map(|number| server_of(&cluster.folder, number));
    cluster.wait_for("no server is left", || {
        !servers.iter().any(|pid| is_alive(*pid))
    });
    cluster.run();
    assert_eq!(cluster.keys(), ["1", "2", "3", "4"]);
    cluster.stop();
}

#[test]
#[ignore = "slow: make test runs it"]
fn sessions_on_all_nodes_see_each_others_commits_and_conflict_when_they_commit() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let mut cluster = Cluster::start(&bench, &[("writers", Value::from("all"))]);
    {
        let database = cluster.open().unwrap();
        let mut sessions: Vec<_> = (0..3).map(|_| database.session().unwrap()).collect();
        for round in 0..20 {
            let key = format!("{round:02}");
            put(&mut *sessions[round % 3], &key).unwrap();
            for session in &mut sessions {
                let found = session.point_read(key.as_bytes(), &mut |_| ()).unwrap();
                assert!(found, "{key}");
            }
        }
        let [one, other, _] = sessions.as_mut_slice() else {
            panic!("three sessions");
        };
        one.begin(Mode::Write).unwrap();
        one.put(b"00", b"one").unwrap();
        // Another node does not know of the lock.
        other.begin(Mode::Write).unwrap();
        other.put(b"00", b"other").unwrap();
        other.commit().unwrap();
        let conflict = one.commit().unwrap_err();
        assert!(conflict.is_conflict(), "{conflict}");
    }
    cluster.stop();
}
