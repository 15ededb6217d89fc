//! The process that uses the engine: it records a workload, lets one endure faults, or inspects a
//! state. An engine that hangs or crashes takes nothing else with it.

mod endurance;
mod inspection;
mod recording;

use crate::block_form::ImageMount;
use crate::subject::{Subject, SubjectError};
use crate::transaction::{LargeValues, Script};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use trueput_engine::{Engine, ParameterValues};
use trueput_host::mount_namespace::{bind, enter_private};
use trueput_host::service::{Server, ServerError, ServerSpec};
use trueput_host::trial_file_system::{MountImageError, TrialFileSystemError};
use trueput_record::Conditions;
use trueput_record::audit::{Damage, DamageKind};
use trueput_record::fault_record::FaultCourse;
use trueput_runner::{DelegatedTask, Registry, SelectedEngine};

/// The file that the kernel fills anew at each start of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A file with another identifier at each read. It is of the kernel, too: libmdbx trusts no other.
const OTHER_ID: &str = "/proc/sys/kernel/random/uuid";

/// The assignment of a worker process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) subject: Subject,
    /// The folder of the database.
    pub(crate) directory: PathBuf,
    pub(crate) seed: u64,
    /// The sessions that commit at once.
    pub(crate) workers: u32,
    /// The most memory of its own, bytes.
    pub(crate) memory_bytes: u64,
    pub(crate) large: LargeValues,
    pub(crate) task: Task,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub(crate) enum Task {
    /// Commit transactions and note when each began and was acknowledged.
    Record {
        history: PathBuf,
        /// The most commits of one worker.
        capacity: u64,
        /// The folder of the recording file system's log, if there is one.
        log: Option<PathBuf>,
        /// The commits of each worker in each of the three phases; without it, it goes on until it
        /// is killed.
        commits: Option<u64>,
    },
    /// Open a database, as after a start of the machine, and examine it.
    Inspect {
        /// The machine that has started again; `None` if only processes were killed.
        machine: Option<NewMachine>,
        /// Whether the machine ended, and not only its processes.
        after_lost_power: bool,
        /// Whether the workload had it open: a driver that refuses it now has met damage, and an
        /// error of a close is one that is reported.
        was_open: bool,
    },
    /// Commit transactions, also after errors, and note what the engine reports. It goes on until
    /// it is killed.
    Endure {
        history: PathBuf,
        /// The most commits of one worker.
        capacity: u64,
        /// The file for what happens ([`EventLog`](crate::event_log::EventLog)).
        events: PathBuf,
        /// A file that is there once faults may come.
        gate: PathBuf,
        /// The commits of each worker before faults come.
        before: u64,
        /// The commits of each worker at a time under faults.
        under: u64,
        course: FaultCourse,
    },
    /// Open a database, so that it recovers, and no more.
    Recover {
        /// As for an inspection.
        machine: Option<NewMachine>,
    },
}

/// A machine that has started again, as an engine sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewMachine {
    /// The folder of the state, which appears where the database was recorded: files of some
    /// engines hold their own path.
    pub(crate) state: PathBuf,
    /// The image that is mounted instead, in the block form.
    pub(crate) image: Option<ImageMount>,
}

/// The findings of an inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inspection {
    /// By worker, the number of its last transaction that is there; empty if the database could not
    /// be read.
    pub(crate) found: Vec<u64>,
    /// Damage that does not depend on what was acknowledged.
    pub(crate) damage: Option<Damage>,
    /// The error of a close after which everything was there.
    pub(crate) close_error: Option<String>,
}

impl Inspection {
    /// Returns the inspection of a state that could not be read.
    pub(crate) fn of_damage(kind: DamageKind, detail: String) -> Self {
        Self {
            found: Vec::new(),
            damage: Some(Damage { kind, detail }),
            close_error: None,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    Recorded {
        version: String,
    },
    Inspected(Inspection),
    Recovered,
    /// The engine did not open the database; an inspection tells why.
    NotRecovered,
}

/// The reason why a worker could not do its task.
#[derive(Debug, thiserror::Error)]
enum TaskError {
    /// The subject cannot be used here.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The process cannot be shown a machine that has started again.
    #[error("starting the machine again: {0}")]
    NewMachine(io::Error),
    /// The image of a state has no device.
    #[error(transparent)]
    Image(TrialFileSystemError),
    /// The engine's server does not start or stop.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The engine has an error.
    #[error(transparent)]
    Engine(#[from] trueput_engine::Error),
    /// The engine has an error at a checkpoint.
    #[error("checkpoint: {0}")]
    Checkpoint(trueput_engine::Error),
    /// The engine has an error as it closes the database.
    #[error("closing the database: {0}")]
    Close(trueput_engine::Error),
    /// The driver refuses to open any database here; its reason.
    #[error("{0}")]
    Refused(String),
    /// The assignment is another one.
    #[error("not this task")]
    OtherTask,
    /// A file or folder cannot be opened or written back.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The clock of the recording cannot be opened.
    #[error("the clock: {0}")]
    Clock(io::Error),
}

/// The engine of an assignment, ready to be opened.
struct OpenableEngine<'a> {
    engine: SelectedEngine,
    knobs: ParameterValues,
    assignment: &'a Assignment,
    script: Script,
}

/// The task of an audit's workers, for [`trueput_runner::worker_main`].
pub const WORKER_TASK: DelegatedTask = DelegatedTask {
    name: "audit",
    serve: |registry, assignment| {
        let assignment = serde_json::from_value(assignment)?;
        Ok(serde_json::to_value(serve(registry, &assignment)?)?)
    },
};

fn serve(registry: &Registry, assignment: &Assignment) -> Result<Report, TaskError> {
    limit_memory(assignment.memory_bytes);
    let engine = assignment.subject.find_engine(registry)?;
    let knobs = assignment.subject.resolve_knobs(&*engine)?;
    let script = Script {
        seed: assignment.seed,
        max_value_bytes: engine.capabilities().max_value_bytes,
        large: assignment.large,
    };
    let openable = OpenableEngine {
        engine,
        knobs,
        assignment,
        script,
    };
    match &assignment.task {
        Task::Record { .. } => openable.record(),
        Task::Endure { .. } => openable.endure(),
        Task::Inspect { machine, .. } => {
            enter(machine.as_ref(), &assignment.directory)?;
            let image = machine.as_ref().and_then(|machine| machine.image.as_ref());
            let mounted = image.map_or(Ok(()), ImageMount::mount);
            match mounted {
                Ok(()) => openable.inspect().map(Report::Inspected),
                Err(MountImageError::NotAttached(error)) => Err(TaskError::Image(error)),
                Err(MountImageError::NotMounted(error)) => Ok(Report::Inspected(
                    Inspection::of_damage(DamageKind::FileSystemLost, error.to_string()),
                )),
            }
        }
        Task::Recover { machine } => {
            enter(machine.as_ref(), &assignment.directory)?;
            openable.recover()
        }
    }
}

impl OpenableEngine<'_> {
    /// Starts the server that the engine needs, if any.
    fn start_server(&self) -> Result<Option<Server>, ServerError> {
        let Some(service) = self.engine.service() else {
            return Ok(None);
        };
        let spec = ServerSpec {
            service: &*service,
            database: &self
                .assignment
                .subject
                .open_spec(&self.assignment.directory, &self.knobs),
            conditions: &Conditions::default(),
            group_entry: None,
        };
        Server::start(&spec, &mut || true).map(Some)
    }

    fn engine(&self) -> &dyn Engine {
        &*self.engine
    }
}

/// Limits the memory of this process, so that a damaged length cannot exhaust the machine's. Maps
/// of files do not count.
fn limit_memory(bytes: u64) {
    let limit = Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // Without the limit the inspection is as good.
    let _ = setrlimit(Resource::Data, limit);
}

fn enter(machine: Option<&NewMachine>, directory: &Path) -> Result<(), TaskError> {
    let entered = machine.map_or(Ok(()), |machine| machine.enter(directory));
    entered.map_err(TaskError::NewMachine)
}

impl NewMachine {
    /// Gives this process the view of a machine that has started again: another boot identifier, at
    /// which libmdbx and Berkeley DB look, no shared memory of System V, which GT.M uses, and the
    /// state in the place of the database.
    fn enter(&self, directory: &Path) -> io::Result<()> {
        enter_private()?;
        bind(Path::new(OTHER_ID), Path::new(BOOT_ID))?;
        match &self.image {
            None => bind(&self.state, directory),
            Some(_) => Ok(()),
        }
    }
}
