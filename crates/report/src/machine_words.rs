//! What limits figures on a machine, in words: `trueput doctor`, and the reports of runs.

use crate::document::{Block, Column, ColumnRole, Table};
use crate::formats::{Style, terminal};
use trueput_findings::text::capitalized;
use trueput_findings::units::counted;
use trueput_record::machine_check::{CheckSeverity, CheckSubject, MachineCheck};

/// The name of a subject, in the words of a table.
fn subject_name(subject: CheckSubject) -> &'static str {
    match subject {
        CheckSubject::Eatmydata => "preloaded library",
        CheckSubject::FileSystem => "file system",
        CheckSubject::Flush => "time of a flush",
        CheckSubject::Steal => "stolen processor time",
        CheckSubject::Neighbors => "other programs",
        CheckSubject::Jitter => "interruptions",
        CheckSubject::Load => "load",
        CheckSubject::Governor => "frequency governor",
        CheckSubject::Turbo => "turbo frequencies",
        CheckSubject::HugePages => "transparent huge pages",
        CheckSubject::ClockSource => "clock source",
        CheckSubject::Emulation => "emulated processor",
        CheckSubject::Memory => "memory",
        CheckSubject::Swap => "swap",
        CheckSubject::Limits => "limits",
        CheckSubject::Space => "space",
        CheckSubject::Fuse => "FUSE",
        CheckSubject::LoopDevices => "loop devices",
        CheckSubject::FileSystemTools => "tools of file systems",
        CheckSubject::MemoryLimits => "memory limits",
        CheckSubject::Networks => "networks of clusters",
        CheckSubject::Ssh => "ssh",
        CheckSubject::Engines => "engines",
    }
}

/// What to do about a finding, as a sentence.
fn advice(subject: CheckSubject) -> &'static str {
    match subject {
        CheckSubject::Eatmydata => "Unset LD_PRELOAD: flushes do nothing with this library.",
        CheckSubject::FileSystem => {
            "Put databases on a disk with --work, or mount it without these options: after lost \
             power nothing is sure here."
        }
        CheckSubject::Flush => {
            "No known device is so fast: something below acknowledges flushes and does not do \
             them. Ask for the cache mode of the virtual disk, or take another disk by --work."
        }
        CheckSubject::Steal => {
            "Other virtual machines take this time: use a dedicated host, and compare contenders \
             side by side (--decide, --time-slice)."
        }
        CheckSubject::Neighbors => "End other programs, or wait until they are idle.",
        CheckSubject::Jitter => {
            "Something interrupts threads: end other programs, or keep workers apart by --cpus. \
             Latencies beyond p99 show it."
        }
        CheckSubject::Load => "Wait until the machine is idle.",
        CheckSubject::Governor => {
            "As root: cpupower frequency-set --governor performance. Frequencies that follow the \
             load make short trials slower."
        }
        CheckSubject::Turbo => {
            "As root: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost. Turbo depends on heat and on neighbors."
        }
        CheckSubject::HugePages => {
            "As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled. Databases advise \
             against 'always': it makes memory and latencies larger."
        }
        CheckSubject::ClockSource => {
            "Reading this clock takes a microsecond or so, in each latency: boot with \
             clocksource=tsc if the processor's counter is stable."
        }
        CheckSubject::Emulation => "Figures show function, not speed: use a real processor.",
        CheckSubject::Memory => "End programs that use memory, or limit caches by --memory.",
        CheckSubject::Swap => "As root: swapoff -a, or give databases less memory.",
        CheckSubject::Limits => "Raise it: ulimit -n 65536.",
        CheckSubject::Space => "Free some space, or choose another disk by --work.",
        CheckSubject::Fuse => {
            "Audits, faults and storage models need it: modprobe fuse, and run as root or install \
             fuse3."
        }
        CheckSubject::LoopDevices => {
            "File systems as a condition, and storage models, need them: modprobe loop, and run as \
             root."
        }
        CheckSubject::FileSystemTools => {
            "Install e2fsprogs, xfsprogs, btrfs-progs; the kernel needs the file system, too."
        }
        CheckSubject::MemoryLimits => {
            "--memory and published tables need it: run as root, or in a delegated control group."
        }
        CheckSubject::Networks => "Clusters with delays need them: run as root, with iproute2.",
        CheckSubject::Ssh => "Load from other hosts needs it: install openssh-client.",
        CheckSubject::Engines => "trueput engines install quick, or NAME.",
    }
}

/// What a finding does, in the words of a table.
fn severity_word(severity: CheckSeverity) -> &'static str {
    match severity {
        CheckSeverity::VoidsPromises => "VOIDS PROMISES",
        CheckSeverity::LimitsFigures => "limits figures",
        CheckSeverity::Missing => "missing",
        CheckSeverity::Fine => "fine",
    }
}

/// The answer in a sentence: the number of findings by what they do, and the worst of them.
#[must_use]
pub fn verdict(checks: &[MachineCheck]) -> String {
    let count = |severity| checks.iter().filter(|it| it.severity == severity).count();
    let (voids, limits) = (
        count(CheckSeverity::VoidsPromises),
        count(CheckSeverity::LimitsFigures),
    );
    let missing = count(CheckSeverity::Missing);
    let mut clauses = Vec::new();
    if voids > 0 {
        let verb = if voids == 1 { "voids" } else { "void" };
        clauses.push(format!(
            "{} {verb} what is promised to survive lost power",
            counted(voids as u64, "finding")
        ));
    }
    if limits > 0 {
        let verb = if limits == 1 { "limits" } else { "limit" };
        clauses.push(format!(
            "{} {verb} figures",
            counted(limits as u64, "finding")
        ));
    }
    if clauses.is_empty() {
        clauses.push("nothing limits figures here".to_owned());
    }
    if missing > 0 {
        let verb = if missing == 1 { "is" } else { "are" };
        clauses.push(format!(
            "{} {verb} missing",
            counted(missing as u64, "thing")
        ));
    }
    let worst = checks.iter().max_by_key(|check| check.severity);
    let worst = worst.filter(|check| check.severity > CheckSeverity::Missing);
    let worst = worst.map_or_else(String::new, |worst| format!(" Worst: {}.", sentence(worst)));
    format!("{}.{worst}", capitalized(&clauses.join("; ")))
}

/// A finding as a clause: `frequency governor: powersave`.
#[must_use]
pub fn sentence(check: &MachineCheck) -> String {
    format!("{}: {}", subject_name(check.subject), check.found)
}

/// The checks of a machine for a terminal: the answer, what is wrong with what to do, and, if asked
/// for, what is fine. It ends with a newline.
#[must_use]
pub fn render_checks(checks: &[MachineCheck], with_fine: bool, style: Style) -> String {
    let mut sorted: Vec<&MachineCheck> = checks.iter().collect();
    sorted.sort_by_key(|check| std::cmp::Reverse(check.severity));
    let is_wrong = |check: &&&MachineCheck| check.severity > CheckSeverity::Fine;
    let wrong: Vec<&MachineCheck> = sorted.iter().filter(is_wrong).copied().collect();
    let shown: Vec<&MachineCheck> = if with_fine { sorted } else { wrong.clone() };
    let mut blocks = vec![Block::Text(verdict(checks))];
    blocks.extend(Block::Table(table(&shown)).filled());
    let what_to_do = wrong.iter().map(|check| {
        format!(
            "{}: {}",
            capitalized(subject_name(check.subject)),
            advice(check.subject)
        )
    });
    blocks.extend(Block::List(what_to_do.collect()).filled());
    terminal::render_with(&blocks, style, "--json")
}

fn table(checks: &[&MachineCheck]) -> Table {
    let name = Column::text("check", 0).in_role(ColumnRole::Name);
    Table::of(checks)
        .column(name, |check| subject_name(check.subject).to_owned())
        .text("result", 0, |check| {
            severity_word(check.severity).to_owned()
        })
        .text("found", 0, |check| check.found.clone())
        .build()
}

/// The advice of a finding for programs, with its fields.
#[must_use]
pub fn described(check: &MachineCheck) -> serde_json::Value {
    let advice = (check.severity > CheckSeverity::Fine).then(|| advice(check.subject));
    serde_json::json!({
        "subject": check.subject,
        "severity": check.severity,
        "found": check.found,
        "advice": advice,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subject: CheckSubject, severity: CheckSeverity, found: &str) -> MachineCheck {
        MachineCheck::new(subject, severity, found)
    }

    #[test]
    fn the_answer_counts_what_is_wrong_and_names_the_worst() {
        use CheckSeverity::{Fine, LimitsFigures, Missing, VoidsPromises};
        let governor = check(CheckSubject::Governor, LimitsFigures, "powersave");
        let memory = check(CheckSubject::FileSystem, VoidsPromises, "tmpfs on /tmp");
        let fuse = check(CheckSubject::Fuse, Missing, "/dev/fuse: not found");
        let turbo = check(CheckSubject::Turbo, Fine, "off");
        assert_eq!(
            verdict(&[governor.clone(), memory, fuse.clone(), turbo.clone()]),
            "1 finding voids what is promised to survive lost power; 1 finding limits figures; 1 \
             thing is missing. Worst: file system: tmpfs on /tmp."
        );
        assert_eq!(
            verdict(&[turbo.clone(), fuse]),
            "Nothing limits figures here; 1 thing is missing."
        );
        let text = render_checks(&[turbo, governor], false, Style::default());
        assert!(text.contains("limits figures  powersave"), "{text}");
        assert!(
            text.contains("cpupower") && !text.contains("turbo"),
            "{text}"
        );
    }
}
