//! The limit of the harness: operations per second on the null engine.

use super::rate;
use crate::workers::meter::{ClockMeter, Stage, WorkerCounters};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use trueput_engine::{Durability, Engine, Mode, Null, OpenSpec, ParameterValues};
use trueput_workloads::Meter;

/// Measures look-ups, each counted and timed as a worker's are, on this many threads; 0 where even
/// that fails.
pub(super) fn measure(threads: u32) -> f64 {
    let opened = Null.open(&OpenSpec {
        directory: Path::new("."),
        durability: Durability::None,
        knobs: &ParameterValues::default(),
        sessions: threads,
    });
    let Ok(database) = opened else {
        return 0.0;
    };
    let per_s = rate(
        threads,
        |_| Ok(()),
        |(), stop| {
            let failed = |error: trueput_engine::Error| std::io::Error::other(error.to_string());
            let (counters, stage) = (WorkerCounters::default(), Stage::measured());
            let mut meter = ClockMeter::new(1, &counters, &stage);
            let mut session = database.session().map_err(failed)?;
            session.begin(Mode::Read).map_err(failed)?;
            let mut done = 0;
            meter.start();
            while !stop.load(Relaxed) {
                for _ in 0..1_024 {
                    session.get(b"key", &mut |_| {}).map_err(failed)?;
                    meter.finish(0);
                }
                done += 1_024;
            }
            session.abort().map_err(failed)?;
            Ok(done)
        },
    );
    per_s.unwrap_or_default()
}
