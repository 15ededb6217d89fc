//! Placement of workers: processors, NUMA nodes, memory allocator. It is set before a worker's
//! first instruction, so that no memory of it is elsewhere, and then read back.

use super::allocator;
use super::numa::{BitMask, MemoryPolicy, NumaMaps};
use super::topology::{format_list, read_memory_nodes, read_online_cpus};
use nix::libc::{SYS_sched_getaffinity, SYS_sched_setaffinity, syscall};
use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::Command;
use trueput_record::Conditions;
use trueput_record::conditions::{Allocator, NumaPolicy, parse_list};
use trueput_record::placement::{AllocatorReport, Placement};

/// A placement condition that this machine cannot meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlacementError {
    /// The plan's key for it.
    pub key: &'static str,
    /// The input and the remedy.
    pub message: String,
}

/// A process that does not run where its conditions say: one sentence that says how it runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misplacement(String);

/// Checks that workers can be placed as the conditions say, by placing a thread so.
///
/// # Errors
/// The first condition that cannot be met.
pub fn check(conditions: &Conditions) -> Result<(), PlacementError> {
    if let Some(list) = &conditions.cpus {
        check_cpus(list)?;
    }
    if let Some(policy) = &conditions.numa {
        check_numa(policy)?;
    }
    let library = allocator::find_library(conditions.allocator);
    library.map_err(|error| unmet("allocator", error.to_string()))?;
    Ok(())
}

fn unmet(key: &'static str, message: String) -> PlacementError {
    PlacementError { key, message }
}

fn check_cpus(list: &str) -> Result<(), PlacementError> {
    let unmet = |message| Err(unmet("cpus", message));
    let asked = match parse_list(list) {
        Ok(asked) => asked,
        Err(error) => return unmet(error.to_string()),
    };
    let online = read_online_cpus();
    let missing = asked.iter().find(|cpu| !online.contains(cpu));
    if let Some(cpu) = missing.filter(|_| !online.is_empty()) {
        return unmet(format!(
            "CPU {cpu} of '{list}' does not exist or is offline; this machine has {}",
            format_list(&online)
        ));
    }
    let mask = BitMask::of(&asked);
    let got = run_in_thread(move || set_affinity(&mask).and_then(|()| affinity()));
    match got {
        Ok(got) if got == BitMask::of(&asked) => Ok(()),
        Ok(got) => unmet(format!(
            "of the CPUs '{list}', this process may use only {}",
            format_list(&got.members())
        )),
        Err(error) => unmet(format!(
            "this process may not use the CPUs '{list}': {error}"
        )),
    }
}

fn check_numa(policy: &NumaPolicy) -> Result<(), PlacementError> {
    let unmet = |message| Err(unmet("numa", message));
    let nodes = read_memory_nodes();
    let wanted = MemoryPolicy::of(policy);
    if nodes.is_empty() {
        return unmet(format!(
            "'{policy}' is not possible: this kernel reports no NUMA nodes"
        ));
    }
    if let Some(node) = wanted.nodes().iter().find(|node| !nodes.contains(node)) {
        return unmet(format!(
            "NUMA node {node} of '{policy}' does not exist or has no memory; this machine has {}",
            format_list(&nodes)
        ));
    }
    let set = wanted.clone();
    match run_in_thread(move || set.set().and_then(|()| MemoryPolicy::read())) {
        Ok(got) if got == wanted => Ok(()),
        Ok(got) => unmet(format!(
            "the kernel applied '{got}' instead of the NUMA policy '{policy}'"
        )),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => unmet(format!(
            "no permission to set the NUMA policy '{policy}': {error}; a container needs the \
             capability SYS_NICE"
        )),
        Err(error) => unmet(format!("cannot set the NUMA policy '{policy}': {error}")),
    }
}

/// Runs `work` in a separate thread, because it changes the calling thread.
fn run_in_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let thread = std::thread::Builder::new().spawn(work)?;
    thread
        .join()
        .unwrap_or_else(|_| Err(Error::other("its thread panicked")))
}

/// Places the process that `command` starts, and its descendants, as the conditions say.
///
/// # Errors
/// If it cannot be placed; [`check`] says so earlier and better.
pub fn apply(command: &mut Command, conditions: &Conditions) -> Result<(), Error> {
    if let Some(value) = allocator::preload(conditions.allocator).map_err(Error::other)? {
        command.env("LD_PRELOAD", value);
    }
    let cpus = conditions.cpus.as_deref().map(parse_list).transpose();
    let cpus = cpus.map_err(Error::other)?.map(|cpus| BitMask::of(&cpus));
    let policy = conditions.numa.as_ref().map(MemoryPolicy::of);
    if cpus.is_none() && policy.is_none() {
        return Ok(());
    }
    let set = move || {
        cpus.as_ref().map_or(Ok(()), set_affinity)?;
        policy.as_ref().map_or(Ok(()), MemoryPolicy::set)
    };
    // SAFETY: between fork and exec this makes two system calls and allocates nothing.
    unsafe { command.pre_exec(set) };
    Ok(())
}

/// Checks, before a database is opened, that this process is placed as the conditions say.
///
/// # Errors
/// A sentence that says how it is placed instead.
pub fn verify_own(conditions: &Conditions) -> Result<(), Misplacement> {
    let found = Placement {
        cpus: cpus_of(std::process::id()),
        numa_policy: MemoryPolicy::read()
            .map_or_else(|_| String::new(), |policy| policy.to_string()),
        ..Placement::default()
    };
    match list_doubts(conditions, &found, &allocator::read_allocator()).as_slice() {
        [] => Ok(()),
        doubts => Err(Misplacement(doubts.join("; "))),
    }
}

/// Checks the placement of a child process.
///
/// # Errors
/// As [`confirm`].
pub fn verify_child(pid: u32, conditions: &Conditions) -> Result<(), Misplacement> {
    let library = allocator::find_library(conditions.allocator)
        .map_err(|error| Misplacement(error.to_string()))?;
    if library.is_some_and(|library| !allocator::maps_file(pid, &library)) {
        let asked = conditions.allocator;
        return Err(Misplacement(format!(
            "process {pid} does not run with the allocator {asked}"
        )));
    }
    let allocator = AllocatorReport {
        name: conditions.allocator.word().to_owned(),
        ..AllocatorReport::default()
    };
    match list_doubts(conditions, &read_placement(pid), &allocator).as_slice() {
        [] => Ok(()),
        doubts => Err(Misplacement(doubts.join("; "))),
    }
}

/// Reads the processors and memory nodes that a process uses.
pub fn read_placement(pid: u32) -> Placement {
    let maps = NumaMaps::read(pid);
    let policies: Vec<_> = maps.policies.into_iter().collect();
    Placement {
        cpus: cpus_of(pid),
        numa_policy: policies.join(", "),
        anonymous_bytes_by_node: maps.anonymous_bytes,
        file_bytes_by_node: maps.file_bytes,
    }
}

/// Merges the placements of several processes.
pub fn merge<'a>(all: impl IntoIterator<Item = &'a Placement>) -> Placement {
    let mut sum = Placement::default();
    let (mut cpus, mut policies) = (BTreeSet::new(), BTreeSet::new());
    for one in all {
        cpus.extend(parse_list(&one.cpus).unwrap_or_default());
        let words = one.numa_policy.split(", ").filter(|word| !word.is_empty());
        policies.extend(words.map(str::to_owned));
        super::numa::add_by_node(
            &mut sum.anonymous_bytes_by_node,
            &one.anonymous_bytes_by_node,
        );
        super::numa::add_by_node(&mut sum.file_bytes_by_node, &one.file_bytes_by_node);
    }
    sum.cpus = format_list(&cpus.into_iter().collect::<Vec<_>>());
    sum.numa_policy = policies.into_iter().collect::<Vec<_>>().join(", ");
    sum
}

/// Lists differences between a placement and the conditions, one sentence each.
pub fn list_doubts(
    conditions: &Conditions,
    found: &Placement,
    allocator: &AllocatorReport,
) -> Vec<String> {
    let mut doubts = Vec::new();
    let asked = conditions.cpus.as_deref().map(parse_list);
    if let Some(Ok(asked)) = asked.filter(|asked| *asked != parse_list(&found.cpus)) {
        let (asked, found) = (format_list(&asked), &found.cpus);
        doubts.push(format!(
            "the workers could use the CPUs {found}, not {asked}"
        ));
    }
    if let Some(policy) = conditions.numa.as_ref().map(MemoryPolicy::of) {
        let word = policy.to_string();
        if !found.numa_policy.split(", ").any(|found| found == word) {
            let found = &found.numa_policy;
            doubts.push(format!(
                "the workers' NUMA policy was '{found}', not '{word}'"
            ));
        }
        let bytes = found.anonymous_bytes_by_node.iter();
        let on_node = (0..).zip(bytes).filter(|(_, bytes)| **bytes > 0);
        let nodes = policy.nodes();
        let elsewhere: Vec<u32> = on_node
            .map(|(node, _)| node)
            .filter(|node| policy.is_strict() && !nodes.contains(node))
            .collect();
        if !elsewhere.is_empty() {
            let nodes = format_list(&elsewhere);
            doubts.push(format!(
                "'{word}' did not keep the workers' memory off node {nodes}"
            ));
        }
    }
    let asked = conditions.allocator;
    // A preload of the user's is recorded and is not a fault if the plan requests no allocator.
    if asked != Allocator::Libc && allocator.name != asked.word() {
        let found = &allocator.name;
        doubts.push(format!(
            "the workers ran with the allocator {found}, not {asked}"
        ));
    }
    doubts
}

/// Returns the processors that any thread of these processes may use.
pub fn list_cpus_of_all(pids: &[u32]) -> Vec<u32> {
    let mut cpus = BTreeSet::new();
    for pid in pids {
        cpus.extend(parse_list(&cpus_of(*pid)).unwrap_or_default());
    }
    cpus.into_iter().collect()
}

/// Returns the processors that any thread of a process may use, as `0-3,8`.
fn cpus_of(pid: u32) -> String {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let mut cpus = BTreeSet::new();
    for thread in threads.flatten() {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        cpus.extend(
            list.and_then(|list| parse_list(list).ok())
                .unwrap_or_default(),
        );
    }
    format_list(&cpus.into_iter().collect::<Vec<_>>())
}

/// Lets the calling thread, and all that come from it, run on these processors only.
fn set_affinity(cpus: &BitMask) -> Result<(), Error> {
    // SAFETY: the kernel reads the stated number of bytes, which the mask has; 0 is the calling
    // thread.
    let done = unsafe { syscall(SYS_sched_setaffinity, 0, BitMask::BYTES, cpus.as_ptr()) };
    match done {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Returns the processors on which the calling thread may run.
fn affinity() -> Result<BitMask, Error> {
    let mut cpus = BitMask::EMPTY;
    // SAFETY: the kernel writes at most the stated number of bytes, for which there is room.
    let bytes = unsafe { syscall(SYS_sched_getaffinity, 0, BitMask::BYTES, cpus.as_mut_ptr()) };
    match bytes {
        0.. => Ok(cpus),
        _ => Err(Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmet(cpus: Option<&str>, numa: Option<&str>) -> PlacementError {
        let conditions = Conditions {
            cpus: cpus.map(str::to_owned),
            numa: numa.map(|policy| policy.parse().unwrap()),
            ..Conditions::default()
        };
        check(&conditions).unwrap_err()
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_with_those_that_are() {
        let unmet = unmet(Some("4000"), None);
        assert_eq!(unmet.key, "cpus");
        let online = format_list(&read_online_cpus());
        assert!(unmet.message.contains("CPU 4000"), "{}", unmet.message);
        assert!(
            unmet.message.ends_with(&format!("has {online}")),
            "{}",
            unmet.message
        );
    }

    #[test]
    fn a_node_that_is_not_there_is_refused_with_those_that_are() {
        let unmet = unmet(None, Some("bind:900"));
        assert_eq!(unmet.key, "numa");
        assert!(unmet.message.contains("node"), "{}", unmet.message);
    }

    #[test]
    fn what_every_machine_has_is_accepted_and_this_thread_stays_where_it_is() {
        let before = affinity().unwrap();
        let first = before.members()[0].to_string();
        let conditions = Conditions {
            cpus: Some(first),
            ..Conditions::default()
        };
        assert_eq!(check(&conditions), Ok(()));
        assert_eq!(check(&Conditions::default()), Ok(()));
        assert_eq!(affinity().unwrap(), before);
    }

    fn found(
        cpus: &str,
        policy: &str,
        anonymous: &[u64],
        name: &str,
    ) -> (Placement, AllocatorReport) {
        let placement = Placement {
            cpus: cpus.to_owned(),
            numa_policy: policy.to_owned(),
            anonymous_bytes_by_node: anonymous.to_vec(),
            file_bytes_by_node: vec![1, 1],
        };
        let allocator = AllocatorReport {
            name: name.to_owned(),
            ..AllocatorReport::default()
        };
        (placement, allocator)
    }

    #[test]
    fn a_placement_that_is_not_as_asked_is_doubted() {
        let asked = Conditions {
            cpus: Some("1,0".to_owned()),
            numa: Some("bind:1".parse().unwrap()),
            allocator: Allocator::Jemalloc,
            ..Conditions::default()
        };
        let doubts_of = |(placement, allocator)| list_doubts(&asked, &placement, &allocator);
        let as_asked = found("0-1", "bind:1, interleave:0-1", &[0, 5], "jemalloc");
        assert_eq!(doubts_of(as_asked), Vec::<String>::new());
        for (wrong, word) in [
            (found("0-2", "bind:1", &[], "jemalloc"), "CPUs 0-2"),
            (
                found("0-1", "default", &[], "jemalloc"),
                "'default', not 'bind:1'",
            ),
            (found("0-1", "bind:1", &[7, 5], "jemalloc"), "off node 0"),
            (found("0-1", "bind:1", &[], "libc"), "allocator libc"),
        ] {
            let doubts = doubts_of(wrong);
            assert!(doubts.len() == 1 && doubts[0].contains(word), "{doubts:?}");
        }
    }

    #[test]
    fn processes_add_up() {
        let (one, _) = found("0-1", "bind:1", &[1], "");
        let (other, _) = found("1-2", "default", &[1, 2], "");
        let sum = merge([&one, &other]);
        assert_eq!(
            (sum.cpus.as_str(), sum.numa_policy.as_str()),
            ("0-2", "bind:1, default")
        );
        assert_eq!(sum.anonymous_bytes_by_node, [2, 2]);
        assert_eq!(sum.file_bytes_by_node, [2, 2]);
    }
}
