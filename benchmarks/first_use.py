"""Time of the first and of later uses of every predictor, as commands in processes of their own.

Each predictor predicts CG of class S on eight nodes with a cache folder of its own, and without a store: with a fresh
folder, in which everything is compiled; with one that the set-up has prepared (`python -m predictor.prepare`); and once
more.  Shown are wall seconds, and in brackets processor seconds of the command and all its children, which other work
on the machine disturbs less.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from predictor.registry import PREDICTORS

COMMAND = ("gridval", "predict", "--scenario", "grid4x2", "--app", "cg", "--class", "S", "--no-store", "--predictor")


def run(cache: Path, *command: str) -> tuple[str, str]:
    """Run a module with arguments; return its times, and its error line if it fails."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", *command], env={**os.environ, "GRID_VALIDATOR_CACHE": str(cache)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{wall_s:.1f} ({cpu_s:.1f})", done.stderr.strip().splitlines()[-1] if done.returncode else ""


def row(name: str, folder: Path) -> str:
    """Return the line of the table for a predictor."""
    fresh, prepared = folder / f"{name}-fresh", folder / f"{name}-prepared"
    shutil.copytree(folder / "prepared", prepared)
    first, error = run(fresh, *COMMAND, name)
    if error:
        return f"| {name} | {error} | | |"
    after_setup, _ = run(prepared, *COMMAND, name)
    second, _ = run(prepared, *COMMAND, name)
    return f"| {name} | {first} | {after_setup} | {second} |"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictor", default=",".join(PREDICTORS), help="predictors (default: all)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        took, error = run(folder / "prepared", "predictor.prepare")
        print(error or f"predictor.prepare: {took}")
        print("| predictor | first use, fresh cache folder, s | first use after the set-up, s | second use, s |")
        print("| --- | ---: | ---: | ---: |")
        for one in args.predictor.split(","):
            print(row(one, folder), flush=True)


if __name__ == "__main__":
    main()
