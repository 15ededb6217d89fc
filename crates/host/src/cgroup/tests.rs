use super::*;
use std::process::{Command, Stdio};

fn folder(group: &Path, files: &[(&str, &str)]) {
    std::fs::create_dir_all(group).unwrap();
    for (name, text) in files {
        std::fs::write(group.join(name), text).unwrap();
    }
}

/// The lines of a machine with only cgroup v2, mounted at `point`.
fn mounts(point: &Path) -> String {
    let point = point.display();
    format!(
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
         30 22 0:26 / {point} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
    )
}

#[test]
fn of_v2_the_nearest_group_that_hands_the_memory_controller_on_is_the_parent() {
    let root = tempfile::tempdir().unwrap();
    let point = root.path();
    folder(point, &[("cgroup.subtree_control", "cpu memory pids\n")]);
    let slice = point.join("user.slice");
    folder(&slice, &[("cgroup.subtree_control", "memory pids\n")]);
    let own = slice.join("session-1.scope");
    folder(&own, &[("cgroup.subtree_control", "\n")]);
    let lines = "0::/user.slice/session-1.scope\n";
    let found = MemoryController::find_in(&mounts(point), lines).unwrap();
    assert_eq!(
        (found.version, found.parent),
        (CgroupVersion::Two, slice.clone())
    );
    folder(&slice, &[("cgroup.subtree_control", "pids\n")]);
    let found = MemoryController::find_in(&mounts(point), lines).unwrap();
    assert_eq!(found.parent, point);
    folder(point, &[("cgroup.subtree_control", "hugetlb\n")]);
    let reason = MemoryController::find_in(&mounts(point), lines)
        .unwrap_err()
        .to_string();
    assert!(reason.contains("lacks 'memory'"), "{reason}");
}

#[test]
fn of_v1_the_own_group_is_the_parent_and_v2_beside_it_is_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let point = root.path().join("memory");
    folder(&point.join("bench"), &[]);
    let text = format!(
        "{}31 22 0:27 / {} rw - cgroup cgroup rw,memory\n",
        mounts(&root.path().join("unified")),
        point.display()
    );
    let found = MemoryController::find_in(&text, "4:cpu,memory:/bench\n0::/\n").unwrap();
    assert_eq!(found.parent, point.join("bench"));
    assert_eq!(found.version, CgroupVersion::One);
    // In a container the group's own path may be outside the mounted hierarchy.
    let found = MemoryController::find_in(&text, "4:memory:/elsewhere\n").unwrap();
    assert_eq!(found.parent, point);
}

#[test]
fn without_control_groups_it_is_said_what_to_mount() {
    let found = MemoryController::find_in("22 1 254:0 / / rw - ext4 /dev/vda rw\n", "");
    assert!(matches!(found, Err(MemoryLimitError::NotMounted)));
}

#[test]
fn a_v2_group_is_limited_without_swap_and_its_events_are_read() {
    let root = tempfile::tempdir().unwrap();
    folder(root.path(), &[("cgroup.procs", "")]);
    let controller = MemoryController {
        version: CgroupVersion::Two,
        parent: root.path().to_owned(),
    };
    let group = controller.make(64 << 20).unwrap();
    let written = |file: &str| std::fs::read_to_string(group.path.join(file)).unwrap();
    assert_eq!(written("memory.max"), (64 << 20).to_string());
    assert_eq!(written("memory.swap.max"), "0");
    folder(
        &group.path,
        &[
            ("memory.peak", "1048576\n"),
            (
                "memory.events",
                "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n",
            ),
        ],
    );
    let usage = group.usage();
    assert_eq!(usage.peak_bytes, Some(1 << 20));
    assert_eq!((usage.limit_hits, usage.kills), (Some(12), 1));
}

#[test]
fn a_v1_group_counts_hits_of_both_limits_and_none_where_the_kernel_counts_none() {
    let count = |memory, both| {
        failures(move |file: &str| match file {
            "memory.failcnt" => memory,
            _ => both,
        })
    };
    assert_eq!(count(Some(3), Some(4)), Some(7));
    assert_eq!(count(Some(3), None), Some(3));
    assert_eq!(count(Some(0), Some(0)), None);
}

#[test]
fn groups_of_runners_that_are_gone_are_removed_and_no_others() {
    let root = tempfile::tempdir().unwrap();
    for name in ["trueput-7-0", "trueput-8-1", "trueput-x-1", "others"] {
        folder(&root.path().join(name), &[]);
    }
    let controller = MemoryController {
        version: CgroupVersion::One,
        parent: root.path().to_owned(),
    };
    remove_leftovers_in(&controller.parent, |pid| pid == "8");
    let left = |name: &str| root.path().join(name).exists();
    assert!(!left("trueput-7-0"));
    assert!(left("trueput-8-1") && left("trueput-x-1") && left("others"));
}

#[test]
fn more_memory_than_the_machine_has_is_refused() {
    let has = format_bytes(machine_bytes().unwrap());
    let reason = check(1 << 50).unwrap_err().to_string();
    assert!(
        reason.contains("1 PiB") || reason.contains("1024 TiB"),
        "{reason}"
    );
    assert!(
        reason.ends_with(&format!("this machine's {has}")),
        "{reason}"
    );
}

#[test]
fn a_process_that_wants_more_than_its_group_may_have_is_killed_and_counted() {
    let group = match MemoryController::find().and_then(|controller| controller.make(32 << 20)) {
        Ok(group) => group,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    // A shell that doubles a variable, once it reads that it is in the group.
    let script = "read go; x=0123456789abcdef; while :; do x=$x$x; done";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::fs::write(group.entry(), child.id().to_string()).unwrap();
    drop(child.stdin.take());
    let status = child.wait().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(9), "{status:?}");
    let usage = group.usage();
    assert_eq!(usage.kills, 1, "{usage:?}");
    assert!(usage.peak_bytes.is_some_and(|peak| peak <= 32 << 20));
    // Whether hits are counted depends on the kernel; a count of 0 would be an error.
    assert_ne!(usage.limit_hits, Some(0));
    let path = group.path.clone();
    drop(group);
    assert!(!path.exists());
}
