//! What the whole machine does meanwhile: waits (PSI), processors, runnable tasks.

use std::fs::read_to_string;
use trueput_record::accounting::Pressure;

/// What the machine has waited since it started; `None` where the kernel has no PSI.
pub(crate) fn pressure() -> Option<Pressure> {
    let read = |what| read_to_string(format!("/proc/pressure/{what}")).ok();
    let (cpu, memory, io) = (read("cpu")?, read("memory")?, read("io")?);
    Some(Pressure {
        cpu_some_s: total_s(&cpu, "some")?,
        memory_some_s: total_s(&memory, "some")?,
        memory_full_s: total_s(&memory, "full")?,
        io_some_s: total_s(&io, "some")?,
        io_full_s: total_s(&io, "full")?,
    })
}

/// The total of a line `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`
/// (Documentation/accounting/psi.rst), seconds.
fn total_s(text: &str, kind: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(kind))?;
    let (_, total_us) = line.rsplit_once("total=")?;
    Some(total_us.trim().parse::<u64>().ok()? as f64 / 1e6)
}

/// The machine's processors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Processors {
    /// Time in which they did something since the machine started, seconds over all of them.
    pub busy_s: f64,
    /// Time that the hypervisor gave to others, likewise.
    pub steal_s: f64,
    /// Tasks that run or could run at this moment.
    pub runnable_tasks: Option<u32>,
}

/// What the machine's processors did; `None` where the kernel does not say.
pub(crate) fn processors() -> Option<Processors> {
    let ticks_per_s = super::process::clock_ticks_per_s();
    parse_processors(&read_to_string("/proc/stat").ok()?, ticks_per_s)
}

/// `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal, and two that
/// are in user and nice already.
fn parse_processors(text: &str, ticks_per_s: f64) -> Option<Processors> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks = all.split_whitespace().map(str::parse::<f64>);
    let ticks: Vec<f64> = ticks.collect::<Result<_, _>>().ok()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks.as_slice() else {
        return None;
    };
    let running = text
        .lines()
        .find_map(|line| line.strip_prefix("procs_running "));
    Some(Processors {
        busy_s: (user + nice + system + irq + softirq) / ticks_per_s,
        steal_s: steal / ticks_per_s,
        runnable_tasks: running.and_then(|count| count.trim().parse().ok()),
    })
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
        let text = "cpu  100 10 50 8000 900 20 5 77 60 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n\
                    intr 5 5\nprocs_running 3\nprocs_blocked 0\n";
        let processors = parse_processors(text, 100.0).unwrap();
        assert_eq!((processors.busy_s, processors.steal_s), (1.85, 0.77));
        assert_eq!(processors.runnable_tasks, Some(3));
        assert_eq!(parse_processors("cpu  1 2 3\n", 100.0), None);
    }

    #[test]
    fn this_machine_says_what_its_processors_do() {
        let now = processors().unwrap();
        assert!(now.busy_s > 0.0 && now.runnable_tasks.is_some());
        match pressure() {
            Some(pressure) => assert!(pressure.io_some_s >= pressure.io_full_s),
            None => eprintln!("skipped: this kernel has no PSI"),
        }
    }
}
