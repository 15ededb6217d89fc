//! What `/proc` says of a process: memory, CPU and I/O.

use std::fs::read_to_string;

/// CPU seconds of a process, all its threads, ended ones included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpu {
    /// Outside the kernel.
    pub user_s: f64,
    /// Inside the kernel.
    pub system_s: f64,
}

/// Bytes that a process moved (proc(5), `/proc/PID/io`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Io {
    /// Through read-like calls.
    pub read_call_bytes: u64,
    /// Through write-like calls.
    pub write_call_bytes: u64,
    /// Fetched from the storage layer.
    pub storage_read_bytes: u64,
    /// Sent to the storage layer.
    pub storage_written_bytes: u64,
}

impl Io {
    /// What was moved since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let less = u64::saturating_sub;
        Self {
            read_call_bytes: less(self.read_call_bytes, before.read_call_bytes),
            write_call_bytes: less(self.write_call_bytes, before.write_call_bytes),
            storage_read_bytes: less(self.storage_read_bytes, before.storage_read_bytes),
            storage_written_bytes: less(self.storage_written_bytes, before.storage_written_bytes),
        }
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            read_call_bytes: self.read_call_bytes + other.read_call_bytes,
            write_call_bytes: self.write_call_bytes + other.write_call_bytes,
            storage_read_bytes: self.storage_read_bytes + other.storage_read_bytes,
            storage_written_bytes: self.storage_written_bytes + other.storage_written_bytes,
        }
    }
}

/// Memory of a process, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Memory {
    /// Proportional set size: a page that n processes map counts 1/n in each.
    pub pss_bytes: u64,
    /// Resident set size: shared pages count in full.
    pub rss_bytes: u64,
}

/// CPU seconds of `pid` so far; `None` once it is gone.
pub(crate) fn cpu(pid: u32) -> Option<Cpu> {
    parse_stat(
        &read_to_string(format!("/proc/{pid}/stat")).ok()?,
        clock_ticks_per_s(),
    )
}

/// Bytes moved by `pid` so far; `None` once it is gone or where the kernel does not account.
pub(crate) fn io(pid: u32) -> Option<Io> {
    parse_io(&read_to_string(format!("/proc/{pid}/io")).ok()?)
}

/// Memory of `pid` now; `None` once it is gone.
pub(crate) fn memory(pid: u32) -> Option<Memory> {
    parse_rollup(&read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
}

fn clock_ticks_per_s() -> f64 {
    use nix::unistd::{SysconfVar, sysconf};
    sysconf(SysconfVar::CLK_TCK)
        .ok()
        .flatten()
        .map_or(100.0, |ticks| ticks as f64)
}

/// Fields 14 and 15 of `/proc/PID/stat`, in clock ticks. The command, field 2, may hold blanks and
/// parentheses, so fields are counted from the last parenthesis.
fn parse_stat(text: &str, ticks_per_s: f64) -> Option<Cpu> {
    let after_command = &text[text.rfind(')')? + 1..];
    let mut fields = after_command.split_whitespace().skip(11);
    let mut seconds = || Some(fields.next()?.parse::<f64>().ok()? / ticks_per_s);
    Some(Cpu {
        user_s: seconds()?,
        system_s: seconds()?,
    })
}

fn parse_io(text: &str) -> Option<Io> {
    let field = |name| named_number(text, name);
    Some(Io {
        read_call_bytes: field("rchar:")?,
        write_call_bytes: field("wchar:")?,
        storage_read_bytes: field("read_bytes:")?,
        storage_written_bytes: field("write_bytes:")?,
    })
}

fn parse_rollup(text: &str) -> Option<Memory> {
    let kilobytes = |name| named_number(text, name).map(|number| number * 1024);
    Some(Memory {
        pss_bytes: kilobytes("Pss:")?,
        rss_bytes: kilobytes("Rss:")?,
    })
}

fn named_number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_past_a_command_with_blanks_and_parentheses() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194304 90 0 1 0 250 50 0 0 20 0 1 0 9 8 7";
        assert_eq!(
            parse_stat(text, 100.0),
            Some(Cpu {
                user_s: 2.5,
                system_s: 0.5
            })
        );
        assert_eq!(parse_stat("nothing of the kind", 100.0), None);
    }

    #[test]
    fn storage_bytes_are_told_from_bytes_through_calls() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 2\nread_bytes: 4096\n\
                    write_bytes: 8192\ncancelled_write_bytes: 0\n";
        let io = parse_io(text).unwrap();
        assert_eq!((io.read_call_bytes, io.write_call_bytes), (10, 20));
        assert_eq!(
            (io.storage_read_bytes, io.storage_written_bytes),
            (4096, 8192)
        );
        assert_eq!(parse_io("rchar: 10\n"), None);
    }

    #[test]
    fn the_proportional_set_size_is_not_one_of_its_parts() {
        let text = "5581-7ffc ---p 00000000 00:00 0 [rollup]\nRss:    2048 kB\nPss:    1024 kB\n\
                    Pss_Dirty:  100 kB\nPss_Anon:  90 kB\n";
        let memory = parse_rollup(text).unwrap();
        assert_eq!((memory.pss_bytes, memory.rss_bytes), (1 << 20, 2 << 20));
    }

    #[test]
    fn this_process_can_be_read() {
        let own = std::process::id();
        assert!(memory(own).unwrap().rss_bytes > 0);
        assert!(io(own).is_some() && cpu(own).is_some());
    }
}
