//! Resolves a trial's names and settings to an engine and a workload.

use crate::Registry;
use crate::hosts::fit::check_host_fit;
use crate::plan::disk_space::DiskSpace;
use crate::plan::refusal::{Misfit, Refusal};
use std::collections::BTreeMap;
use trueput_engine::{
    Credentials, Engine, NativeProgram, ParameterValues, Storage, parameter, storage,
};
use trueput_host::placement;
use trueput_record::fault::{FaultTarget, ScheduledFault};
use trueput_record::plan::{MAX_WORKERS, check_count};
use trueput_record::skipped::unsupported_level;
use trueput_record::{Conditions, Durability, Isolation, Promise, TrialSpec, WorkerKind};
use trueput_workloads::{Job, WorkloadSubject};

static STORAGE: Storage = Storage;

/// The engine of a trial.
pub enum SelectedEngine {
    /// A built-in engine.
    Offered(&'static dyn Engine),
    /// An engine loaded from the library that the trial names.
    Loaded(Box<dyn Engine>),
}

impl std::ops::Deref for SelectedEngine {
    type Target = dyn Engine;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Offered(engine) => *engine,
            Self::Loaded(engine) => &**engine,
        }
    }
}

/// A trial's specification, resolved and checked.
pub(crate) struct ResolvedTrial {
    /// The engine, in the library that the trial names, if any.
    pub engine: SelectedEngine,
    /// The driver's promise at the trial's level.
    pub promise: Promise,
    /// All knobs with their values.
    pub knobs: ParameterValues,
    /// The workload with its settings.
    pub job: Box<dyn Job>,
    /// The engine's native program that does the workers' work, if the knobs ask for it.
    pub native: Option<Box<dyn NativeProgram>>,
}

impl ResolvedTrial {
    /// Returns the disk space that the trial needs.
    pub fn disk_space(&self, spec: &TrialSpec, factor: f64) -> DiskSpace {
        DiskSpace::of_job(&*self.job, &*self.engine, spec.workers, factor)
    }

    /// Returns the isolation of the trial's transactions, as the driver states it.
    pub fn isolation(&self) -> Option<Isolation> {
        if self.job.uses_sql() {
            self.engine.isolation_in_sql(&self.knobs)
        } else {
            self.engine.isolation(&self.knobs)
        }
    }
}

/// Resolves a trial against the engines and workloads of the program, and checks it.
///
/// # Errors
/// [`Refusal`] with the input and the remedy.
pub(crate) fn resolve_trial(
    registry: &Registry,
    credentials: &Credentials,
    spec: &TrialSpec,
) -> Result<ResolvedTrial, Refusal> {
    trueput_record::trial::check_id(&spec.id)?;
    let workload = registry.workload(&spec.workload)?;
    let offered = match workload.subject() {
        WorkloadSubject::Engine => registry.engine_of(&spec.engine, spec.build.as_deref())?,
        WorkloadSubject::Storage => resolve_storage(&spec.workload, &spec.engine)?,
    };
    let name = offered.info().name;
    let of_engine = |source| Refusal::Engine {
        engine: name,
        source,
    };
    let engine = match &spec.build {
        None => SelectedEngine::Offered(offered),
        Some(library) => {
            SelectedEngine::Loaded(credentials.open(offered, library).map_err(of_engine)?)
        }
    };
    let knobs = parameter::resolve_knobs(name, engine.knobs(), &spec.knobs)?;
    let promise = engine.promise_with(spec.durability, &knobs);
    let promise = promise.map_err(|error| match engine.promise(spec.durability) {
        None => Refusal::Level(missing_level(&*engine, spec.durability)),
        Some(_) => of_engine(error),
    })?;
    let settings = parameter::resolve(workload.info().name, workload.settings(), &spec.settings)?;
    let job = workload
        .job(&settings, &spec.conditions)
        .map_err(|error| Refusal::Workload {
            workload: spec.workload.clone(),
            source: Box::new(error),
        })?;
    let native = engine.native(&knobs, workload.info().name, &settings);
    let native = native.map_err(of_engine)?;
    if native.is_some() && !suits_native_program(&spec.conditions) {
        return Err(Refusal::NativeProgram { engine: name });
    }
    placement::check(&spec.conditions)?;
    check_workers(&*engine, spec)?;
    check_host_fit(&*engine, spec)?;
    check_fit(&*job, &*engine, &knobs).map_err(|error| Refusal::Misfit {
        workload: spec.workload.clone(),
        source: Box::new(error),
    })?;
    check_job(&*job, &*engine, &knobs, spec)?;
    check_recording(&*job, workload.subject(), spec)?;
    check_compaction(&*engine, workload.subject(), spec)?;
    check_modelled(&*engine, &spec.conditions, spec)?;
    check_faulty(&*engine, &spec.conditions, spec)?;
    Ok(ResolvedTrial {
        engine,
        promise,
        knobs,
        job,
        native,
    })
}

/// Returns whether the conditions differ from the default only in properties that a process
/// inherits.
fn suits_native_program(conditions: &Conditions) -> bool {
    let inherited = Conditions {
        cpus: conditions.cpus.clone(),
        numa: conditions.numa.clone(),
        allocator: conditions.allocator,
        file_system: conditions.file_system.clone(),
        log_file_system: conditions.log_file_system.clone(),
        storage_model: conditions.storage_model.clone(),
        log_storage_model: conditions.log_storage_model.clone(),
        fault: conditions.fault,
        ..Conditions::default()
    };
    *conditions == inherited
}

/// Returns the storage itself as the engine of a workload that needs none.
///
/// # Errors
/// [`Refusal::EngineOfStorage`].
pub(crate) fn resolve_storage(workload: &str, named: &str) -> Result<&'static dyn Engine, Refusal> {
    match named {
        storage::NAME => Ok(&STORAGE),
        _ => Err(Refusal::EngineOfStorage {
            workload: workload.to_owned(),
            engine: named.to_owned(),
        }),
    }
}

/// Checks that a job can be done on an engine with these knobs at all. A plan's expansion uses the
/// same check, so that it contains nothing that a run would refuse.
///
/// # Errors
/// [`Misfit`]: the missing capability, and the remedy if there is one.
pub(crate) fn check_fit(
    job: &dyn Job,
    engine: &dyn Engine,
    knobs: &ParameterValues,
) -> Result<(), Misfit> {
    job.check_capabilities(&engine.capabilities())?;
    job.check_dialect(engine.dialect())?;
    if job.needs_transactions() {
        let checked = engine.check_transactions(knobs);
        checked.map_err(|source| Misfit::Engine {
            engine: engine.info().name,
            source,
        })?;
    }
    Ok(())
}

fn check_job(
    job: &dyn Job,
    engine: &dyn Engine,
    knobs: &ParameterValues,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    job.check_workers(spec.workers, spec.worker_kind)
        .map_err(|error| Refusal::Workload {
            workload: spec.workload.clone(),
            source: Box::new(error),
        })?;
    let sessions = engine.check_sessions(job.sessions(spec.workers), knobs);
    sessions.map_err(|source| Refusal::Engine {
        engine: engine.info().name,
        source,
    })?;
    check_crash(job, engine, spec)?;
    check_faults(engine, knobs, spec)?;
    match job.durability() {
        Some(own) if own != spec.durability => Err(Refusal::OtherLevel {
            workload: spec.workload.clone(),
            own,
            planned: spec.durability,
        }),
        _ => Ok(()),
    }
}

/// Checks that all requests of a trial whose trace is recorded pass a session.
fn check_recording(
    job: &dyn Job,
    subject: WorkloadSubject,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    let reason = match &spec.conditions {
        conditions if conditions.record_trace_bytes.is_none() => return Ok(()),
        _ if job.uses_sql() => "its statements of SQL name no keys",
        _ if subject == WorkloadSubject::Storage => "it uses files and no keys",
        conditions if !conditions.faults.is_empty() => "a failover repeats its requests",
        _ => return Ok(()),
    };
    Err(Refusal::NotRecordable {
        workload: spec.workload.clone(),
        reason,
    })
}

/// Checks that a trial that ends with a compaction has one database that could be compacted.
fn check_compaction(
    engine: &dyn Engine,
    subject: WorkloadSubject,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    if spec.conditions.compact && subject == WorkloadSubject::Storage {
        return Err(Refusal::StorageToCompact {
            workload: spec.workload.clone(),
        });
    }
    check_compactable(engine, &spec.conditions, spec)
}

/// Checks that the engine of a trial has one database that could be compacted, and whose size is
/// seen, if these conditions ask for that. A plan's expansion uses the same check.
///
/// # Errors
/// [`Refusal::NothingToCompact`], [`Refusal::ClusterToCompact`] or
/// [`Refusal::UsersServerToCompact`].
pub(crate) fn check_compactable(
    engine: &dyn Engine,
    conditions: &Conditions,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    let name = engine.info().name;
    if !conditions.compact {
        Ok(())
    } else if !engine.capabilities().retains_data {
        Err(Refusal::NothingToCompact { engine: name })
    } else if engine.cluster().is_some() {
        Err(Refusal::ClusterToCompact { engine: name })
    } else if spec.is_on_users_server() {
        Err(Refusal::UsersServerToCompact { engine: name })
    } else {
        Ok(())
    }
}

fn check_crash(job: &dyn Job, engine: &dyn Engine, spec: &TrialSpec) -> Result<(), Refusal> {
    if !spec.conditions.crash_and_recover {
        return Ok(());
    }
    check_crashable(engine, &spec.conditions, spec)?;
    let survival = spec.durability.after_killed_processes();
    trueput_workloads::check_crash(job, survival).map_err(|error| Refusal::WorkloadCrash {
        workload: spec.workload.clone(),
        source: Box::new(error),
    })
}

/// Checks that the engine of a trial stores something that could survive a crash, and may be
/// killed, if these conditions ask for that. A plan's expansion uses the same check.
///
/// # Errors
/// [`Refusal::NothingToCrash`] or [`Refusal::UsersServer`].
pub(crate) fn check_crashable(
    engine: &dyn Engine,
    conditions: &Conditions,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    let name = engine.info().name;
    if !conditions.crash_and_recover {
        Ok(())
    } else if !engine.capabilities().retains_data {
        Err(Refusal::NothingToCrash { engine: name })
    } else if spec.is_on_users_server() {
        Err(Refusal::UsersServer { engine: name })
    } else {
        Ok(())
    }
}

/// Checks that the files of a trial's database are where a storage model can be below them, if
/// these conditions ask for one. A plan's expansion uses the same check.
///
/// # Errors
/// [`Refusal::ModelOfUsersServer`] or [`Refusal::ModelOfCluster`].
pub(crate) fn check_modelled(
    engine: &dyn Engine,
    conditions: &Conditions,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    let name = engine.info().name;
    if conditions.storage_model.is_none() && conditions.log_storage_model.is_none() {
        Ok(())
    } else if spec.is_on_users_server() {
        Err(Refusal::ModelOfUsersServer { engine: name })
    } else if engine.cluster().is_some() {
        Err(Refusal::ModelOfCluster { engine: name })
    } else {
        Ok(())
    }
}

/// Checks that the files of a trial's database are where their storage can fail, if these
/// conditions ask for that. A plan's expansion uses the same check.
///
/// # Errors
/// [`Refusal::FaultOfUsersServer`] or [`Refusal::FaultOfCluster`].
pub(crate) fn check_faulty(
    engine: &dyn Engine,
    conditions: &Conditions,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    let name = engine.info().name;
    if conditions.fault.is_none() {
        Ok(())
    } else if spec.is_on_users_server() {
        Err(Refusal::FaultOfUsersServer { engine: name })
    } else if engine.cluster().is_some() {
        Err(Refusal::FaultOfCluster { engine: name })
    } else {
        Ok(())
    }
}

fn check_faults(
    engine: &dyn Engine,
    knobs: &ParameterValues,
    spec: &TrialSpec,
) -> Result<(), Refusal> {
    let conditions = &spec.conditions;
    let Some(last) = conditions.faults.faults().last() else {
        return Ok(());
    };
    let name = engine.info().name;
    if engine.cluster().is_none() {
        return Err(Refusal::NoCluster { engine: name });
    }
    let nodes = engine.cluster().map_or(0, |cluster| cluster.nodes(knobs));
    let is_absent = |fault: &&ScheduledFault| match fault.order.target {
        FaultTarget::Node(number) => number > nodes,
        _ => false,
    };
    if let Some(fault) = conditions.faults.faults().iter().find(is_absent) {
        let fault = *fault;
        return Err(Refusal::AbsentNode { fault, nodes });
    }
    if conditions.time_slice_s.is_some() || conditions.crash_and_recover {
        return Err(Refusal::FaultsAndBreaks);
    }
    match conditions.duration_s {
        Some(duration_s) if last.at_s >= duration_s => Err(Refusal::LateFault {
            fault: *last,
            duration_s,
        }),
        _ => Ok(()),
    }
}

fn check_workers(engine: &dyn Engine, spec: &TrialSpec) -> Result<(), Refusal> {
    // A run folder that came from elsewhere may state any number.
    check_count("workers", i64::from(spec.workers), MAX_WORKERS)?;
    let several = spec.worker_kind == WorkerKind::Processes && spec.workers > 1;
    if several && !engine.capabilities().several_processes {
        return Err(Refusal::OneProcess {
            workload: spec.workload.clone(),
            engine: spec.engine.clone(),
            workers: spec.workers,
        });
    }
    Ok(())
}

/// Returns the sentence for a durability level that an engine does not support with its default
/// knobs, and the driver's reason if it gives one.
pub(crate) fn missing_level(engine: &dyn Engine, level: Durability) -> String {
    let name = engine.info().name;
    let levels = Durability::ALL.into_iter();
    let supported = levels.filter(|&level| engine.promise(level).is_some());
    let sentence = unsupported_level(name, level, supported);
    match level_refusal(engine, level) {
        Some(reason) => format!("{sentence}; {reason}"),
        None => sentence,
    }
}

/// Returns the driver's reason why an engine does not support a durability level with its default
/// knobs: mostly, which knobs the level needs.
#[must_use]
pub fn level_refusal(engine: &dyn Engine, level: Durability) -> Option<String> {
    let name = engine.info().name;
    let knobs = parameter::resolve_knobs(name, engine.knobs(), &BTreeMap::new()).ok()?;
    let refusal = engine.promise_with(level, &knobs).err()?.to_string();
    let plain = trueput_engine::Error::no_durability(name, level).to_string();
    let (_, reason) = refusal.rsplit_once(&format!("{plain}: "))?;
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::cluster::{Cluster, ClusterSite, NetworkQuality, NodeRole};
    use trueput_engine::service::Service;
    use trueput_engine::{
        Build, Capabilities, Database, Error, Info, Null, OpenSpec, Parameter, SettingContradiction,
    };
    use trueput_record::testing;

    /// An engine with a description only: nothing here opens one.
    struct DescribedEngine {
        retains_data: bool,
        is_cluster: bool,
    }

    impl Engine for DescribedEngine {
        fn info(&self) -> Info {
            Info {
                name: "described",
                ..Null.info()
            }
        }

        fn build(&self) -> trueput_engine::Result<Build> {
            Null.build()
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities {
                retains_data: self.retains_data,
                ..Null.capabilities()
            }
        }

        fn promise_with(
            &self,
            durability: Durability,
            knobs: &ParameterValues,
        ) -> trueput_engine::Result<Promise> {
            Null.promise_with(durability, knobs)
        }

        fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
            Null.isolation(knobs)
        }

        fn knobs(&self) -> &'static [Parameter] {
            &[]
        }

        fn open(&self, _spec: &OpenSpec<'_>) -> trueput_engine::Result<Box<dyn Database>> {
            Err(only_described())
        }

        fn cluster(&self) -> Option<Box<dyn Cluster>> {
            self.is_cluster
                .then(|| Box::new(DescribedCluster) as Box<dyn Cluster>)
        }
    }

    fn only_described() -> Error {
        Error::engine("only described")
    }

    struct DescribedCluster;

    impl Cluster for DescribedCluster {
        fn nodes(&self, _knobs: &ParameterValues) -> u32 {
            3
        }

        fn node(&self, number: u32, _site: &ClusterSite) -> Box<dyn Service> {
            panic!("node {number} is only described")
        }

        fn role(&self, _number: u32, _site: &ClusterSite) -> trueput_engine::Result<NodeRole> {
            Err(only_described())
        }

        fn contradictions(
            &self,
            _number: u32,
            _site: &ClusterSite,
            _spec: &OpenSpec<'_>,
        ) -> trueput_engine::Result<Vec<SettingContradiction>> {
            Err(only_described())
        }

        fn failover_after_ms(&self, _knobs: &ParameterValues) -> u64 {
            0
        }

        fn network(&self, _knobs: &ParameterValues) -> NetworkQuality {
            NetworkQuality::default()
        }
    }

    #[test]
    fn a_storage_model_needs_files_of_one_database_on_this_machine() {
        let library = DescribedEngine {
            retains_data: true,
            is_cluster: false,
        };
        let cluster = DescribedEngine {
            is_cluster: true,
            ..library
        };
        let spec = testing::spec(0, "postgresql", Durability::Sync, 1);
        let mut of_user = spec.clone();
        of_user.build = Some("postgres://me@db/test".into());
        let refused = [
            (&cluster, &spec, "described is a cluster"),
            (&library, &of_user, "this described is your server"),
        ];
        let model = Some("hdd-7200".to_owned());
        let [mut data, mut log] = [Conditions::default(), Conditions::default()];
        (data.storage_model, log.log_storage_model) = (model.clone(), model);
        for conditions in [data, log] {
            assert!(check_modelled(&library, &conditions, &spec).is_ok());
            for (engine, spec, reason) in refused {
                let refusal = check_modelled(engine, &conditions, spec).unwrap_err();
                let said = refusal.to_string();
                assert!(
                    said.starts_with("storage_model: ") && said.contains(reason),
                    "{said}"
                );
                assert!(check_modelled(engine, &Conditions::default(), spec).is_ok());
            }
        }
    }

    #[test]
    fn a_fault_needs_files_of_one_database_on_this_machine() {
        let library = DescribedEngine {
            retains_data: true,
            is_cluster: false,
        };
        let cluster = DescribedEngine {
            is_cluster: true,
            ..library
        };
        let faulty = Conditions {
            fault: "any:stall=2s@1s".parse().ok(),
            ..Conditions::default()
        };
        let spec = testing::spec(0, "postgresql", Durability::Sync, 1);
        let mut of_user = spec.clone();
        of_user.build = Some("postgres://me@db/test".into());
        assert!(check_faulty(&library, &faulty, &spec).is_ok());
        for (engine, spec, reason) in [
            (&cluster, &spec, "fault: described is a cluster"),
            (&library, &of_user, "fault: this described is your server"),
        ] {
            let refusal = check_faulty(engine, &faulty, spec).unwrap_err();
            assert!(refusal.to_string().starts_with(reason), "{refusal}");
            assert!(check_faulty(engine, &Conditions::default(), spec).is_ok());
        }
    }

    #[test]
    fn a_compaction_needs_one_database_with_data() {
        let mut private = testing::spec(0, "postgresql", Durability::None, 1);
        let mut of_user = private.clone();
        of_user.build = Some("postgres://me@db/test".into());
        let library = DescribedEngine {
            retains_data: true,
            is_cluster: false,
        };
        let harness = DescribedEngine {
            retains_data: false,
            ..library
        };
        let cluster = DescribedEngine {
            is_cluster: true,
            ..library
        };
        let (of_engine, of_storage) = (WorkloadSubject::Engine, WorkloadSubject::Storage);
        let refused = [
            (&harness, of_engine, "described stores nothing"),
            (&cluster, of_engine, "described is a cluster"),
            (&library, of_storage, "measures the storage itself"),
        ];
        for compact in [false, true] {
            (private.conditions.compact, of_user.conditions.compact) = (compact, compact);
            assert!(check_compaction(&library, of_engine, &private).is_ok());
            let trials =
                refused.map(|(engine, subject, reason)| (engine, subject, &private, reason));
            let of_user = (&library, of_engine, &of_user, "described is your server");
            for (engine, subject, spec, reason) in trials.into_iter().chain([of_user]) {
                let refusal = check_compaction(engine, subject, spec).err();
                let said = refusal.map_or_else(String::new, |refusal| refusal.to_string());
                assert_eq!(said.contains(reason), compact, "{said}");
                assert_eq!(said.starts_with("compact: "), compact, "{said}");
            }
        }
    }
}
