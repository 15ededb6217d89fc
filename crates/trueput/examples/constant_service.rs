//! An engine whose every put takes exactly one millisecond of processor time, for checks against
//! queueing theory: with random arrivals and one worker it is the queue M/D/1.
//!
//! ```sh
//! cargo run --release -p trueput --example constant_service -- capacity micro --engine constant \
//!     --durability none --workers 1 --set test=overwrite --set records=1000 --arrival poisson \
//!     --duration 20 --objective 'p99<5ms'
//! ```
//!
//! The distribution of the waits is known (A. K. Erlang, 1909): the 99th percentile of the response
//! times is 5 ms at 561 requests a second. docs/CAPACITY.md has what was measured.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use trueput::{Registry, main_with, registry};
use trueput_engine::{
    Build, Capabilities, Database, Direction, Durability, Engine, Info, Isolation, KeyRange, Mode,
    Null, OpenSpec, Parameter, ParameterValues, Promise, RecordVisitor, Result, Session, Value,
    ValueVisitor,
};

/// The time that a put takes.
const SERVICE: Duration = Duration::from_millis(1);

/// The null engine, with a time of service.
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
        Null.knobs()
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        Ok(Box::new(ConstantDatabase(Null.open(spec)?)))
    }
}

struct ConstantDatabase(Box<dyn Database>);

impl Database for ConstantDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ConstantSession(self.0.session()?)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.0.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.0.settings()
    }

    fn checkpoint(&self) -> Result<()> {
        self.0.checkpoint()
    }
}

struct ConstantSession<'d>(Box<dyn Session + 'd>);

impl Session for ConstantSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.0.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.0.get(key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // Sleeping would take longer than asked, by a varying time.
        let began = Instant::now();
        while began.elapsed() < SERVICE {
            std::hint::spin_loop();
        }
        self.0.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.0.scan(range, direction, visitor)
    }

    fn commit(&mut self) -> Result<()> {
        self.0.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.0.abort()
    }
}

fn main() -> ExitCode {
    main_with(Registry {
        engines: &[&Constant],
        ..registry()
    })
}
