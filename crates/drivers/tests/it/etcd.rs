//! The etcd driver on a user's server. Private clusters are tested with the program that hosts
//! them (`clusters.rs` there).

use crate::support::{self, begin, get, keeps_the_contract_in, open, read, refusal, write};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trueput_drivers::Etcd;
use trueput_engine::{
    Address, Database, Direction, Durability, Engine, Error, KeyRange, Mode, Session,
};

static ENGINE: Etcd = Etcd::new();

/// A server of one node, as a user may have one, on a port of this machine alone.
struct UserServer {
    child: Child,
    url: String,
    _data: TempDir,
}

impl UserServer {
    /// Starts it with some more options; `None` if this machine has no etcd.
    fn start(options: &[&str]) -> Option<Self> {
        support::installed(&ENGINE)?;
        let peer = free_url();
        let server = Self::spawn(("its", &peer), &format!("its={peer}"), options);
        server.wait();
        Some(server)
    }

    /// Starts a server with a name and a URL for its peers, as a member of a cluster.
    fn spawn((name, peer): (&str, &str), members: &str, options: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let url = free_url();
        let program = ENGINE.library_files().remove(0);
        let child = Command::new(program)
            .current_dir(data.path())
            .arg("--data-dir=data")
            .arg(format!("--name={name}"))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"))
            .arg(format!("--initial-cluster={members}"))
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            url,
            _data: data,
        }
    }

    /// Waits until it answers.
    fn wait(&self) {
        let began = Instant::now();
        while let Err(reason) = self.engine().build() {
            assert!(began.elapsed() < Duration::from_secs(60), "{reason}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn engine(&self) -> Box<dyn Engine> {
        ENGINE.with_address(&Address::of(&self.url)).unwrap()
    }

    fn open(&self, folder: &Path) -> Box<dyn Database> {
        open(&*self.engine(), folder, Durability::Sync, "").unwrap()
    }

    /// Stores a record of the user's own, past the driver, under a key in base64.
    fn store(&self, key: &str) {
        let status = Command::new("curl")
            .args(["-sf", "-X", "POST", "-d"])
            .arg(format!("{{\"key\":\"{key}\",\"value\":\"\"}}"))
            .arg(format!("{}/v3/kv/put", self.url))
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for UserServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn is_conflict(done: trueput_engine::Result<()>) -> bool {
    done.is_err_and(|error| error.is_conflict())
}

/// Scans until `most` records were seen.
fn scan(session: &mut dyn Session, direction: Direction, most: u64) -> u64 {
    let mut seen = 0;
    let scanned = session.scan(KeyRange::ALL, direction, &mut |_, _| {
        seen += 1;
        if seen < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    scanned.unwrap()
}

#[test]
fn a_users_node_that_does_not_flush_is_refused() {
    let Some(server) = UserServer::start(&["--unsafe-no-fsync"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let reason = refusal(&*server.engine(), folder.path(), Durability::Sync, "").to_string();
    assert!(
        reason.contains("etcd_disk_wal_fsync_duration_seconds_count"),
        "{reason}"
    );
    assert!(reason.contains("unsafe-no-fsync"), "{reason}");
}

#[test]
fn the_contract_is_kept_on_a_users_server() {
    let Some(server) = UserServer::start(&["--max-txn-ops=20000"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    keeps_the_contract_in(&*server.engine(), folder.path(), Durability::Sync, "");
}

#[test]
fn a_transaction_that_has_read_what_was_changed_is_a_conflict() {
    let Some(server) = UserServer::start(&[]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let database = server.open(folder.path());
    let database = &*database;
    for key in [b"a", b"b", b"c"] {
        write(database, key, b"1");
    }
    // Each reads, then another one commits, then it writes elsewhere and commits.
    let outcome = |reads: &dyn Fn(&mut dyn Session), other: &dyn Fn(&mut dyn Session)| {
        let mut session = begin(database, Mode::Write);
        reads(session.as_mut());
        let mut second = begin(database, Mode::Write);
        other(second.as_mut());
        second.commit().unwrap();
        session.put(b"elsewhere", b"").unwrap();
        is_conflict(session.commit())
    };
    let put = |key: &'static [u8]| move |session: &mut dyn Session| session.put(key, b"2").unwrap();
    let delete = |key: &'static [u8]| move |session: &mut dyn Session| session.delete(key).unwrap();
    let get_a = |session: &mut dyn Session| drop(get(session, b"a"));
    let get_missing = |session: &mut dyn Session| assert_eq!(get(session, b"aa"), None);
    let first_two = |session: &mut dyn Session| {
        assert_eq!(scan(session, Direction::Forward, 2), 2);
    };
    let last = |session: &mut dyn Session| {
        assert_eq!(scan(session, Direction::Backward, 1), 1);
    };
    assert!(outcome(&get_a, &put(b"a")));
    assert!(!outcome(&get_a, &put(b"b")));
    assert!(outcome(&get_missing, &put(b"aa")));
    // Phantoms, and records that are gone, in what a scan has seen; nothing behind it.
    assert!(outcome(&first_two, &put(b"a1")));
    assert!(outcome(&first_two, &delete(b"a1")));
    assert!(!outcome(&first_two, &put(b"zz")));
    assert!(outcome(&last, &delete(b"zz")));
    assert!(!outcome(&last, &put(b"a")));
}

#[test]
fn a_large_range_is_scanned_in_pages_in_one_snapshot() {
    let Some(server) = UserServer::start(&["--max-txn-ops=20000"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let database = server.open(folder.path());
    let mut writer = begin(&*database, Mode::Write);
    for number in 0..2_000_u32 {
        writer.put(&number.to_be_bytes(), b"value").unwrap();
    }
    writer.commit().unwrap();
    let mut reader = begin(&*database, Mode::Read);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut keys = Vec::new();
        let seen = reader.scan(KeyRange::ALL, direction, &mut |key, _| {
            if keys.is_empty() {
                write(&*database, b"later", b"");
            }
            keys.push(u32::from_be_bytes(key.try_into().unwrap()));
            ControlFlow::Continue(())
        });
        assert_eq!(seen, Ok(2_000));
        match direction {
            Direction::Forward => assert!(keys.is_sorted()),
            Direction::Backward => assert!(keys.iter().rev().is_sorted()),
        }
    }
}

#[test]
fn a_users_server_is_used_in_keys_of_ours_and_nowhere_else() {
    let Some(server) = UserServer::start(&[]) else {
        return;
    };
    let his_own = "aGlzIG93bg==";
    server.store(his_own);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = server.open(first.path());
    write(&*database, b"k", b"1");
    // The same database again, then another one in its place.
    assert_eq!(read(&*server.open(first.path()), b"k"), Some(b"1".to_vec()));
    let other = server.open(second.path());
    assert_eq!(read(&*other, b"k"), None);
    let mut late = begin(&*database, Mode::Write);
    late.put(b"k", b"2").unwrap();
    let reason = late.commit().unwrap_err().to_string();
    assert!(reason.contains("another run"), "{reason}");
    assert_eq!(read(&*other, b"k"), None);
    let settings = other.settings().unwrap();
    assert_eq!(settings.len(), 1, "{settings:?}");
    assert!(
        other
            .counters()
            .unwrap()
            .contains_key("etcd_server_has_leader")
    );
}

#[test]
fn keys_of_others_are_left_alone() {
    // "trueput" and "trueput/1".
    for key in ["dHJ1ZXB1dA==", "dHJ1ZXB1dC8x"] {
        let Some(server) = UserServer::start(&[]) else {
            return;
        };
        server.store(key);
        let folder = tempfile::tempdir().unwrap();
        let reason = refusal(&*server.engine(), folder.path(), Durability::Sync, "").to_string();
        assert!(reason.contains("not trueput's"), "{reason}");
        assert!(server.engine().build().is_err());
    }
}

#[test]
fn limits_of_a_users_server_are_named() {
    let Some(server) = UserServer::start(&[]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let database = server.open(folder.path());
    let mut session = begin(&*database, Mode::Write);
    for number in 0..129_u8 {
        session.put(&[number], b"").unwrap();
    }
    let reason = session.commit().unwrap_err();
    assert!(matches!(reason, Error::Unsupported(_)), "{reason}");
    assert!(reason.to_string().contains("max-txn-ops"), "{reason}");
    session.begin(Mode::Write).unwrap();
    for number in 0..2 {
        session.put(&[number], &vec![7; 1 << 20]).unwrap();
    }
    let reason = session.commit().unwrap_err().to_string();
    assert!(reason.contains("max-request-bytes"), "{reason}");
    for level in [Durability::Process, Durability::Async] {
        let reason = refusal(&*server.engine(), folder.path(), level, "").to_string();
        assert!(reason.contains("does not support"), "{reason}");
    }
}

#[test]
fn a_server_that_has_gone_is_a_lost_connection() {
    let Some(mut server) = UserServer::start(&[]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let database = server.open(folder.path());
    let mut session = begin(&*database, Mode::Write);
    session.put(b"k", b"v").unwrap();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let reason = session.commit().unwrap_err();
    assert!(reason.is_disconnection(), "{reason}");
    let reason = database.session().err().unwrap();
    assert!(reason.is_disconnection(), "{reason}");
}

#[test]
fn the_first_read_of_a_session_asks_the_leader_whatever_later_ones_ask() {
    if support::installed(&ENGINE).is_none() {
        return;
    }
    let peers = [free_url(), free_url()];
    let members = format!("its={},other={}", peers[0], peers[1]);
    let server = UserServer::spawn(("its", &peers[0]), &members, &[]);
    let mut other = UserServer::spawn(("other", &peers[1]), &members, &[]);
    server.wait();
    let folder = tempfile::tempdir().unwrap();
    let knobs = "reads=serializable request_timeout=3000";
    let database = open(&*server.engine(), folder.path(), Durability::Sync, knobs).unwrap();
    write(&*database, b"k", b"v");
    let mut used = database.session().unwrap();
    assert!(used.point_read(b"k", &mut |_| ()).unwrap());
    // One of two is no majority, so there is no leader to ask.
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    assert!(used.point_read(b"k", &mut |_| ()).unwrap());
    let mut new = database.session().unwrap();
    let reason = new.point_read(b"k", &mut |_| ()).unwrap_err();
    assert!(reason.is_disconnection(), "{reason}");
}
