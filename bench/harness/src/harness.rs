//! The same loops through the contract, with the runner's own meter: what a trial's worker runs.

use crate::keys::{BATCH, OPERATIONS, VALUE, VALUE_BYTES, cpu_ns_per_operation, key};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use trueput_engine::{Database, Durability, Engine, Mode, OpenSpec, Session, knob};
use trueput_record::trial::Settings;
use trueput_runner::meter::{ClockMeter, Lane};
use trueput_workloads::{Meter, Task};

/// Runs one loop on LMDB in `folder` and says what an operation cost.
pub fn run(what: &str, folder: &Path) -> Result<f64> {
    let engine = find_engine("lmdb")?;
    std::fs::create_dir_all(folder).context("cannot make the database folder")?;
    let database = open(engine, folder, Durability::Process)?;
    let mut session = database.session()?;
    time(what, session.as_mut())
}

/// Runs one loop on the null engine and says what an operation cost: that is the harness.
pub fn run_null(what: &str) -> Result<f64> {
    let engine = find_engine("null")?;
    let database = open(engine, Path::new("."), Durability::None)?;
    if what == "threen1" {
        return threen1(engine, database.as_ref());
    }
    let mut session = database.session()?;
    time(what, session.as_mut())
}

fn find_engine(name: &str) -> Result<&'static dyn Engine> {
    let found = trueput_drivers::registry()
        .iter()
        .find(|engine| engine.info().name == name);
    found.copied().with_context(|| format!("no engine {name}"))
}

fn open(engine: &dyn Engine, folder: &Path, durability: Durability) -> Result<Box<dyn Database>> {
    let knobs = knob::resolve(engine.info().name, engine.knobs(), &Settings::new());
    let knobs = knobs.map_err(|why| anyhow!(why))?;
    Ok(engine.open(&OpenSpec {
        directory: folder,
        durability,
        knobs: &knobs,
        sessions: 1,
    })?)
}

/// Times a loop by name. The meter records every operation's latency and count.
fn time(what: &str, session: &mut dyn Session) -> Result<f64> {
    let (lane, stop) = (Lane::default(), AtomicBool::new(false));
    let mut meter = ClockMeter::new(1, &lane, &stop);
    let meter: &mut dyn Meter = &mut meter;
    match what {
        "get" => cpu_ns_per_operation(OPERATIONS, || get(session, meter)),
        "get-each" => cpu_ns_per_operation(OPERATIONS, || get_each(session, meter)),
        "put" => cpu_ns_per_operation(OPERATIONS / 2, || put(session, meter)),
        "put-each" => cpu_ns_per_operation(OPERATIONS / 10, || put_each(session, meter)),
        other => bail!("no loop '{other}'"),
    }
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

fn get(session: &mut dyn Session, meter: &mut dyn Meter) -> Result<()> {
    session.begin(Mode::Read)?;
    meter.start();
    for index in 0..OPERATIONS {
        get_one(session, &key(index))?;
        meter.finish(0);
    }
    Ok(session.commit()?)
}

fn get_each(session: &mut dyn Session, meter: &mut dyn Meter) -> Result<()> {
    meter.start();
    for index in 0..OPERATIONS {
        session.begin(Mode::Read)?;
        get_one(session, &key(index))?;
        session.commit()?;
        meter.finish(0);
    }
    Ok(())
}

fn put(session: &mut dyn Session, meter: &mut dyn Meter) -> Result<()> {
    meter.start();
    for batch in 0..OPERATIONS / 2 / BATCH {
        session.begin(Mode::Write)?;
        for index in batch * BATCH..(batch + 1) * BATCH {
            session.put(&key(index), &VALUE)?;
            meter.finish(0);
        }
        session.commit()?;
    }
    Ok(())
}

fn put_each(session: &mut dyn Session, meter: &mut dyn Meter) -> Result<()> {
    meter.start();
    for index in 0..OPERATIONS / 10 {
        session.begin(Mode::Write)?;
        session.put(&key(index), &VALUE)?;
        session.commit()?;
        meter.finish(0);
    }
    Ok(())
}

/// The 3n+1 workload itself, 1 to 100,000, one worker: reads and updates together.
fn threen1(engine: &dyn Engine, database: &dyn Database) -> Result<f64> {
    let workloads = trueput_workloads::registry();
    let workload = workloads
        .iter()
        .find(|workload| workload.info().name == "threen1");
    let workload = workload.context("no workload threen1")?;
    let settings = knob::resolve("threen1", workload.settings(), &Settings::new());
    let job = workload
        .job(&settings.map_err(|why| anyhow!(why))?)
        .map_err(|why| anyhow!(why))?;
    let (lane, stop) = (Lane::default(), AtomicBool::new(false));
    let mut meter = ClockMeter::new(job.kinds().len(), &lane, &stop);
    let mut session = database.session()?;
    let mut task = Task {
        session: session.as_mut(),
        meter: &mut meter,
        capabilities: engine.capabilities(),
        worker: 0,
        workers: 1,
        seed: 0,
    };
    let cpu_ns = cpu_ns_per_operation(1, || job.execute(&mut task).map(drop).map_err(Into::into))?;
    let operations: u64 = lane.counts(job.kinds().len()).iter().sum();
    Ok(cpu_ns / operations as f64)
}
