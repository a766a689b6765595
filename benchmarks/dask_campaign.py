"""A campaign of many targets on 1, 2 and 4 Dask workers: efficiency, and a worker killed on the way.

The targets are random grids, with CG S on all nodes.  Each number of workers has a scheduler, workers of one thread
each as processes of this machine, and an empty store; the efficiency is the rate of targets per worker over that of one
worker.  With as many workers as cores one is killed (SIGKILL) in about the middle, and another one joins: all
targets must have a row, and its simulated time must be the same to the last bit.  10,000 targets take hours; a rate is
known after a few hundred.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

_PORT = 18786
_STEP_S = 0.5


def campaign(folder: Path, targets: int) -> Path:
    """Write the campaign's file and return it."""
    path = folder / "campaign.toml"
    random = f"[random]\ncount = {targets}\nseed = 1\nclusters = [2, 4]\nnodes = [2, 8]\n"
    path.write_text(f'apps = ["cg"]\nclasses = ["S"]\npredictors = ["hcf"]\n{random}')
    return path


def started(words: list[str]) -> subprocess.Popen[bytes]:
    """Start a process of Dask."""
    return subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def worker(address: str, scratch: Path) -> subprocess.Popen[bytes]:
    """Start a worker of one thread without a nanny, so that a killed one stays away."""
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(scratch)]
    return started(["distributed.cli.dask_worker", address, *options])


def run(file: Path, folder: Path, workers: int, kill_after_s: float | None = None) -> tuple[float, list[str]]:
    """Run the campaign; return its wall time, s, and the simulated time of every target in the order of the rows.

    A worker is killed after ``kill_after_s``, and another one begins.
    """
    folder.mkdir()
    address = f"tcp://127.0.0.1:{_PORT}"
    scheduler = started(["distributed.cli.dask_scheduler", "--port", str(_PORT), "--no-dashboard"])
    time.sleep(4 * _STEP_S)
    alive = [worker(address, folder) for _ in range(workers)]

    def kill_one() -> None:
        os.kill(alive[0].pid, signal.SIGKILL)
        alive.append(worker(address, folder))

    killer = threading.Timer(kill_after_s or 0.0, kill_one)
    try:
        begun = time.perf_counter()
        if kill_after_s is not None:
            killer.start()
        command = [sys.executable, "-m", "gridval", "series", "campaign", str(file), "--scheduler", address]
        command += ["--store", str(folder / "store"), "--out", str(folder / "out")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took_s = time.perf_counter() - begun
    finally:
        killer.cancel()
        for process in (*alive, scheduler):
            process.kill()
            process.wait()
    with open(folder / "out" / "results.csv", newline="") as lines:
        return took_s, [row["simulated_s"] for row in csv.DictReader(lines)]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000, help="of the campaign (default: %(default)s)")
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers (default: %(default)s)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dask-campaign-") as name:
        folder = Path(name)
        file = campaign(folder, args.targets)
        first: tuple[int, float, list[str]] | None = None
        for workers in map(int, args.workers.split(",")):
            took_s, rows = run(file, folder / f"{workers}", workers)
            first = (workers, took_s, rows) if first is None else first
            efficiency = first[0] * first[1] / (workers * took_s)
            said = f"{len(rows)} targets in {took_s:.1f} s, efficiency {100 * efficiency:.0f} %"
            print(f"{workers} workers: {said}", flush=True)
        assert first is not None
        cores = os.cpu_count() or 1
        took_s, rows = run(file, folder / "killed", cores, first[0] * first[1] / cores / 2)
        same = "the same" if rows == first[2] else "NOT the same"
        print(f"{cores} workers, one of them killed: {len(rows)} targets in {took_s:.1f} s, results {same}")


if __name__ == "__main__":
    main()
