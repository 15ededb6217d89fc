//! NUMA policies: set and read back by the system calls, verified from `numa_maps`.

use super::topology::{format_list, read_memory_nodes};
use nix::libc::{
    MPOL_BIND, MPOL_DEFAULT, MPOL_INTERLEAVE, MPOL_LOCAL, MPOL_PREFERRED, SYS_get_mempolicy,
    SYS_set_mempolicy, c_int, c_ulong, syscall,
};
use std::collections::BTreeSet;
use std::io::Error;
use trueput_record::conditions::NumaPolicy;

/// The highest number of a processor or node that can be named, and one: as many as
/// [`trueput_record::conditions::parse_list`] reads.
const BITS: usize = 4_096;

const WORD_BITS: usize = c_ulong::BITS as usize;

/// A set of processors or nodes, in the shape in which the kernel takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BitMask([c_ulong; BITS / WORD_BITS]);

impl BitMask {
    /// No member.
    pub const EMPTY: Self = Self([0; BITS / WORD_BITS]);

    /// The size of a mask, bytes.
    pub const BYTES: usize = BITS / 8;

    /// Creates the set of these numbers, without those that are too large to be members.
    pub fn of(numbers: &[u32]) -> Self {
        let mut mask = Self::EMPTY;
        for number in numbers.iter().map(|&number| number as usize) {
            if let Some(word) = mask.0.get_mut(number / WORD_BITS) {
                *word |= 1 << (number % WORD_BITS);
            }
        }
        mask
    }

    /// Returns its numbers, in order.
    pub fn members(&self) -> Vec<u32> {
        let has = |bit: &usize| self.0[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1;
        (0..BITS).filter(has).map(|bit| bit as u32).collect()
    }

    /// Its first word, for the kernel to read.
    pub fn as_ptr(&self) -> *const c_ulong {
        self.0.as_ptr()
    }

    /// Its first word, for the kernel to write.
    pub fn as_mut_ptr(&mut self) -> *mut c_ulong {
        self.0.as_mut_ptr()
    }
}

/// A policy, ready to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryPolicy {
    mode: c_int,
    nodes: BitMask,
}

impl MemoryPolicy {
    /// Translates a plan's policy to this machine.
    pub fn of(policy: &NumaPolicy) -> Self {
        let (mode, nodes) = match policy {
            NumaPolicy::Local => (MPOL_LOCAL, Vec::new()),
            NumaPolicy::Interleave(nodes) if nodes.is_empty() => {
                (MPOL_INTERLEAVE, read_memory_nodes())
            }
            NumaPolicy::Interleave(nodes) => (MPOL_INTERLEAVE, nodes.clone()),
            NumaPolicy::Bind(nodes) => (MPOL_BIND, nodes.clone()),
            NumaPolicy::Preferred(node) => (MPOL_PREFERRED, vec![*node]),
        };
        let nodes = BitMask::of(&nodes);
        Self { mode, nodes }
    }

    /// Reads the policy of the calling thread.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn read() -> Result<Self, Error> {
        let (mut mode, mut nodes) = (0, BitMask::EMPTY);
        let (mode_at, nodes_at): (*mut c_int, _) = (&raw mut mode, nodes.as_mut_ptr());
        // SAFETY: the kernel writes an int and at most BITS bits, for which there is room; with no
        // flags it does not look at the address.
        let done = unsafe { syscall(SYS_get_mempolicy, mode_at, nodes_at, BITS, 0_usize, 0_usize) };
        match done {
            0 if mode == MPOL_PREFERRED && nodes == BitMask::EMPTY => {
                // Kernels before 5.14 report "local" in this way.
                let mode = MPOL_LOCAL;
                Ok(Self { mode, nodes })
            }
            0 => Ok(Self { mode, nodes }),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Sets the policy of the calling thread and of all threads and processes that it starts.
    /// Allocates nothing, so that it may be called between fork and exec.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn set(&self) -> Result<(), Error> {
        // The kernel reads one bit less than the stated number (set_mempolicy(2), BUGS of mbind).
        let (nodes, bits) = match self.mode {
            MPOL_LOCAL => (std::ptr::null(), 0),
            _ => (self.nodes.as_ptr(), BITS + 1),
        };
        // SAFETY: the kernel reads at most BITS bits, which the mask has, or none at all.
        let done = unsafe { syscall(SYS_set_mempolicy, self.mode, nodes, bits) };
        match done {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Returns its nodes.
    pub fn nodes(&self) -> Vec<u32> {
        self.nodes.members()
    }

    /// Returns whether memory must be on these nodes.
    pub fn is_strict(&self) -> bool {
        self.mode == MPOL_BIND
    }
}

/// In the kernel's words, as in `numa_maps`.
impl std::fmt::Display for MemoryPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.mode {
            MPOL_DEFAULT => "default",
            MPOL_PREFERRED => "prefer",
            MPOL_BIND => "bind",
            MPOL_INTERLEAVE => "interleave",
            MPOL_LOCAL => "local",
            mode => return write!(formatter, "policy {mode}"),
        };
        match self.nodes().as_slice() {
            [] => formatter.write_str(word),
            nodes => write!(formatter, "{word}:{}", format_list(nodes)),
        }
    }
}

/// The `numa_maps` of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NumaMaps {
    /// The policies of its anonymous mappings.
    pub policies: BTreeSet<String>,
    /// Anonymous bytes on each node.
    pub anonymous_bytes: Vec<u64>,
    /// Bytes of mapped files on each node.
    pub file_bytes: Vec<u64>,
}

impl NumaMaps {
    /// Reads those of a process; empty if it has ended or the kernel has no NUMA support.
    pub fn read(pid: u32) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{pid}/numa_maps"));
        Self::parse(&text.unwrap_or_default())
    }

    /// Parses the format of numa(7). Pages of all sizes count in units of `kernelpagesize_kB`.
    fn parse(text: &str) -> Self {
        let mut maps = Self::default();
        for line in text.lines() {
            let words = || line.split(' ').skip(1);
            let of_file = words().any(|word| word.starts_with("file="));
            if !of_file {
                maps.policies.extend(words().next().map(str::to_owned));
            }
            let bytes = if of_file {
                &mut maps.file_bytes
            } else {
                &mut maps.anonymous_bytes
            };
            let page_kilobytes = words().find_map(|word| word.strip_prefix("kernelpagesize_kB="));
            let page_kilobytes: u64 = page_kilobytes
                .and_then(|size| size.parse().ok())
                .unwrap_or(4);
            for (node, pages) in words().filter_map(pages_on_node) {
                if bytes.len() <= node {
                    bytes.resize(node + 1, 0);
                }
                bytes[node] += pages * page_kilobytes * 1024;
            }
        }
        maps
    }
}

/// Parses a word `N1=200`.
fn pages_on_node(word: &str) -> Option<(usize, u64)> {
    let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
    let node: usize = node.parse().ok()?;
    (node < BITS).then_some((node, pages.parse().ok()?))
}

/// Adds bytes by node to a sum.
pub(crate) fn add_by_node(sum: &mut Vec<u64>, bytes: &[u64]) {
    if sum.len() < bytes.len() {
        sum.resize(bytes.len(), 0);
    }
    sum.iter_mut()
        .zip(bytes)
        .for_each(|(sum, more)| *sum += more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_holds_what_was_put_in() {
        let numbers = [0, 1, 63, 64, 4_095];
        assert_eq!(BitMask::of(&numbers).members(), numbers);
        assert_eq!(BitMask::of(&[4_096]), BitMask::EMPTY);
    }

    #[test]
    fn policies_are_in_the_kernels_words() {
        let words = |text: &str| MemoryPolicy::of(&text.parse().unwrap()).to_string();
        assert_eq!(words("local"), "local");
        assert_eq!(words("interleave:0,1,2"), "interleave:0-2");
        assert_eq!(words("bind:1,3"), "bind:1,3");
        assert_eq!(words("preferred:2"), "prefer:2");
    }

    #[test]
    fn memory_of_files_is_told_from_that_of_heaps() {
        let text = "\
55d0 default file=/usr/bin/x mapped=2 N0=2 kernelpagesize_kB=4
55d1 interleave:0-1 heap anon=5 dirty=5 N0=3 N1=2 kernelpagesize_kB=4
7f00 bind:1 anon=1 dirty=1 N1=1 kernelpagesize_kB=4
7f10 interleave:0-1
7f20 interleave:0-1 file=/dev/hugepages/x huge dirty=1 N1=1 kernelpagesize_kB=2048
";
        let maps = NumaMaps::parse(text);
        let policies: Vec<_> = maps.policies.iter().map(String::as_str).collect();
        assert_eq!(policies, ["bind:1", "interleave:0-1"]);
        assert_eq!(maps.anonymous_bytes, [3 << 12, 3 << 12]);
        assert_eq!(maps.file_bytes, [2 << 12, 2 << 20]);
        assert_eq!(NumaMaps::parse(""), NumaMaps::default());
    }

    #[test]
    fn bytes_on_more_nodes_are_added_to_bytes_on_fewer() {
        let mut sum = vec![1];
        add_by_node(&mut sum, &[2, 3]);
        add_by_node(&mut sum, &[4]);
        assert_eq!(sum, [7, 3]);
    }

    #[test]
    fn a_policy_that_was_set_is_read_back() {
        let nodes = read_memory_nodes();
        let Some(node) = nodes.first().filter(|_| MemoryPolicy::read().is_ok()) else {
            println!("skipped: this kernel knows no NUMA, or a container forbids it");
            return;
        };
        for text in [
            "local",
            "interleave",
            &format!("bind:{node}"),
            &format!("preferred:{node}"),
        ] {
            let policy = MemoryPolicy::of(&text.parse().unwrap());
            // A separate thread, because the policy is per thread.
            let read = std::thread::spawn({
                let policy = policy.clone();
                move || policy.set().and_then(|()| MemoryPolicy::read())
            });
            assert_eq!(read.join().unwrap().unwrap(), policy, "{text}");
        }
    }
}
