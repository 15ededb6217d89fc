//! Hosts with a real sshd each, in network namespaces of a test.

use crate::network::{ClusterNetwork, NetworkError};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use trueput_engine::cluster::NetworkQuality;

/// The server of Debian's package openssh-server.
const SSHD: &str = "/usr/sbin/sshd";

/// The folder that sshd requires and the package's service creates.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// The time that a server may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The node of the runner. The hosts follow.
const RUNNER: u32 = 1;

/// Hosts `a`, `b` … that ssh reaches from the runner's namespace. All are on this machine and see
/// the same files. They end when this is dropped.
pub struct SshHosts {
    network: ClusterNetwork,
    servers: Vec<Child>,
    folder: PathBuf,
}

/// The reason why hosts cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SshHostError {
    /// Their network cannot be made.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A file cannot be written, or a program cannot be started.
    #[error("{name}: {error}")]
    Start {
        /// Its name.
        name: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A file of the client cannot be read or written.
    #[error(transparent)]
    ClientFile(io::Error),
    /// The server of a host does not answer.
    #[error("sshd of host {0} does not answer")]
    Silent(String),
    /// No key can be made.
    #[error("ssh-keygen ended with {0}")]
    NoKey(ExitStatus),
}

impl SshHosts {
    /// Returns why no such hosts can be started here; `None` if they can.
    #[must_use]
    pub fn reason_for_none() -> Option<String> {
        if !crate::is_root() {
            return Some("network namespaces need root".to_owned());
        }
        if !Path::new(SSHD).exists() {
            return Some(format!("no {SSHD}: 'make ssh' installs it"));
        }
        ClusterNetwork::make(1, NetworkQuality::default())
            .err()
            .map(|error| error.to_string())
    }

    /// Starts this many hosts. Keys and configuration are in the folder, which exists.
    ///
    /// # Errors
    /// [`SshHostError`].
    pub fn start(folder: &Path, count: u32) -> Result<Self, SshHostError> {
        let about = |name| move |error| SshHostError::Start { name, error };
        let network = ClusterNetwork::make(count + 1, NetworkQuality::default())?;
        std::fs::create_dir_all(PRIVILEGE_SEPARATION).map_err(about(PRIVILEGE_SEPARATION))?;
        for key in ["host_key", "user_key"] {
            make_key(&folder.join(key))?;
        }
        let shown = folder.display();
        let server = format!(
            "HostKey {shown}/host_key\nAuthorizedKeysFile {shown}/user_key.pub\nStrictModes no\n\
             PermitRootLogin yes\nUsePAM no\nPasswordAuthentication no\nPidFile none\n"
        );
        let configuration = folder.join("sshd_config");
        std::fs::write(&configuration, server).map_err(about("sshd_config"))?;
        let mut hosts = Self {
            network,
            servers: Vec::new(),
            folder: folder.to_owned(),
        };
        hosts.write_client_files(count)?;
        for number in 0..count {
            let mut command = Command::new(SSHD);
            command.args(["-D", "-e", "-f"]).arg(&configuration);
            hosts.network.enter(RUNNER + 1 + number, &mut command)?;
            command.stdin(Stdio::null()).stderr(Stdio::null());
            hosts.servers.push(command.spawn().map_err(about(SSHD))?);
        }
        hosts.await_servers(count)?;
        Ok(hosts)
    }

    fn write_client_files(&self, count: u32) -> Result<(), SshHostError> {
        let folder = self.folder.display();
        let host_key = std::fs::read_to_string(self.folder.join("host_key.pub"));
        let host_key = host_key.map_err(SshHostError::ClientFile)?;
        let mut parts = host_key.split_whitespace();
        let (kind, key) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (mut client, mut known) = (String::new(), String::new());
        for number in 0..count {
            let (name, address) = (Self::name(number), self.address(number));
            // Infallible: both are texts.
            let _ = writeln!(client, "Host {name}\n HostName {address}");
            let _ = writeln!(known, "{address} {kind} {key}");
        }
        let _ = write!(
            client,
            "Host *\n User root\n IdentitiesOnly yes\n IdentityFile {folder}/user_key\n \
             UserKnownHostsFile {folder}/known_hosts\n"
        );
        let files = [("ssh_config", client), ("known_hosts", known)];
        files.into_iter().try_for_each(|(name, text)| {
            std::fs::write(self.folder.join(name), text).map_err(SshHostError::ClientFile)
        })
    }

    fn await_servers(&self, count: u32) -> Result<(), SshHostError> {
        let until = Instant::now() + START_TIMEOUT;
        for number in 0..count {
            loop {
                let mut command = Command::new("ssh");
                command.arg("-F").arg(self.ssh_config());
                command.args(["-o", "BatchMode=yes", &Self::name(number), "true"]);
                self.enter_runner(&mut command)?;
                command.stdin(Stdio::null()).stderr(Stdio::null());
                if command.status().is_ok_and(|status| status.success()) {
                    break;
                }
                if Instant::now() >= until {
                    return Err(SshHostError::Silent(Self::name(number)));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Returns the name of a host, from 0.
    #[must_use]
    pub fn name(number: u32) -> String {
        char::from(b'a' + number as u8).to_string()
    }

    /// Returns the address of a host, from 0.
    #[must_use]
    pub fn address(&self, number: u32) -> String {
        self.network.address(RUNNER + 1 + number).to_string()
    }

    /// Returns the configuration of ssh that knows the hosts.
    #[must_use]
    pub fn ssh_config(&self) -> PathBuf {
        self.folder.join("ssh_config")
    }

    /// Lets the process of a command run where ssh reaches the hosts.
    ///
    /// # Errors
    /// One sentence.
    pub fn enter_runner(&self, command: &mut Command) -> Result<(), NetworkError> {
        self.network.enter(RUNNER, command)
    }

    /// Lets this thread, and what it starts, run where ssh reaches the hosts.
    ///
    /// # Errors
    /// One sentence.
    pub fn enter_runner_here(&self) -> Result<(), NetworkError> {
        self.network.enter_here(RUNNER)
    }

    /// Cuts the network of a host, from 0.
    ///
    /// # Errors
    /// One sentence.
    pub fn cut(&self, number: u32) -> Result<(), NetworkError> {
        self.network.separate(&[RUNNER + 1 + number])
    }

    /// Returns the processes on a host, from 0, apart from its server.
    #[must_use]
    pub fn processes(&self, number: u32) -> Vec<i32> {
        let server = self.servers[number as usize].id();
        let network = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let own = network(server);
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let on_host = pids.filter(|pid| *pid != server && network(*pid) == own);
        on_host.filter_map(|pid| i32::try_from(pid).ok()).collect()
    }
}

impl Drop for SshHosts {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // It may have ended by itself.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Makes a key without a password.
///
/// # Errors
/// [`SshHostError`].
pub fn make_key(path: &Path) -> Result<(), SshHostError> {
    let mut command = Command::new("ssh-keygen");
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path);
    let status = command.stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(SshHostError::NoKey(status)),
        Err(error) => Err(SshHostError::Start {
            name: "ssh-keygen",
            error,
        }),
    }
}
