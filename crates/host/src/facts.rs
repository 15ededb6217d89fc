//! Facts about the machine.

use super::file_system::find_file_system;
use super::machine_checks::find_limits;
use std::fs::read_to_string;
use std::path::Path;
use trueput_record::HostFacts;
use trueput_record::host::ProgramFacts;

/// Collects facts about the machine and the file system of `directory`, which need not exist yet.
/// An unreadable fact is empty or `None`.
#[must_use]
pub fn read_facts(directory: &Path, program: ProgramFacts) -> HostFacts {
    let cpu_information = text("/proc/cpuinfo");
    let (cores, load_at_start) = (count_cores(), read_load_average());
    HostFacts {
        host_name: line("/proc/sys/kernel/hostname"),
        cpu_model: cpu_field(&cpu_information, "model name")
            .unwrap_or_default()
            .to_owned(),
        cores,
        memory_bytes: read_memory_bytes(),
        numa_nodes: super::topology::read_nodes(),
        operating_system: pretty_name(&text("/etc/os-release")).unwrap_or_default(),
        kernel: read_kernel_version(),
        virtualization: virtualization(&cpu_information),
        governor: read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .ok()
            .map(|governor| governor.trim().to_owned()),
        clock: clock(&cpu_information).to_owned(),
        file_system: find_file_system(directory),
        load_at_start,
        checks: find_limits(directory, load_at_start[0], cores),
        program,
    }
}

/// Returns the kernel's release and version.
pub fn read_kernel_version() -> String {
    let release = line("/proc/sys/kernel/osrelease");
    let version = line("/proc/sys/kernel/version");
    format!("{release} {version}").trim().to_owned()
}

/// Returns the load averages over 1, 5 and 15 minutes; zeros if the kernel does not say.
#[must_use]
pub fn read_load_average() -> [f64; 3] {
    parse_load(&text("/proc/loadavg")).unwrap_or_default()
}

/// Returns the number of processors that this program may run on: its affinity mask and its control
/// group's quota.
pub fn count_cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

/// Returns the number of processors that the machine may bring online, at least 1.
#[must_use]
pub fn count_configured_processors() -> u64 {
    // SAFETY: sysconf(3) has no precondition.
    let processors = unsafe { nix::libc::sysconf(nix::libc::_SC_NPROCESSORS_CONF) };
    u64::try_from(processors).unwrap_or_default().max(1)
}

fn text(path: &str) -> String {
    read_to_string(path).unwrap_or_default()
}

fn line(path: &str) -> String {
    text(path).trim().to_owned()
}

fn cpu_field<'a>(cpu_information: &'a str, name: &str) -> Option<&'a str> {
    let fields = cpu_information
        .lines()
        .filter_map(|line| line.split_once(':'));
    fields
        .map(|(key, value)| (key.trim(), value.trim()))
        .find_map(|(key, value)| (key == name).then_some(value))
}

fn has_flag(cpu_information: &str, flag: &str) -> bool {
    let flags = cpu_field(cpu_information, "flags").unwrap_or_default();
    flags.split(' ').any(|word| word == flag)
}

/// Returns the clock that the crate `quanta` uses: the counter if it runs at a constant rate and
/// `rdtscp` exists.
fn clock(cpu_information: &str) -> &'static str {
    let counter = has_flag(cpu_information, "nonstop_tsc") && has_flag(cpu_information, "rdtscp");
    if cfg!(target_arch = "aarch64") {
        "system counter (cntvct)"
    } else if counter {
        "time-stamp counter (tsc)"
    } else {
        "clock_gettime(CLOCK_MONOTONIC)"
    }
}

/// Returns the memory of this machine, bytes; 0 if the kernel does not say.
#[must_use]
pub fn read_memory_bytes() -> u64 {
    memory_bytes(&text("/proc/meminfo")).unwrap_or_default()
}

fn memory_bytes(memory_information: &str) -> Option<u64> {
    let rest = memory_information
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    rest.split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

fn pretty_name(os_release: &str) -> Option<String> {
    let name = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim().trim_matches('"').to_owned())
}

fn parse_load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace();
    let mut next = || words.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

/// Returns the hypervisor and container, if detectable.
fn virtualization(cpu_information: &str) -> String {
    let mut hints = Vec::new();
    // QEMU's translator uses this processor name for every emulated machine.
    if cpu_field(cpu_information, "model name").is_some_and(|model| model.contains("TCG")) {
        hints.push("emulated guest (tcg): its figures show function, not speed".to_owned());
    }
    if has_flag(cpu_information, "hypervisor") {
        let vendor = ["/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor"]
            .map(line)
            .into_iter()
            .find(|vendor| !vendor.is_empty());
        let product = line("/sys/class/dmi/id/product_name");
        let name = format!("{} {product}", vendor.unwrap_or_default())
            .trim()
            .to_owned();
        let name = if name.is_empty() {
            "unnamed".to_owned()
        } else {
            name
        };
        hints.push(format!("virtual machine ({name})"));
    }
    hints.extend(container().map(|kind| format!("container ({kind})")));
    if hints.is_empty() {
        "none".to_owned()
    } else {
        hints.join(", ")
    }
}

fn container() -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    if let Some((_, kind)) = marks.iter().find(|(path, _)| Path::new(path).exists()) {
        return Some((*kind).to_owned());
    }
    let named = line("/run/systemd/container");
    if !named.is_empty() {
        return Some(named);
    }
    let groups = text("/proc/1/cgroup");
    let kinds = ["docker", "kubepods", "lxc", "containerd"];
    kinds
        .iter()
        .find(|kind| groups.contains(**kind))
        .map(|kind| (*kind).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: &str = "processor\t: 0\nmodel name\t: A Fine CPU @ 2.00GHz\n\
                       flags\t\t: fpu tsc rdtscp nonstop_tsc hypervisor\n";

    #[test]
    fn the_processor_is_named_and_its_flags_are_whole_words() {
        assert_eq!(cpu_field(CPU, "model name"), Some("A Fine CPU @ 2.00GHz"));
        assert!(has_flag(CPU, "hypervisor") && !has_flag(CPU, "nonstop"));
        assert!(virtualization(CPU).starts_with("virtual machine"));
    }

    #[test]
    fn an_emulated_processor_shows() {
        let emulated = "model name\t: QEMU TCG CPU version 2.5+\nflags\t\t: fpu\n";
        assert!(virtualization(emulated).starts_with("emulated guest"));
        assert!(!virtualization(CPU).contains("emulated"));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_is_the_clock_only_where_it_never_stops() {
        assert!(clock(CPU).contains("tsc"));
        assert!(clock("flags : tsc rdtscp").contains("clock_gettime"));
    }

    #[test]
    fn memory_system_and_load_are_read() {
        assert_eq!(
            memory_bytes("MemTotal:  2048 kB\nMemFree: 1 kB\n"),
            Some(2 << 20)
        );
        let release = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n";
        assert_eq!(pretty_name(release).as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(parse_load("0.10 0.20 0.30 1/200 77"), Some([0.1, 0.2, 0.3]));
        assert_eq!(parse_load(""), None);
    }

    #[test]
    fn this_machine_has_a_kernel_cores_and_memory() {
        let facts = read_facts(Path::new("."), ProgramFacts::default());
        assert!(!facts.kernel.is_empty() && facts.cores > 0 && facts.memory_bytes > 0);
        assert!(!facts.file_system.kind.is_empty());
    }
}
