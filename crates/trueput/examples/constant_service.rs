//! An engine whose every put takes a known processor time, for checks against queueing theory: with
//! random arrivals and one worker it is the queue M/D/1.
//!
//! ```sh
//! cargo run --release -p trueput --example constant_service -- capacity micro --engine constant \
//!     --durability none --workers 1 --set test=overwrite --set records=1000 --arrival poisson \
//!     --knob constant.service_time=1ms --duration 20 --objective 'p99<5ms'
//! ```
//!
//! The distribution of the waits is known (A. K. Erlang, 1909): the 99th percentile of the response
//! times is five times the service time at a load of 56.1 %, which is 561 requests a second for
//! 1 ms. docs/CAPACITY.md has what was measured.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use trueput::{Registry, main_with, registry};
use trueput_engine::{
    Build, Capabilities, Database, Direction, Durability, Engine, Info, Isolation, KeyRange, Mode,
    Null, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor, Result, Session, Value,
    ValueVisitor, parameters,
};

parameters! {
    /// The engine's one knob.
    struct ConstantKnobs {
        /// The time that a put takes.
        service_time: Duration = 1.0 ms in 0.01 ms..=1.0 s,
    }
}

/// The null engine with a service time.
struct Constant;

impl Engine for Constant {
    fn info(&self) -> Info {
        Info {
            name: "constant",
            title: "constant",
            summary: "keeps nothing, and takes a constant time for each put",
            ..Null.info()
        }
    }

    fn build(&self) -> Result<Build> {
        Null.build()
    }

    fn capabilities(&self) -> Capabilities {
        Null.capabilities()
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        Null.promise_with(durability, knobs)
    }

    fn isolation(&self, knobs: &ParameterValues) -> Option<Isolation> {
        Null.isolation(knobs)
    }

    fn knobs(&self) -> &'static [Parameter] {
        ConstantKnobs::PARAMETERS
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(ConstantDatabase {
            database: Null.open(spec)?,
            service: Duration::from_secs_f64(ConstantKnobs::from(spec.knobs).service_time),
        }))
    }
}

struct ConstantDatabase {
    database: Box<dyn Database>,
    service: Duration,
}

impl Database for ConstantDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ConstantSession {
            session: self.database.session()?,
            service: self.service,
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.database.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.database.settings()
    }

    fn checkpoint(&self) -> Result<()> {
        self.database.checkpoint()
    }

    fn compact(&mut self) -> Result<Option<&'static str>> {
        self.database.compact()
    }

    fn tombstones_passed(&self) -> Option<u64> {
        self.database.tombstones_passed()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.close()
    }
}

struct ConstantSession<'d> {
    session: Box<dyn Session + 'd>,
    service: Duration,
}

impl Session for ConstantSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.session.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.session.get(key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // Sleeping would take longer than asked, by a varying time.
        let began = Instant::now();
        while began.elapsed() < self.service {
            std::hint::spin_loop();
        }
        self.session.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.session.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.session.scan(range, direction, visitor)
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.session.abort()
    }
}

fn main() -> ExitCode {
    main_with(Registry {
        engines: &[&Constant],
        ..registry()
    })
}
