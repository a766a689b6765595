"""Text output of ping-pong benchmarks: OSU, IMB and NetPIPE.  All of them print half a round trip.

OSU Micro-Benchmarks, osu_latency: lines ``SIZE LATENCY`` in us after a header (example: QLogic's user guide IB0054606).
Intel MPI Benchmarks, PingPong: lines ``#bytes #repetitions t[usec] Mbytes/sec`` (its user guide, "Output").
NetPIPE: lines ``1: 4 bytes 1000 times --> 2.5 Mbps in 12.2 usec``, and its file np.out with lines of bytes, Mbit/s and
s (netpipe.c of NetPIPE 3.7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apps.calibrate.readers.sample import Sample, sample
from platforms.errors import UserError

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
