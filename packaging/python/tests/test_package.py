"""The package on a real run: the newest below the folder that TRUEPUT_RESULTS names."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import jsonschema
import trueput

RUN = max(Path(os.environ["TRUEPUT_RESULTS"]).iterdir())

# A name that ends in none of these is of a text, a count, a truth value, a ratio or a number.
UNITS = ("_s", "_ns", "_bytes", "_per_s", "_percent")


def schema(kind: str) -> Any:
    printed = subprocess.run(["trueput", "schema", kind], check=True, stdout=subprocess.PIPE)
    return json.loads(printed.stdout)


class PackageTest(unittest.TestCase):
    def test_a_run_becomes_two_data_frames_whose_columns_have_units(self) -> None:
        run = trueput.load(RUN)
        trials = [json.loads(line) for line in (RUN / "trials.jsonl").read_text().splitlines()]
        self.assertEqual(len(run.trials), len(trials))
        self.assertEqual(
            list(run.trials["elapsed_s"]), [it["measurement"]["elapsed_s"] for it in trials]
        )
        self.assertIn("UTC", str(run.trials["run_started_at"].dtype))
        times = [name for name in run.trials.columns if "elapsed" in name or "_p99" in name]
        self.assertTrue(times)
        for name in times:
            self.assertTrue(name.endswith(UNITS), name)
        self.assertTrue((run.seconds["until_s"] > run.seconds["from_s"]).all())

    def test_records_are_those_of_the_run_and_of_its_rows(self) -> None:
        run = trueput.load(RUN)
        records = run.records
        self.assertEqual(records, trueput.read(RUN))
        self.assertEqual(list(run.trials["trial"]), [it["spec"]["id"] for it in records])
        twice = trueput.read(RUN, RUN)
        self.assertEqual(twice, records + records)
        manifest = trueput.read_manifest(RUN)
        planned = {spec["id"] for spec in manifest["trials"]}
        self.assertEqual(planned, {it["spec"]["id"] for it in records})

    def test_another_validator_agrees_with_the_schemas_and_refuses_a_broken_record(self) -> None:
        kinds = {"export": trueput.read(RUN)[0], "run": trueput.read_manifest(RUN)}
        for kind, value in kinds.items():
            allowed = schema(kind)
            jsonschema.Draft202012Validator.check_schema(allowed)
            jsonschema.validate(value, allowed, jsonschema.Draft202012Validator)
            broken: Any = {**value, "format": "2"}
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(broken, allowed, jsonschema.Draft202012Validator)

    def test_every_schema_is_a_schema(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["trueput", "schema", "--output", folder], check=True)
            files = sorted(Path(folder).iterdir())
            self.assertGreater(len(files), 10)
            for file in files:
                jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))

    def test_what_is_no_run_is_refused_with_the_line_of_the_program(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for function in (trueput.load, trueput.read):
                with self.assertRaisesRegex(trueput.ExportError, "^.*not a run folder: .*$"):
                    function(folder)
        with self.assertRaisesRegex(TypeError, "at least"):
            trueput.read()


if __name__ == "__main__":
    unittest.main()
