"""Read measured times from files of any known format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from apps.calibrate.points import CALLS, Measured, points_of
from apps.calibrate.readers.benchmark_output import (
    imb_samples,
    is_imb,
    is_netpipe,
    is_osu,
    netpipe_samples,
    osu_samples,
)
from apps.calibrate.readers.csv_files import (
    benchmark_samples,
    calibration_samples,
    is_benchmark_csv,
    is_calibration_csv,
    is_named_csv,
    named_samples,
)
from apps.calibrate.readers.sample import Sample
from platforms.errors import UserError, nearest
from platforms.files.reading import input_text

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
