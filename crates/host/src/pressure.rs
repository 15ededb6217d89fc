//! Activity of the whole machine: pressure stall information, processor times, runnable tasks.

use std::fs::read_to_string;
use trueput_record::accounting::Pressure;

/// Reads the times that tasks of the machine have waited since it started; `None` if the kernel has
/// no PSI.
pub fn read_pressure() -> Option<Pressure> {
    let read = |resource| read_to_string(format!("/proc/pressure/{resource}")).ok();
    let (cpu, memory, io) = (read("cpu")?, read("memory")?, read("io")?);
    Some(Pressure {
        cpu_some_s: total_s(&cpu, "some")?,
        memory_some_s: total_s(&memory, "some")?,
        memory_full_s: total_s(&memory, "full")?,
        io_some_s: total_s(&io, "some")?,
        io_full_s: total_s(&io, "full")?,
    })
}

/// Returns the total of a line `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`
/// (Documentation/accounting/psi.rst), seconds.
fn total_s(text: &str, kind: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(kind))?;
    let (_, total_us) = line.rsplit_once("total=")?;
    Some(total_us.trim().parse::<u64>().ok()? as f64 / 1e6)
}

/// A set of the machine's processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSet(Option<Vec<u32>>);

impl CpuSet {
    /// Returns the set of all processors.
    pub fn all() -> Self {
        Self(None)
    }

    /// Returns the set of these processors.
    pub fn of(numbers: &[u32]) -> Self {
        Self(Some(numbers.to_vec()))
    }

    /// Returns whether the set contains that processor.
    pub fn contains(&self, number: u32) -> bool {
        self.0
            .as_ref()
            .is_none_or(|numbers| numbers.contains(&number))
    }
}

/// Processor time by use, and runnable tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessorTimes {
    /// Busy time of all processors since the machine started, seconds.
    pub busy_s: f64,
    /// Time that the hypervisor gave to other machines, seconds.
    pub steal_s: f64,
    /// Tasks that run or could run now.
    pub runnable_tasks: Option<u32>,
}

/// Reads the times of these processors; `None` if the kernel does not report them.
pub fn read_processor_times(cpus: &CpuSet) -> Option<ProcessorTimes> {
    let ticks_per_s = super::process::clock_ticks_per_s();
    parse_processors(&read_to_string("/proc/stat").ok()?, cpus, ticks_per_s)
}

/// Parses `/proc/stat` (proc_stat(5)): a line `cpuN` for each online processor.
fn parse_processors(text: &str, cpus: &CpuSet, ticks_per_s: f64) -> Option<ProcessorTimes> {
    let running = text
        .lines()
        .find_map(|line| line.strip_prefix("procs_running "));
    let mut sum = ProcessorTimes {
        runnable_tasks: running.and_then(|count| count.trim().parse().ok()),
        ..ProcessorTimes::default()
    };
    let mut seen = false;
    for line in text.lines().filter_map(|line| line.strip_prefix("cpu")) {
        let (number, times) = line.split_once(' ')?;
        // The line without a number has the sum over all.
        let Ok(number) = number.parse() else { continue };
        if cpus.contains(number) {
            let (busy, steal) = parse_ticks(times)?;
            sum.busy_s += busy / ticks_per_s;
            sum.steal_s += steal / ticks_per_s;
            seen = true;
        }
    }
    seen.then_some(sum)
}

/// Returns busy and stolen ticks from user, nice, system, idle, iowait, irq, softirq, steal, and
/// two that are already included in user and nice.
fn parse_ticks(times: &str) -> Option<(f64, f64)> {
    let ticks = times.split_whitespace().map(str::parse::<f64>);
    let ticks: Vec<f64> = ticks.collect::<Result<_, _>>().ok()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks.as_slice() else {
        return None;
    };
    Some((user + nice + system + irq + softirq, *steal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_running_total_in_seconds() {
        let text = "some avg10=3.97 avg60=14.56 avg300=28.16 total=5420258\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(total_s(text, "some"), Some(5.420_258));
        assert_eq!(total_s(text, "full"), Some(7e-6));
        assert_eq!(total_s("", "some"), None);
    }

    #[test]
    fn waiting_for_io_and_stolen_time_are_not_busy() {
        let text = "cpu  140 10 50 8000 900 20 5 77 60 0\n\
                    cpu0 100 10 50 8000 900 20 5 77 60 0\ncpu3 40 0 0 0 0 0 0 0 0 0\n\
                    intr 5 5\nprocs_running 3\nprocs_blocked 0\n";
        let all = parse_processors(text, &CpuSet::all(), 100.0).unwrap();
        assert_eq!((all.busy_s, all.steal_s), (2.25, 0.77));
        assert_eq!(all.runnable_tasks, Some(3));
        let one = parse_processors(text, &CpuSet::of(&[3]), 100.0).unwrap();
        assert_eq!((one.busy_s, one.steal_s), (0.4, 0.0));
        assert_eq!(parse_processors(text, &CpuSet::of(&[7]), 100.0), None);
        assert_eq!(
            parse_processors("cpu0 1 2 3\n", &CpuSet::all(), 100.0),
            None
        );
    }

    #[test]
    fn this_machine_says_what_its_processors_do() {
        let now = read_processor_times(&CpuSet::all()).unwrap();
        assert!(now.busy_s > 0.0 && now.runnable_tasks.is_some());
        match read_pressure() {
            Some(pressure) => assert!(pressure.io_some_s >= pressure.io_full_s),
            None => eprintln!("skipped: this kernel has no PSI"),
        }
    }
}
