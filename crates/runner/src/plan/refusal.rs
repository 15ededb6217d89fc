//! The reasons why a trial cannot be run as it is: what is wrong with its plan, and the remedy.

use crate::plan::log_directory::LOG_DIRECTORY;
use std::path::PathBuf;
use trueput_engine::Error as EngineError;
use trueput_engine::credentials::redact_word;
use trueput_engine::parameter::ParameterError;
use trueput_host::placement::PlacementError;
use trueput_record::Durability;
use trueput_record::fault::ScheduledFault;
use trueput_record::plan::CountError;
use trueput_record::trial::TrialIdError;
use trueput_workloads::JobError;

/// The reason why an engine or a workload is not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The name stands for workloads without an engine.
    #[error("'{name}' is not an engine: it stands for workloads that need none")]
    NoEngine {
        /// The name.
        name: String,
    },
    /// A plug-in that comes with the program is not installed.
    #[error("{name} is not installed: trueput engines install {name}")]
    NotInstalled {
        /// The name.
        name: &'static str,
    },
    /// There is no such engine.
    #[error("unknown engine '{}'{hint}; engines: {}", redact_word(name), known.join(", "))]
    UnknownEngine {
        /// The name.
        name: String,
        /// The nearest name, or how an address is written; empty if there is no advice.
        hint: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// There is no such workload.
    #[error("unknown workload '{name}'{hint}; workloads: {}", known.join(", "))]
    UnknownWorkload {
        /// The name.
        name: String,
        /// The nearest name; empty if there is no advice.
        hint: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// A library is not one of the engine.
    #[error(transparent)]
    Library(EngineError),
    /// A library is the plug-in of another engine.
    #[error("{} is the plug-in of {own}, not of {name}", library.display())]
    OtherPlugin {
        /// The file.
        library: PathBuf,
        /// The name in its description.
        own: &'static str,
        /// The name that was given.
        name: String,
    },
    /// A plug-in has the name of an engine of this program.
    #[error(
        "{} calls itself {name}, as an engine of this program: give it another name in its \
         description",
        library.display()
    )]
    TakenName {
        /// The file.
        library: PathBuf,
        /// The name in its description.
        name: &'static str,
    },
}

/// The reason why a trial cannot be run as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// Its engine or workload is not found.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Its id is not one.
    #[error(transparent)]
    TrialId(#[from] TrialIdError),
    /// A knob or a setting does not exist, or does not take its value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The number of workers is not one.
    #[error(transparent)]
    Workers(#[from] CountError),
    /// This machine cannot place the workers as the conditions say.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The engine refuses.
    #[error("{}", describe_error(engine, source))]
    Engine {
        /// The engine.
        engine: &'static str,
        /// Its error.
        source: EngineError,
    },
    /// The engine does not have the durability level; one sentence, with the levels that it has.
    #[error("{0}")]
    Level(String),
    /// The workload refuses.
    #[error("{workload}: {source}")]
    Workload {
        /// The workload.
        workload: String,
        /// Its error.
        source: Box<JobError>,
    },
    /// The workload refuses a deliberate crash.
    #[error("crash_and_recover: {workload}: {source}")]
    WorkloadCrash {
        /// The workload.
        workload: String,
        /// Its error.
        source: Box<JobError>,
    },
    /// The workload cannot be done on the engine.
    #[error("{workload}: {source}")]
    Misfit {
        /// The workload.
        workload: String,
        /// The reason.
        source: Box<Misfit>,
    },
    /// A native program cannot follow the conditions.
    #[error(
        "the native program of {engine} runs all of its work at once: it accepts cpus, numa and \
         allocator only; remove rate, warm_up, duration and other conditions, and give it a range \
         by finish=N"
    )]
    NativeProgram {
        /// The engine.
        engine: &'static str,
    },
    /// An engine is named for a workload without one.
    #[error("{workload} measures the storage itself and uses no engine: remove '{engine}'")]
    EngineOfStorage {
        /// The workload.
        workload: String,
        /// The engine.
        engine: String,
    },
    /// The workload's settings define another level.
    #[error("with these settings, {workload} has durability '{own}', not '{planned}'")]
    OtherLevel {
        /// The workload.
        workload: String,
        /// The level of its settings.
        own: Durability,
        /// The level of the trial.
        planned: Durability,
    },
    /// The workload's requests cannot be recorded.
    #[error("record_trace: {workload} cannot be recorded as {reason}: remove record_trace")]
    NotRecordable {
        /// The workload.
        workload: String,
        /// The reason.
        reason: &'static str,
    },
    /// The engine has nothing that could survive a crash.
    #[error("{engine} stores nothing that could survive a crash: remove crash_and_recover")]
    NothingToCrash {
        /// The engine.
        engine: &'static str,
    },
    /// The workload has no database.
    #[error("compact: {workload} measures the storage itself, without a database: remove compact")]
    StorageToCompact {
        /// The workload.
        workload: String,
    },
    /// The engine has nothing to compact.
    #[error("compact: {engine} stores nothing that could be compacted: remove compact")]
    NothingToCompact {
        /// The engine.
        engine: &'static str,
    },
    /// The engine's nodes have a database each.
    #[error(
        "compact: {engine} is a cluster, whose nodes have a database each: remove compact, or run \
         an engine with one"
    )]
    ClusterToCompact {
        /// The engine.
        engine: &'static str,
    },
    /// The server is the user's, and so are its other tables.
    #[error(
        "compact: this {engine} is your server, whose files are not in the work folder, and which \
         others may use: remove compact, or let the trial start its own server"
    )]
    UsersServerToCompact {
        /// The engine.
        engine: &'static str,
    },
    /// The server is the user's.
    #[error(
        "this {engine} is your server and is not killed: remove crash_and_recover, or let the \
         trial start its own server"
    )]
    UsersServer {
        /// The engine.
        engine: &'static str,
    },
    /// The server is the user's, and so are its disks.
    #[error(
        "storage_model: this {engine} is your server, whose files are not in the work folder: \
         remove storage_model and log_storage_model, or let the trial start its own server"
    )]
    ModelOfUsersServer {
        /// The engine.
        engine: &'static str,
    },
    /// The engine's nodes would share one model of a device.
    #[error(
        "storage_model: {engine} is a cluster, whose nodes would share one model of a device: \
         remove storage_model and log_storage_model, or run an engine on one host"
    )]
    ModelOfCluster {
        /// The engine.
        engine: &'static str,
    },
    /// The server is the user's, and so is its storage.
    #[error(
        "fault: this {engine} is your server, whose files are not in the work folder: remove \
         fault, or let the trial start its own server"
    )]
    FaultOfUsersServer {
        /// The engine.
        engine: &'static str,
    },
    /// The engine's nodes would fail together.
    #[error(
        "fault: {engine} is a cluster, whose nodes would share one faulty disk: remove fault, or \
         run an engine on one host"
    )]
    FaultOfCluster {
        /// The engine.
        engine: &'static str,
    },
    /// The engine is no cluster.
    #[error(
        "at: {engine} is not a cluster that this program starts, so none of its nodes fails: \
         remove at, or run an engine that is a cluster"
    )]
    NoCluster {
        /// The engine.
        engine: &'static str,
    },
    /// A fault is planned for a node that does not exist.
    #[error("at: {fault}: the cluster has {nodes} nodes")]
    AbsentNode {
        /// The fault.
        fault: ScheduledFault,
        /// The nodes of the cluster.
        nodes: u32,
    },
    /// Faults are planned for a trial with other breaks.
    #[error(
        "at: faults are planned for trials of their own: remove time_slice and crash_and_recover"
    )]
    FaultsAndBreaks,
    /// A fault is planned after the end.
    #[error(
        "at: {fault} is not before the end of the trial, which takes {duration_s} s: lengthen \
         duration"
    )]
    LateFault {
        /// The fault.
        fault: ScheduledFault,
        /// The length of the trial, seconds.
        duration_s: f64,
    },
    /// The engine's log cannot be on a file system of its own.
    #[error("{engine} has no knob {LOG_DIRECTORY}: its log is stored with its data")]
    FixedLog {
        /// The engine.
        engine: &'static str,
    },
    /// The engine allows only one process.
    #[error(
        "{workload}: {engine} allows only one process to open a database, so {workers} workers \
         cannot be processes: give --worker-kind threads"
    )]
    OneProcess {
        /// The workload.
        workload: String,
        /// The engine.
        engine: String,
        /// The workers.
        workers: u32,
    },
    /// The workers cannot run on the hosts.
    #[error(transparent)]
    Hosts(#[from] HostRefusal),
}

/// The reason why a workload cannot be done on an engine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misfit {
    /// The workload's.
    #[error(transparent)]
    Workload(#[from] JobError),
    /// The engine's.
    #[error("{}", describe_error(engine, source))]
    Engine {
        /// The engine.
        engine: &'static str,
        /// Its error.
        source: EngineError,
    },
}

/// Returns the text of an engine's error, which may name the engine already.
pub(crate) fn describe_error(engine: &str, error: &EngineError) -> String {
    match error {
        EngineError::Unsupported(reason) => reason.clone(),
        other => format!("{engine}: {other}"),
    }
}

/// The reason why a trial's workers cannot run on other hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostRefusal {
    /// There are fewer workers than hosts.
    #[error(
        "{workers} workers on {hosts} hosts leave a host without one: give at least {hosts} \
         workers, or fewer hosts"
    )]
    FewWorkers {
        /// The workers.
        workers: u32,
        /// The hosts.
        hosts: usize,
    },
    /// The workers are threads.
    #[error(
        "the workers of {hosts} hosts cannot be threads of one process: give --worker-kind \
         processes"
    )]
    Threads {
        /// The hosts.
        hosts: usize,
    },
    /// The workload uses the files of this host.
    #[error("{workload} measures the storage of this host: remove hosts")]
    Storage {
        /// The workload.
        workload: String,
    },
    /// The engine is a library.
    #[error(
        "{engine} is a library whose database is on this host, and workers on other hosts cannot \
         open it: name a server, as in postgresql@postgres://HOST/DATABASE, or remove hosts"
    )]
    Library {
        /// The engine.
        engine: String,
    },
    /// A condition is one of this host.
    #[error("{condition} is for workers on this host: remove it, or remove hosts")]
    Condition {
        /// The condition.
        condition: &'static str,
    },
}

/// The reason why this machine cannot do what a trial plans.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Infeasibility {
    /// A fault needs a network of the cluster's own.
    #[error("{engine}: at: {fault}: {reason}, or kill or pause nodes instead")]
    Partition {
        /// The engine.
        engine: String,
        /// The fault.
        fault: ScheduledFault,
        /// The reason why there can be none, with a remedy.
        reason: String,
    },
    /// A slow network needs one of the cluster's own.
    #[error(
        "{engine}: a delay or loss between its nodes cannot be made: {reason}, or remove \
         network_delay and network_loss"
    )]
    SlowNetwork {
        /// The engine.
        engine: String,
        /// The reason why there can be none, with a remedy.
        reason: String,
    },
    /// The database would be in memory.
    #[error(
        "start: a database on {file_system} is always in memory and cannot start cold: remove \
         start, or choose another filesystem or --work"
    )]
    ColdStart {
        /// The kind of file system.
        file_system: String,
    },
    /// A storage model is not as it was planned, or cannot be had here.
    #[error("{reason}")]
    StorageModel {
        /// The reason, with a remedy.
        reason: String,
    },
    /// The engine cannot keep databases below a folder.
    #[error(
        "{engine} cannot keep databases in {}: {reason}; name another by --work",
        folder.display()
    )]
    Path {
        /// The engine.
        engine: &'static str,
        /// The folder.
        folder: PathBuf,
        /// The reason.
        reason: String,
    },
}
