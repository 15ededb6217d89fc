//! The same loops through the contract, with the runner's own meter, as a trial's worker runs them.

use crate::engines::driver;
use crate::keys::{BATCH, VALUE, VALUE_BYTES, cpu_ns_per_operation, key};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::path::Path;
use trueput_engine::{Database, Durability, Engine, Mode, OpenSpec, Session, parameter};
use trueput_record::value::Settings;
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_runner::meter::{ClockMeter, Stage, WorkerCounters};
use trueput_workloads::{JobTask, Meter};

/// The loops that run on the null engine.
pub const NULL_LOOPS: [&str; 3] = ["get", "put", "threen1"];

/// Gets or puts on the null engine.
const NULL_OPERATIONS: u64 = 2_000_000;

/// The last number of the 3n+1 loop. Without one it goes on for as long as its trial lasts, and
/// here nothing ends it.
const THREEN1_FINISH: i64 = 100_000;

/// Runs one loop on the engine's database in `folder`; returns the cost of an operation, CPU
/// nanoseconds. The loop `load` makes the database that both sides read.
pub fn run(
    (engine, durability): (&dyn Engine, Durability),
    what: &str,
    folder: &Path,
    operations: u64,
) -> Result<f64> {
    let database = open(engine, folder, durability)?;
    if what == "load" {
        return cpu_ns_per_operation(operations, || load(database.as_ref(), operations));
    }
    let mut session = database.session()?;
    time(what, operations, session.as_mut())
}

/// Runs one loop on the null engine; returns the cost of an operation, which is the cost of the
/// harness.
pub fn run_null(what: &str) -> Result<f64> {
    let engine = driver("null")?;
    let database = open(engine, Path::new("."), Durability::None)?;
    if what == "threen1" {
        return threen1(engine, database.as_ref(), Path::new("."));
    }
    let mut session = database.session()?;
    time(what, NULL_OPERATIONS, session.as_mut())
}

/// Makes the records in order of their keys.
fn load(database: &dyn Database, records: u64) -> Result<()> {
    let mut session = database.session()?;
    for batch in 0..records / BATCH {
        session.begin(Mode::Write)?;
        for record in batch * BATCH..(batch + 1) * BATCH {
            session.put(&record.to_be_bytes(), &VALUE)?;
        }
        session.commit()?;
    }
    Ok(database.checkpoint()?)
}

fn open(engine: &dyn Engine, folder: &Path, durability: Durability) -> Result<Box<dyn Database>> {
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &Settings::new());
    let knobs = knobs.map_err(|why| anyhow!(why))?;
    Ok(engine.open(&OpenSpec {
        directory: folder,
        durability,
        knobs: &knobs,
        sessions: 1,
    })?)
}

/// Times a loop by name. The meter records every operation's latency and count.
fn time(what: &str, operations: u64, session: &mut dyn Session) -> Result<f64> {
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(1, &counters, &stage);
    let meter: &mut dyn Meter = &mut meter;
    let body = match what {
        "get" => get,
        "get-each" => get_each,
        "put" => put,
        "put-each" => put_each,
        other => bail!("no loop '{other}'"),
    };
    cpu_ns_per_operation(operations, || body(session, meter, operations))
}

fn get_one(session: &mut dyn Session, key: &[u8]) -> Result<()> {
    let mut length = VALUE_BYTES;
    session.get(key, &mut |value| {
        length = value.len();
        std::hint::black_box(value.first());
    })?;
    ensure!(length == VALUE_BYTES, "a value of the wrong length");
    Ok(())
}

fn get(session: &mut dyn Session, meter: &mut dyn Meter, operations: u64) -> Result<()> {
    session.begin(Mode::Read)?;
    meter.start();
    for index in 0..operations {
        get_one(session, &key(index))?;
        meter.finish(0);
    }
    Ok(session.commit()?)
}

fn get_each(session: &mut dyn Session, meter: &mut dyn Meter, operations: u64) -> Result<()> {
    meter.start();
    for index in 0..operations {
        session.begin(Mode::Read)?;
        get_one(session, &key(index))?;
        session.commit()?;
        meter.finish(0);
    }
    Ok(())
}

fn put(session: &mut dyn Session, meter: &mut dyn Meter, operations: u64) -> Result<()> {
    meter.start();
    for batch in 0..operations / BATCH {
        session.begin(Mode::Write)?;
        for index in batch * BATCH..(batch + 1) * BATCH {
            session.put(&key(index), &VALUE)?;
            meter.finish(0);
        }
        session.commit()?;
    }
    Ok(())
}

fn put_each(session: &mut dyn Session, meter: &mut dyn Meter, operations: u64) -> Result<()> {
    meter.start();
    for index in 0..operations {
        session.begin(Mode::Write)?;
        session.put(&key(index), &VALUE)?;
        session.commit()?;
        meter.finish(0);
    }
    Ok(())
}

/// The 3n+1 workload itself, one worker: reads and updates together.
fn threen1(engine: &dyn Engine, database: &dyn Database, folder: &Path) -> Result<f64> {
    let workloads = trueput_workloads::registry();
    let workload = workloads
        .iter()
        .find(|workload| workload.info().name == "threen1");
    let workload = workload.context("no workload threen1")?;
    let given = Settings::from([("finish".to_owned(), THREEN1_FINISH.into())]);
    let settings = parameter::resolve("threen1", workload.settings(), &given);
    let job = workload
        .job(
            &settings.map_err(|why| anyhow!(why))?,
            &Conditions::default(),
        )
        .map_err(|why| anyhow!(why))?;
    let (counters, stage) = (WorkerCounters::default(), Stage::measured());
    let mut meter = ClockMeter::new(job.kinds().len(), &counters, &stage);
    let mut session = database.session()?;
    let mut attachment = Vec::new();
    let mut task = JobTask {
        session: session.as_mut(),
        directory: folder,
        meter: &mut meter,
        attachment: &mut attachment,
        capabilities: engine.capabilities(),
        worker: 0,
        workers: 1,
        worker_kind: WorkerKind::Threads,
        verify: VerifyLevel::Off,
        generation: 0,
        seed: 0,
    };
    let cpu_ns = cpu_ns_per_operation(1, || job.execute(&mut task).map(drop).map_err(Into::into))?;
    let operations: u64 = counters.counts(job.kinds().len()).iter().sum();
    Ok(cpu_ns / operations as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_on_the_null_engine_ends_with_a_cost() {
        for what in NULL_LOOPS {
            let cost_ns = run_null(what).unwrap();
            assert!(cost_ns > 0.0, "{what}: {cost_ns}");
        }
    }
}
