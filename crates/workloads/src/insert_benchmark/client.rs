//! The workers: what those of a client share, and what each does.

use super::connection::Connection;
use super::findings::{END, FIRST, TABLE};
use super::index_model::IndexModel;
use super::progress::TableProgress;
use super::purchase::Index;
use super::queries::{IndexModels, Querier};
use super::settings::Settings;
use super::step::{QueryKind, Role, Step};
use super::writers::{Deleter, Inserter, create_indexes};
use crate::generate::random::Random;
use crate::{Error, JobTask, Result, WorkerFindings};
use std::sync::OnceLock;
use trueput_record::random::mix;

/// What the workers of a client share.
#[derive(Default)]
struct ClientState {
    progress: OnceLock<TableProgress>,
    models: OnceLock<IndexModels>,
}

/// What the workers of a process share, by client.
pub(super) struct Clients {
    states: Vec<ClientState>,
}

impl Clients {
    /// So many clients, which know nothing yet.
    pub(super) fn new(clients: u32) -> Self {
        Self {
            states: (0..clients).map(|_| ClientState::default()).collect(),
        }
    }

    fn state(&self, client: u32) -> Result<&ClientState> {
        let state = self.states.get(client as usize);
        state.ok_or_else(|| Error::Workload(format!("there is no table pi{}", client + 1)))
    }
}

impl ClientState {
    /// The progress of the client's table. The first worker that asks for it reads the ids with
    /// which the step begins; the step before has verified them.
    fn progress(
        &self,
        task: &mut JobTask<'_>,
        settings: &Settings,
        table: u32,
    ) -> Result<&TableProgress> {
        if let Some(progress) = self.progress.get() {
            return Ok(progress);
        }
        let mut connection = Connection::open(task, settings, table)?;
        let first = connection.retry("reading", |tables, table| tables.first_id(table))?;
        let last = connection.retry("reading", |tables, table| tables.last_id(table))?;
        let ids = match (first, last) {
            (Some(first), Some(last)) => first..last + 1,
            _ => 1..1,
        };
        let rows = ids.end.saturating_sub(ids.start);
        let expected = match settings.step {
            Step::Load => 0,
            _ => settings.rows,
        };
        // Another worker may have been faster, and may have begun to insert.
        if self.progress.get().is_none() && rows != expected {
            return Err(Error::Workload(format!(
                "pi{table} has the ids of {rows} rows and must have those of {expected} when {} \
                 begins",
                settings.step
            )));
        }
        Ok(self.progress.get_or_init(|| TableProgress::new(ids)))
    }

    /// The models of the indexes of the client's table.
    fn models(
        &self,
        task: &JobTask<'_>,
        settings: &Settings,
        (table, progress): (u32, &TableProgress),
    ) -> Result<&IndexModels> {
        if let Some(models) = self.models.get() {
            return Ok(models);
        }
        let mut ids = progress.begun_with();
        ids.end += settings.rows_to_insert.unwrap_or(0);
        let maker = settings.maker(task.seed, table);
        let model = |index| {
            let model = IndexModel::new(index, maker, &ids, task.verify, task.seed);
            model.map_err(Error::Workload)
        };
        let [market, register, pdc] = Index::ALL;
        let models = [model(market)?, model(register)?, model(pdc)?];
        Ok(self.models.get_or_init(|| models))
    }
}

/// A worker's part, and what it shares with the others of its client.
#[derive(Clone, Copy)]
struct Assignment<'c> {
    role: Role,
    /// The client, from 0.
    client: u32,
    progress: &'c TableProgress,
    models: Option<&'c IndexModels>,
}

impl Assignment<'_> {
    /// The client's table, from 1.
    fn table(&self) -> u32 {
        self.client + 1
    }
}

/// Finds a worker's part, and makes what its client shares if no other worker has.
fn assign<'c>(
    task: &mut JobTask<'_>,
    settings: &Settings,
    clients: &'c Clients,
) -> Result<Assignment<'c>> {
    let (role, client) = settings.step.assign(task.worker, settings.tables);
    let (state, table) = (clients.state(client)?, client + 1);
    let progress = state.progress(task, settings, table)?;
    let is_compared = role == Role::Querier(QueryKind::Range) && task.verifies_reads();
    let models = if is_compared {
        Some(state.models(task, settings, (table, progress))?)
    } else {
        None
    };
    Ok(Assignment {
        role,
        client,
        progress,
        models,
    })
}

/// Makes what a worker's client shares, before the start.
///
/// # Errors
/// Errors of the engine; a table that is not as the step must find it.
pub(super) fn prime(task: &mut JobTask<'_>, settings: &Settings, clients: &Clients) -> Result<()> {
    assign(task, settings, clients).map(drop)
}

/// Does a worker's share.
///
/// # Errors
/// Errors of the engine, except conflicts.
pub(super) fn run(
    task: &mut JobTask<'_>,
    settings: &Settings,
    clients: &Clients,
) -> Result<WorkerFindings> {
    let assignment = assign(task, settings, clients)?;
    let begun_with = assignment.progress.begun_with();
    let mut findings = work(task, settings, assignment)?;
    for (name, number) in [
        (TABLE, assignment.table().into()),
        (FIRST, begun_with.start),
        (END, begun_with.end),
    ] {
        findings.insert(name.to_owned(), number);
    }
    Ok(findings)
}

/// Does a worker's share; returns the findings of its part.
fn work(
    task: &mut JobTask<'_>,
    settings: &Settings,
    assignment: Assignment<'_>,
) -> Result<WorkerFindings> {
    let Assignment {
        role,
        client,
        progress,
        models,
    } = assignment;
    // Whatever keeps a writer from going on, the other one of its client must not wait for it.
    let _ended = match role {
        Role::Inserter => Some(progress.inserter_flag()),
        Role::Deleter => Some(progress.deleter_flag()),
        Role::IndexCreator | Role::Querier(_) => None,
    };
    let table = assignment.table();
    let (maker, verifies) = (settings.maker(task.seed, table), task.verifies_reads());
    // Trials that share a database do not repeat each other's queries.
    let seed = mix(task.seed ^ u64::from(task.generation).rotate_left(32));
    let random = Random::for_worker(seed, client, settings.step.word());
    let mut connection = Connection::open(task, settings, table)?;
    match role {
        Role::Inserter => {
            let rows_per_s = settings.step.queries().map(|(_, rows_per_s)| rows_per_s);
            Inserter::new(connection, progress, maker, settings).run(rows_per_s)
        }
        Role::Deleter => Deleter::new(connection, progress, settings, verifies).run(),
        Role::IndexCreator => {
            create_indexes(&mut connection)?;
            Ok(WorkerFindings::new())
        }
        Role::Querier(kind) => {
            let checks = (verifies, models);
            Querier::new(connection, progress, maker, random, checks).run(kind)
        }
    }
}
