"""Recordings of finished executables and scripts with mpi4py under this computer's own MPI, beside simulations.

Each program is recorded several times under mpirun, and its replay is compared with a prediction.  Executables are
compiled here, so that their sources can be recorded in simulation too, in turns with the recordings: their calls must
be the same, and their computation is compared.

Usage: python benchmarks/native_programs.py [--ranks P] [--repeats N]
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind
from apps.replay import native_recording
from apps.runs.computation import with_work
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictor

HERE = Path(__file__).parent / "native"
ROOT = HERE.parents[1]
SCRIPTS = ("pickles", "buffers", "collectives", "cartesian", "farm")
SOURCES = (
    (HERE / "matmul.c", "mpicc", "200 60"),
    (HERE / "dots.f90", "mpif90", ""),
    (ROOT / "examples" / "jacobi" / "jacobi.c", "mpicc", "1000 300"),
)
CALLS = (Kind.SEND, Kind.RECV, Kind.WAIT, Kind.COLLECTIVE, Kind.PROBE)


def target_of(path, arguments, ranks):
    platform = materialise(named_grid("grid4x2"))
    return Target(own_problem(read_program(path, arguments)), platform, block(platform, ranks))


def computation_s(recording, spec):
    """Return the computation of all ranks, s of this computer."""
    flops = sum(float(events["amount"][events["kind"] == Kind.COMPUTE].sum()) for events in recording.events)
    return flops / spec.host_speed_flops


def calls(recording):
    names = ("kind", "mode", "op", "comm", "peer", "tag", "size_bytes")
    return [
        [tuple(int(event[name]) for name in names) for event in events[np.isin(events["kind"], CALLS)]]
        for events in recording.events
    ]


def recorded(spec):
    """Return a recording under mpirun and its computation, s."""
    native_recording._recordings.clear()
    recording = record_events(spec, 1)
    return recording, computation_s(recording, spec)


def prediction_error(target):
    settings = Settings()
    record = simulate(settings.spec(target))
    broker = Broker(settings, [target], record=simulate, recording=record_events)
    (answer,) = predict(predictor("dpgraph:known"), [target], broker)
    return (answer.prediction.time_s - record.time_s) / record.time_s


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    print(
        f"{'program':12} {'computation':>12} {'repeats':>9} {'bound':>7} {'error':>9}  beside its source in simulation"
    )
    for script in SCRIPTS:
        row(script, HERE / f"{script}.py", "", asked)
    with tempfile.TemporaryDirectory() as folder:
        for source, compiler, arguments in SOURCES:
            binary = Path(folder) / source.stem
            subprocess.run([compiler, "-O2", "-g", "-fPIC", source, "-o", binary, "-lm"], check=True)
            row(source.stem, binary, arguments, asked, source)


def row(name, path, arguments, asked, source=None):
    # Computation is compared with a rank for each core: more of them would share caches.
    ranks = asked.ranks if source is None else min(asked.ranks, max(2, os.cpu_count() or 1))
    target = target_of(path, arguments, ranks)
    spec, times_s, simulated_s, beside = Settings().spec(target), [], [], ""
    simulated = None if source is None else Settings(compute="measured").spec(target_of(source, arguments, ranks))
    for _ in range(asked.repeats):
        recording, time_s = recorded(spec)
        times_s.append(time_s)
        if simulated is not None:
            theirs = record_events(with_work(simulated), 1)
            simulated_s.append(computation_s(theirs, simulated))
    middle_s = statistics.median(times_s)
    if simulated is not None:
        same = "the same calls" if calls(theirs) == calls(recording) else "OTHER CALLS"
        ratio = middle_s / statistics.median(simulated_s)
        varies = (max(simulated_s) - min(simulated_s)) / statistics.median(simulated_s)
        beside = f"{same}, {100 * (ratio - 1):+.1f} % computation, which varies by {100 * varies:.1f} % there"
    spread = (max(times_s) - min(times_s)) / middle_s
    measured_part = f"{name:12} {middle_s:10.4f} s {100 * spread:7.1f} % {100 * recording.spread_rel:5.1f} %"
    print(f"{measured_part} {100 * prediction_error(target):+7.3f} %  {beside}", flush=True)


if __name__ == "__main__":
    main()
