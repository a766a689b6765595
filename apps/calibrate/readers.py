"""Read measured times from files of any known format."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from apps.calibrate.points import CALLS, Measured, points_of
from platforms.errors import UserError, nearest
from platforms.files.commented_csv import check_columns, parsed_table
from platforms.files.reading import input_text

# CSV files: with named columns, and those of SimGrid's platform-calibration.
#
# The program of platform-calibration (https://framagit.org/simgrid/platform-calibration) writes one line per call,
# without a header: the function, the size in bytes, the date of its start and its duration in s.  Its file PingPong has
# an MPI_Send and the MPI_Recv after it with one date; Recv has MPI_Recv of messages that have already arrived, Isend
# has MPI_Isend.

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


# Text output of ping-pong benchmarks: OSU, IMB and NetPIPE.  All of them print half a round trip.
#
# OSU Micro-Benchmarks, osu_latency: lines ``SIZE LATENCY`` in us after a header (example: QLogic's user guide
# IB0054606). Intel MPI Benchmarks, PingPong: lines ``#bytes #repetitions t[usec] Mbytes/sec`` (its user guide,
# "Output"). NetPIPE: lines ``1: 4 bytes 1000 times --> 2.5 Mbps in 12.2 usec``, and its file np.out with lines of
# bytes, Mbit/s and s (netpipe.c of NetPIPE 3.7).

_US = 1e-6
_OSU_TITLE = re.compile(
    r"#\s*OSU MPI\b.*?\b(?P<test>Latency|Bandwidth|Bi-Directional|Message Rate|\w+) ?", re.IGNORECASE
)
_OSU_COLUMNS = re.compile(r"#\s*Size\s+(Avg )?Latency ?\(us\)", re.IGNORECASE)
_IMB_SECTION = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)")
_IMB_COLUMNS = re.compile(r"#bytes\s+#repetitions\s+t\[usec\]")
_NETPIPE = re.compile(
    r"\s*\d+:\s+(?P<size>\d+)\s+(?:bytes|B)\s+\d+\s+times\s+-->\s+[\d.]+\s+[KMG]?bps\s+in\s+(?P<time>\S+)\s+(?P<unit>\w+)"
)
_NETPIPE_UNITS = {"usec": _US, "usecs": _US, "msec": 1e-3, "msecs": 1e-3, "sec": 1.0, "secs": 1.0}
_NP_OUT_FIELDS = 3
_NEAR = 0.15  # NetPIPE counts 2^20 bits as one Mbit: 5 % away from 10^6


def is_osu(text: str) -> bool:
    """Return whether this is the output of an OSU benchmark."""
    return any(_OSU_TITLE.match(line) for line in text.splitlines())


def is_imb(text: str) -> bool:
    """Return whether this is the output of Intel's benchmarks."""
    return any(_IMB_SECTION.match(line) for line in text.splitlines())


def is_netpipe(text: str) -> bool:
    """Return whether this is the output of NetPIPE, or its file np.out."""
    lines = [line for line in text.splitlines() if line.strip()]
    return any(_NETPIPE.match(line) for line in lines) or (bool(lines) and _np_out_fields(lines[0]) is not None)


def osu_samples(path: str, text: str) -> Iterator[Sample]:
    """Yield the samples of osu_latency.

    Raises:
        UserError: It is the output of another OSU benchmark, or a line has another form.
    """
    lines = text.splitlines()
    if not any(_OSU_COLUMNS.match(line) for line in lines):
        title = next(line for line in lines if _OSU_TITLE.match(line)).strip("# ")
        raise UserError(path, f"{title!r} has no column Latency (us)", "Give the output of osu_latency")
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or line.lstrip().startswith("#"):
            continue
        if len(fields) < 2:
            raise UserError(f"{path}:{number}", f"{line.strip()!r} is not SIZE LATENCY", "Take the line out")
        yield sample(f"{path}:{number}", "pingpong", fields[0], fields[1], unit_s=2 * _US)


def imb_samples(path: str, text: str) -> Iterator[Sample]:
    """Yield the samples of the sections PingPong; others are left out.

    Raises:
        UserError: There is no such section, or a line of it has another form.
    """
    section, in_table, names = "", False, []
    for number, line in enumerate(text.splitlines(), 1):
        match = _IMB_SECTION.match(line)
        if match:
            section, in_table = match["name"], False
            names.append(section)
        elif _IMB_COLUMNS.match(line.strip()):
            in_table = section == "PingPong"
        elif not line.strip() or line.lstrip().startswith("#"):
            in_table = False
        elif in_table:
            fields = line.split()
            if len(fields) != 4:
                problem = f"{line.strip()!r} is not BYTES REPETITIONS TIME MBYTES/S"
                raise UserError(f"{path}:{number}", problem, "Take the line out")
            yield sample(f"{path}:{number}", "pingpong", fields[0], fields[2], unit_s=2 * _US)
    if "PingPong" not in names:
        raise UserError(path, f"only the benchmarks {', '.join(names)}", "Give the output of IMB-MPI1 PingPong")


def netpipe_samples(path: str, text: str) -> Iterator[Sample]:
    """Yield the samples of NetPIPE's output or of its file np.out.

    Raises:
        UserError: A line has another form.
    """
    printed = any(_NETPIPE.match(line) for line in text.splitlines())
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if not line.strip():
            continue
        if printed:
            match = _NETPIPE.match(line)
            if match is None:
                if "-->" in line:
                    raise UserError(where, "not BYTES bytes N times --> X Mbps in T usec", "Take the line out")
                continue  # headings
            if match["unit"] not in _NETPIPE_UNITS:
                raise UserError(where, f"no unit {match['unit']!r}", f"Known: {', '.join(_NETPIPE_UNITS)}")
            yield sample(where, "pingpong", match["size"], match["time"], unit_s=2 * _NETPIPE_UNITS[match["unit"]])
        else:
            fields = _np_out_fields(line)
            if fields is None:
                problem = "not three numbers of which the second is the throughput of the others"
                raise UserError(where, problem, "Give bytes, Mbit/s and seconds, as NetPIPE's np.out has them")
            yield sample(where, "pingpong", fields[0], fields[2], unit_s=2.0)


def _np_out_fields(line: str) -> list[str] | None:
    """Return bytes, Mbit/s and s of a line of np.out; None for other lines."""
    fields = line.split()
    try:
        size, mbits, time_s = map(float, fields)
    except ValueError:
        return None
    if len(fields) != _NP_OUT_FIELDS or not time_s > 0:
        return None
    expected = size * 8 / time_s / 1e6
    return fields if abs(mbits - expected) <= _NEAR * max(expected, mbits, 1e-3) else None


MOST_BYTES = 2**31 - 1  # of a message: SMPI's thresholds and MPI's counts are ints


@dataclass(frozen=True)
class Sample:
    """A measured time of one call."""

    call: str  # of CALLS; pingpong is a round trip
    size_bytes: int
    time_s: float
    cluster: str | None = None  # None: the file does not name it


def sample(where: str, call: str, size: str, time: str, *, unit_s: float = 1.0, cluster: str | None = None) -> Sample:
    """Return a checked sample.

    Args:
        where: File and line, for error messages.
        call: The call.
        size: Message size in bytes, as text.
        time: The time, as text.
        unit_s: Seconds per unit of ``time``; twice as many if the file has half a round trip.
        cluster: Name of the cluster, if the file has it.

    Raises:
        UserError: A value is invalid.
    """
    if call not in CALLS:
        raise UserError(where, f"no call {call!r}", nearest(call, CALLS))
    try:
        number = float(size)
    except ValueError:
        number = math.nan
    if not (0 <= number <= MOST_BYTES and number == int(number)):
        raise UserError(where, f"the size is {size!r}", f"Give whole bytes, from 0 to {MOST_BYTES}")
    try:
        time_s = float(time) * unit_s
    except ValueError:
        time_s = math.nan
    if not 1e-12 < time_s < 1e6:
        raise UserError(where, f"the time is {time!r}", "Give a positive one; leave out calls that were not timed")
    return Sample(call, int(number), time_s, cluster)


FEWEST_SIZES = 8  # of a call: fewer do not determine its curve
_Reader = Callable[[str, str], Iterator[Sample]]


def read_samples(paths: Sequence[str], cluster: str) -> list[Sample]:
    """Return the measured times of one cluster, in the order of the files.

    Args:
        paths: Files, each with times of any calls.
        cluster: Name of the cluster; rows that name another one are left out.

    Raises:
        UserError: A file cannot be read, a line is wrong, or the cluster is not in the files.
    """
    samples = [sample for path in paths for sample in _samples(path)]
    clusters = dict.fromkeys(sample.cluster for sample in samples if sample.cluster is not None)
    if clusters and cluster not in clusters:
        raise UserError(f"--cluster {cluster}", f"not in {', '.join(paths)}", nearest(cluster, clusters))
    return [sample for sample in samples if sample.cluster in (None, cluster)]


def measured_of(samples: Iterable[Sample], where: str) -> Measured:
    """Return the points of samples by call, in the order of CALLS.

    Args:
        samples: Measured times of one cluster.
        where: Their files, for error messages.

    Raises:
        UserError: There is no ping-pong, or a call has less than FEWEST_SIZES sizes.
    """
    values: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for sample in samples:
        values[sample.call].append((sample.size_bytes, sample.time_s))
    if "pingpong" not in values:
        raise UserError(where, "no times of a ping-pong", "Give them too: they show latency and bandwidth")
    measured = {call: points_of(values[call]) for call in CALLS if call in values}
    for call, points in measured.items():
        if len(points) < FEWEST_SIZES:
            problem = f"only {len(points)} {'size' if len(points) == 1 else 'sizes'} of {call}"
            raise UserError(where, problem, f"Give at least {FEWEST_SIZES}, or leave the call out")
    return measured


def _samples(path: str) -> list[Sample]:
    try:
        text = input_text(path)
    except OSError as err:
        raise UserError(path, f"cannot be read: {err.strerror}", "Give a file of measured times") from err
    except UnicodeDecodeError:
        raise UserError(path, "not text in UTF-8", "Give a file of measured times") from None
    return list(_reader(path, text)(path, text))


def _reader(path: str, text: str) -> _Reader:
    """Return the reader of the file's format."""
    lines = (line for line in text.splitlines() if line.strip())
    content = [line for line in lines if not line.startswith("#")][:1] or [""]
    if is_benchmark_csv(content[0]):
        return benchmark_samples
    if is_named_csv(content[0]):
        return named_samples
    if is_calibration_csv(content[0]):
        return calibration_samples
    for recognises, reader in ((is_osu, osu_samples), (is_imb, imb_samples), (is_netpipe, netpipe_samples)):
        if recognises(text):
            return reader
    remedy = (
        "Give CSV with the columns call, size_bytes, time_s, or output of platform-calibration, OSU, IMB or NetPIPE"
    )
    raise UserError(path, "not a known format of measured times", remedy)
