//! The machine's processors and memory nodes, as the kernel lists them.

use std::fs::{read_dir, read_to_string};
use std::path::Path;
use trueput_record::conditions::parse_list;
use trueput_record::host::NumaNode;

const NODES: &str = "/sys/devices/system/node";

/// Returns the online processors; empty if the kernel does not report them.
pub(crate) fn read_online_cpus() -> Vec<u32> {
    list(Path::new("/sys/devices/system/cpu/online"))
}

/// Returns the nodes that have memory; empty if the kernel has no NUMA support.
pub(crate) fn read_memory_nodes() -> Vec<u32> {
    let nodes = Path::new(NODES);
    let with_memory = list(&nodes.join("has_memory"));
    if with_memory.is_empty() {
        list(&nodes.join("online"))
    } else {
        with_memory
    }
}

/// Returns every node, in order.
pub(crate) fn read_nodes() -> Vec<NumaNode> {
    nodes_in(Path::new(NODES))
}

fn nodes_in(folder: &Path) -> Vec<NumaNode> {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    let mut nodes: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let node = name.to_str()?.strip_prefix("node")?.parse().ok()?;
            Some(node_in(node, &entry.path()))
        })
        .collect();
    nodes.sort_by_key(|node| node.node);
    nodes
}

fn node_in(node: u32, folder: &Path) -> NumaNode {
    let text = |name: &str| read_to_string(folder.join(name)).unwrap_or_default();
    let distances = text("distance");
    NumaNode {
        node,
        cpus: text("cpulist").trim().to_owned(),
        memory_bytes: memory_bytes(&text("meminfo")).unwrap_or_default(),
        distances: distances
            .split_whitespace()
            .filter_map(|distance| distance.parse().ok())
            .collect(),
    }
}

/// Parses a line `Node 0 MemTotal: 24684092 kB`.
fn memory_bytes(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("MemTotal:")?;
    let kilobytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the numbers in a file of the kernel's, which is empty if there are none.
fn list(path: &Path) -> Vec<u32> {
    let text = read_to_string(path).unwrap_or_default();
    parse_list(&text).unwrap_or_default()
}

/// Formats a sorted list of numbers as the kernel does: `0-3,8`.
pub(crate) fn format_list(numbers: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let text = |(first, last): (u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    spans.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_as_it_is_written() {
        for text in ["0", "0-3", "0-3,8", "1,3,5-6"] {
            assert_eq!(format_list(&parse_list(text).unwrap()), text);
        }
        assert_eq!(format_list(&[]), "");
    }

    #[test]
    fn nodes_come_with_processors_memory_and_distances() {
        let folder = tempfile::tempdir().unwrap();
        for (node, cpus) in [(1, "2-3"), (0, "0-1")] {
            let path = folder.path().join(format!("node{node}"));
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("cpulist"), format!("{cpus}\n")).unwrap();
            std::fs::write(path.join("distance"), "10 21\n").unwrap();
            let memory = format!("Node {node} MemTotal:  2048 kB\nNode {node} MemFree: 1 kB\n");
            std::fs::write(path.join("meminfo"), memory).unwrap();
        }
        std::fs::write(folder.path().join("online"), "0-1\n").unwrap();
        let nodes = nodes_in(folder.path());
        assert_eq!(nodes.len(), 2);
        assert_eq!((nodes[1].node, nodes[1].cpus.as_str()), (1, "2-3"));
        assert_eq!(nodes[0].memory_bytes, 2 << 20);
        assert_eq!(nodes[0].distances, [10, 21]);
        assert!(nodes_in(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn this_machine_has_processors() {
        assert!(!read_online_cpus().is_empty());
    }
}
