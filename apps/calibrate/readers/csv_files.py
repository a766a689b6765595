"""CSV files: with named columns, and those of SimGrid's platform-calibration.

The program of platform-calibration (https://framagit.org/simgrid/platform-calibration) writes one line per call,
without a header: the function, the size in bytes, the date of its start and its duration in s.  Its file PingPong has
an MPI_Send and the MPI_Recv after it with one date; Recv has MPI_Recv of messages that have already arrived, Isend has
MPI_Isend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apps.calibrate.readers.sample import Sample, sample
from platforms.errors import UserError
from platforms.files.commented_csv import check_columns, parsed_table

COLUMNS = ("call", "size_bytes", "time_s")
BENCHMARK_COLUMNS = ("benchmark", "size_bytes", "time_us")  # of a table of OSU's or IMB's results
_ONE_WAY = ("latency", "pingpong")  # benchmarks that print half of a round trip between two ranks
_CALIBRATION_LINE = re.compile(r"MPI_\w+\s*,")
_CALLS = {"MPI_Send": "send", "MPI_Isend": "isend", "MPI_Recv": "recv"}
_OTHERS = ("MPI_Wtime", "MPI_Test", "MPI_Iprobe")  # timed by the same program, but not needed for SMPI's network


def is_named_csv(line: str) -> bool:
    """Return whether the first line of a file names the columns of COLUMNS, or some of them."""
    return "," in line and bool(set(COLUMNS) & {name.strip() for name in line.split(",")})


def is_benchmark_csv(line: str) -> bool:
    """Return whether the first line of a file names the columns of BENCHMARK_COLUMNS."""
    return set(BENCHMARK_COLUMNS) <= {name.strip() for name in line.split(",")}


def is_calibration_csv(line: str) -> bool:
    """Return whether the first line of a file is one of platform-calibration."""
    return _CALIBRATION_LINE.match(line) is not None


def named_samples(path: str, text: str) -> Iterator[Sample]:
    """Yield the samples of a file with the columns call, size_bytes, time_s, and maybe cluster.

    Raises:
        UserError: A column is missing, or a value is wrong.
    """
    columns, rows = parsed_table(text, "Correct it", where=path)
    check_columns(columns, COLUMNS, path)
    for line, row in rows:
        call, size, time = (row[name] or "" for name in COLUMNS)
        yield sample(f"{path}:{line}", call.strip(), size, time, cluster=(row.get("cluster") or "").strip() or None)


def benchmark_samples(path: str, text: str) -> Iterator[Sample]:
    """Yield the ping-pongs of a table of OSU's latency and IMB's PingPong; the column network names the cluster.

    Raises:
        UserError: A column is missing, a value is wrong, or there is no ping-pong.
    """
    columns, rows = parsed_table(text, "Correct it", where=path)
    check_columns(columns, BENCHMARK_COLUMNS, path)
    count = 0
    for line, row in rows:
        if (row["benchmark"] or "").strip().lower() not in _ONE_WAY:
            continue
        count += 1
        cluster = (row.get("cluster") or row.get("network") or "").strip() or None
        size, time = row["size_bytes"] or "", row["time_us"] or ""
        yield sample(f"{path}:{line}", "pingpong", size, time, unit_s=2e-6, cluster=cluster)
    if not count:
        raise UserError(path, "no rows of latency or pingpong", "Give those of OSU's latency or of IMB's PingPong")


def calibration_samples(path: str, text: str) -> Iterator[Sample]:
    """Yield the samples of a file of platform-calibration.

    Raises:
        UserError: A line has another form.
    """
    sends: dict[tuple[str, str], str] = {}  # duration of MPI_Send by size and date
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where, fields = f"{path}:{number}", [field.strip() for field in line.split(",")]
        if len(fields) != 4:
            raise UserError(
                where, f"{len(fields)} fields", "Give four: function, size in bytes, start and duration in s"
            )
        function, size, start, duration = fields
        if function in _OTHERS:
            continue
        if function not in _CALLS:
            raise UserError(where, f"no function {function!r}", f"Known: {', '.join([*_CALLS, *_OTHERS])}")
        checked = sample(where, _CALLS[function], size, duration)
        if function == "MPI_Send":
            sends[size, start] = duration
        elif function == "MPI_Recv" and (size, start) in sends:
            sent_s = float(sends.pop((size, start)))
            yield Sample("pingpong", checked.size_bytes, sent_s + checked.time_s)
            continue
        yield checked
