//! Checks of this machine: what limits figures on it, what voids promises, what cannot be measured.
//!
//! The quick checks read files of the kernel and take a few milliseconds: each run's record has
//! what they find. [`measurement`] takes seconds.

pub mod measurement;

use crate::file_system::{find_file_system, find_nearest_existing};
use crate::{cgroup, network, trial_file_system};
use nix::sys::resource::{Resource, getrlimit};
use std::ffi::OsStr;
use std::fs::{self, read_to_string};
use std::path::{Path, PathBuf};
use trueput_record::filesystem::FileSystem;
use trueput_record::host::FileSystemFacts;
use trueput_record::machine_check::CheckSeverity::{Fine, LimitsFigures, Missing, VoidsPromises};
use trueput_record::machine_check::{CheckSeverity, CheckSubject, MachineCheck};
use trueput_record::value::format_bytes;

/// Above this load for each processor, other programs take part in each figure.
const MAX_LOAD: f64 = 0.3;

/// The part of the memory that should be available.
const MIN_AVAILABLE: f64 = 0.25;

/// Databases of the plans that come with trueput need less.
const MIN_FREE_BYTES: u64 = 4 << 30;

/// Engines of log-structured merge trees have as many files open.
const MIN_OPEN_FILES: u64 = 4_096;

/// Options of mounts that give up what a flush promises.
const UNSAFE_OPTIONS: [&str; 4] = ["nobarrier", "barrier=0", "volatile", "data=writeback"];

/// Returns what the quick checks find wrong for databases in a folder, which need not exist yet:
/// what is recorded with each run.
#[must_use]
pub fn find_limits(folder: &Path, load: f64, cores: u32) -> Vec<MachineCheck> {
    let all = check_conditions(folder, load, cores).into_iter();
    all.filter(|check| check.severity > Missing).collect()
}

/// Checks what limits figures, or voids promises, at this load average over a minute on so many
/// processors.
#[must_use]
pub fn check_conditions(folder: &Path, load: f64, cores: u32) -> Vec<MachineCheck> {
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let file_system = find_file_system(folder);
    let checks = [
        preloaded(std::env::var_os("LD_PRELOAD").as_deref()),
        promised_by(&file_system),
        space(&file_system),
        busy(load, cores),
        governor(&text(
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        )),
        turbo(
            &text("/sys/devices/system/cpu/intel_pstate/no_turbo"),
            &text("/sys/devices/system/cpu/cpufreq/boost"),
        ),
        huge_pages(&text("/sys/kernel/mm/transparent_hugepage/enabled")),
        clock_source(&text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
        emulation(&text("/proc/cpuinfo")),
        memory(&text("/proc/meminfo")),
        swap(&text("/proc/meminfo")),
        open_files(getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft)),
    ];
    checks.into_iter().flatten().collect()
}

/// Checks what can be measured here, besides engines.
#[must_use]
pub fn check_abilities() -> Vec<MachineCheck> {
    let opens = |subject: CheckSubject, path: &str| {
        let opened = fs::File::options().read(true).write(true).open(path);
        match opened {
            Ok(_) => MachineCheck::new(subject, Fine, "there"),
            Err(error) => MachineCheck::new(subject, Missing, format!("{path}: {error}")),
        }
    };
    let memory = match cgroup::check(1 << 30) {
        Ok(()) => MachineCheck::new(CheckSubject::MemoryLimits, Fine, "there"),
        Err(error) => MachineCheck::new(CheckSubject::MemoryLimits, Missing, error.to_string()),
    };
    let networks = match network::why_unavailable() {
        None => MachineCheck::new(CheckSubject::Networks, Fine, "there"),
        Some(reason) => MachineCheck::new(CheckSubject::Networks, Missing, reason),
    };
    vec![
        opens(CheckSubject::Fuse, "/dev/fuse"),
        opens(CheckSubject::LoopDevices, "/dev/loop-control"),
        file_system_tools(),
        memory,
        networks,
        ssh(&std::env::var_os("PATH").unwrap_or_default()),
    ]
}

fn fine_or(
    subject: CheckSubject,
    severity: CheckSeverity,
    is_wrong: bool,
    found: impl Into<String>,
) -> Option<MachineCheck> {
    let severity = if is_wrong { severity } else { Fine };
    Some(MachineCheck::new(subject, severity, found))
}

fn preloaded(libraries: Option<&OsStr>) -> Option<MachineCheck> {
    let libraries = libraries?.to_string_lossy().into_owned();
    let is_wrong = libraries.contains("eatmydata");
    fine_or(
        CheckSubject::Eatmydata,
        VoidsPromises,
        is_wrong,
        format!("LD_PRELOAD={libraries}"),
    )
}

/// What a file system keeps by its kind and options.
fn promised_by(facts: &FileSystemFacts) -> Option<MachineCheck> {
    let options = facts.options.split(',');
    let given_up: Vec<&str> = options.filter(|it| UNSAFE_OPTIONS.contains(it)).collect();
    let is_in_memory = ["tmpfs", "ramfs"].contains(&facts.kind.as_str());
    let found = if given_up.is_empty() {
        format!("{} on {}", facts.kind, facts.mount_point)
    } else {
        format!(
            "{} on {} with {}",
            facts.kind,
            facts.mount_point,
            given_up.join(",")
        )
    };
    if facts.kind.is_empty() {
        return None;
    }
    let is_wrong = is_in_memory || !given_up.is_empty();
    fine_or(CheckSubject::FileSystem, VoidsPromises, is_wrong, found)
}

fn space(facts: &FileSystemFacts) -> Option<MachineCheck> {
    let found = format!("{} free", format_bytes(facts.free_bytes));
    let is_wrong = facts.free_bytes < MIN_FREE_BYTES;
    fine_or(CheckSubject::Space, Missing, is_wrong, found).filter(|_| facts.size_bytes > 0)
}

fn busy(average: f64, cores: u32) -> Option<MachineCheck> {
    let is_wrong = average > MAX_LOAD * f64::from(cores);
    let found = format!("{average:.2} over the last minute, {cores} processors");
    fine_or(CheckSubject::Load, LimitsFigures, is_wrong, found)
}

fn governor(text: &str) -> Option<MachineCheck> {
    let governor = text.trim();
    let is_wrong = governor != "performance";
    fine_or(CheckSubject::Governor, LimitsFigures, is_wrong, governor)
        .filter(|_| !governor.is_empty())
}

/// `no_turbo` of Intel's driver, or `boost` of the others.
fn turbo(no_turbo: &str, boost: &str) -> Option<MachineCheck> {
    let is_on = match (no_turbo.trim(), boost.trim()) {
        ("0", _) | ("", "1") => true,
        ("1", _) | ("", "0") => false,
        _ => return None,
    };
    let found = if is_on { "on" } else { "off" };
    fine_or(CheckSubject::Turbo, LimitsFigures, is_on, found)
}

/// The choice in brackets: `always [madvise] never`.
fn huge_pages(text: &str) -> Option<MachineCheck> {
    let (_, rest) = text.split_once('[')?;
    let (chosen, _) = rest.split_once(']')?;
    let is_wrong = chosen == "always";
    fine_or(CheckSubject::HugePages, LimitsFigures, is_wrong, chosen)
}

fn clock_source(text: &str) -> Option<MachineCheck> {
    let source = text.trim();
    let is_fast = [
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    ];
    let is_wrong = !is_fast.contains(&source);
    fine_or(CheckSubject::ClockSource, LimitsFigures, is_wrong, source)
        .filter(|_| !source.is_empty())
}

fn emulation(cpu_information: &str) -> Option<MachineCheck> {
    let is_wrong = cpu_information.contains("QEMU TCG");
    is_wrong.then(|| {
        MachineCheck::new(
            CheckSubject::Emulation,
            LimitsFigures,
            "QEMU translates this processor",
        )
    })
}

/// A field of `/proc/meminfo`, bytes.
fn memory_field(information: &str, name: &str) -> Option<u64> {
    let mut lines = information.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kilobytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1_024)
}

fn memory(information: &str) -> Option<MachineCheck> {
    let total = memory_field(information, "MemTotal")?;
    let available = memory_field(information, "MemAvailable")?;
    let is_wrong = (available as f64) < MIN_AVAILABLE * total as f64;
    let found = format!(
        "{} of {} available",
        format_bytes(available),
        format_bytes(total)
    );
    fine_or(CheckSubject::Memory, LimitsFigures, is_wrong, found)
}

fn swap(information: &str) -> Option<MachineCheck> {
    let total = memory_field(information, "SwapTotal")?;
    let used = total.saturating_sub(memory_field(information, "SwapFree")?);
    let found = format!("{} of {} used", format_bytes(used), format_bytes(total));
    fine_or(CheckSubject::Swap, LimitsFigures, used > 64 << 20, found).filter(|_| total > 0)
}

fn open_files(limit: u64) -> Option<MachineCheck> {
    let found = if limit == u64::MAX {
        "unlimited open files".to_owned()
    } else {
        format!("{limit} open files")
    };
    fine_or(CheckSubject::Limits, Missing, limit < MIN_OPEN_FILES, found)
}

fn file_system_tools() -> MachineCheck {
    let subject = CheckSubject::FileSystemTools;
    let kinds = ["ext4", "xfs", "btrfs"];
    let missing = kinds.iter().filter_map(|kind| {
        let wanted: FileSystem = kind.parse().ok()?;
        let error = trial_file_system::check(&wanted).err()?;
        Some(format!("{kind}: {error}"))
    });
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() {
        MachineCheck::new(subject, Fine, kinds.join(", "))
    } else {
        MachineCheck::new(subject, Missing, missing.join("; "))
    }
}

fn ssh(path: &OsStr) -> MachineCheck {
    let mut folders = std::env::split_paths(path);
    let found: Option<PathBuf> = folders.find_map(|folder| {
        let program = folder.join("ssh");
        program.is_file().then_some(program)
    });
    match found {
        Some(program) => MachineCheck::new(CheckSubject::Ssh, Fine, program.display().to_string()),
        None => MachineCheck::new(CheckSubject::Ssh, Missing, "no ssh in PATH"),
    }
}

/// Returns the folder whose storage is judged: the nearest one that exists.
#[must_use]
pub fn judged_folder(folder: &Path) -> PathBuf {
    find_nearest_existing(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn severity(check: Option<MachineCheck>) -> Option<CheckSeverity> {
        check.map(|check| check.severity)
    }

    fn file_system(kind: &str, options: &str) -> FileSystemFacts {
        FileSystemFacts {
            kind: kind.to_owned(),
            mount_point: "/".to_owned(),
            options: options.to_owned(),
            ..FileSystemFacts::default()
        }
    }

    #[test]
    fn each_check_tells_what_limits_figures_from_what_does_not() {
        let limits = Some(LimitsFigures);
        let fine = Some(Fine);
        assert_eq!(severity(governor("powersave\n")), limits);
        assert_eq!(severity(governor("performance\n")), fine);
        assert_eq!(severity(governor("")), None);
        assert_eq!(severity(turbo("0\n", "")), limits);
        assert_eq!(severity(turbo("", "0\n")), fine);
        assert_eq!(severity(turbo("", "")), None);
        assert_eq!(severity(huge_pages("[always] madvise never\n")), limits);
        assert_eq!(severity(huge_pages("always [madvise] never\n")), fine);
        assert_eq!(severity(clock_source("hpet\n")), limits);
        assert_eq!(severity(clock_source("tsc\n")), fine);
        assert_eq!(severity(busy(1.9, 2)), limits);
        assert_eq!(severity(busy(0.1, 2)), fine);
        assert_eq!(severity(emulation("model name : QEMU TCG CPU")), limits);
        assert_eq!(severity(emulation("model name : A Fine CPU")), None);
        assert_eq!(severity(open_files(1_024)), Some(Missing));
        assert_eq!(severity(open_files(65_536)), fine);
    }

    #[test]
    fn memory_that_is_short_and_swap_that_is_used_limit_figures() {
        let information = |available: u64, swap_free: u64| {
            format!(
                "MemTotal: 8000000 kB\nMemAvailable: {available} kB\nSwapTotal: 1000000 kB\n\
                 SwapFree: {swap_free} kB\n"
            )
        };
        let short = information(1_000_000, 500_000);
        assert_eq!(severity(memory(&short)), Some(LimitsFigures));
        assert_eq!(severity(swap(&short)), Some(LimitsFigures));
        let ample = information(7_000_000, 1_000_000);
        assert_eq!(severity(memory(&ample)), Some(Fine));
        assert_eq!(severity(swap(&ample)), Some(Fine));
        assert_eq!(severity(swap("SwapTotal: 0 kB\nSwapFree: 0 kB\n")), None);
    }

    #[test]
    fn what_keeps_nothing_at_lost_power_voids_promises() {
        let voids = Some(VoidsPromises);
        assert_eq!(severity(promised_by(&file_system("tmpfs", "rw"))), voids);
        let mounted = file_system("ext4", "rw,relatime,nobarrier");
        assert_eq!(severity(promised_by(&mounted)), voids);
        let safe = file_system("ext4", "rw,relatime");
        assert_eq!(severity(promised_by(&safe)), Some(Fine));
        let library = OsStr::new("/usr/lib/libeatmydata.so");
        assert_eq!(severity(preloaded(Some(library))), voids);
        let other = OsStr::new("/usr/lib/libjemalloc.so.2");
        assert_eq!(severity(preloaded(Some(other))), Some(Fine));
        assert_eq!(severity(preloaded(None)), None);
    }

    #[test]
    fn a_record_has_no_more_than_what_is_wrong() {
        let found = find_limits(Path::new("/dev/shm/trueput"), 0.0, 2);
        assert!(found.iter().all(|check| check.severity > Missing));
        // Where there is shared memory it is in memory.
        if find_file_system(Path::new("/dev/shm")).kind == "tmpfs" {
            let mut subjects = found.iter().map(|check| check.subject);
            assert!(subjects.any(|subject| subject == CheckSubject::FileSystem));
        }
    }
}
