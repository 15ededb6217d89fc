//! Servers that are shell scripts: made, started, stopped, killed.

use super::*;
use crate::process::is_alive;
use crate::process_tree::list_members;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use trueput_engine::{Durability, Error, ParameterValues, Result};

/// A server that is a shell script: it is ready once the file `ready` is there.
struct Script {
    make: &'static str,
    serve: &'static str,
}

/// A file in the folder of the server, with a byte for each time that it was asked whether it is
/// ready: a thread of its own asks.
const QUESTIONS: &str = "questions";

impl Script {
    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }
}

impl Service for Script {
    fn users(&self) -> &'static [&'static str] {
        &["no-such-user-anywhere"]
    }

    fn make(&self, _: &OpenSpec<'_>) -> Result<Vec<Command>> {
        Ok(vec![Self::shell(self.make)])
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        spec.directory.join("made").exists()
    }

    fn command(&self, _: &OpenSpec<'_>) -> Result<Command> {
        Ok(Self::shell(self.serve))
    }

    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        let mut options = std::fs::File::options();
        let questions = spec.directory.join(QUESTIONS);
        let questions = options.create(true).append(true).open(questions);
        questions.unwrap().write_all(b"?").unwrap();
        if spec.directory.join("refused").exists() {
            Err(Error::engine("wrong password"))
        } else {
            Ok(spec.directory.join("ready").exists())
        }
    }

    fn stop_signal(&self) -> Signal {
        Signal::Terminate
    }

    fn ends_by_stop_signal(&self) -> bool {
        self.serve == ENDS_BY_SIGNAL
    }
}

/// Ends by SIGTERM, after some work.
const ENDS_BY_SIGNAL: &str =
    "trap 'rm ready; trap - TERM; kill -TERM $$' TERM; touch ready; while :; do sleep 0.02; done";

const GOOD: Script = Script {
    make: "id -un >made",
    serve: "trap 'echo stopping; rm ready; exit 0' TERM; sleep 60 & touch ready; wait",
};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    folder
}

fn start(script: &Script, folder: &Path) -> std::result::Result<Server, ServerError> {
    start_while(script, folder, &mut || true)
}

fn start_while(
    script: &Script,
    folder: &Path,
    wait: &mut dyn FnMut() -> bool,
) -> std::result::Result<Server, ServerError> {
    start_within(script, folder, None, wait)
}

fn start_within(
    script: &Script,
    folder: &Path,
    limit: Option<Duration>,
    wait: &mut dyn FnMut() -> bool,
) -> std::result::Result<Server, ServerError> {
    let spec = OpenSpec {
        directory: folder,
        durability: Durability::Sync,
        knobs: &ParameterValues::default(),
        sessions: 1,
    };
    let spec = ServerSpec {
        service: script,
        database: &spec,
        conditions: &Conditions::default(),
        group_entry: None,
    };
    match limit {
        Some(limit) => Server::start_within(&spec, limit, wait),
        None => Server::start(&spec, wait),
    }
}

#[test]
fn a_server_is_made_started_and_stopped_by_a_user_other_than_root() {
    let folder = folder();
    let server = start(&GOOD, folder.path()).unwrap();
    let made_by = std::fs::read_to_string(folder.path().join("made")).unwrap();
    assert_ne!(made_by.trim(), "root");
    let (pid, sleeper) = (server.pid(), list_members(server.pid())[1]);
    server.stop(&mut || true).unwrap();
    assert!(!is_alive(pid) && !is_alive(sleeper));
    assert!(!folder.path().join("ready").exists());
}

#[test]
fn a_server_may_end_by_the_signal_that_stops_it_if_it_says_so() {
    let folder = folder();
    let says_so = Script {
        make: GOOD.make,
        serve: ENDS_BY_SIGNAL,
    };
    let server = start(&says_so, folder.path()).unwrap();
    server.stop(&mut || true).unwrap();
    assert!(!folder.path().join("ready").exists());
    let silent = Script {
        make: GOOD.make,
        serve: "touch ready; exec sleep 60",
    };
    let server = start(&silent, folder.path()).unwrap();
    let reason = server.stop(&mut || true).unwrap_err().to_string();
    assert!(reason.contains("was killed by SIGTERM"), "{reason}");
}

#[test]
fn a_server_that_was_stopped_by_a_signal_is_not_waited_for() {
    let folder = folder();
    let server = start(&GOOD, folder.path()).unwrap();
    assert_eq!(server.as_stopped(), None);
    let pid = Pid::from_raw(server.pid().cast_signed());
    kill(pid, SystemSignal::SIGSTOP).unwrap();
    // One that is waited for ends with other words, after this limit.
    let limit = STOPPED_TIMEOUT + START_TIMEOUT;
    let stopped = server.stop_within(limit, &mut || true);
    let reason = stopped.unwrap_err().to_string();
    assert!(
        reason.contains("was stopped by a signal") && reason.contains("was killed"),
        "{reason}"
    );
}

#[test]
fn a_server_that_is_only_paused_for_a_moment_stops_in_good_order() {
    let folder = folder();
    let server = start(&GOOD, folder.path()).unwrap();
    let pid = Pid::from_raw(server.pid().cast_signed());
    kill(pid, SystemSignal::SIGSTOP).unwrap();
    let goes_on = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        kill(pid, SystemSignal::SIGCONT).unwrap();
    });
    server.stop(&mut || true).unwrap();
    goes_on.join().unwrap();
}

#[test]
fn a_killed_server_says_how_it_ended_and_what_it_last_wrote() {
    let folder = folder();
    let talkative = Script {
        make: "touch made",
        serve: "echo one; echo two; touch ready; exec sleep 60",
    };
    let mut server = start(&talkative, folder.path()).unwrap();
    assert_eq!(server.own_end(), None);
    kill(
        Pid::from_raw(server.pid().cast_signed()),
        SystemSignal::SIGKILL,
    )
    .unwrap();
    assert!(server.wait_for_end(START_TIMEOUT).is_some());
    let end = server.own_end().unwrap();
    let text = end.to_string();
    assert!(
        text.ends_with("was killed by SIGKILL; it last wrote: two"),
        "{text}"
    );
    let stopped = server.stop(&mut || true);
    assert!(matches!(stopped, Err(ServerError::Ended(found)) if found == end));
}

/// A server whose first thread has exited, as that of a process has which closes its
/// connections: it cannot be waited for until its other thread is killed.
fn start_ending(folder: &Path) -> Server {
    let ending = Script {
        make: "cat >ending.c <<'END'
#include <pthread.h>
#include <unistd.h>
static void *stay(void *unused) { for (;;) pause(); }
int main(void) { pthread_t other; pthread_create(&other, 0, stay, 0); pthread_exit(0); }
END
cc -pthread -o ending ending.c && touch made",
        serve: "echo one; touch ready; exec ./ending",
    };
    let server = start(&ending, folder).unwrap();
    let limit = Instant::now() + START_TIMEOUT;
    while !is_ending(server.pid()) && Instant::now() < limit {
        std::thread::sleep(PAUSE);
    }
    server
}

#[test]
fn one_that_is_ending_when_it_is_to_stop_has_ended_by_itself() {
    let folder = folder();
    let server = start_ending(folder.path());
    let pid = server.pid();
    let mut calls = 0;
    let stopped = server.stop(&mut || {
        calls += 1;
        kill(Pid::from_raw(pid.cast_signed()), SystemSignal::SIGKILL).is_ok()
    });
    let end = format!("the server (process {pid}) was killed by SIGKILL; it last wrote: one");
    assert_eq!(stopped.unwrap_err().to_string(), end);
    assert!(calls > 0, "it ended before it was to stop");
}

/// Creates no instance: the command and what it starts stop, and a part of it has no parent.
const STOPS: &str = "(sleep 600 & echo $! >>stopped; kill -STOP $!); sleep 600 & \
    echo $! >>stopped; kill -STOP $!; echo $$ >>stopped; mv stopped pids; kill -STOP $$; \
    touch made";

fn has_stopped_instance_left(folder: &Path) -> bool {
    let pids = std::fs::read_to_string(folder.join("pids")).unwrap();
    let pids: Vec<u32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3);
    // The system still has to wait for the one without a parent.
    let limit = Instant::now() + START_TIMEOUT;
    while pids.iter().any(|&pid| is_alive(pid)) && Instant::now() < limit {
        std::thread::sleep(PAUSE);
    }
    pids.iter().any(|&pid| is_alive(pid))
}

#[test]
fn a_creation_that_gets_no_further_is_ended_with_all_its_processes() {
    let folder = folder();
    let stops = Script {
        make: STOPS,
        serve: "",
    };
    let limit = Some(Duration::from_secs(2));
    let failed = start_within(&stops, folder.path(), limit, &mut || true);
    let reason = failed.err().unwrap().to_string();
    let expected = "creating the instance: sh: no progress for 2 s, the limit of this phase; ";
    assert!(reason.starts_with(expected), "{reason}");
    assert!(reason.contains("stopped by a signal"), "{reason}");
    assert!(!has_stopped_instance_left(folder.path()));
}

#[test]
fn a_creation_that_is_not_waited_for_is_ended_with_all_its_processes() {
    let folder = folder();
    let stops = Script {
        make: STOPS,
        serve: "",
    };
    let pids = folder.path().join("pids");
    let canceled = start_while(&stops, folder.path(), &mut || !pids.exists());
    assert!(matches!(canceled, Err(ServerError::Canceled)));
    assert!(!has_stopped_instance_left(folder.path()));
}

#[test]
fn a_creation_that_takes_longer_than_it_may_be_silent_is_waited_for() {
    let folder = folder();
    let slow = Script {
        make: "for i in $(seq 24); do sleep 0.5; done; touch made",
        serve: GOOD.serve,
    };
    let limit = Some(Duration::from_secs(10));
    let started = start_within(&slow, folder.path(), limit, &mut || true);
    started.map(drop).unwrap();
}

#[test]
fn one_that_does_not_start_or_cannot_be_made_says_why() {
    let broken = |make, serve| {
        let folder = folder();
        let started = start(&Script { make, serve }, folder.path());
        started.err().unwrap().to_string()
    };
    let unmade = broken("echo no room; exit 3", "");
    let expected = "creating the instance: sh exited with code 3; it last wrote: no room";
    assert_eq!(unmade, expected);
    let unmade = broken("echo error: no space left on device; echo bye; exit 3", "");
    let expected = "sh exited with code 3; it wrote: error: no space left on device";
    assert!(unmade.ends_with(expected), "{unmade}");
    let unstarted = broken("touch made", "echo FATAL: disk is full; echo bye; exit 1");
    let expected = "exited with code 1; it wrote: FATAL: disk is full (while starting)";
    assert!(unstarted.ends_with(expected), "{unstarted}");
    let unstarted = broken("touch made", "echo port taken; exit 1");
    assert!(unstarted.contains("exited with code 1; it last wrote: port taken"));
    let refused = broken("touch made refused", "exec sleep 60");
    assert_eq!(refused, "the server: wrong password");
}

#[test]
fn one_that_takes_long_to_recover_is_waited_for_until_the_user_will_not() {
    let folder = folder();
    std::fs::write(folder.path().join("made"), "").unwrap();
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), all).unwrap();
    let recovering = Script {
        make: "",
        serve: "echo $$ >new; mv new pid; exec sleep 60",
    };
    let pid = folder.path().join("pid");
    let refused = start_while(&recovering, folder.path(), &mut || !pid.exists());
    assert!(matches!(refused, Err(ServerError::Canceled)));
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(!is_alive(pid.trim().parse().unwrap()));
}

#[test]
fn one_that_is_dropped_is_stopped_with_its_children() {
    let folder = folder();
    let deaf = Script {
        make: "touch made",
        serve: "trap '' TERM; sleep 60 & : >ready; wait",
    };
    let mut server = start(&deaf, folder.path()).unwrap();
    let all = list_members(server.pid());
    assert_eq!(all.len(), 2);
    server.kill();
    drop(server);
    let limit = Instant::now() + START_TIMEOUT;
    while all.iter().any(|pid| is_alive(*pid)) && Instant::now() < limit {
        std::thread::sleep(PAUSE);
    }
    assert!(!all.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn one_that_died_by_itself_leaves_no_child() {
    let folder = folder();
    let orphaning = Script {
        make: "touch made",
        serve: "sleep 60 & touch ready; wait",
    };
    let server = start(&orphaning, folder.path()).unwrap();
    let all = list_members(server.pid());
    assert!(all.len() >= 2);
    let pid = Pid::from_raw(server.pid().cast_signed());
    kill(pid, SystemSignal::SIGKILL).unwrap();
    drop(server);
    assert!(!all.iter().any(|&pid| is_alive(pid)));
}

#[test]
fn one_that_starts_again_is_asked_often_at_first() {
    let questions = |is_made: bool| {
        let folder = folder();
        if is_made {
            std::fs::write(folder.path().join("made"), "").unwrap();
            let all = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(folder.path(), all).unwrap();
        }
        let slow = Script {
            make: "touch made",
            serve: "sleep 0.5; touch ready; exec sleep 60",
        };
        start(&slow, folder.path()).unwrap();
        std::fs::read(folder.path().join(QUESTIONS)).unwrap().len()
    };
    let (first, again) = (questions(false), questions(true));
    assert!(again > 2 * first, "{first} and {again}");
}

#[test]
fn a_folder_that_the_user_cannot_reach_is_refused_by_name() {
    let folder = folder();
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path(), closed).unwrap();
    let below = folder.path().join("instance");
    std::fs::create_dir(&below).unwrap();
    let started = start(&GOOD, &below);
    if nix::unistd::geteuid().is_root() {
        let refused = started.err().unwrap().to_string();
        assert!(refused.contains(&folder.path().display().to_string()));
    } else {
        started.map(drop).unwrap();
    }
}
