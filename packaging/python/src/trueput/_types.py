"""
Types of trueput's records, made by scripts/python-types from `trueput schema`: do not edit.
"""

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

__all__ = [
    "AblationKind",
    "AblationStep",
    "Allocator",
    "AllocatorReport",
    "Arrival",
    "AuditRecord",
    "AuditResult",
    "AuditStanding",
    "BlockLimit",
    "CacheUse",
    "CapacitySettings",
    "Check",
    "CheckSeverity",
    "CheckSubject",
    "ChoiceSettings",
    "ClockOffset",
    "ClusterSurvival",
    "ColdStart",
    "Compaction",
    "Conditions",
    "Conformance",
    "ContenderPresets",
    "Counterexample",
    "CounterexampleSummary",
    "CrashState",
    "Damage",
    "DamageKind",
    "DatabaseSize",
    "DecisionSettings",
    "Device",
    "Doubt",
    "Durability",
    "EngineReport",
    "EventRecord",
    "ExportedTrial",
    "FailedFlush",
    "Failover",
    "FaultCounts",
    "FaultCourse",
    "FaultOutcome",
    "FaultRecord",
    "FaultResult",
    "FaultSchedule",
    "FaultTrial",
    "FaultTrialOutcome",
    "FileSystem",
    "FileSystemFacts",
    "FittedCache",
    "FlushBasis",
    "FlushEvidence",
    "FlushLimit",
    "FlushVerdict",
    "GateRule",
    "HardwareLimits",
    "HostFacts",
    "HostList",
    "Isolation",
    "IsolationCheck",
    "LatencySummary",
    "LoadGenerator",
    "LoadReport",
    "LostPage",
    "MachineCheck",
    "Measurement",
    "MemoryBandwidth",
    "MemoryUse",
    "ModelResult",
    "ModelStanding",
    "MountedFileSystem",
    "NumaNode",
    "NumaPolicy",
    "Objective",
    "OpenLoop",
    "OperationSummary",
    "OtherPrograms",
    "Outcome",
    "OutcomeFailed",
    "OutcomeInterrupted",
    "OutcomeInvalid",
    "OutcomeValid",
    "Placement",
    "PowerLoss",
    "PowerLossLost",
    "PowerLossSimulated",
    "PowerLossStaleUnflushed",
    "PowerLossSurvives",
    "PowerLossUnresolved",
    "PrecisionTarget",
    "Pressure",
    "ProgramFacts",
    "Promise",
    "RankingSplit",
    "Rate",
    "Recovery",
    "RecoveryCrash",
    "ReportedError",
    "Resources",
    "ResponseSummary",
    "RunHost",
    "RunManifest",
    "SearchSettings",
    "SearchSettingsCapacity",
    "SearchSettingsChoice",
    "SearchSettingsDecision",
    "SearchSettingsTuning",
    "SearchedKnob",
    "SeenFlushes",
    "SkipKind",
    "Stall",
    "StalledPart",
    "Start",
    "StopMeans",
    "StorageFault",
    "StorageModel",
    "StorageStack",
    "Tear",
    "TimeSlices",
    "TimelineSecond",
    "TornRest",
    "TrialPurpose",
    "TrialRole",
    "TrialSpec",
    "TrialStall",
    "TuningLimits",
    "TuningPreset",
    "TuningScore",
    "TuningSettings",
    "TuningStrategy",
    "UntunableContender",
    "Value",
    "Verification",
    "VerifyLevel",
    "Window",
    "WorkerKind",
    "WorkerReport",
    "WorkloadEnd",
    "WorkloadEndCrashed",
    "WorkloadEndHung",
]


class AblationStep(TypedDict):
    """The position of a trial in an ablation."""
    ablation: "AblationKind"
    """The configuration to which the step applies its changes."""
    base: int
    """The cell of the trial that no step has changed: steps with one base are one ablation."""
    index: int
    """The number of the step, from 1; 0 is the base."""
    name: str
    """The step's name in the plan; `BASE` for the base."""


class AllocatorReport(TypedDict):
    """The memory allocator that the workers' processes used, as found in them."""
    name: str
    """The version that it reports; empty if it reports none."""
    path: str
    """The library's file."""
    version: str
    """The version that it reports; empty if it reports none."""


class _AuditRecord(TypedDict):
    command: str
    """The exact command."""
    controls: List["AuditResult"]
    """
    The controls: log engines that flush in a way, or do not (`CONTROLS`). Records of format 1 have
    the first two.
    """
    format: int
    """The version of this format."""
    program_version: str
    """The version of this program."""
    results: List["AuditResult"]
    """The audits, in the order in which they ran."""


class AuditRecord(_AuditRecord, total=False):
    """The record of an audit run: `audit.json` in its run folder."""
    host: Optional["HostFacts"]
    """The machine, and the file system of the states; absent in records before it was noted."""
    interrupted: bool
    """Whether the user ended it early."""
    skipped: Dict[str, str]
    """Contenders that could not be audited, with the reason."""
    started_at: str
    """When it began (RFC 3339); empty in records before it was noted."""
    storage_controls: List["AuditResult"]
    """In the block form, the first two controls on the file system of the audits."""


class _AuditResult(TypedDict):
    build: str
    """The hash of the engine's library, or of this program if the engine is compiled in."""
    commits: int
    """The commits that were acknowledged."""
    commits_per_phase: int
    """The commits of each worker in each phase of the workload, at most."""
    contender: str
    """The engine, with the library that was named, if any."""
    durability: "Durability"
    """The level at which the database was opened."""
    ended_at: str
    """The moment at which it ended."""
    flushes: int
    """The flushes among them."""
    id: str
    """Its name within the run folder: `lmdb-sync`."""
    knobs: Dict[str, "Value"]
    """Every knob."""
    models: List["ModelResult"]
    """The results by model."""
    operations: int
    """The operations that were recorded."""
    seed: int
    """The seed."""
    version: str
    """The engine's own version."""


class AuditResult(_AuditResult, total=False):
    """The audit of a build of an engine at a level with knobs."""
    claim: Optional["Durability"]
    """The level whose promise was tested, if it is another one."""
    failure: Optional[str]
    """The reason why the audit has no result."""
    file_system: Optional[str]
    """The file system in an image on which the database lay, in the block form."""
    given_knobs: Dict[str, "Value"]
    """The knobs that the user set."""
    seen_flushes: Optional["SeenFlushes"]
    """
    How far the calls behind these flushes were seen, in the folder form; absent in records of
    earlier versions, which took each for a flush of its whole file.
    """


class AuditStanding(TypedDict):
    """The audits of a build of an engine at a level with knobs, as far as they are known."""
    audited_at: str
    """The moment at which the latest audit ended, RFC 3339 in UTC."""
    models: List["ModelStanding"]
    """One row for each storage model that was tried, strongest storage first."""


class BlockLimit(TypedDict):
    """Reads and writes of 4 KiB blocks, all threads together."""
    direct: bool
    """Whether the requests bypassed the page cache (`O_DIRECT`)."""
    random_reads_per_s: float
    """Blocks read anywhere, per second."""
    random_writes_per_s: float
    """Blocks written anywhere, per second."""
    sequential_reads_per_s: float
    """Blocks read in order, per second."""
    sequential_writes_per_s: float
    """Blocks written in order, per second."""


class CacheUse(TypedDict):
    """Lookups in an engine's own cache between release and end."""
    hits: int
    """Lookups that found the page in the cache."""
    misses: int
    """Lookups that had to read from the page cache or the device."""


class _CapacitySettings(TypedDict):
    arrival: "Arrival"
    """When the requests of the open loops become due."""
    budget_s: float
    """The time for all contenders, seconds."""
    objective: "Objective"
    """The objective that the rate must keep."""
    precision: float
    """
    The search ends when both ends of the 90 % interval are at most this part away from the
    capacity.
    """


class CapacitySettings(_CapacitySettings, total=False):
    """The settings of a search for capacity."""
    fitted_caches: List["FittedCache"]
    """The caches that were set because the default does not fit the memory limit."""
    limits: "TuningLimits"
    """What a trial must keep beside the objective."""


class Check(TypedDict):
    """One check of a verification."""
    detail: str
    """The expected and actual values, or the amount checked."""
    name: str
    """The name of the check."""
    passed: bool
    """Whether it passed."""


class _ChoiceSettings(TypedDict):
    budget_s: float
    """The time for everything, seconds."""
    capacity: "CapacitySettings"
    """The search for each capacity; its budget is a part of the whole."""


class ChoiceSettings(_ChoiceSettings, total=False):
    """The settings of a choice between contenders."""
    needed_per_s: Optional[float]
    """The request rate that the user needs, per second; absent if the plan states none."""
    presets: List["ContenderPresets"]
    """
    The published advice with which the searches for knobs begin, of contenders that have some.
    """
    tuning: Optional["TuningSettings"]
    """
    The search for each contender's knobs, whose trials and budget depend on the time that is left;
    absent if no knobs are tuned.
    """
    untunable: List["UntunableContender"]
    """The contenders whose knobs cannot be tuned."""


class ClockOffset(TypedDict):
    """A host's clocks minus those of the runner, from the fastest of several round trips."""
    error_ns: int
    """The error bound of both: half of the round trip, nanoseconds."""
    monotonic_ns: int
    """
    Of the monotonic clocks, which start when a machine does, nanoseconds. All times of the host are
    converted with it.
    """
    wall_ns: int
    """Of the wall clocks, nanoseconds. Nothing is computed from it."""


class ClusterSurvival(TypedDict):
    """The failures of a cluster that an acknowledged commit survives."""
    all_power: bool
    """All machines lose their power at once, and get it back."""
    machine: bool
    """Any one machine is lost, with its storage."""
    majority_power: bool
    """A majority of the machines loses its power at once, and gets it back."""
    process: bool
    """The processes of any one node end, and another node takes its place."""


class ColdStart(TypedDict):
    """The database's pages in the page cache before and after eviction for a cold start."""
    pages: int
    """Pages that the database's files have."""
    pages_left: int
    """Pages of them that stayed in the page cache although they were to be dropped."""


class _Compaction(TypedDict):
    database: "DatabaseSize"
    """The size of the closed database on disk afterwards."""
    elapsed_s: float
    """Duration of the call, seconds."""
    means: str
    """The engine's call or statement: `VACUUM`."""
    storage_written_bytes: int
    """
    Bytes that the calling process sent to the storage layer from the beginning of the call until
    the database was closed, and the engine's server from before the opening for it on.
    """


class Compaction(_Compaction, total=False):
    """
    An engine's own compaction of its database after the workers ended: its cost, and what it left.
    """
    device: Optional["Device"]
    """
    Activity of the database's block device from before the opening for the call until the database
    was closed; absent if its file system is not on a block device. That of a separate device of the
    log is left out, which the run's amplification by device includes.
    """


class Conditions(TypedDict, total=False):
    """The run conditions of a trial."""
    allocator: "Allocator"
    """The memory allocator of the workers."""
    compact: bool
    """Whether the engine compacts its database after the workers have ended."""
    cpus: Optional[str]
    """The processors that workers may use, as `0-3,8`; absent: all."""
    crash_and_recover: bool
    """
    Whether the workers and the engine's server are killed after they have delivered their results,
    and the database is then reopened, timed and verified.
    """
    duration_s: Optional[float]
    """
    Length of the measured part, seconds; absent: until the workload's own number of operations is
    done.
    """
    fault: Optional["StorageFault"]
    """The fault of the storage below the database; absent: it has none."""
    faults: "FaultSchedule"
    """The faults of the cluster that are caused while the workers are measured."""
    file_system: Optional["FileSystem"]
    """The file system of the database; absent: the work folder's."""
    hosts: Optional["HostList"]
    """The hosts on which the workers of the measured part run; absent: this one."""
    log_file_system: Optional["FileSystem"]
    """
    The file system of the engine's log, for engines that can place it separately; absent: the
    database's.
    """
    log_storage_model: Optional[str]
    """
    The storage model below the engine's log; absent: the database's, or this machine's own storage
    if the log has a file system of its own.
    """
    memory_bytes: Optional[int]
    """
    The limit on the memory of all workers together, page cache included, bytes; absent: no limit.
    With a limit the start is cold, because pages that the load left in the cache are charged to
    another control group.
    """
    numa: Optional["NumaPolicy"]
    """The NUMA policy of the workers' memory; absent: the kernel's default."""
    rate: Optional["Rate"]
    """
    The arrival rate of an open loop; absent: a closed loop, in which each worker continues at once.
    """
    record_trace_bytes: Optional[int]
    """
    The buffer of each worker in which its requests are recorded, bytes; absent: they are not
    recorded.
    """
    start: "Start"
    """The state of the database when the workers begin."""
    storage_model: Optional[str]
    """
    The storage model below the database, as `ModelReference` takes it apart; absent: this machine's
    own storage.
    """
    time_slice_s: Optional[float]
    """
    Length of a time slice: one contender of the repeat runs for so long while the others are
    stopped, until all are done, seconds; absent: trials run one after the other.
    """
    warm_up_s: float
    """Time that the workers run before measurement begins, seconds."""


class Conformance(TypedDict):
    """A conformance suite that was passed."""
    cached: bool
    """Whether they ran in an earlier run of the same program on the same files of the engine."""
    checks: int
    """The number of checks."""
    passed_at: str
    """When, RFC 3339 in UTC."""


class ContenderPresets(TypedDict):
    """The published advice on the knobs of a contender."""
    contender: int
    """The contender, by its place in the plan, from 0."""
    presets: List["TuningPreset"]
    """The advice."""


class _Counterexample(TypedDict):
    damage: "Damage"
    """The damage."""
    id: str
    """Its name within the run folder: `lmdb-sync-journal`."""
    state: "CrashState"
    """The state."""
    words: List[str]
    """What is missing, in words, one line each."""


class Counterexample(_Counterexample, total=False):
    """A state that refutes a promise, as small as could be found."""
    recovery: Optional["RecoveryCrash"]
    """The crash of the recovery of `state`, if it takes that to show the damage."""


class _CounterexampleSummary(TypedDict):
    damage: "Damage"
    """The damage."""
    words: List[str]
    """What is missing, one line each."""


class CounterexampleSummary(_CounterexampleSummary, total=False):
    """A counterexample in words."""
    replay: Optional[str]
    """
    The argument of `trueput audit --replay` that reproduces it; absent if it cannot be repeated.
    """


class _CrashState(TypedDict):
    cut: int
    """The number of operations that were issued."""


class CrashState(_CrashState, total=False):
    """
    A state in which a power cut can leave the files: a moment, and what had not persisted by then.
    """
    lost_operations: List[int]
    """Changes of names and sizes that did not persist, by their index in the recording."""
    lost_pages: List["LostPage"]
    """Pages that did not persist."""
    tear: Optional["Tear"]
    """A write that ended in the middle."""


class Damage(TypedDict):
    """Damage that a state showed."""
    detail: str
    """The details, or the engine's own words."""
    kind: "DamageKind"
    """Its kind."""


class DatabaseSize(TypedDict):
    """Size of a database folder."""
    allocated_bytes: int
    """Blocks that the file system gave to its files, bytes."""
    apparent_bytes: int
    """Sum of the files' lengths, bytes: holes in sparse files count here."""


class _DecisionSettings(TypedDict):
    equal_within: float
    """Contenders are equal if their rates differ by less than this part."""
    max_repeats: int
    """The most repeats, fixed before the first: the verdicts depend on it."""


class DecisionSettings(_DecisionSettings, total=False):
    """
    The settings of a run that ends when its rankings are decided: it repeats the trials of a plan
    until each ranking has a leader or equals.
    """
    budget_s: Optional[float]
    """The time for all repeats, seconds; absent if only the number of repeats ends them."""
    early_look: Optional[int]
    """
    The repeats after which a ranking of many contenders drops those that are far behind; absent in
    older runs, which have no such look.
    """


class _Device(TypedDict):
    busy_s: float
    """Time in which at least one request was in flight, seconds."""
    read_bytes: int
    """Bytes read from it."""
    reads: int
    """Reads that it completed."""
    writes: int
    """Writes that it completed."""
    written_bytes: int
    """Bytes written to it."""


class Device(_Device, total=False):
    """
    The activity of the block device that holds the database, from all programs. For a partition it
    is the activity of the whole disk, because the kernel counts flushes only there.
    """
    flush_s: Optional[float]
    """Sum of the times of these flushes, seconds; absent likewise, and in older records."""
    flushes: Optional[int]
    """Flushes that it completed; absent if the kernel does not count them (before Linux 5.5)."""
    queue_s: Optional[float]
    """
    Sum of the times from issue to completion of all requests, seconds. Divided by the elapsed time
    it is the mean queue length, including requests in progress. Absent in older records.
    """


class _Doubt(TypedDict):
    flushes: List[str]
    """The flushes on which it depends, with their calls."""
    states: int
    """
    The states that were tried with such flushes covering nothing, to the first that showed damage.
    """
    words: List[str]
    """What is missing, in words, one line each."""


class Doubt(_Doubt, total=False):
    """
    A state in which a promise is broken if flushes whose part is not known covered nothing, and
    which cannot be if they covered their whole file; or that it could not be tried.
    """
    damage: Optional["Damage"]
    """The damage; absent if none was found in the time that there was, which was too short."""


class _EngineReport(TypedDict):
    origin: str
    """The origin of the code: `compiled in`, or the library's path."""
    promise: "Promise"
    """The promise of each commit."""
    settings: Dict[str, "Value"]
    """Settings as the engine reports them back, not as requested."""
    sha256: str
    """
    SHA-256 of the library or server file, or of this program where the engine is compiled in; hex.
    Empty for a user's server.
    """
    version: str
    """The version that the library itself reports."""


class EngineReport(_EngineReport, total=False):
    """The engine as it described itself when the trial opened it."""
    assertions: Optional[bool]
    """
    Whether the library was compiled with assertions, which cost speed, so that it is not a fair
    baseline; absent if unknown.
    """
    contradictions: List[str]
    """
    Settings with which its server ran and that contradict the promise, each a sentence; empty in
    older records.
    """
    counters: Dict[str, "Value"]
    """The engine's own counters after the workers ended."""
    isolation: Optional["Isolation"]
    """
    The isolation level of its transactions, as the driver states it for these knobs; absent if the
    driver states none.
    """
    known_defect: Optional[str]
    """
    A fault of the engine at these knobs that can lose records or return wrong results, as a clause;
    absent if none is known, and in older records.
    """
    name: str
    """The engine's name, as in the trial's specification; empty in older records."""
    workaround: Optional[str]
    """
    A workaround in trueput's driver at these knobs that users of the engine may not need and that
    affects its rates, as a clause; absent if there is none.
    """


class EventRecord(TypedDict):
    """Background activity of an engine while it was measured."""
    at_s: float
    """When, seconds since the workers were released."""
    detail: str
    """The engine's own words, shortened."""
    kind: str
    """
    The kind: `checkpoint`, `flush`, `compaction`, `log switch`, `stall`, `node`; with ` ended`
    appended if the engine also reports the end.
    """


class _ExportedTrial(TypedDict):
    format: int
    """`FORMAT_VERSION` of the writer."""
    host: Optional[str]
    """The host that ran it, as the command line named it; absent if that was the runner's."""
    outcome: "Outcome"
    """The outcome."""
    program: "ProgramFacts"
    run: str
    run_started_at: str
    spec: "TrialSpec"
    """The specification of the trial."""
    started_at: str
    """When its workers were released, RFC 3339 in UTC."""


class ExportedTrial(_ExportedTrial, total=False):
    """A trial with the facts of its run, for one line."""
    audit: Optional["AuditStanding"]
    """
    The user's audits of its engine's promise, as they stood when the trial ran; absent in older
    records, and if there were none.
    """
    conformance: Optional["Conformance"]
    """
    The conformance suite that its engine passed at its level with its knobs; absent in older
    records, and if it was not passed.
    """
    engine: Optional["EngineReport"]
    """The engine as it described itself; absent if it never opened."""
    fault_counts: Optional["FaultCounts"]
    """
    How often the fault of its storage came; absent without one, and if its server did not end well.
    """
    file_system: Optional["MountedFileSystem"]
    """The file system that its database lay on; absent if that was the work folder's."""
    hardware_limits: Optional["HardwareLimits"]
    """
    The machine's maximum rates for this many workers and this kind of commit, measured in this run
    on the same file system; absent if not requested or not measurable.
    """
    isolation_check: Optional["IsolationCheck"]
    """
    The check of the isolation that its engine's driver states; absent in older records, and if the
    driver states none.
    """
    load: Optional["LoadReport"]
    """
    The load before the workers started, if the workload reports it; absent if nothing was loaded,
    or if the previous trial's database was reused.
    """
    log_file_system: Optional["MountedFileSystem"]
    """The file system that the engine's log lay on; absent if that was the database's."""
    measurement: Optional["Measurement"]
    """The measurement; absent if the workers never finished."""
    resumed: bool
    """
    Whether it continued an interrupted trial in an existing database. Its rates then cover the
    remainder only, and the trial is never ranked.
    """
    storage: Optional["StorageStack"]
    """
    The storage below its database and log when the trial began, and what that keeps when power is
    lost; absent in older records, and if the trial never had a folder.
    """
    verification: Optional["Verification"]
    """The result of the verification; absent if it was off or never reached."""


class _Failover(TypedDict):
    faults: List["FaultOutcome"]
    """The faults that were caused, in order."""
    longest_gap_s: float
    """
    The longest time in which no worker's commit was acknowledged, seconds; times below 5 ms are 0.
    """
    missing: int
    """Acknowledged commits that were missing after a fault."""
    reconnections: int
    """Connections that were lost and opened again."""
    repeated: int
    """
    Transactions that were lost with their connection before they were committed, and repeated.
    """
    unknown_committed: int
    """Commits whose answer was lost, and that had taken effect."""
    unknown_lost: int
    """Commits whose answer was lost, and that had not taken effect; they were repeated."""
    worker_gaps_s: List[float]
    """The longest time without an acknowledged commit of each worker, seconds, likewise."""


class Failover(_Failover, total=False):
    """The effect of planned faults on the workers of a trial."""
    commits: int
    """Write transactions that were acknowledged, warm-up included."""
    late: int
    """Those of them that took effect later, after they had been repeated."""
    usual_gap_s: float
    """The longest such time before the first fault, seconds."""
    visible_then_lost: int
    """
    Commits without an answer that were read after one fault and were missing after another; 0 in
    older records, which count them as missing.
    """


class FaultCounts(TypedDict):
    """How often the fault of a trial's storage came while the workers were measured."""
    injected: int
    """Those to which it came."""
    requests: int
    """The requests to the storage that the fault concerns."""


class _FaultOutcome(TypedDict):
    at_s: float
    """When it was caused, seconds from the beginning of the measured part."""
    gap_s: float
    """
    The longest time until the next fault in which no worker's commit was acknowledged, seconds.
    """
    nodes: List[int]
    """The numbers of the nodes that it concerned."""
    order: str
    """The fault, as a plan writes it: `kill=leader`."""


class FaultOutcome(_FaultOutcome, total=False):
    """A planned fault and its effect."""
    gap_is_open: bool
    """Whether that time had not ended at the next fault or the end of the trial."""
    recovered_after_s: Optional[float]
    """
    The time until commits were again acknowledged at nine tenths of the rate before the first
    fault, over a second, in steps of 0.1 s; 0 if they always were; absent if they were not before
    the next fault or the end.
    """


class _FaultRecord(TypedDict):
    command: str
    """The exact command."""
    controls: List["FaultResult"]
    """The controls, log engines whose outcomes are known (`FAULT_CONTROLS`)."""
    format: int
    """The version of this format."""
    host: "HostFacts"
    """The machine, and the file system of the databases."""
    program_version: str
    """The version of this program."""
    results: List["FaultResult"]
    """
    The results, engine by engine, in the order of the faults; then those of a command that went on.
    """
    seed: int
    """The seed of the transactions and of faults that come by chance."""
    started_at: str
    """When it began (RFC 3339)."""


class FaultRecord(_FaultRecord, total=False):
    """The record of the faults of a command: `faults.json` in its folder."""
    interrupted: bool
    """Whether the user ended it early."""
    skipped: Dict[str, str]
    """Contenders that could not be tried, with the reason."""


class _FaultResult(TypedDict):
    contender: str
    """The engine, with the library that was named, if any."""
    durability: "Durability"
    """The level at which the database was opened."""
    elapsed_s: float
    """The time that it took, seconds."""
    fault: "StorageFault"
    """The fault."""
    outcome: "FaultTrialOutcome"
    """The worst outcome of its courses."""
    trials: List["FaultTrial"]
    """The courses."""
    version: str
    """The engine's own version."""


class FaultResult(_FaultResult, total=False):
    """The outcome of a storage fault for a build of an engine at a level."""
    failed_fsync: Optional["FailedFlush"]
    """What became of the pages of a failed flush; absent if no flush fails."""
    given_knobs: Dict[str, "Value"]
    """The knobs that the user set."""
    reason: Optional[str]
    """Why it was not run, or could not come, where that is known."""


class _FaultTrial(TypedDict):
    acknowledged: int
    """The commits that were acknowledged, those before the fault included."""
    course: "FaultCourse"
    """The course."""
    damage: List["Damage"]
    """The damage that was seen while the fault was on, and after reopening."""
    errors: List["ReportedError"]
    """The errors that the engine reported, each text once."""
    injected: int
    """How often the fault came."""
    outcome: "FaultTrialOutcome"
    """The outcome."""


class FaultTrial(_FaultTrial, total=False):
    """One course of a workload under a fault, and what was left of its commits."""
    end: Optional["WorkloadEnd"]
    """How the workload ended, if it did not as planned."""
    first_injected: Optional[str]
    """The first request to which it came, in words."""


class FileSystemFacts(TypedDict):
    """A mounted file system."""
    free_bytes: int
    """Free for this user when the run began, bytes."""
    kind: str
    """Its type: `ext4`, `xfs`, `tmpfs` …"""
    mount_point: str
    """The mount point."""
    options: str
    """The mount options."""
    size_bytes: int
    """Its size, bytes."""
    source: str
    """The device or other source that is mounted."""


class FittedCache(TypedDict):
    """A cache that was set because the default does not fit the memory limit."""
    bytes: int
    """The size that it has instead, bytes."""
    contender: int
    """The contender, by its place in the plan, from 0."""
    default_bytes: int
    """The size by default, bytes."""
    knob: str
    """The knob, as in `redb.cache_size`."""


class _FlushEvidence(TypedDict):
    commits: int
    """Acknowledged commits that changed something for certain."""
    devices: List[str]
    """The block devices counted, as named in `/sys/block`; empty if none could be counted."""
    sessions: int
    """Sessions that could commit at once."""
    verdict: "FlushVerdict"
    """The conclusion."""
    writes: int
    """
    Writes that the devices completed, from all programs, from before the first commit began
    (including warm-up) until the last had ended.
    """


class FlushEvidence(_FlushEvidence, total=False):
    """
    The requests counted while a trial committed at a level that survives power loss, and the
    conclusion from them.

    A session begins no commit before its previous one is acknowledged. So a completed write or
    flush makes at most one commit of each session durable.
    """
    basis: Optional["FlushBasis"]
    """The kind of request on which the verdict is based; absent if nothing was counted."""
    flushes: Optional[int]
    """Flushes that the devices completed meanwhile; absent if they do not count flushes."""
    reason: Optional[str]
    """The reason for counting nothing; absent if requests were counted."""


class FlushLimit(TypedDict):
    """
    Commits per second that append `commit_bytes` and are acknowledged when `fdatasync` has
    returned.
    """
    grouped_flushes_per_s: float
    """Flushes per second in the latter."""
    grouped_per_s: float
    """All committers append to one log, and one flush serves every append that preceded it."""
    separate_per_s: float
    """Each committer flushes its own log for each commit."""


class _HardwareLimits(TypedDict):
    commit_bytes: int
    """Bytes appended by each commit."""
    committers: int
    """The number of threads that measured concurrently: one per worker of the trial."""
    elapsed_s: float
    """Duration of these measurements, seconds."""
    harness_per_s: float
    """Operations per second of the null engine, over all threads: the limit of the harness."""
    memory: "MemoryBandwidth"
    """Memory."""


class HardwareLimits(_HardwareLimits, total=False):
    """The hardware limits of a trial."""
    blocks: Optional["BlockLimit"]
    """Blocks of 4 KiB; absent if the file could not be made."""
    flush: Optional["FlushLimit"]
    """Durable appends; absent if the file system refuses to flush."""


class _HostFacts(TypedDict):
    clock: str
    """The clock that latencies are read from."""
    cores: int
    """Processors that this program may run on."""
    cpu_model: str
    """Processor model, from `/proc/cpuinfo`."""
    file_system: "FileSystemFacts"
    """The file system that the databases are on."""
    host_name: str
    """Host name."""
    kernel: str
    """Kernel release and build."""
    load_at_start: List[float]
    """Load averages over 1, 5 and 15 minutes when the run began."""
    memory_bytes: int
    """Memory, bytes."""
    operating_system: str
    """Operating system, from `/etc/os-release`."""
    program: "ProgramFacts"
    """This program."""
    virtualization: str
    """Hypervisor or container, if detectable, else `none`."""


class HostFacts(_HostFacts, total=False):
    """
    The machine and the program that measured on it.

    Each fact is as reported by the operating system; if unreadable, it is empty or absent.
    """
    checks: List["MachineCheck"]
    """
    What limited figures, or voided promises, when the run began: see `trueput doctor`. Absent in
    older records.
    """
    governor: Optional[str]
    """Frequency governor of the first processor; absent if the kernel has none."""
    numa_nodes: List["NumaNode"]
    """
    Memory nodes with their processors and distances; empty in older records and if the kernel knows
    no NUMA.
    """


class _IsolationCheck(TypedDict):
    cached: bool
    """Whether they ran in an earlier run of the same program on the same files of the engine."""
    checked_at: str
    """When, RFC 3339 in UTC."""
    schedules: int
    """The number of schedules; 0 if they could not be run."""


class IsolationCheck(_IsolationCheck, total=False):
    """
    The check of the isolation that an engine's driver states: schedules of transactions that invite
    the anomalies that it proscribes, none of which occurred.
    """
    hung_after_s: Optional[int]
    """
    The time without an answer after which they were given up, seconds; absent if they ended or
    failed by themselves. A resumed run does not wait as long again.
    """
    not_run: Optional[str]
    """The reason why they could not be run; absent if they were."""


class LatencySummary(TypedDict):
    """
    Figures drawn from a latency histogram, nanoseconds. The histogram itself is in the run folder.
    """
    max_ns: int
    mean_ns: float
    min_ns: int
    p50_ns: int
    p90_ns: int
    p999_ns: int
    p99_ns: int


class _LoadGenerator(TypedDict):
    clock_after: "ClockOffset"
    """Its clock, compared after the end."""
    clock_before: "ClockOffset"
    """Its clock, compared before the release."""
    cores: int
    """The processors that the workers could use."""
    histograms: List[str]
    """
    The histograms behind `LoadGenerator::operations`, nanoseconds, in HdrHistogram's V2 encoding,
    deflated, base64. The trial's percentiles come from the sum of their counts.
    """
    host: str
    """Its name, as the plan has it."""
    hostname: str
    """Its own name for itself."""
    operations: List["OperationSummary"]
    """
    Per kind of operation, in the workload's order: the host's own rows. The rates are over the
    trial's elapsed time.
    """
    seconds: List[List[int]]
    """Operations by kind in each whole second since all hosts were released together."""
    workers: int
    """The workers that it ran."""


class LoadGenerator(_LoadGenerator, total=False):
    """A host that ran workers of a trial, started over ssh."""
    arrivals: int
    """Units of an open loop that it started."""
    cpu_share: Optional[float]
    """
    The share of its processors that was used between release and end, by all programs; absent if
    the kernel does not report it.
    """
    late_arrivals: int
    """
    Units that it started more than 1 ms after they were due because a worker, though free, did not
    run: the host was late, and not the engine.
    """
    responses: List["ResponseSummary"]
    """Response times by kind of unit; empty for a closed loop."""
    stalls: List["Stall"]
    """Intervals in which it, or a worker of it, did not run."""


class LoadReport(TypedDict):
    """The records loaded before the workers started, by one process."""
    database: "DatabaseSize"
    """The database's size on disk after the load."""
    elapsed_s: float
    """From the database's opening to its closing, seconds."""
    records: int
    """Records put."""
    resources: "Resources"
    """Resources used by the loading process, and by the engine's server meanwhile."""
    user_bytes: int
    """Bytes of their keys and values."""


class MachineCheck(TypedDict):
    """A finding about the machine."""
    found: str
    """What was found, as the system or the measurement says it."""
    severity: "CheckSeverity"
    """How much it matters."""
    subject: "CheckSubject"
    """Its subject."""


class _Measurement(TypedDict):
    conflicts: int
    """
    Conflicts that the engine reported, including deadlocks; each was retried and is not a failure.
    """
    database: "DatabaseSize"
    """The database's size on disk after the workers ended."""
    elapsed_s: float
    """From the first worker's start to the last worker's end, seconds."""
    operations: List["OperationSummary"]
    """Per kind of operation, in the workload's order."""
    resources: "Resources"
    """
    Resources used by the workers' processes and those of the engine's server between start and end,
    summed.
    """
    results: Dict[str, "Value"]
    """The workload's results (answers, totals), by name."""
    timeline: List["TimelineSecond"]
    """One entry per second of the run, and one for the remainder."""
    workers: List["WorkerReport"]
    """Per worker."""


class Measurement(_Measurement, total=False):
    """The figures of one trial."""
    allocator: Optional["AllocatorReport"]
    """Their memory allocator; absent in older records."""
    cache: Optional["CacheUse"]
    """
    Lookups in the engine's own cache; absent if it has none or does not report them, and in older
    records.
    """
    cold_start: Optional["ColdStart"]
    """The page cache at a cold start; absent after a warm start."""
    commits: Optional[int]
    """
    Commits of the workload, to each of which the durability level applies; absent if the workload
    does not count them.
    """
    compaction: Optional["Compaction"]
    """
    The engine's own compaction after that; absent if not requested, or if the driver has none for
    this engine, build or server.
    """
    database_at_start: Optional["DatabaseSize"]
    """
    The database's size on disk before the workers opened it; on a shared load, after the trials
    before it; absent in older records.
    """
    deadlocks: int
    """
    Conflicts that the engine reported as deadlocks; 0 in older records, and if the engine does not
    distinguish them.
    """
    device: Optional["Device"]
    """
    Activity of the database's block device between release and end; absent if its file system is
    not on a block device.
    """
    events: Optional[List["EventRecord"]]
    """
    Background activity of the engine between release and end, in that order: checkpoints, flushes,
    compactions. Absent if the engine does not report it; empty if there was none.
    """
    failover: Optional["Failover"]
    """The effect of planned faults; absent if none were planned."""
    flush_evidence: Optional["FlushEvidence"]
    """
    Whether flushes and writes explain the commits; absent at levels whose commits wait for no
    flush, if the workload does not count its commits, and in older records.
    """
    live_user_bytes: Optional[int]
    """
    Bytes of keys and values in the database after the workers ended; absent if the workload does
    not count them.
    """
    load_generators: List["LoadGenerator"]
    """Per host that ran workers, started over ssh; empty if all ran on this host."""
    log_device: Optional["Device"]
    """
    Activity of the block device of the engine's log meanwhile; absent if it is the database's. For
    a log without a device, as on a tmpfs, all counts are 0 and flushes are absent.
    """
    memory: Optional["MemoryUse"]
    """Memory use under the trial's memory limit; absent without a limit."""
    neighbors: Optional["OtherPrograms"]
    """CPU use of other programs meanwhile; absent if the kernel does not report it."""
    open_loop: Optional["OpenLoop"]
    """The behavior of an open loop at its rate; absent for a closed loop."""
    placement: Optional["Placement"]
    """The processors and memory nodes that were used; absent in older records."""
    pressure: Optional["Pressure"]
    """The waits of the machine's tasks meanwhile; absent if the kernel does not report them."""
    recovery: Optional["Recovery"]
    """The recovery from the crash; absent if the trial did not crash the engine."""
    server: Optional["Resources"]
    """
    The share of the engine's server; absent if the engine is a library or the server is the user's.
    """
    stalls: List["TrialStall"]
    """
    Intervals of over 2 s in which the machine, the runner, a worker or the server did not run; none
    in a valid trial.
    """
    time_slices: Optional["TimeSlices"]
    """
    The time slices in which it was measured; absent without them, and in older records, whose
    workers paused between them while their servers ran on.
    """
    user_read_bytes: Optional[int]
    """
    Bytes of keys and values that the workers read; absent if the workload does not count them.
    """
    user_written_bytes: Optional[int]
    """Bytes of keys and values that the workers handed to the engine; absent likewise."""


class MemoryBandwidth(TypedDict):
    """Memory, all threads together."""
    copied_bytes_per_s: float
    """Bytes copied per second."""
    dependent_reads_per_s: float
    """Dependent reads per second: each must end before the location of the next one is known."""
    region_bytes: int
    """Bytes of the region that was read."""


class _MemoryUse(TypedDict):
    kills: int
    """Processes that the kernel killed because it could reclaim no memory."""
    limit_bytes: int
    """The limit, bytes."""


class MemoryUse(_MemoryUse, total=False):
    """
    Memory use of a trial under its memory limit. The control group contains the workers and the
    processes that they start; the page cache of the files that they read and write is charged to
    it.
    """
    limit_hits: Optional[int]
    """
    Number of times that the limit was reached, so that the kernel had to reclaim memory first;
    absent if not counted, as under cgroup v1 of Linux 6.18.
    """
    peak_bytes: Optional[int]
    """
    The most that was used, page cache included, bytes; absent if the kernel does not say (cgroup v2
    before Linux 5.19).
    """


class _ModelResult(TypedDict):
    distinct: int
    """The states among them whose files differ."""
    elapsed_s: float
    """The time that it took, seconds."""
    model: "StorageModel"
    """The model."""
    refuted: int
    """The states that showed damage."""
    states: int
    """The states that were tried."""


class ModelResult(_ModelResult, total=False):
    """The result of one storage model."""
    counterexample: Optional["Counterexample"]
    """The smallest counterexample."""
    damage: Dict[str, int]
    """The damage by kind, with the number of states that showed it."""
    recoveries: int
    """The states in which recovery itself was crashed."""
    undecided: Optional["Doubt"]
    """
    Damage that is damage only if flushes of which nobody knows the part covered nothing, or that
    this could not be tried; then it is not known whether the promise is kept.
    """
    unmountable: int
    """The states whose file system could not be mounted: they say nothing of the engine."""


class _ModelStanding(TypedDict):
    distinct: int
    """The states among them whose files differ."""
    model: "StorageModel"
    """The model."""
    refuted: int
    """The states that showed damage."""
    states: int
    """The states that were tried."""


class ModelStanding(_ModelStanding, total=False):
    """The audit of a promise on one storage model."""
    counterexample: Optional["CounterexampleSummary"]
    """The smallest counterexample."""
    file_system: Optional[str]
    """The file system below which it was tried, in the block form."""
    undecided: bool
    """
    Whether the promise depends on flushes of which nobody knows the part that they covered: then
    this is no audit.
    """


class _MountedFileSystem(TypedDict):
    mounted: "FileSystemFacts"
    """Type, source, mount options and size when the trial began."""


class MountedFileSystem(_MountedFileSystem, total=False):
    """The file system that a trial ran on, as it was made and as the kernel states it."""
    direct_io: Optional[bool]
    """Whether its loop device bypasses the page cache of the file system that holds the image."""
    image_bytes: Optional[int]
    """The size of its image, bytes."""
    journal_bytes: Optional[int]
    """The size of a separate journal image, bytes."""
    mkfs: Optional[str]
    """The command that created it; absent if it was not created for the trial."""


class NumaNode(TypedDict):
    """A NUMA node: processors, and memory that is near to them."""
    cpus: str
    """The processors of the node, as `0-3,8`; empty if it has none."""
    distances: List[int]
    """
    The relative costs of accessing each node's memory from this node's processors, in the order of
    the nodes; 10 is local.
    """
    memory_bytes: int
    """Its memory, bytes."""
    node: int
    """The kernel's number of it."""


class OpenLoop(TypedDict):
    """
    The behavior of an open loop at its rate, and the response times that its users would have seen.
    """
    arrival: str
    """When each became due: `constant`, `poisson` or `recorded`."""
    backlog: int
    """Units that were due and not begun when the time was up."""
    issued: int
    """Units begun."""
    oldest_wait_s: float
    """The wait of the oldest of them at that time, seconds."""
    rate_per_s: float
    """Requested arrivals of units of work per second."""
    responses: List["ResponseSummary"]
    """
    Per kind of unit. The first kind includes the backlog, with its waiting time at the end: those
    response times are lower bounds.
    """


class _OperationSummary(TypedDict):
    count: int
    """The number of operations, over all workers."""
    kind: str
    """The workload's name for it: `read`, `update`, …"""
    latency: "LatencySummary"
    """
    Service time: from the worker's start of the operation to its end. It excludes the wait that
    users at a fixed rate would see; `OpenLoop` includes it.
    """
    per_s: float
    """`count` over the trial's elapsed time."""


class OperationSummary(_OperationSummary, total=False):
    """Count, rate and latency of one kind of operation."""
    not_found: int
    """
    The operations that looked for a record that was not there; absent if all found theirs, if the
    workload looks for none, and in older records.
    """


class _OtherPrograms(TypedDict):
    cpu_s: float
    """
    CPU used by neither the workers nor the runner (nor kernel threads, if `kernel_s` is present):
    seconds over those processors. The kernel counts in hundredths of a second.
    """
    steal_s: float
    """CPU that the hypervisor gave to other guests, seconds over those processors."""


class OtherPrograms(_OtherPrograms, total=False):
    """CPU use by other programs on the processors that the trial may use."""
    kernel_s: Optional[float]
    """
    CPU of kernel threads (write-back, journals, loop devices), on behalf of any program, seconds
    over those processors; absent if they are not visible, as in a container.
    """


class Placement(TypedDict):
    """
    The processors and memory nodes of the workers at the end of the run, while their databases are
    open: as found, not as requested.
    """
    anonymous_bytes_by_node: List[int]
    """
    Anonymous memory (heaps, stacks, private caches) on each node, bytes, summed over the processes;
    the first entry is node 0.
    """
    cpus: str
    """Processors that any of their threads could use, as `0-3,8`."""
    file_bytes_by_node: List[int]
    """
    Pages of mapped files on each node, bytes, likewise. A page that n processes map counts n times,
    and is on the node of its first access, which may have been the load.
    """
    numa_policy: str
    """
    The policy of their anonymous memory in the kernel's words, as `default`, `interleave:0-3`;
    several if an engine set its own for a part. Empty if the kernel has no NUMA support.
    """


class PrecisionTarget(TypedDict, total=False):
    """
    The precision at which repeats stop: the plan of such a run has the maximum number of repeats,
    and unneeded ones are skipped.
    """
    budget_s: Optional[float]
    """So much time has passed, seconds. The first repeat of each cell is run whatever it takes."""
    half_width: Optional[float]
    """The relative precision of every contender's rate: half of its 95 % interval over its mean."""


class Pressure(TypedDict):
    """Time in which tasks of the whole machine waited for want of something (PSI), seconds."""
    cpu_some_s: float
    """At least one waited for a processor."""
    io_full_s: float
    """Time in which all runnable tasks waited for I/O, seconds."""
    io_some_s: float
    """At least one waited for I/O."""
    memory_full_s: float
    """Time in which all runnable tasks waited for memory, seconds."""
    memory_some_s: float
    """At least one waited for memory."""


class ProgramFacts(TypedDict):
    """This program, as built."""
    command: List[str]
    """The exact command line."""
    commit: str
    """The commit that it was built from, with `-dirty` appended if the tree had changes."""
    profile: str
    """`release` or `debug`. Results of a debug build are invalid."""
    version: str
    """trueput's version."""


class _Promise(TypedDict):
    durability: "Durability"
    """The level."""
    mapped_to: str
    """The engine's own settings that make it so, as `name=value`, comma separated."""
    source: str
    """The place in the engine's own documentation that states it."""


class Promise(_Promise, total=False):
    """An engine's implementation of one durability level."""
    cluster: Optional["ClusterSurvival"]
    """
    The failures of a cluster that an acknowledged commit survives; absent if the engine is no
    cluster.
    """
    doubt: Optional[str]
    """
    Why the promise is in doubt although the engine's documentation makes it: a fault that was
    reproduced without trueput. A clause without a final period, to follow the engine's name and a
    colon.
    """
    window: Optional["Window"]
    """The most that can be lost, for `async` and `buffered`."""


class Rate(TypedDict):
    """The pace of an open loop."""
    arrival: "Arrival"
    """When each becomes due."""
    per_s: float
    """Operations that become due per second, over all workers."""


class _Recovery(TypedDict):
    killed: int
    """Processes that were killed with SIGKILL: workers and the engine's server."""
    recovery_s: float
    """
    Time until the database was open again, in a process that had not opened it before, seconds. If
    the engine has a server, from the start of the server.
    """


class Recovery(_Recovery, total=False):
    """The time that a database took to recover after its processes were killed."""
    first_commit_s: Optional[float]
    """
    Time until the first transaction was committed, seconds; absent if none could be committed.
    """
    server_s: Optional[float]
    """The part of it until the engine's server responded, seconds; absent without a server."""


class RecoveryCrash(TypedDict):
    """A crash of a recovery."""
    operations: int
    """The operations of the recovery, to its end."""
    state: "CrashState"
    """The state in which the crash left the files, of a recording of the recovery."""


class ReportedError(TypedDict):
    """An error that the engine reported under a fault."""
    count: int
    """How often it was reported."""
    during: str
    """The step that failed, as in `commit`."""
    text: str
    """The engine's own words."""


class _Resources(TypedDict):
    involuntary_context_switches: int
    """Times that a thread was preempted."""
    major_page_faults: int
    """Page faults that needed I/O."""
    minor_page_faults: int
    """Page faults that needed no I/O."""
    peak_pss_bytes: int
    """
    Highest sum over the workers of proportional set size seen by the per-second sampler, bytes:
    pages that several workers map are counted once.
    """
    peak_rss_bytes: int
    """Highest sum over the workers of resident set size, bytes: shared pages counted each time."""
    read_call_bytes: int
    """Bytes through read-like system calls (`rchar`), cached or not."""
    storage_read_bytes: int
    """Bytes fetched from the storage layer (`read_bytes` of `/proc/PID/io`)."""
    storage_written_bytes: int
    """
    Bytes sent to the storage layer (`write_bytes` of `/proc/PID/io`), page-cache write-back caused
    by these processes included.
    """
    system_cpu_s: float
    """CPU seconds inside the kernel."""
    user_cpu_s: float
    """CPU seconds outside the kernel."""
    voluntary_context_switches: int
    """Times that a thread gave up the processor to wait."""
    write_call_bytes: int
    """Bytes through write-like system calls (`wchar`), cached or not."""


class Resources(_Resources, total=False):
    """Resources used by a set of processes."""
    max_rss_bytes: int
    """
    Sum over the worker processes of their peak resident set sizes, from before they open the
    database, bytes: the "maximum resident set size" of `/usr/bin/time -v`.
    """
    read_calls: int
    """Read-like system calls (`syscr`)."""
    write_calls: int
    """Write-like system calls (`syscw`)."""


class ResponseSummary(TypedDict):
    """Response times of one kind of unit."""
    count: int
    """The number of units, including the backlog."""
    kind: str
    """The workload's name for it."""
    latency: "LatencySummary"
    """From when the unit was due to its end."""


class _RunHost(TypedDict):
    facts: "HostFacts"
    """The machine and its program, as it described itself when it was reached last."""
    name: str
    """Its name, as the command line has it."""


class RunHost(_RunHost, total=False):
    """A host that whole repeats were given to."""
    loss: Optional[str]
    """
    Why it was lost in the last part of the run; absent if it was not. Its unfinished repeats went
    to others.
    """


class _RunManifest(TypedDict):
    format: int
    """`FORMAT_VERSION` of the writer."""
    host: "HostFacts"
    """The machine and this program."""
    name: str
    """The plan's name."""
    started_at: str
    """When the run began, RFC 3339 in UTC."""
    trials: List["TrialSpec"]
    """
    Every trial of the plan, in execution order: interleaved over the repeats. A search adds trials
    while it runs.
    """


class RunManifest(_RunManifest, total=False):
    """The plan of a run, with the machine and the program that run it."""
    about: str
    """A description of the plan, in a sentence or two."""
    byte_knobs: Dict[str, List[str]]
    """
    By engine, the names of the knobs that are sizes in bytes, of those that differ between trials
    of the plan; empty in older runs.
    """
    cache_bytes: Optional[int]
    """
    The size that the plan gives every engine's own cache, bytes; absent if it gives none or
    several, if a step changes it or a search may, and in older runs.
    """
    changed_knobs: Dict[str, List[str]]
    """
    By engine, the names of the knobs that the plan changes from the default, those that a search
    tries not included; empty in older runs.
    """
    changed_settings: Dict[str, List[str]]
    """
    By workload, the names of the settings that some trial changes from the default; empty in older
    runs.
    """
    costs: Dict[str, str]
    """
    By `ENGINE.KNOB`, the cost of changing the knob from its default, in the driver's words, for the
    knobs that differ between trials of the plan; empty in older runs.
    """
    gates: List["GateRule"]
    """
    Gates on each other contender of a ranking against the first of the plan: a run that decides
    goes on until they are decided, too.
    """
    headlines: Dict[str, str]
    """
    By workload, the kind of operation whose rate contenders are ranked by. Where a workload is not
    named here, a report ranks by its first kind.
    """
    hosts: List["RunHost"]
    """
    The hosts that whole repeats were given to, in the order of the command line; empty if all
    trials ran on the runner's, and in older runs.
    """
    include_assertions: bool
    """Whether builds with assertions are ranked with the others, at the user's request."""
    objective: Optional["Objective"]
    """
    The objective of the plan, which the report sets beside each contender; absent if it has none,
    and in a search, whose question has it.
    """
    search: Optional["SearchSettings"]
    """
    The question that the trials are proposed to answer, from the results so far; absent if the plan
    lists them.
    """
    skipped: List[str]
    """
    Parts of the plan that do not run, one sentence each (for example a level that an engine does
    not support).
    """
    skipped_kinds: List["SkipKind"]
    """What each of `skipped` is, in the same order; empty in older runs."""
    split_by: Optional["RankingSplit"]
    """A further property that the contenders of one ranking must share, at the user's request."""
    until: Optional["PrecisionTarget"]
    """The precision at which repeats stop; absent if every trial of the plan runs."""
    work: Optional[str]
    """
    The folder for databases, if the user named one: a resumed run looks there for databases of a
    killed run.
    """


class _SearchedKnob(TypedDict):
    name: str
    """The knob."""


class SearchedKnob(_SearchedKnob, total=False):
    """A knob that is searched, with its bounds in the knob's unit (bytes, seconds)."""
    high: Optional[float]
    """The highest value; absent: as the search chooses it."""
    low: Optional[float]
    """The lowest value; absent: as the search chooses it."""


class _SeenFlushes(TypedDict):
    watched: bool
    """
    Whether calls were watched. Without that, syncfs and sync leave no trace, and the part that
    fdatasync or msync covers is not known.
    """


class SeenFlushes(_SeenFlushes, total=False):
    """How far the calls behind the flushes of a recording were seen."""
    io_uring: bool
    """Whether a process set up io_uring, of whose flushes the part is not known."""
    refused: Optional[str]
    """Why they were not, in the kernel's words."""
    unknown: int
    """The flushes of which the part is not known."""


class _Stall(TypedDict):
    from_s: float
    """Its start, seconds since the release."""
    length_s: float
    """Its length by the host's own monotonic clock, seconds."""


class Stall(_Stall, total=False):
    """An interval in which a host or one of its workers did not run."""
    worker: Optional[int]
    """The worker's process, by its first worker; absent if the whole host stalled."""


class StorageStack(TypedDict):
    """The layers below a trial's database and log, and what they promise."""
    layers: List[str]
    """
    Each layer, from the database's file system down to the devices, and then those of the log if it
    is apart: `ext4 on /data from /dev/vda (rw,noatime)`, `device vda, write back cache`.
    """
    power_loss: "PowerLoss"
    """What flushed data can be promised."""


class Tear(TypedDict):
    """A write that ended in the middle."""
    operation: int
    """The operation, by its index in the recording."""
    persisted: int
    """The bytes from its beginning that persisted."""
    rest: "TornRest"
    """The rest."""


class TimeSlices(TypedDict):
    """The time slices in which a trial was measured while the other contenders were stopped."""
    count: int
    """Their number."""
    longest_stop_s: float
    """The longest time from the order to stop until the last thread had stopped, seconds."""
    stopped_by: "StopMeans"
    """How the contender's processes were stopped between them."""


class _TimelineSecond(TypedDict):
    at_s: float
    """When it ended, seconds since the workers were released."""
    counts: List[int]
    """Operations done in it, by kind, in the order of the measurement's operations."""
    pss_bytes: int
    """Sum of the workers' proportional set size at its end, bytes; 0 if it was not sampled."""
    storage_read_bytes: int
    """Bytes fetched from the storage layer in it."""
    storage_written_bytes: int
    """Bytes sent to the storage layer in it."""
    system_cpu_s: float
    """CPU seconds of the workers inside the kernel in it."""
    user_cpu_s: float
    """CPU seconds of the workers outside the kernel in it."""


class TimelineSecond(_TimelineSecond, total=False):
    """One second of a trial."""
    database_allocated_bytes: Optional[int]
    """
    Blocks that the file system had allocated to the database's files at the end of the second,
    bytes; absent if not sampled, or if there are too many files to inspect every second.
    """
    device: Optional["Device"]
    """Activity of the database's block device."""
    involuntary_context_switches: int
    """Times that a worker's thread was preempted in this second."""
    io_wait_share: Optional[float]
    """
    The part of the looks at the workers in it (up to 25) that found at least one thread of theirs
    waiting for I/O; absent where nobody looked.
    """
    latency_max_ns: List[int]
    """Their maxima, likewise."""
    latency_mean_ns: List[int]
    """
    Mean service time by kind, nanoseconds; 0 for a kind without operations. Empty in older records,
    and for native programs.
    """
    latency_p50_ns: List[int]
    """
    Median of the service times by kind, nanoseconds, within 0.8 % and at most the trial's maximum;
    0 for a kind without operations. Empty in older records, and for native programs.
    """
    latency_p999_ns: List[int]
    """Their 99.9th percentiles, likewise."""
    latency_p99_ns: List[int]
    """Their 99th percentiles, likewise."""
    log_device: Optional["Device"]
    """Activity of the block device of the engine's log, if it has its own."""
    major_page_faults: int
    """Page faults in it that needed I/O."""
    minor_page_faults: int
    """Page faults in it that needed no I/O."""
    neighbors: Optional["OtherPrograms"]
    """CPU use of other programs."""
    pressure: Optional["Pressure"]
    """Waits of the machine's tasks."""
    read_call_bytes: int
    """Bytes through read-like system calls in it."""
    read_calls: int
    """Read-like system calls in it."""
    rss_bytes: int
    """Sum of the workers' resident set sizes at its end, bytes; 0 if it was not sampled."""
    run_delay_s: Optional[float]
    """
    Time in it that the workers' threads could have run and waited for a processor, seconds over all
    threads; absent in older records, and where a server works for them.
    """
    runnable_tasks: Optional[int]
    """Tasks of the whole machine that ran or could have run at its end, the sampler included."""
    tombstones_passed: Optional[int]
    """
    Marks of deleted records that the workers' iterators passed over in it; absent if the engine
    does not count them while it runs, and in older records.
    """
    user_written_bytes: Optional[int]
    """
    Bytes of keys and values that the workers handed to the engine in it: its operations, each with
    the mean size of its kind; absent if the workload does not count them, and in older records.
    """
    voluntary_context_switches: int
    """Times in it that a worker's thread gave up the processor to wait."""
    write_call_bytes: int
    """Bytes through write-like system calls in it."""
    write_calls: int
    """Write-like system calls in it."""


class _TrialRole(TypedDict):
    contender: int
    """The contender, by its place in the plan, from 0."""
    purpose: "TrialPurpose"
    """The reason for the trial."""


class TrialRole(_TrialRole, total=False):
    """The part that a trial has in a search."""
    configuration: Optional[int]
    """
    The configuration of knobs, 0 being the default; absent in a search for the capacity of the
    default.
    """


class _TrialSpec(TypedDict):
    cell: int
    """The index of the cell in the plan's matrix, from 0; repeats of a cell share it."""
    durability: "Durability"
    """The promise that each commit makes."""
    engine: str
    """The engine's name."""
    id: str
    """Unique in its run, usable as a file name: `0007-lmdb-async-w4-r2`."""
    knobs: Dict[str, "Value"]
    """The engine's knobs, every one."""
    repeat: int
    """The number of the repeat, from 1."""
    seed: int
    """Seed of every random choice in the trial."""
    settings: Dict[str, "Value"]
    """The workload's settings, every one."""
    verify: "VerifyLevel"
    """The extent of verification."""
    worker_kind: "WorkerKind"
    """The kind of worker."""
    workers: int
    """The number of workers."""
    workload: str
    """The workload's name."""


class TrialSpec(_TrialSpec, total=False):
    """
    One cell of a plan, to run once: everything that determines the trial, with every default filled
    in.
    """
    build: Optional[str]
    """The library or server to use instead of the engine's default build."""
    conditions: "Conditions"
    """Its run conditions: duration, rate, placement of workers."""
    note: Optional[str]
    """
    The reason for differing from the plan's general settings (a shorter range, say), for the table.
    """
    role: Optional["TrialRole"]
    """Its part in a search; absent if the plan lists its trials."""
    step: Optional["AblationStep"]
    """The step of an ablation; absent if the plan is not an ablation."""


class _TrialStall(TypedDict):
    from_s: float
    """Its start, seconds since the measured part began."""
    length_s: float
    """Its length, seconds."""
    part: "StalledPart"
    """The part."""


class TrialStall(_TrialStall, total=False):
    """An interval in which a part of a trial did not run."""
    worker: Optional[int]
    """
    The index of the first worker in that process; absent for another part, and for all workers.
    """


class TuningLimits(TypedDict, total=False):
    """Limits that a configuration must keep, beside its promise."""
    memory_bytes: Optional[int]
    """Peak memory of the workers and the engine's server, bytes."""
    recovery_s: Optional[float]
    """Time from killing every process to an open database, seconds."""
    space_bytes: Optional[int]
    """Size of the database on disk, bytes."""
    space_factor: Optional[float]
    """Size of the database on disk, as a multiple of the default's in the same round."""
    window_s: Optional[float]
    """The most that a power loss may take, in time, seconds, for levels with a window."""


class _TuningPreset(TypedDict):
    name: str
    """Its name."""
    settings: Dict[str, "Value"]
    """The values that are tried; none if all were dropped."""
    title: str
    """The title of its source."""
    url: str
    """The address of its source."""


class TuningPreset(_TuningPreset, total=False):
    """Published advice on an engine's knobs, for the machine and the level of a search."""
    dropped: List[str]
    """The values that are not tried, each with the reason, one sentence each."""


class _TuningSettings(TypedDict):
    budget_s: float
    """The time for both, seconds."""
    limits: "TuningLimits"
    """What a configuration must keep."""
    score: "TuningScore"
    """What makes a configuration better."""
    seed: int
    """The seed of the search's choices."""
    trials: int
    """The trials that the search and its holdout may take, as planned before the first round."""


class TuningSettings(_TuningSettings, total=False):
    """The settings of a search for knobs."""
    presets: List["TuningPreset"]
    """Published advice to begin with."""
    searched: List["SearchedKnob"]
    """The knobs to search; all that the plan does not give if there is none."""
    strategy: "TuningStrategy"
    """How configurations are proposed."""


class UntunableContender(TypedDict):
    """A contender whose knobs cannot be tuned."""
    contender: int
    """The contender, by its place in the plan, from 0."""
    reason: str
    """The reason, in a sentence."""


class Verification(TypedDict):
    """The result of an independent check of a trial's outcome."""
    checks: List["Check"]
    """The checks."""
    elapsed_s: float
    """Duration, seconds. Not part of the trial's elapsed time."""
    level: "VerifyLevel"
    """The extent of the checks."""
    passed: bool
    """Whether every check passed."""


class _Window(TypedDict):
    until: str
    """The event that ends the window, in words: a checkpoint, the kernel's write-back, …"""


class Window(_Window, total=False):
    """The most that an `async` or `buffered` level can lose."""
    bytes: Optional[int]
    """In bytes of log or data, if the engine limits it in this way."""
    commits: Optional[int]
    """In commits, if the engine limits it in this way."""
    time_s: Optional[float]
    """In time, seconds, if the engine limits it in this way."""


class _WorkerReport(TypedDict):
    conflicts: int
    """Conflicts that the engine reported to it, deadlocks among them."""
    counts: List[int]
    """Operations done by kind, in the order of `Measurement::operations`."""
    elapsed_s: float
    """From its own start to its own end, seconds."""
    index: int
    """From 0."""
    pid: int
    """Its process."""


class WorkerReport(_WorkerReport, total=False):
    """The share of one worker."""
    deadlocks: int
    """Conflicts that the engine reported as deadlocks; 0 in older records."""


# The configuration to which each step of an ablation applies its changes.
AblationKind = Literal["cumulative", "one-at-a-time"]


# The allocator that the workers' C code uses.
Allocator = Literal["libc", "jemalloc", "tcmalloc", "mimalloc"]


# When the operations of an open loop become due.
Arrival = Literal["constant", "poisson"]


# How much a finding matters.
CheckSeverity = Literal["fine", "missing", "limits_figures", "voids_promises"]


# The subject of a check of the machine.
CheckSubject = Literal[
    "eatmydata",
    "file-system",
    "flush",
    "steal",
    "neighbors",
    "jitter",
    "load",
    "governor",
    "turbo",
    "huge-pages",
    "clock-source",
    "emulation",
    "memory",
    "swap",
    "limits",
    "space",
    "fuse",
    "loop-devices",
    "file-system-tools",
    "memory-limits",
    "networks",
    "ssh",
    "engines",
]


# The kind of damage that a state showed.
DamageKind = Literal[
    "file_system_lost",
    "unopenable",
    "hang",
    "crash",
    "unreadable",
    "torn_value",
    "partial_transaction",
    "order_broken",
    "commit_missing",
    "hidden_commit",
    "window_exceeded",
    "unwritable",
    "damaged_later",
    "check_failed",
]


# The guarantee that a commit gives for crashes and power loss, weakest last.
# Results of different levels are never ranked against each other.
Durability = Literal["sync", "async", "buffered", "process", "none"]


# What the kernel does with the pages that a failed fsync did not write (Rebello et al., "Can
# Applications Recover from fsync Failures?", USENIX ATC 2020).
FailedFlush = Literal["dropped", "kept"]


# The course of a workload under a fault.
FaultCourse = Literal["kill", "reopen"]


# The planned faults of a trial, in the order of their times: `10s:kill=leader,20s:start=all`, or
# `none`.
FaultSchedule = str


# The outcome of a storage fault for an engine; the worse one last.
FaultTrialOutcome = Literal[
    "not_triggered",
    "harmless",
    "reported",
    "not_run",
    "hung",
    "crashed",
    "refuses_to_open",
    "lost_by_device",
    "reported_loss",
    "silent_loss",
    "wrong_data",
]


# The file system that a trial is to run on.
FileSystem = str


# The kind of request that a commit needs on the counted devices.
FlushBasis = Literal["writes", "writes_and_flushes"]


# The conclusion on whether flushes and writes explain the commits.
FlushVerdict = Literal["explained", "impossible", "not_counted"]


# A gate: it fails if the figure of the second side is beyond the limit. `rate<-3%`, `p99>+10%`,
# `update.p99>5ms`.
GateRule = str


# Hosts as ssh takes them: names, aliases of its configuration or addresses, each perhaps with a
# user, as in `me@a,b`.
HostList = str


# An isolation level of committed transactions, weakest first.
# This is the order in which reports list the levels, not an order of strength:
# `Isolation::RepeatableRead` and `Isolation::Snapshot` each proscribe phenomena that the other
# permits. `Isolation::lacks` compares strength.
Isolation = Literal[
    "read-uncommitted",
    "read-committed",
    "repeatable-read",
    "snapshot",
    "serializable",
]


# A page of a file that did not persist from some write on.
LostPage = TypedDict(
    "LostPage",
    {
        "from": "int",
        "inode": "int",
        "page": "int",
    },
    total=False,
)


# The placement of memory on a machine with several NUMA nodes.
NumaPolicy = str


# Limits that must all be kept: `p50<1ms,p99.9<50ms,errors<0.1%`.
Objective = str


class OutcomeValid(TypedDict):
    """It ran to its end and every requested check passed."""
    status: Literal["valid"]


class OutcomeInvalid(TypedDict):
    """It ran to its end, but its figures cannot be trusted."""
    reasons: List[str]
    """The reasons, one sentence each."""
    status: Literal["invalid"]


class _OutcomeFailed(TypedDict):
    reason: str
    """The failed part and the cause, in one sentence."""
    status: Literal["failed"]


class OutcomeFailed(_OutcomeFailed, total=False):
    """It did not run to its end."""
    bad_input: bool
    """Whether the trial's own input was the cause: a mistake of the plan, not of the engine."""


class OutcomeInterrupted(TypedDict):
    """The user stopped it."""
    status: Literal["interrupted"]


# The outcome of a trial.
Outcome = Union[OutcomeValid, OutcomeInvalid, OutcomeFailed, OutcomeInterrupted]


class PowerLossSurvives(TypedDict):
    """It survives, if the devices keep what they acknowledge."""
    flushed_data: Literal["survives"]


class PowerLossSimulated(TypedDict):
    """
    The device is a storage model. As on any other it survives if the device keeps what it
    acknowledges, but nothing can show that it does: the model's flushes take time, and write
    nothing here.
    """
    flushed_data: Literal["simulated"]


class PowerLossStaleUnflushed(TypedDict):
    """It survives, but files may have unflushed parts with stale data in them."""
    flushed_data: Literal["stale_unflushed"]
    reason: str
    """The layer that does this, as a clause."""


class PowerLossUnresolved(TypedDict):
    """It is not known: a layer could not be resolved."""
    flushed_data: Literal["unresolved"]
    reason: str
    """Where the resolution stopped, as a clause."""


class PowerLossLost(TypedDict):
    """Nothing is promised."""
    flushed_data: Literal["lost"]
    in_memory: bool
    """Whether the database or its log is on a file system in memory."""
    reason: str
    """The layer that loses it, as a clause: `its ext4 is mounted with nobarrier`."""


# What becomes of flushed data when power is lost, as far as the layers show; the best first.
PowerLoss = Union[
    PowerLossSurvives,
    PowerLossSimulated,
    PowerLossStaleUnflushed,
    PowerLossUnresolved,
    PowerLossLost,
]


# A further property that the contenders of one ranking must share.
RankingSplit = Literal["isolation"]


class SearchSettingsCapacity(TypedDict):
    """The highest rate at which each contender keeps an objective."""
    kind: Literal["capacity"]


class SearchSettingsTuning(TypedDict):
    """The values of a contender's knobs that serve it best."""
    kind: Literal["tuning"]


class SearchSettingsChoice(TypedDict):
    """
    The contender that keeps an objective at the highest rate, with its default knobs or tuned.
    """
    kind: Literal["choice"]


class SearchSettingsDecision(TypedDict):
    """The contender with the highest rate in each ranking of a plan, or those that are equal."""
    kind: Literal["decision"]


# The question that a run's trials are proposed to answer.
SearchSettings = Union[
    SearchSettingsCapacity,
    SearchSettingsTuning,
    SearchSettingsChoice,
    SearchSettingsDecision,
]


# What a skipped part of a plan is.
SkipKind = Literal["level", "other"]


# A part of a trial.
StalledPart = Literal["machine", "runner", "worker", "server"]


# The state of the database when the workers begin.
Start = Literal["warm", "cold"]


# How processes are stopped between time slices.
StopMeans = Literal["control_group", "signals"]


# A storage fault: `fsync:eio@3`. Its text is its form in plans and records.
StorageFault = str


# A model of storage: what may be missing after a power cut. Weakest storage last.
StorageModel = Literal["kill", "prefix", "journal", "posix", "torn"]


# Bytes that stand in place of the missing part of a torn write.
TornRest = Literal["old", "zero", "garbage"]


# The reason for a trial of a search.
TrialPurpose = Literal[
    "closed-loop",
    "probe",
    "confirmation",
    "excess",
    "tuning",
    "holdout",
    "winner",
    "acceptance",
    "run-off",
    "ablation",
]


# What makes a configuration better.
TuningScore = Literal["rate", "p99"]


# How a search proposes configurations. Rounds, racing and holdout are the same for each, so that
# the strategies can be compared.
TuningStrategy = Literal["model", "random", "one-at-a-time", "presets"]


# A value as plans write it and records keep it. Sizes and times are plain integers in the unit that
# the setting's name or description states.
Value = Union[bool, int, float, str]


# The extent of checks of a trial's outcome against an independent computation.
VerifyLevel = Literal["full", "sample", "off"]


# The kind of worker that executes the workload.
WorkerKind = Literal["processes", "threads"]


class WorkloadEndCrashed(TypedDict):
    """A process of the engine crashed, in words."""
    end: Literal["crashed"]
    words: str


class WorkloadEndHung(TypedDict):
    """The engine made no progress any more, in words."""
    end: Literal["hung"]
    words: str


# An end of a workload other than the planned one.
WorkloadEnd = Union[WorkloadEndCrashed, WorkloadEndHung]
