//! A network of a cluster's own: a network namespace for each node, joined by bridges in one more,
//! or by a switch of this process that delays what it forwards.
//!
//! The namespaces have no names. They live as long as their files are open here or a process is in
//! them, so nothing is left behind, however this process ends.

mod switch;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use switch::DelaySwitch;
use trueput_engine::cluster::NetworkQuality;

/// The network's first three numbers. It exists in the namespaces alone.
const NETWORK: [u8; 3] = [10, 177, 23];

/// The bridge of the nodes that are together, and that of those that were separated from them.
const BRIDGES: [&str; 2] = ["together", "apart"];

/// The network of a cluster's nodes.
pub struct ClusterNetwork {
    interconnect: Interconnect,
    nodes: Vec<File>,
}

/// What joins the nodes.
enum Interconnect {
    /// Bridges in a namespace: the kernel forwards at once.
    Bridges(File),
    /// A switch of this process.
    Switch(DelaySwitch),
}

/// Returns why no network of a cluster's own can be made here, with the remedy; `None` if one can.
#[must_use]
pub fn why_unavailable() -> Option<String> {
    if !crate::is_root() {
        return Some("network namespaces need root: run as root".to_owned());
    }
    let ip = Command::new("ip").arg("-V").stdout(Stdio::null()).status();
    match ip {
        Ok(_) => None,
        Err(_) => Some("there is no program ip: install the package iproute2".to_owned()),
    }
}

/// Why a network of a cluster's own cannot be made or changed.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// The kernel makes no namespace: only root may make one.
    #[error("cannot make a network namespace: {0}")]
    Namespace(io::Error),
    /// A thread cannot move into a namespace.
    #[error("cannot enter a network namespace: {0}")]
    Enter(Errno),
    /// No further descriptor of a namespace.
    #[error("{0}")]
    Copy(io::Error),
    /// A thread of this program panicked.
    #[error("a thread panicked")]
    Panic,
    /// Interfaces with a delay need a device of the kernel's that is not here.
    #[error("a network with a delay needs /dev/net/tun ('modprobe tun'): {0}")]
    Tunnel(io::Error),
    /// The program that makes interfaces is not installed.
    #[error("no program {program}: install the package iproute2")]
    NoProgram {
        /// Its name.
        program: String,
    },
    /// That program cannot be run.
    #[error("{program}: {error}")]
    NotRun {
        /// Its name.
        program: String,
        /// The system's error.
        error: io::Error,
    },
    /// That program refused an order.
    #[error("{program} failed: {message}")]
    Failed {
        /// Its name.
        program: String,
        /// What it wrote.
        message: String,
    },
}

impl ClusterNetwork {
    /// Makes the network.
    ///
    /// # Errors
    /// One sentence, if a namespace cannot be made (only root may), or `ip` fails or is missing.
    pub fn make(count: u32, quality: NetworkQuality) -> Result<Self, NetworkError> {
        let nodes: Vec<File> = (0..count)
            .map(|_| new_namespace())
            .collect::<Result<_, _>>()?;
        let interconnect = if quality == NetworkQuality::default() {
            Interconnect::Bridges(join_by_bridges(&nodes)?)
        } else {
            Interconnect::Switch(DelaySwitch::join(&nodes, quality)?)
        };
        let network = Self {
            interconnect,
            nodes,
        };
        for number in 1..=count {
            let address = network.address(number);
            let orders =
                format!("link set lo up\naddr add {address}/24 dev eth0\nlink set eth0 up\n");
            run_ip(network.namespace(number), &orders)?;
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
        (1..=self.count())
            .map(|number| self.address(number))
            .collect()
    }

    /// Lets the process of a command run in the namespace of a node.
    pub fn enter(&self, number: u32, command: &mut Command) -> Result<(), NetworkError> {
        enter(self.namespace(number), command)
    }

    /// Lets this thread, and what it starts, run in the namespace of a node.
    ///
    /// # Errors
    /// One sentence.
    pub fn enter_here(&self, number: u32) -> Result<(), NetworkError> {
        let kind = Some(LinkNameSpaceType::Network);
        let entered = move_into_link_name_space(self.namespace(number).as_fd(), kind);
        entered.map_err(NetworkError::Enter)
    }

    /// Separates nodes from the others. They still reach each other.
    ///
    /// # Errors
    /// One sentence, if `ip` fails.
    pub fn separate(&self, numbers: &[u32]) -> Result<(), NetworkError> {
        match &self.interconnect {
            Interconnect::Bridges(bridges) => attach(bridges, numbers.iter().copied(), BRIDGES[1]),
            Interconnect::Switch(switch) => {
                switch.separate(numbers);
                Ok(())
            }
        }
    }

    /// Joins all nodes again.
    ///
    /// # Errors
    /// One sentence, if `ip` fails.
    pub fn heal(&self) -> Result<(), NetworkError> {
        match &self.interconnect {
            Interconnect::Bridges(bridges) => attach(bridges, 1..=self.count(), BRIDGES[0]),
            Interconnect::Switch(switch) => {
                switch.heal();
                Ok(())
            }
        }
    }

    /// Returns the packets that were lost because too many were on their way.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        match &self.interconnect {
            Interconnect::Bridges(_) => 0,
            Interconnect::Switch(switch) => switch.overflows(),
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    fn namespace(&self, number: u32) -> &File {
        &self.nodes[number as usize - 1]
    }
}

/// Joins namespaces by bridges in one more, which is returned.
fn join_by_bridges(nodes: &[File]) -> Result<File, NetworkError> {
    let bridges = new_namespace()?;
    let mut orders = String::new();
    for bridge in BRIDGES {
        orders += &format!("link add {bridge} type bridge\nlink set {bridge} up\n");
    }
    for (number, node) in (1..).zip(nodes) {
        let file = namespace_path(node);
        orders += &format!(
            "link add node{number} type veth peer name eth0 netns {file}\n\
             link set node{number} master {} up\n",
            BRIDGES[0]
        );
    }
    run_ip(&bridges, &orders)?;
    Ok(bridges)
}

/// Attaches nodes to a bridge.
fn attach(
    bridges: &File,
    numbers: impl Iterator<Item = u32>,
    bridge: &str,
) -> Result<(), NetworkError> {
    let orders = numbers.map(|number| format!("link set node{number} master {bridge}\n"));
    run_ip(bridges, &orders.collect::<String>())
}

/// Calls a function on a thread in a namespace.
fn within<T: Send>(
    namespace: &File,
    call: impl FnOnce() -> std::io::Result<T> + Send,
) -> std::io::Result<T> {
    let called = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), kind)?;
            call()
        });
        inside.join()
    });
    called.unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
}

/// Makes a namespace that has no network yet.
fn new_namespace() -> Result<File, NetworkError> {
    let made = std::thread::spawn(|| {
        // SAFETY: only the network namespace of this thread, which ends here, is no longer shared;
        // no memory and no descriptor is affected.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        File::open("/proc/thread-self/ns/net")
    });
    let made = made.join().map_err(|_| NetworkError::Panic)?;
    made.map_err(NetworkError::Namespace)
}

/// Returns a path by which other processes open a namespace.
fn namespace_path(namespace: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd())
}

/// Lets the process of a command run in a namespace.
fn enter(namespace: &File, command: &mut Command) -> Result<(), NetworkError> {
    let namespace = namespace.try_clone().map_err(NetworkError::Copy)?;
    let set = move || {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
    };
    // SAFETY: between fork and exec this makes one system call and allocates nothing.
    unsafe { command.pre_exec(set) };
    Ok(())
}

fn run_ip(namespace: &File, orders: &str) -> Result<(), NetworkError> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]);
    enter(namespace, &mut command)?;
    run(command, orders)
}

fn run(mut command: Command, input: &str) -> Result<(), NetworkError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => NetworkError::NoProgram {
            program: program.clone(),
        },
        _ => NetworkError::NotRun {
            program: program.clone(),
            error,
        },
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        Ok(())
    } else {
        Err(NetworkError::Failed {
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            program,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Returns why no network of a cluster's own can be made here; `None` also for a user without
    /// root, whose nodes do without one.
    pub(crate) fn reason_for_no_network() -> Option<String> {
        if !crate::is_root() {
            return None;
        }
        let ip = Command::new("ip").arg("-V").stdout(Stdio::null()).status();
        if ip.is_ok() {
            new_namespace().err().map(|error| error.to_string())
        } else {
            Some("no program ip: install the package iproute2".to_owned())
        }
    }

    /// Whether a test cannot run here; it prints why.
    fn is_skipped() -> bool {
        let reason = if crate::is_root() {
            reason_for_no_network()
        } else {
            Some("network namespaces need root".to_owned())
        };
        if let Some(reason) = &reason {
            eprintln!("skipped: {reason}");
        }
        reason.is_some()
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
        if is_skipped() {
            return;
        }
        for delay_us in [0, 2_000] {
            check_partition(NetworkQuality::new(delay_us, 0.0));
        }
    }

    /// Separates nodes of a network of this quality, and joins them again.
    fn check_partition(quality: NetworkQuality) {
        let network = ClusterNetwork::make(3, quality).unwrap();
        assert!(reaches(&network, 1, 2) && reaches(&network, 3, 1));
        network.separate(&[1]).unwrap();
        assert!(!reaches(&network, 1, 2) && !reaches(&network, 3, 1));
        assert!(reaches(&network, 2, 3));
        network.heal().unwrap();
        assert!(reaches(&network, 1, 2));
    }
    /// Returns the time that a node takes to learn that another one refuses a connection: a round
    /// trip.
    fn round_trip(network: &ClusterNetwork) -> Duration {
        // The first one also asks for the hardware address.
        let trips = (0..6).map(|_| {
            let address = network.address(2);
            let tried = within(network.namespace(1), || {
                let began = Instant::now();
                let refused = std::net::TcpStream::connect((address, 9));
                let kind = refused.map_err(|error| error.kind()).err();
                assert_eq!(kind, Some(std::io::ErrorKind::ConnectionRefused));
                Ok(began.elapsed())
            });
            tried.unwrap()
        });
        trips.min().unwrap()
    }

    #[test]
    fn a_delay_is_added_to_each_packet_and_lost_ones_do_not_arrive() {
        if is_skipped() {
            return;
        }
        let network = |delay_us, lost_part| {
            ClusterNetwork::make(2, NetworkQuality::new(delay_us, lost_part)).unwrap()
        };
        let slow = round_trip(&network(20_000, 0.0));
        assert!(slow >= Duration::from_millis(40), "{slow:?}");
        let quick = round_trip(&network(0, 0.0));
        assert!(quick < Duration::from_millis(40), "{quick:?}");
        assert!(!reaches(&network(0, 1.0), 1, 2));
    }

    #[test]
    fn packets_beyond_those_that_the_switch_holds_are_counted() {
        if is_skipped() {
            return;
        }
        let long = NetworkQuality::new(10_000_000, 0.0);
        let network = ClusterNetwork::make(2, long).unwrap();
        assert_eq!(network.overflows(), 0);
        let sent = within(network.namespace(1), || {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
            socket.set_broadcast(true)?;
            let [a, b, c] = NETWORK;
            let everyone = Ipv4Addr::new(a, b, c, u8::MAX);
            let began = Instant::now();
            while network.overflows() == 0 && began.elapsed() < Duration::from_secs(8) {
                // A full interface refuses one.
                let _ = socket.send_to(b"packet", (everyone, 9));
            }
            Ok(())
        });
        sent.unwrap();
        assert!(network.overflows() > 0);
    }
}
