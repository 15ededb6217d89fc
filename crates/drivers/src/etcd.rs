//! etcd: a store of keys and values on several nodes that agree on each commit by Raft. Private
//! clusters, and a user's.

mod address;
mod connection;
mod database;
mod external;
mod install;
mod keyspace;
mod knobs;
mod log;
mod message;
mod metrics;
mod node;
mod promise_check;
mod session;
mod transaction;

use crate::library;
use address::ServerAddress;
use connection::EtcdConnection;
use database::EtcdDatabase;
use knobs::EtcdKnobs;
use message::{Empty, StatusResponse};
use node::EtcdNodes;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueput_engine::cluster::ClusterService;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Cluster, Database, Durability, Engine, Error, Info, Isolation,
    OpenSpec, Parameter, ParameterValues, Promise, Result, Service, credentials,
};

/// The engine's name.
const NAME: &str = "etcd";

const SOURCE: &str = "etcd documentation 3.4, 'KV API guarantees' (Durability: any completed \
                      operations are durable) and 'Failure modes'; its etcdserver/raft.go and \
                      wal/wal.go (a node flushes its log before it answers)";

/// The longest key. etcd bounds only requests, and keeps every key in memory.
const MAX_KEY_BYTES: usize = 64 << 10;
/// The longest value, which fits with its key into a request of etcd's own default, 1.5 MiB.
const MAX_VALUE_BYTES: usize = 1 << 20;

/// The time in which a user's cluster must tell its version.
const BUILD_TIMEOUT: Duration = Duration::from_secs(10);

/// The etcd driver.
pub struct Etcd {
    named: SelectedServer,
}

/// The server that a plan names.
enum SelectedServer {
    /// The first that is found.
    First,
    /// A program.
    Program(PathBuf),
    /// A user's, which runs.
    External(ServerAddress),
}

impl Etcd {
    /// etcd as the first program that is found has it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            named: SelectedServer::First,
        }
    }

    /// The program of private nodes.
    fn program(&self) -> Result<PathBuf> {
        match &self.named {
            SelectedServer::Program(program) => Ok(program.clone()),
            _ => install::find_all().into_iter().next().ok_or_else(|| {
                Error::missing(
                    "no etcd on this machine; `trueput engines install etcd` installs it",
                )
            }),
        }
    }

    fn users(&self) -> Option<&ServerAddress> {
        match &self.named {
            SelectedServer::External(address) => Some(address),
            _ => None,
        }
    }
}

impl Default for Etcd {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for Etcd {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: "etcd",
            summary: "cluster of servers that agree by Raft; keys in memory, B+tree of versions",
            license: "Apache-2.0",
            homepage: "https://etcd.io",
            install: "trueput engines install etcd, or etcd@http://HOST:2379 for a cluster of \
                      yours",
        }
    }

    fn build(&self) -> Result<Build> {
        if let Some(address) = self.users() {
            let mut connection = EtcdConnection::open(address, BUILD_TIMEOUT)?;
            let status: StatusResponse = connection.call(message::STATUS, &Empty {})?;
            external::check(&mut connection, address)?;
            return Ok(Build {
                version: install::check_version(&status.version, &address.to_string())?,
                library: Some(PathBuf::from(address.to_string())),
                assertions: None,
            });
        }
        let program = self.program()?;
        Ok(Build {
            version: install::version(&program)?,
            library: Some(program),
            assertions: None,
        })
    }

    fn library_files(&self) -> Vec<PathBuf> {
        install::find_all()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let program = library::full_path(library)?;
        install::version(&program)?;
        let named = SelectedServer::Program(program);
        Ok(Box::new(Self { named }))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let named = SelectedServer::Program(library::full_path(library)?);
        Ok(Box::new(Self { named }))
    }

    fn with_address(&self, address: &credentials::Address) -> Result<Box<dyn Engine>> {
        let named = SelectedServer::External(ServerAddress::parse(address)?);
        Ok(Box::new(Self { named }))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: true,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        if self.users().is_some() {
            // Nothing tells whether its nodes flush; that they do is etcd's only documented way.
            if durability != Durability::Sync {
                return Err(Error::no_durability(NAME, durability));
            }
            return Ok(Promise::new(
                durability,
                "as its nodes are set",
                None,
                SOURCE,
            ));
        }
        knobs::check(durability, knobs)?;
        let nodes = knobs::node_count(&EtcdKnobs::from(knobs));
        let flushes = match durability {
            Durability::Process => ", unsafe-no-fsync",
            _ => "",
        };
        let mapped_to = format!("{} of {nodes} nodes{flushes}", nodes / 2 + 1);
        Ok(Promise {
            cluster: Some(knobs::survival(durability, nodes)),
            ..Promise::new(durability, mapped_to, None, SOURCE)
        })
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        Some(Isolation::Serializable)
    }

    fn reads_are_recent(&self, knobs: &ParameterValues) -> bool {
        EtcdKnobs::from(knobs).reads == knobs::Reads::Linearizable
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["reads"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        match self.users() {
            Some(_) => knobs::OF_A_SESSION,
            None => EtcdKnobs::PARAMETERS,
        }
    }

    fn cache_knob(&self, _knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        Err("keeps every key in memory and maps the file with the values")
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("snapshot-count", "200"),
            ("backend-batch-limit", "100"),
            ("backend-batch-interval", "10"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(match self.users() {
            Some(address) => {
                self.promise_with(spec.durability, spec.knobs)?;
                EtcdDatabase::external(address, spec)?
            }
            None => EtcdDatabase::private(spec)?,
        }))
    }

    fn service(&self) -> Option<Box<dyn Service>> {
        let library = match &self.named {
            SelectedServer::First => None,
            SelectedServer::Program(program) => Some(program.clone()),
            SelectedServer::External(_) => return None,
        };
        Some(Box::new(ClusterService {
            engine: NAME,
            library,
        }))
    }

    fn cluster(&self) -> Option<Box<dyn Cluster>> {
        match self.users() {
            Some(_) => None,
            // A missing program is reported when the engine is asked for its build.
            None => Some(Box::new(EtcdNodes {
                program: self.program().unwrap_or_else(|_| "etcd".into()),
            })),
        }
    }
}
