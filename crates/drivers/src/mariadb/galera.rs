//! Galera: MariaDB servers that replicate each transaction before they commit it; every one takes
//! transactions.

mod node;
mod position;

use super::cluster_access::ClusterAccess;
use super::database::MariaDbDatabase;
use super::galera_knobs::{self, GaleraKnobs, NAME, PARAMETERS, Writers};
use super::knobs::{IsolationLevel, MariaDbKnobs};
use super::schema::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use super::server::PrivateServer;
use super::server_access::ServerAccess;
use super::socket::DATA;
use super::{MariaDb, event_watcher, settings};
use crate::folder_path;
use node::NodeServer;
use std::path::{Path, PathBuf};
use trueput_engine::cluster::{
    ClusterService, ClusterSite, ClusterState, NetworkQuality, NodeRole, node_folder,
};
use trueput_engine::event_watcher::EventProgress;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Cluster, Database, Dialect, Durability, Engine, Error,
    EventWatcher, Info, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Service,
    SettingContradiction,
};

const SOURCE: &str = "https://galeracluster.com/library/documentation/ \
                      (Certification-Based Replication, Weighted Quorum) and \
                      https://mariadb.com/kb/en/innodb-system-variables/\
                      #innodb_flush_log_at_trx_commit";

/// The paths at which packages install Galera's library.
const PROVIDERS: [&str; 5] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
    "/usr/local/lib/libgalera_smm.so",
];

/// What copies a node's files to one that joins, beside the server.
const COPY_SCRIPT: &str = "wsrep_sst_rsync";

/// The driver of a Galera cluster.
pub struct Galera {
    server: MariaDb,
}

impl Galera {
    /// A cluster of MariaDB servers as the system has them.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            server: MariaDb::new(),
        }
    }

    fn open_database(&self, spec: &OpenSpec<'_>) -> Result<MariaDbDatabase> {
        galera_knobs::check(spec.durability, spec.knobs)?;
        let access = ClusterAccess::of(spec).ok_or_else(|| {
            let folder = spec.directory.display();
            Error::engine(format!("no Galera cluster runs in {folder}"))
        })?;
        MariaDbDatabase::open(ServerAccess::Cluster(access), spec)
    }
}

impl Default for Galera {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns Galera's library.
///
/// # Errors
/// One line that says what to install.
fn provider() -> Result<PathBuf> {
    let mut paths = PROVIDERS.iter().map(PathBuf::from);
    paths.find(|path| path.is_file()).ok_or_else(|| {
        Error::missing(
            "no Galera on this machine (libgalera_smm.so); `trueput engines install galera` \
             installs it",
        )
    })
}

/// Checks that files can be copied to a node that joins.
fn check_copy_tools() -> Result<()> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&folders).any(|at| at.join(name).is_file());
    match [COPY_SCRIPT, "rsync"].iter().find(|name| !is_there(name)) {
        None => Ok(()),
        Some(name) => Err(Error::missing(format!(
            "no program {name}, which copies files to nodes; `trueput engines install galera` \
             installs it"
        ))),
    }
}

impl Engine for Galera {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: "Galera",
            summary: "MariaDB servers with Galera; every one takes transactions",
            install: "trueput engines install galera, or a server's mariadbd by @",
            homepage: "https://galeracluster.com/library/documentation/",
            ..self.server.info()
        }
    }

    fn build(&self) -> Result<Build> {
        let build = self.server.build()?;
        provider()?;
        check_copy_tools()?;
        Ok(build)
    }

    /// Galera puts the path into a command of a shell, and its script there into a file of rsync's.
    fn path_objection(&self, folder: &Path) -> Option<String> {
        let reason = "Galera's scripts split paths at some characters";
        folder_path::objection(folder, "'\"\\%`$", reason)
    }

    fn library_files(&self) -> Vec<PathBuf> {
        self.server.library_files()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let server = MariaDb::of_program(library)?;
        Ok(Box::new(Self { server }))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let server = MariaDb::of_unopened_program(library)?;
        Ok(Box::new(Self { server }))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: true,
            batch_get: true,
            conditional_put: true,
            bulk_load: true,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        galera_knobs::check(durability, knobs)?;
        let of_server = settings::promise(durability, knobs)?;
        Ok(Promise {
            mapped_to: format!("{}, wsrep_on=ON", of_server.mapped_to),
            source: SOURCE.to_owned(),
            cluster: Some(galera_knobs::survival(durability)),
            ..of_server
        })
    }

    /// With all writers nothing is stated: the workload `history` has shown committed transactions
    /// that did not see their own writes.
    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        if GaleraKnobs::from(knobs).writers == Writers::All {
            return None;
        }
        Some(match MariaDbKnobs::from(knobs).isolation {
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            // While sessions go over to another node they write on both, and what is only read is
            // not checked between nodes.
            _ => Isolation::Snapshot,
        })
    }

    /// An UPDATE overwrites rows committed since the SELECT.
    fn isolation_in_sql(&self, knobs: &ParameterValues) -> Option<Isolation> {
        self.isolation(knobs).map(|_| Isolation::ReadCommitted)
    }

    fn reads_are_recent(&self, knobs: &ParameterValues) -> bool {
        self.isolation(knobs).is_some()
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["writers", "isolation"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        self.server.cache_knob(knobs)
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        self.open_database(spec)?.check_table()
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        self.server.audit_knobs()
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(self.open_database(spec)?))
    }

    fn service(&self) -> Option<Box<dyn Service>> {
        Some(Box::new(ClusterService {
            engine: NAME,
            library: self.server.named_program(),
        }))
    }

    fn cluster(&self) -> Option<Box<dyn Cluster>> {
        // What is missing is reported when the engine is asked for its build.
        Some(Box::new(ServerGroup {
            server: self.server.program().unwrap_or_else(|_| "mariadbd".into()),
            provider: provider().unwrap_or_else(|_| PROVIDERS[0].into()),
        }))
    }

    /// That of the server that sessions use, or used last.
    fn event_watcher(&self, spec: &OpenSpec<'_>) -> Option<Box<dyn EventWatcher>> {
        let state = ClusterState::read(spec.directory).ok()?;
        let data = node_folder(spec.directory, state.last_leader).join(DATA);
        Some(Box::new(EventProgress::new(event_watcher::reader(&data))))
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::Mariadb)
    }
}

/// The servers of a cluster.
struct ServerGroup {
    server: PathBuf,
    provider: PathBuf,
}

impl Cluster for ServerGroup {
    fn nodes(&self, knobs: &ParameterValues) -> u32 {
        GaleraKnobs::from(knobs).node_count()
    }

    fn node(&self, number: u32, site: &ClusterSite) -> Box<dyn Service> {
        Box::new(NodeServer {
            number,
            site: site.clone(),
            server: PrivateServer {
                program: self.server.clone(),
            },
            provider: self.provider.clone(),
        })
    }

    fn role(&self, number: u32, site: &ClusterSite) -> Result<NodeRole> {
        node::role(site, number)
    }

    fn elects_leader(&self) -> bool {
        true
    }

    fn contradictions(
        &self,
        number: u32,
        site: &ClusterSite,
        spec: &OpenSpec<'_>,
    ) -> Result<Vec<SettingContradiction>> {
        node::contradictions(site, number, spec)
    }

    fn start_order(
        &self,
        numbers: &[u32],
        site: &ClusterSite,
        _spec: &OpenSpec<'_>,
        recover: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<Vec<u32>> {
        node::start_order(numbers.to_vec(), site, &mut |number| {
            recover(number)?;
            position::of_stopped(&site.folder(number))
        })
    }

    fn failover_after_ms(&self, knobs: &ParameterValues) -> u64 {
        GaleraKnobs::from(knobs).failover_after
    }

    fn network(&self, knobs: &ParameterValues) -> NetworkQuality {
        let knobs = GaleraKnobs::from(knobs);
        NetworkQuality::new(knobs.network_delay, knobs.network_loss)
    }
}
