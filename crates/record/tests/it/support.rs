//! A manifest and a trial with every field filled, so that no field of the format goes untested.
//! There is no `..Default` here: a new field does not compile until it is here too.

use trueput_record::ablation::{AblationKind, AblationStep};
use trueput_record::accounting::{
    CacheUse, ColdStart, Device, MemoryUse, OtherPrograms, Pressure, StopMeans, TimeSlices,
};
use trueput_record::conditions::{Allocator, Arrival, NumaPolicy, Rate, Start};
use trueput_record::failover::{Failover, FaultOutcome};
use trueput_record::filesystem::MountedFileSystem;
use trueput_record::flush_evidence::{FlushBasis, FlushEvidence, FlushVerdict};
use trueput_record::folder::{RunEnd, RunManifest};
use trueput_record::hardware_limits::{BlockLimit, FlushLimit, HardwareLimits, MemoryBandwidth};
use trueput_record::host::{FileSystemFacts, NumaNode, ProgramFacts};
use trueput_record::load_generator::{ClockOffset, LoadGenerator, Stall};
use trueput_record::measurement::{
    Check, Compaction, Conformance, DatabaseSize, EngineReport, FaultCounts, IsolationCheck,
    LatencySummary, LoadReport, Measurement, OpenLoop, OperationSummary, Resources,
    ResponseSummary, TimelineSecond, Verification, WorkerReport,
};
use trueput_record::placement::{AllocatorReport, Placement};
use trueput_record::recovery::{EventRecord, Recovery};
use trueput_record::run_host::RunHost;
use trueput_record::skipped::SkipKind;
use trueput_record::stall::{StalledPart, TrialStall};
use trueput_record::storage::{PowerLoss, StorageStack};
use trueput_record::{
    ClusterSurvival, Conditions, Durability, FORMAT_VERSION, HostFacts, Outcome, Promise,
    TrialRecord, TrialSpec, Value, VerifyLevel, Window, WorkerKind,
};

fn named<const N: usize>(values: [(&str, Value); N]) -> std::collections::BTreeMap<String, Value> {
    values.map(|(name, value)| (name.to_owned(), value)).into()
}

/// A trial to be run.
pub fn spec() -> TrialSpec {
    TrialSpec {
        id: "0007-lmdb-async-w4-r2".to_owned(),
        cell: 6,
        repeat: 2,
        workload: "threen1".to_owned(),
        settings: named([
            ("start", Value::Integer(1)),
            ("finish", Value::Integer(20_000)),
        ]),
        engine: "lmdb".to_owned(),
        build: Some("/opt/lmdb/liblmdb.so".into()),
        durability: Durability::Async,
        knobs: named([
            ("map_size", Value::Integer(1 << 30)),
            ("ratio", Value::Float(0.1)),
        ]),
        workers: 4,
        worker_kind: WorkerKind::Processes,
        verify: VerifyLevel::Full,
        seed: 1,
        conditions: conditions(),
        note: Some("a shorter range".to_owned()),
        step: Some(AblationStep {
            ablation: AblationKind::OneAtATime,
            base: 5,
            index: 1,
            name: "smaller map".to_owned(),
        }),
        role: Some(trueput_record::search::TrialRole {
            contender: 2,
            purpose: trueput_record::search::TrialPurpose::Confirmation,
            configuration: Some(7),
        }),
    }
}

fn conditions() -> Conditions {
    Conditions {
        warm_up_s: 0.5,
        duration_s: Some(10.0),
        rate: Some(Rate {
            per_s: 500.0,
            arrival: Arrival::Poisson,
        }),
        start: Start::Cold,
        hosts: "me@a,b".parse().ok(),
        cpus: Some("0-1".to_owned()),
        numa: Some(NumaPolicy::Interleave(vec![0, 1])),
        allocator: Allocator::Jemalloc,
        memory_bytes: Some(1 << 30),
        file_system: "ext4:mount=noatime;size=1GiB".parse().ok(),
        log_file_system: "xfs:journal=external".parse().ok(),
        crash_and_recover: true,
        compact: true,
        faults: "10s:kill=leader,20s:heal".parse().unwrap(),
        time_slice_s: Some(0.01),
        record_trace_bytes: Some(1 << 26),
        storage_model: Some("/home/me/my.toml@1a2b3c4d".to_owned()),
        log_storage_model: Some("nvme-consumer".to_owned()),
        fault: "any:stall=10s@5s".parse().ok(),
    }
}

fn mounted() -> MountedFileSystem {
    MountedFileSystem {
        mkfs: Some("mkfs.ext4 -F -q /dev/loop0".to_owned()),
        image_bytes: Some(1 << 30),
        journal_bytes: Some(256 << 20),
        direct_io: Some(true),
        mounted: host().file_system,
    }
}

/// A manifest: the trials that were to run.
pub fn manifest() -> RunManifest {
    RunManifest {
        format: FORMAT_VERSION,
        name: "first-look".to_owned(),
        about: "Every engine present.".to_owned(),
        started_at: "2026-11-21T20:45:00.123456Z".to_owned(),
        host: host(),
        trials: vec![spec()],
        skipped: vec!["redb does not support durability 'process'".to_owned()],
        skipped_kinds: vec![SkipKind::Level],
        changed_settings: Default::default(),
        changed_knobs: Default::default(),
        byte_knobs: [("lmdb".to_owned(), vec!["map_size".to_owned()])].into(),
        cache_bytes: Some(256 << 20),
        headlines: [("threen1".to_owned(), "update".to_owned())].into(),
        costs: [("lmdb.map_size".to_owned(), "address space".to_owned())].into(),
        work: Some("/fast/work".into()),
        until: Some(trueput_record::folder::PrecisionTarget {
            half_width: Some(0.02),
            budget_s: Some(600.0),
        }),
        include_assertions: true,
        split_by: Some(trueput_record::folder::RankingSplit::Isolation),
        objective: Some("p99<5ms".parse().unwrap()),
        gates: Vec::new(),
        search: Some(trueput_record::search::SearchSettings::Capacity(
            trueput_record::search::CapacitySettings {
                objective: "p99<5ms,errors<0.1%".parse().unwrap(),
                precision: 0.05,
                budget_s: 600.0,
                arrival: trueput_record::conditions::Arrival::Poisson,
                limits: trueput_record::search::TuningLimits::default(),
                fitted_caches: Vec::new(),
            },
        )),
        hosts: vec![RunHost {
            name: "b".to_owned(),
            facts: host(),
            loss: Some("it is silent".to_owned()),
        }],
    }
}

fn host() -> HostFacts {
    HostFacts {
        host_name: "bench".to_owned(),
        cpu_model: "Model 9000".to_owned(),
        cores: 2,
        memory_bytes: 24 << 30,
        numa_nodes: vec![NumaNode {
            node: 0,
            cpus: "0-1".to_owned(),
            memory_bytes: 24 << 30,
            distances: vec![10],
        }],
        operating_system: "Debian 12".to_owned(),
        kernel: "6.18.0".to_owned(),
        virtualization: "kvm".to_owned(),
        governor: Some("performance".to_owned()),
        clock: "time-stamp counter (tsc)".to_owned(),
        file_system: FileSystemFacts {
            kind: "ext4".to_owned(),
            source: "/dev/vda1".to_owned(),
            mount_point: "/".to_owned(),
            options: "rw,relatime".to_owned(),
            size_bytes: 80 << 30,
            free_bytes: 40 << 30,
        },
        load_at_start: [0.1, 0.2, 0.3],
        checks: Vec::new(),
        program: ProgramFacts {
            version: "0.1.0".to_owned(),
            commit: "0123abc".to_owned(),
            profile: "release".to_owned(),
            command: vec!["trueput".to_owned(), "run".to_owned()],
        },
    }
}

/// A trial that ended well.
pub fn record() -> TrialRecord {
    TrialRecord {
        format: FORMAT_VERSION,
        spec: spec(),
        outcome: Outcome::Valid,
        resumed: false,
        host: Some("b".to_owned()),
        started_at: "2026-11-21T20:45:01Z".to_owned(),
        file_system: Some(mounted()),
        log_file_system: Some(mounted()),
        storage: Some(StorageStack {
            layers: vec!["ext4 on /data from /dev/vda (rw,nobarrier)".to_owned()],
            power_loss: PowerLoss::Lost {
                reason: "ext4 on /data is mounted with nobarrier".to_owned(),
                in_memory: false,
            },
        }),
        fault_counts: Some(FaultCounts {
            requests: 1_234,
            injected: 1,
        }),
        engine: Some(engine()),
        audit: None,
        conformance: Some(Conformance {
            passed_at: "2026-11-21T20:44:00Z".to_owned(),
            checks: 32,
            cached: true,
        }),
        isolation_check: Some(IsolationCheck {
            checked_at: "2026-11-21T09:59:58Z".to_owned(),
            schedules: 0,
            cached: false,
            not_run: Some("no answer within 180 s".to_owned()),
            hung_after_s: Some(180),
        }),
        hardware_limits: Some(hardware_limits()),
        load: Some(load()),
        measurement: Some(measurement()),
        verification: Some(Verification {
            level: VerifyLevel::Full,
            passed: true,
            checks: vec![Check::equal("longest sequence", &278, &278)],
            elapsed_s: 0.25,
        }),
    }
}

fn engine() -> EngineReport {
    let promise = Promise {
        durability: Durability::Async,
        mapped_to: "MDB_NOMETASYNC=1".to_owned(),
        window: Some(Window {
            time_s: Some(30.0),
            bytes: Some(1 << 20),
            commits: Some(1),
            until: "the next commit".to_owned(),
        }),
        source: "lmdb.h, MDB_NOMETASYNC".to_owned(),
        cluster: Some(ClusterSurvival {
            process: true,
            machine: true,
            majority_power: true,
            all_power: false,
        }),
        doubt: None,
    };
    EngineReport {
        name: "lmdb".to_owned(),
        version: "0.9.70".to_owned(),
        origin: "compiled in".to_owned(),
        sha256: "ab".repeat(32),
        assertions: Some(false),
        workaround: Some("each put looks its key up first".to_owned()),
        known_defect: Some("a put can go to the wrong leaf".to_owned()),
        promise,
        isolation: Some(trueput_record::Isolation::Serializable),
        settings: named([("map_size", Value::Integer(1 << 30))]),
        contradictions: vec!["the server runs with fsync=off".to_owned()],
        counters: named([("depth", Value::Integer(3))]),
    }
}

fn hardware_limits() -> HardwareLimits {
    HardwareLimits {
        committers: 4,
        commit_bytes: 32,
        flush: Some(FlushLimit {
            separate_per_s: 2_000.0,
            grouped_per_s: 7_000.0,
            grouped_flushes_per_s: 2_500.0,
        }),
        blocks: Some(BlockLimit {
            direct: true,
            sequential_writes_per_s: 20_000.0,
            sequential_reads_per_s: 30_000.0,
            random_writes_per_s: 19_000.0,
            random_reads_per_s: 25_000.0,
        }),
        memory: MemoryBandwidth {
            region_bytes: 64 << 20,
            copied_bytes_per_s: 1e10,
            dependent_reads_per_s: 2e7,
        },
        harness_per_s: 9e7,
        elapsed_s: 2.0,
    }
}

fn load() -> LoadReport {
    LoadReport {
        records: 1_000,
        user_bytes: 116_000,
        elapsed_s: 0.75,
        resources: resources(),
        database: DatabaseSize {
            allocated_bytes: 8_192,
            apparent_bytes: 1 << 20,
        },
    }
}

fn latency() -> LatencySummary {
    LatencySummary {
        mean_ns: 12_345.678_9,
        min_ns: 400,
        p50_ns: 9_731,
        p90_ns: 19_000,
        p99_ns: 48_000,
        p999_ns: 190_000,
        max_ns: 12_345_678,
    }
}

fn open_loop() -> OpenLoop {
    OpenLoop {
        rate_per_s: 500.0,
        arrival: "poisson".to_owned(),
        issued: 4_990,
        backlog: 10,
        oldest_wait_s: 0.02,
        responses: vec![ResponseSummary {
            kind: "start".to_owned(),
            count: 5_000,
            latency: latency(),
        }],
    }
}

fn failover() -> Failover {
    Failover {
        faults: vec![FaultOutcome {
            at_s: 10.000_5,
            order: "kill=leader".to_owned(),
            nodes: vec![1],
            gap_s: 1.25,
            gap_is_open: true,
            recovered_after_s: Some(1.5),
        }],
        longest_gap_s: 1.25,
        usual_gap_s: 0.02,
        worker_gaps_s: vec![1.3, 1.4],
        commits: 2_400,
        reconnections: 4,
        repeated: 2,
        unknown_committed: 1,
        unknown_lost: 1,
        late: 1,
        missing: 3,
        visible_then_lost: 2,
    }
}

fn allocator() -> AllocatorReport {
    AllocatorReport {
        name: "jemalloc".to_owned(),
        path: "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2".to_owned(),
        version: "5.3.0".to_owned(),
    }
}

fn time_slices() -> TimeSlices {
    TimeSlices {
        count: 12,
        stopped_by: StopMeans::ControlGroup,
        longest_stop_s: 0.001,
    }
}

fn measurement() -> Measurement {
    Measurement {
        elapsed_s: 1.0 / 3.0,
        lacks_histograms: false,
        operations: vec![OperationSummary {
            kind: "update".to_owned(),
            count: 43_450,
            per_s: 130_350.0,
            latency: latency(),
            not_found: 17,
        }],
        commits: Some(43_458),
        open_loop: Some(open_loop()),
        results: named([("longest", Value::Integer(278))]),
        conflicts: 3,
        deadlocks: 1,
        resources: resources(),
        server: Some(resources()),
        placement: Some(Placement {
            cpus: "0-1".to_owned(),
            numa_policy: "interleave:0-1".to_owned(),
            anonymous_bytes_by_node: vec![1 << 20, 1 << 20],
            file_bytes_by_node: vec![1 << 21, 0],
        }),
        allocator: Some(allocator()),
        database: DatabaseSize {
            allocated_bytes: 4_096,
            apparent_bytes: 1 << 30,
        },
        database_at_start: Some(load().database),
        compaction: Some(compaction()),
        user_read_bytes: Some(1_000),
        user_written_bytes: Some(2_000),
        live_user_bytes: Some(3_000),
        device: Some(device()),
        log_device: Some(device()),
        flush_evidence: Some(flush_evidence()),
        failover: Some(failover()),
        pressure: Some(pressure()),
        neighbors: Some(neighbors()),
        time_slices: Some(time_slices()),
        memory: Some(MemoryUse {
            limit_bytes: 1 << 30,
            peak_bytes: Some(1 << 29),
            limit_hits: Some(12),
            kills: 0,
        }),
        cache: Some(CacheUse {
            hits: 981,
            misses: 19,
        }),
        cold_start: Some(ColdStart {
            pages: 1_000,
            pages_left: 3,
        }),
        recovery: Some(recovery()),
        events: Some(vec![EventRecord {
            at_s: 0.25,
            kind: "checkpoint".to_owned(),
            detail: "time".to_owned(),
        }]),
        timeline: vec![second()],
        workers: vec![worker()],
        load_generators: vec![load_generator()],
        stalls: vec![stall()],
    }
}

fn recovery() -> Recovery {
    Recovery {
        killed: 4,
        recovery_s: 1.5,
        server_s: Some(1.25),
        first_commit_s: Some(1.75),
    }
}

fn compaction() -> Compaction {
    Compaction {
        means: "VACUUM".to_owned(),
        elapsed_s: 0.25,
        storage_written_bytes: 12_288,
        device: Some(device()),
        database: DatabaseSize {
            allocated_bytes: 2_048,
            apparent_bytes: 2_000,
        },
    }
}

fn stall() -> TrialStall {
    TrialStall {
        part: StalledPart::Worker,
        worker: Some(1),
        from_s: 2.5,
        length_s: 3.25,
    }
}

fn load_generator() -> LoadGenerator {
    let clock = |monotonic_ns| ClockOffset {
        monotonic_ns,
        wall_ns: -5_000_000_000,
        error_ns: 40_000,
    };
    LoadGenerator {
        host: "me@a".to_owned(),
        hostname: "alpha".to_owned(),
        cores: 8,
        workers: 4,
        operations: vec![OperationSummary {
            kind: "update".to_owned(),
            count: 43_450,
            per_s: 130_350.0,
            latency: latency(),
            not_found: 17,
        }],
        histograms: vec!["HISTFAAA".to_owned()],
        responses: open_loop().responses,
        seconds: vec![vec![40_000]],
        cpu_share: Some(0.75),
        arrivals: 43_450,
        late_arrivals: 3,
        clock_before: clock(-7_000),
        clock_after: clock(-6_000),
        stalls: vec![Stall {
            worker: Some(2),
            from_s: 1.5,
            length_s: 2.5,
        }],
    }
}

fn worker() -> WorkerReport {
    WorkerReport {
        index: 0,
        pid: 4_711,
        elapsed_s: 0.3,
        counts: vec![43_450],
        conflicts: 3,
        deadlocks: 1,
    }
}

fn flush_evidence() -> FlushEvidence {
    FlushEvidence {
        commits: 400,
        sessions: 4,
        devices: vec!["vda".to_owned()],
        writes: 900,
        flushes: Some(200),
        basis: Some(FlushBasis::WritesAndFlushes),
        verdict: FlushVerdict::Explained,
        reason: Some("tmpfs is memory".to_owned()),
    }
}

fn device() -> Device {
    Device {
        read_bytes: 512,
        written_bytes: 4_096,
        reads: 1,
        writes: 2,
        flushes: Some(3),
        flush_s: Some(0.0625),
        busy_s: 0.125,
        queue_s: Some(0.5),
    }
}

fn pressure() -> Pressure {
    Pressure {
        cpu_some_s: 0.5,
        memory_some_s: 0.25,
        memory_full_s: 0.125,
        io_some_s: 0.0625,
        io_full_s: 0.031_25,
    }
}

fn neighbors() -> OtherPrograms {
    OtherPrograms {
        cpu_s: 0.75,
        kernel_s: Some(0.25),
        steal_s: 0.01,
    }
}

fn second() -> TimelineSecond {
    TimelineSecond {
        at_s: 1.0 / 3.0,
        counts: vec![43_450],
        latency_mean_ns: vec![22_988],
        latency_p50_ns: vec![20_991],
        latency_p99_ns: vec![40_959],
        latency_p999_ns: vec![61_951],
        latency_max_ns: vec![90_111],
        user_cpu_s: 0.5,
        system_cpu_s: 0.25,
        pss_bytes: 5,
        storage_written_bytes: 8,
        user_written_bytes: Some(2_000),
        storage_read_bytes: 7,
        rss_bytes: 6,
        voluntary_context_switches: 1,
        involuntary_context_switches: 2,
        minor_page_faults: 3,
        major_page_faults: 4,
        read_calls: 11,
        write_calls: 12,
        read_call_bytes: 9,
        write_call_bytes: 10,
        database_allocated_bytes: Some(4_096),
        device: Some(device()),
        log_device: Some(device()),
        pressure: Some(pressure()),
        neighbors: Some(neighbors()),
        io_wait_share: Some(0.5),
        run_delay_s: Some(0.125),
        runnable_tasks: Some(3),
        tombstones_passed: Some(12),
    }
}

fn resources() -> Resources {
    Resources {
        user_cpu_s: 0.5,
        system_cpu_s: 0.25,
        voluntary_context_switches: 1,
        involuntary_context_switches: 2,
        minor_page_faults: 3,
        major_page_faults: 4,
        peak_pss_bytes: 5,
        peak_rss_bytes: 6,
        max_rss_bytes: 7,
        storage_read_bytes: 7,
        storage_written_bytes: 8,
        read_call_bytes: 9,
        write_call_bytes: 10,
        read_calls: 11,
        write_calls: 12,
    }
}

/// How the run ended.
pub fn end() -> RunEnd {
    RunEnd {
        format: FORMAT_VERSION,
        stop_reason: Some(trueput_record::folder::SufficiencyReason::Budget),
        search_end: Some(trueput_record::search::SearchEnd::TimeUp),
        ended_at: "2026-11-21T20:47:00Z".to_owned(),
        complete: true,
        load_at_end: [2.0, 1.5, 1.0],
    }
}
