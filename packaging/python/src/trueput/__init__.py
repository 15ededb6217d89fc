"""Reads runs of trueput: as pandas data frames, and as the records themselves.

    import trueput
    run = trueput.load("results/20261201T084500Z-first-look")
    run.trials[["contender", "durability", "update_per_s", "update_p99_ns"]]

    for trial in trueput.read("results/20261201T084500Z-first-look"):
        print(trial["spec"]["id"], trial["outcome"]["status"])

The names of columns have the units: ``elapsed_s`` are seconds, ``update_p99_ns`` nanoseconds. They
are those of ``trueput export --format csv``; the program of this package writes them. The types of
records are in ``trueput.types``. ``trueput schema`` prints the schemas from which they are made.
"""

import io
import json
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterator, List, Sequence, Union, cast

from . import _types as types
from ._types import AuditRecord, ExportedTrial, FaultRecord, RunManifest

if TYPE_CHECKING:
    import pandas

__all__ = [
    "ExportError",
    "Run",
    "load",
    "read",
    "read_audit",
    "read_faults",
    "read_manifest",
    "types",
]

StrPath = Union[str, "os.PathLike[str]"]


class ExportError(Exception):
    """The program could not read a run. The message is the program's line."""


@dataclass(frozen=True)
class Run:
    """What a run measured."""

    trials: "pandas.DataFrame"
    """A row for each trial, also those that failed or are not valid: see ``status``."""

    seconds: "pandas.DataFrame"
    """A row for each second of each trial and kind of operation."""

    paths: Sequence[StrPath]
    """The run folders or bundles that were read."""

    @property
    def records(self) -> List[ExportedTrial]:
        """The records of the trials, in the order of ``trials``. They are read at each use."""
        return read(*self.paths)


def load(*runs: StrPath) -> Run:
    """Reads run folders or bundles, one or several, into data frames.

    Raises ExportError if one of them is no run, and ImportError without pandas
    (``pip install trueput[pandas]``).
    """
    _require(runs, "load")
    return Run(trials=_table(runs), seconds=_table(runs, "--per-second"), paths=runs)


def read(*runs: StrPath) -> List[ExportedTrial]:
    """Reads the records of every trial of run folders or bundles, in the order in which they ended.

    Each is the line of ``trials.jsonl``, with the names of this version, and the run's name, start,
    host and program. It needs no pandas. Raises ExportError if one of them is no run.
    """
    _require(runs, "read")
    return list(_lines(_export(runs, "jsonl")))


def read_manifest(run: StrPath) -> RunManifest:
    """Reads ``run.json`` of a run folder: the planned trials, the machine and the program."""
    return cast(RunManifest, _document(run, "run.json"))


def read_audit(folder: StrPath) -> AuditRecord:
    """Reads ``audit.json`` of a folder that ``trueput audit`` wrote."""
    return cast(AuditRecord, _document(folder, "audit.json"))


def read_faults(folder: StrPath) -> FaultRecord:
    """Reads ``faults.json`` of a folder that ``trueput faults`` wrote."""
    return cast(FaultRecord, _document(folder, "faults.json"))


def _require(runs: Sequence[StrPath], function: str) -> None:
    if not runs:
        raise TypeError(f"{function}() takes the folder or the bundle of a run at least")


def _document(folder: StrPath, name: str) -> object:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def _program() -> str:
    """The program of this package; else the one that the shell would find."""
    own = shutil.which("trueput", path=sysconfig.get_path("scripts"))
    found = own or shutil.which("trueput")
    if found is None:
        raise FileNotFoundError("the program trueput is not in PATH")
    return found


def _export(runs: Sequence[StrPath], format: str, *options: str) -> bytes:
    paths = [os.fspath(run) for run in runs]
    command = [_program(), "export", "--format", format, *options, "--", *paths]
    exported = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if exported.returncode != 0:
        words = exported.stderr.decode(errors="replace").strip()
        raise ExportError(words.replace("trueput: ", "", 1) or f"{command}: {exported.returncode}")
    return exported.stdout


def _lines(exported: bytes) -> Iterator[ExportedTrial]:
    # Only a line feed ends a record: texts in it may have other ends of lines.
    for line in exported.split(b"\n"):
        if line:
            yield cast(ExportedTrial, json.loads(line))


def _table(runs: Sequence[StrPath], *options: str) -> "pandas.DataFrame":
    import pandas

    exported = _export(runs, "csv", *options)
    table = pandas.read_csv(io.BytesIO(exported), low_memory=False)
    for column in ("run_started_at", "started_at"):
        if column in table.columns:
            table[column] = pandas.to_datetime(table[column], format="ISO8601", utc=True)
    return table
