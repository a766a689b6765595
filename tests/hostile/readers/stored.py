"""JSON data: calibrations of blocks, records of runs, and the final line of a kernel."""

import json
from contextlib import suppress
from pathlib import Path

from readers.common import file_of, seeds

from apps.child.process import Finished
from apps.child.verdict import final_record
from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.store.codec import DoesNotFit, as_fields, from_fields
from platforms.errors import UserError
from predictor.blocks.calibration.calibrate import read_calibration

SEEDS = seeds("tests/hostile/corpus/*.json")
WORDS = (
    "null", "true", "NaN", "Infinity", "1e999", "-1", '"\\ud800"', "[", "]", "{", "}", '"energy_j"', "[1,2,3,4,5]",
)  # fmt: skip


def read(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    with suppress(SimulationError):
        assert isinstance(final_record(Finished(0, text, "", 0.0, 0), "a run"), dict)
    with suppress(ValueError, RecursionError, DoesNotFit):
        record = from_fields(RunRecord, json.loads(text))
        assert from_fields(RunRecord, json.loads(json.dumps(as_fields(record), default=as_fields))) == record
    with suppress(UserError):
        found = read_calibration(file_of(content, ".json"))
        again = Path(file_of(b"", ".json"))
        found.write(again)
        assert repr(read_calibration(again)) == repr(found)
