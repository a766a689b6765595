"""Users' own tables in CSV: measured run times, and run times by number of nodes."""

import csv
from contextlib import suppress

from readers.common import file_of, seeds

from platforms.errors import UserError
from platforms.files.commented_csv import numbered_rows
from predictor.failures.run_times import read_times
from validation.comparison.truth import read_measured

SEEDS = seeds("examples/jacobi/measured.csv", "tests/hostile/corpus/times*.csv")
WORDS = (
    "nodes,time_s", "app,platform,ranks,time_s", "class", "#", '"', '""', ",", "\r\n", "\r", "nan", "inf", "1e999",
    "\0",
)  # fmt: skip


def read(content: bytes) -> None:
    path = file_of(content, ".csv")
    with suppress(UserError):
        read_times(str(path)).repeated(2)
    with suppress(csv.Error, UnicodeDecodeError):
        numbered_rows(content.decode())
    read_measured(path)
