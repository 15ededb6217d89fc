"""Reads runs of trueput into pandas data frames.

    import trueput
    run = trueput.load("results/20261201T084500Z-first-look")

The names of columns have the units: ``elapsed_s`` are seconds, ``update_p99_ns`` nanoseconds. They
are those of ``trueput export --format csv``; the program of this package writes them.
"""

import io
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import pandas

__all__ = ["ExportError", "Run", "load"]


class ExportError(Exception):
    """The program could not read a run. The message is the program's line."""


@dataclass(frozen=True)
class Run:
    """What a run measured."""

    trials: "pandas.DataFrame"
    """A row for each trial, also those that failed or are not valid: see ``status``."""

    seconds: "pandas.DataFrame"
    """A row for each second of each trial and kind of operation."""


def load(*runs: Union[str, "os.PathLike[str]"]) -> Run:
    """Reads run folders or bundles, one or several, into data frames.

    Raises ExportError if one of them is no run, and ImportError without pandas
    (``pip install trueput[pandas]``).
    """
    if not runs:
        raise TypeError("load() takes the folder or the bundle of a run at least")
    return Run(trials=_export(runs), seconds=_export(runs, "--per-second"))


def _program() -> str:
    """The program of this package; else the one that the shell would find."""
    own = shutil.which("trueput", path=sysconfig.get_path("scripts"))
    found = own or shutil.which("trueput")
    if found is None:
        raise FileNotFoundError("the program trueput is not in PATH")
    return found


def _export(runs, *options) -> "pandas.DataFrame":
    import pandas

    paths = [os.fspath(run) for run in runs]
    command = [_program(), "export", "--format", "csv", *options, "--", *paths]
    exported = subprocess.run(command, capture_output=True, check=False)
    if exported.returncode != 0:
        words = exported.stderr.decode(errors="replace").strip()
        raise ExportError(words.replace("trueput: ", "", 1) or f"{command}: {exported.returncode}")
    table = pandas.read_csv(io.BytesIO(exported.stdout), low_memory=False)
    for column in table.columns.intersection(["run_started_at", "started_at"]):
        table[column] = pandas.to_datetime(table[column], format="ISO8601", utc=True)
    return table
