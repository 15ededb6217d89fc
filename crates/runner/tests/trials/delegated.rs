//! Tasks that the runner carries to worker processes without knowing them.

use crate::claims::claims;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio, exit, id};
use std::time::{Duration, Instant};
use trueput_runner::{DelegatedTask, DelegatedWorker, Registry, TaskError, TaskOutcome};

claims![
    an_answer_comes_back_whatever_its_fields_are_called,
    a_task_that_fails_and_one_that_nobody_knows_give_their_reasons,
    a_process_that_ends_without_an_answer_is_told_from_one_that_failed,
    an_answer_is_not_kept_back_by_another_process_that_holds_the_pipe,
    a_task_that_lasts_is_waited_for_no_longer_than_the_limit_and_killed,
];

/// The tasks of this program as a worker.
pub const TASKS: &[DelegatedTask] = &[ECHO, FAIL, EXIT, HOLD, LAST];

const ECHO: DelegatedTask = DelegatedTask {
    name: "echo",
    serve: |_, assignment| Ok(assignment),
};
const FAIL: DelegatedTask = DelegatedTask {
    name: "fail",
    serve: |_, assignment| Err(format!("no answer to {assignment}").into()),
};
const EXIT: DelegatedTask = DelegatedTask {
    name: "exit",
    serve: |_, _| {
        eprintln!("first line\nlast line");
        exit(3)
    },
};
const HOLD: DelegatedTask = DelegatedTask {
    name: "hold",
    serve: hold,
};
const LAST: DelegatedTask = DelegatedTask {
    name: "last",
    serve: |_, _| {
        std::thread::sleep(LONG);
        Ok(Value::Null)
    },
};

/// Longer than any claim here.
const LONG: Duration = Duration::from_secs(60);

/// Answers with the id of a process that holds this one's pipe to the runner, and lives on.
fn hold(_: &Registry, _: Value) -> Result<Value, TaskError> {
    let is_pipe = |fd: &u32| {
        let link = std::fs::read_link(format!("/proc/self/fd/{fd}"));
        link.is_ok_and(|link| link.to_string_lossy().starts_with("pipe:"))
    };
    let fd = (3..64).find(is_pipe).ok_or("no pipe to the runner")?;
    let (own, long_s) = (id(), LONG.as_secs());
    let script = format!("exec 3>/proc/{own}/fd/{fd}; echo held; exec sleep {long_s}");
    let mut holder = Command::new("sh")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    let output = holder.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut said)?;
    assert_eq!(said, "held\n");
    Ok(json!(holder.id()))
}

fn start(task: &DelegatedTask, assignment: &Value) -> DelegatedWorker {
    let program = std::env::current_exe().unwrap();
    DelegatedWorker::start(&program, task, assignment, |_| {}).unwrap()
}

/// The outcome of a task that ends.
fn outcome(task: &DelegatedTask, assignment: &Value) -> TaskOutcome {
    start(task, assignment).wait(LONG).unwrap().unwrap()
}

fn an_answer_comes_back_whatever_its_fields_are_called() {
    let assignment = json!({
        "report": "failed", "message": "no", "task": {"answer": [1, null, "a\nb"]}, "delegate": 2.5,
    });
    let answered = outcome(&ECHO, &assignment);
    assert!(
        matches!(&answered, TaskOutcome::Answered(answer) if *answer == assignment),
        "{answered:?}"
    );
}

fn a_task_that_fails_and_one_that_nobody_knows_give_their_reasons() {
    let unknown = DelegatedTask {
        name: "unheard-of",
        ..ECHO
    };
    for (task, reason) in [(FAIL, "no answer to 7"), (unknown, "unheard-of")] {
        let failed = outcome(&task, &json!(7));
        assert!(
            matches!(&failed, TaskOutcome::Failed(message) if message.contains(reason)),
            "{failed:?}"
        );
    }
}

fn a_process_that_ends_without_an_answer_is_told_from_one_that_failed() {
    let ended = outcome(&EXIT, &Value::Null);
    let TaskOutcome::Ended { status, last_line } = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(status.code(), Some(3));
    assert_eq!(last_line.as_deref(), Some("last line"));
}

fn an_answer_is_not_kept_back_by_another_process_that_holds_the_pipe() {
    let began = Instant::now();
    let answered = outcome(&HOLD, &Value::Null);
    let TaskOutcome::Answered(holder) = answered else {
        panic!("{answered:?}");
    };
    let holder = holder.to_string();
    let is_there = std::fs::exists(format!("/proc/{holder}")).unwrap();
    let killed = Command::new("kill").args(["-KILL", &holder]).status();
    assert!(
        is_there && killed.unwrap().success(),
        "it holds the pipe no longer"
    );
    // Reports that are missing are waited for 10 s.
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

fn a_task_that_lasts_is_waited_for_no_longer_than_the_limit_and_killed() {
    let began = Instant::now();
    let mut worker = start(&LAST, &Value::Null);
    assert!(worker.wait(Duration::from_millis(200)).unwrap().is_none());
    drop(worker);
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
}
