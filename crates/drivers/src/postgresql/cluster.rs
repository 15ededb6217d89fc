//! PostgreSQL with streaming replication: one server leads, the others follow, and one of them is
//! promoted when the leader fails.

mod node;

use super::cluster_knobs::{self, ClusterKnobs, CommitWait, NAME};
use super::database::PostgresqlDatabase;
use super::instance::Instance;
use super::knobs::{PostgresqlKnobs, WalSettings};
use super::{MAX_KEY_BYTES, MAX_VALUE_BYTES, Postgresql, amcheck, events, install, unwritten};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use trueput_engine::cluster::{
    ClusterService, ClusterSite, ClusterState, NetworkQuality, NodeRole, node_folder,
};
use trueput_engine::{
    Build, CacheKnob, Capabilities, Cluster, Database, Dialect, Durability, Engine, EngineEvent,
    Info, Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Service,
    SettingContradiction,
};

const SOURCE: &str = "PostgreSQL documentation, 'Synchronous Replication', 'Asynchronous Commit' \
                      and 'Write Ahead Log' (synchronous_commit, synchronous_standby_names, fsync)";

/// The oldest version that follows another leader without a restart.
const OLDEST: u32 = 13;

/// The driver of a cluster of PostgreSQL servers.
pub struct PostgresqlCluster {
    server: Postgresql,
}

impl PostgresqlCluster {
    /// A cluster of servers as the first that is found.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            server: Postgresql::new(),
        }
    }
}

impl Default for PostgresqlCluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for PostgresqlCluster {
    fn info(&self) -> Info {
        Info {
            name: NAME,
            title: "PostgreSQL cluster",
            summary: "PostgreSQL servers with streaming replication; one leads, the others follow",
            ..self.server.info()
        }
    }

    fn build(&self) -> Result<Build> {
        let build = self.server.build()?;
        install::check_version_from(OLDEST, &build.version, NAME)?;
        Ok(build)
    }

    fn library_files(&self) -> Vec<PathBuf> {
        self.server.library_files()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let server = Postgresql::of_program(library)?;
        Ok(Box::new(Self { server }))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let server = Postgresql::of_unopened_program(library)?;
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
        let of_server = WalSettings::of_engine(NAME, &PostgresqlKnobs::from(knobs), durability)?;
        let wait = CommitWait::of(knobs, durability)?;
        let pages = of_server.pages_text();
        let delay_ms = PostgresqlKnobs::from(knobs).wal_writer_delay;
        let promise = Promise::new(
            durability,
            format!("{}{pages}", wait.text()),
            (durability == Durability::Buffered).then(|| unwritten(Some(delay_ms))),
            SOURCE,
        );
        Ok(Promise {
            cluster: Some(wait.survival()),
            ..promise
        })
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        self.server.isolation(knobs)
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        self.server.isolation_knobs()
    }

    fn knobs(&self) -> &'static [Parameter] {
        &cluster_knobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        self.server.cache_knob(knobs)
    }

    fn prepare_after_power_loss(&self, spec: &OpenSpec<'_>) -> Result<()> {
        node::remove_lock_files(spec.directory, ClusterKnobs::from(spec.knobs).nodes)
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        amcheck::check(&PostgresqlDatabase::of_cluster(spec)?)
    }

    /// Those of its servers. A leader that recovers, or whose files are checked, is not replaced.
    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("failover_after", "600000"),
            ("checkpoint_timeout", "30"),
            ("max_wal_size", "4MiB"),
            ("shared_buffers", "1MiB"),
            ("wal_segment_size", "1"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(PostgresqlDatabase::of_cluster(spec)?))
    }

    fn service(&self) -> Option<Box<dyn Service>> {
        Some(Box::new(ClusterService {
            engine: NAME,
            library: self.server.named_program(),
        }))
    }

    fn cluster(&self) -> Option<Box<dyn Cluster>> {
        Some(Box::new(ServerGroup {
            // A missing program is reported when the engine is asked for its build.
            server: self.server.program().unwrap_or_else(|_| "postgres".into()),
        }))
    }

    /// Those of the server that leads, or led last.
    fn events(&self, spec: &OpenSpec<'_>, since: SystemTime) -> Option<Vec<EngineEvent>> {
        let state = ClusterState::read(spec.directory).ok()?;
        let folder = node_folder(spec.directory, state.last_leader);
        events::read_since(&folder.join("server.log"), since)
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::Postgresql)
    }
}

/// The servers of a cluster.
struct ServerGroup {
    server: PathBuf,
}

impl Cluster for ServerGroup {
    fn nodes(&self, knobs: &ParameterValues) -> u32 {
        ClusterKnobs::from(knobs).nodes
    }

    fn node(&self, number: u32, site: &ClusterSite) -> Box<dyn Service> {
        Box::new(node::NodeServer {
            number,
            site: site.clone(),
            instance: Instance {
                server: self.server.clone(),
            },
        })
    }

    fn role(&self, number: u32, site: &ClusterSite) -> Result<NodeRole> {
        node::role(site, number)
    }

    fn contradictions(
        &self,
        number: u32,
        site: &ClusterSite,
        spec: &OpenSpec<'_>,
    ) -> Result<Vec<SettingContradiction>> {
        node::contradictions(site, number, spec)
    }

    fn promote(&self, number: u32, site: &ClusterSite) -> Result<()> {
        node::promote(site, number)
    }

    fn follow(&self, number: u32, leader: u32, site: &ClusterSite) -> Result<()> {
        node::follow(site, number, leader)
    }

    fn failover_after_ms(&self, knobs: &ParameterValues) -> u64 {
        ClusterKnobs::from(knobs).failover_after
    }

    fn network(&self, knobs: &ParameterValues) -> NetworkQuality {
        let knobs = ClusterKnobs::from(knobs);
        NetworkQuality::new(knobs.network_delay, knobs.network_loss)
    }
}
