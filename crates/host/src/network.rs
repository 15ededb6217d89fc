//! A network of a cluster's own: a network namespace for each node, joined by bridges in one more.
//!
//! The namespaces have no names. They live as long as their files are open here or a process is in
//! them, so nothing is left behind, however this process ends.

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use trueput_engine::cluster::NetworkQuality;

/// The network's first three numbers. It exists in the namespaces alone.
const NETWORK: [u8; 3] = [10, 177, 23];

/// The bridge of the nodes that are together, and that of those that were separated from them.
const BRIDGES: [&str; 2] = ["together", "apart"];

/// The network of a cluster's nodes.
pub struct ClusterNetwork {
    switch: File,
    nodes: Vec<File>,
}

impl ClusterNetwork {
    /// Makes the network.
    ///
    /// # Errors
    /// One sentence, if a namespace cannot be made (only root may), or `ip` fails or is missing.
    pub fn make(count: u32, quality: NetworkQuality) -> Result<Self, String> {
        let switch = new_namespace()?;
        let mut orders = String::new();
        for bridge in BRIDGES {
            orders += &format!("link add {bridge} type bridge\nlink set {bridge} up\n");
        }
        let mut nodes = Vec::new();
        for number in 1..=count {
            let node = new_namespace()?;
            let file = namespace_path(&node);
            orders += &format!(
                "link add node{number} type veth peer name eth0 netns {file}\n\
                 link set node{number} master {} up\n",
                BRIDGES[0]
            );
            nodes.push(node);
        }
        run_ip(&switch, &orders)?;
        let network = Self { switch, nodes };
        for number in 1..=count {
            let address = network.address(number);
            let orders =
                format!("link set lo up\naddr add {address}/24 dev eth0\nlink set eth0 up\n");
            run_ip(network.namespace(number), &orders)?;
            network.degrade(number, quality)?;
        }
        Ok(network)
    }

    /// Returns the address of a node. Nodes are numbered from 1 on.
    #[must_use]
    pub fn address(&self, number: u32) -> Ipv4Addr {
        let [a, b, c] = NETWORK;
        Ipv4Addr::new(a, b, c, u8::try_from(number).unwrap_or(u8::MAX))
    }

    /// Returns the addresses of all nodes, in their order.
    #[must_use]
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let count = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (1..=count).map(|number| self.address(number)).collect()
    }

    /// Lets the process of a command run in the namespace of a node.
    pub fn enter(&self, number: u32, command: &mut Command) -> Result<(), String> {
        enter(self.namespace(number), command)
    }

    /// Separates nodes from the others. They still reach each other.
    ///
    /// # Errors
    /// One sentence, if `ip` fails.
    pub fn separate(&self, numbers: &[u32]) -> Result<(), String> {
        let orders: String = numbers
            .iter()
            .map(|number| format!("link set node{number} master {}\n", BRIDGES[1]))
            .collect();
        run_ip(&self.switch, &orders)
    }

    /// Joins all nodes again.
    ///
    /// # Errors
    /// One sentence, if `ip` fails.
    pub fn heal(&self) -> Result<(), String> {
        let orders: String = (1..=self.nodes.len())
            .map(|number| format!("link set node{number} master {}\n", BRIDGES[0]))
            .collect();
        run_ip(&self.switch, &orders)
    }

    fn namespace(&self, number: u32) -> &File {
        &self.nodes[number as usize - 1]
    }

    /// Adds delay and loss to what a node sends.
    fn degrade(&self, number: u32, quality: NetworkQuality) -> Result<(), String> {
        if quality == NetworkQuality::default() {
            return Ok(());
        }
        let mut command = Command::new("tc");
        command.args(["qdisc", "add", "dev", "eth0", "root", "netem", "delay"]);
        command.arg(format!("{}us", quality.delay_us));
        let loss = quality.lost_per_mille as f64 / 10.0;
        command.args(["loss", &format!("{loss}%")]);
        enter(self.namespace(number), &mut command)?;
        run(command, "").map_err(|why| {
            format!("delay and loss need tc and a kernel with netem ({why}): set them to 0")
        })
    }
}

/// Makes a namespace that has no network yet.
fn new_namespace() -> Result<File, String> {
    let made = std::thread::spawn(|| {
        // SAFETY: only the network namespace of this thread, which ends here, is no longer shared;
        // no memory and no descriptor is affected.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        File::open("/proc/thread-self/ns/net")
    });
    let made = made.join().map_err(|_| "a thread panicked".to_owned())?;
    made.map_err(|error| format!("cannot make a network namespace: {error}"))
}

/// Returns a path by which other processes open a namespace.
fn namespace_path(namespace: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd())
}

/// Lets the process of a command run in a namespace.
fn enter(namespace: &File, command: &mut Command) -> Result<(), String> {
    let namespace = namespace.try_clone().map_err(|error| error.to_string())?;
    let set = move || {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
    };
    // SAFETY: between fork and exec this makes one system call and allocates nothing.
    unsafe { command.pre_exec(set) };
    Ok(())
}

fn run_ip(namespace: &File, orders: &str) -> Result<(), String> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]);
    enter(namespace, &mut command)?;
    run(command, orders)
}

fn run(mut command: Command, input: &str) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("no program {program}: install the package iproute2")
        }
        _ => format!("{program}: {error}"),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) mod tests {
    use super::*;

    /// Returns why no network of a cluster's own can be made here; `None` also for a user without
    /// root, whose nodes do without one.
    pub(crate) fn reason_for_no_network() -> Option<String> {
        if !crate::is_root() {
            return None;
        }
        let ip = Command::new("ip").arg("-V").stdout(Stdio::null()).status();
        match ip.is_ok() {
            true => new_namespace().err(),
            false => Some("no program ip: install the package iproute2".to_owned()),
        }
    }

    /// Returns whether a node reaches another one.
    fn reaches(network: &ClusterNetwork, from: u32, to: u32) -> bool {
        // A port on which nobody listens: a node that is there refuses at once.
        let address = network.address(to);
        let mut command = Command::new("timeout");
        command.args(["2", "bash", "-c"]);
        command.arg(format!("exec 3<>/dev/tcp/{address}/9 || exit 7"));
        network.enter(from, &mut command).unwrap();
        let status = command.stderr(Stdio::null()).status().unwrap();
        status.code() == Some(7)
    }

    #[test]
    fn nodes_reach_each_other_until_they_are_separated() {
        if !crate::is_root() {
            eprintln!("skipped: network namespaces need root");
            return;
        }
        if let Some(why) = reason_for_no_network() {
            eprintln!("skipped: {why}");
            return;
        }
        let network = ClusterNetwork::make(3, NetworkQuality::default()).unwrap();
        assert!(reaches(&network, 1, 2) && reaches(&network, 3, 1));
        network.separate(&[1]).unwrap();
        assert!(!reaches(&network, 1, 2) && !reaches(&network, 3, 1));
        assert!(reaches(&network, 2, 3));
        network.heal().unwrap();
        assert!(reaches(&network, 1, 2));
    }
}
