"""Measured times of patterns: calls that several nodes make at once."""

from readers.common import file_of, seeds

from apps.calibrate.patterns.platform_file import fitted_rows, sharing_of
from apps.calibrate.patterns.rows import read_rows

SEEDS = seeds("examples/real/saturation-taurus.csv")
WORDS = (
    "cluster,pattern,size_bytes,active_ranks,time_median_s", "send,", "sendrecv_same", "sendrecv_diff,", "alltoall",
    "time_p10_s", "nan", "inf", "1e999", "-1", "9" * 30, '"', ",", "\0",
)  # fmt: skip


def read(content: bytes) -> None:
    rows = read_rows([str(file_of(content, ".csv"))], "taurus")
    if any(row.call.pattern == "send" for row in fitted_rows(rows, 4)):
        sharing_of(fitted_rows(rows, 4), 1e-5)
