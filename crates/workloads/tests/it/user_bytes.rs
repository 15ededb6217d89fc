//! The bytes of keys and values that a job states are those that pass its sessions, and those that
//! its database holds.

use crate::insert_benchmark;
use crate::job_bench::job_under;
use crate::pgbench;
use crate::sysbench::harness::{Bench, Fault, SCRIPTS};
use trueput_engine::{Direction, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor};
use trueput_record::Conditions;
use trueput_workloads::sysbench::Sysbench;
use trueput_workloads::{Job, OperationBytes};

/// A session that counts the bytes of the keys and values that pass it.
struct ByteCountingSession<'d> {
    inner: Box<dyn Session + 'd>,
    read: u64,
    written: u64,
}

impl<'d> ByteCountingSession<'d> {
    fn new(inner: Box<dyn Session + 'd>) -> Self {
        Self {
            inner,
            read: 0,
            written: 0,
        }
    }
}

impl Session for ByteCountingSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let read = &mut self.read;
        self.inner.get(key, &mut |value| {
            *read += (key.len() + value.len()) as u64;
            visitor(value);
        })
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.written += (key.len() + value.len()) as u64;
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.written += key.len() as u64;
        self.inner.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let read = &mut self.read;
        self.inner.scan(range, direction, &mut |key, value| {
            *read += (key.len() + value.len()) as u64;
            visitor(key, value)
        })
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.inner.abort()
    }
}

/// Asserts that operations of one kind, so many, moved the bytes that are stated.
fn assert_moved(moved: (u64, u64), stated: OperationBytes, count: u64, subject: &str) {
    let stated = [stated.read_bytes, stated.written_bytes].map(|bytes| bytes * count as f64);
    let moved = [moved.0, moved.1].map(|bytes| bytes as f64);
    assert_eq!(moved, stated, "{subject}");
}

#[test]
fn the_transactions_of_sysbench_move_the_bytes_that_are_stated() {
    for (script, more, _) in SCRIPTS {
        // One delete finds its row. The middle ranges are all of one length.
        let events = if script == "oltp_delete" { 1 } else { 200 };
        let given = format!("script={script} {more} events={events}");
        let bench = Bench::reference(1, &given);
        bench.prepare();
        let mut session = ByteCountingSession::new(bench.database.session().unwrap());
        bench.work_through(0, &mut session);
        let moved = (session.read, session.written);
        let volumes = bench.job.volumes();
        if script.starts_with("select_random") {
            assert_eq!(volumes, [], "it depends on the values of k: {script}");
            assert!(moved.0 > 0 && moved.1 == 0, "{script}");
        } else {
            assert_moved(moved, volumes[0], events, script);
        }
    }
}

#[test]
fn the_database_of_sysbench_holds_the_bytes_that_are_stated() {
    for (script, more, _) in SCRIPTS {
        let bench = Bench::reference(2, &format!("script={script} {more}"));
        let (ended, _) = bench.run(Fault::None);
        let records = bench.records();
        let bytes = records.iter().map(|(key, value)| key.len() + value.len());
        let held = bytes.sum::<usize>() as u64;
        // How many rows deletes have found is not in the number of transactions.
        let expected = (script != "oltp_delete").then_some(held);
        assert_eq!(bench.job.live_bytes(&ended.counts), expected, "{script}");
    }
}

#[test]
fn rows_that_a_warm_up_inserts_leave_the_bytes_of_sysbench_unknown() {
    let conditions = Conditions {
        warm_up_s: 1.0,
        duration_s: Some(1.0),
        ..Conditions::default()
    };
    let job = |script: &str| -> Box<dyn Job> {
        job_under(&Sysbench, &format!("script={script}"), &conditions).unwrap()
    };
    assert_eq!(job("oltp_insert").live_bytes(&[5]), None);
    assert!(job("oltp_read_write").live_bytes(&[5]).is_some());
}

#[test]
fn the_transactions_of_pgbench_move_the_bytes_that_are_stated() {
    for script in ["tpcb-like", "simple-update", "select-only"] {
        let bench = pgbench::harness::Bench::reference(1, &format!("script={script}"));
        bench.prepare().unwrap();
        let mut session = ByteCountingSession::new(bench.database.session().unwrap());
        let (meter, _) = bench.work_through(0, &mut session);
        let (moved, count) = ((session.read, session.written), meter.counts[0]);
        assert_eq!(count, 400, "{script}");
        assert_moved(moved, bench.job.volumes()[0], count, script);
    }
}

/// The bytes that a worker of a step of the insert benchmark writes, and the number of its
/// transactions, which are of the kind with this index.
fn written_by(
    bench: &insert_benchmark::harness::Bench,
    (worker, kind): (u32, usize),
) -> (u64, u64) {
    let mut session = ByteCountingSession::new(bench.database.session().unwrap());
    let (meter, _) = bench.work_through(worker, &mut session);
    (session.written, meter.counts[kind])
}

#[test]
fn the_writers_of_the_insert_benchmark_write_the_bytes_that_are_stated() {
    let mut bench = insert_benchmark::harness::Bench::reference(1, "");
    let stated = |bench: &insert_benchmark::harness::Bench, kind: usize, count: u64| {
        (bench.job.volumes()[kind].written_bytes * count as f64) as u64
    };
    bench.prepare_step("l.i0").unwrap();
    bench.prime().unwrap();
    let (written, count) = written_by(&bench, (0, 0));
    assert_eq!((written, count), (stated(&bench, 0, 10), 10));
    bench.passes(&["l.x"]);
    bench.prepare_step("l.i1").unwrap();
    bench.prime().unwrap();
    // The inserter may be ahead of the deleter by all of its transactions.
    for (worker, kind) in [(0, 0), (1, 1)] {
        let (written, count) = written_by(&bench, (worker, kind));
        assert_eq!((written, count), (stated(&bench, kind, 8), 8), "{kind}");
    }
}
