"""Processor time of short commands, as medians of interleaved pairs: this checkout and another one.

Each checkout needs its own environment (`make setup`).  Every command runs once before it is measured, so that programs
are compiled and simulations are in the store.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1]
GRID = ("predict", "--scenario")
COMMANDS = {
    "import gridval": ("python", "-c", "import gridval"),
    "gridval predict --help": ("gridval", "predict", "--help"),
    "predict, CG S on grid4x2": ("gridval", *GRID, "grid4x2", "--app", "cg", "--class", "S"),
    "predict by dpgraph, MG A on grid4x8": (
        *("gridval", *GRID, "grid4x8", "--app", "mg", "--class", "A", "--predictor", "dpgraph"),
    ),
    "the same by structural": (
        *("gridval", *GRID, "grid4x8", "--app", "mg", "--class", "A", "--predictor", "structural"),
    ),
    "run --scenario all": ("gridval", "run", "--scenario", "all"),
}


def used_s(checkout: Path, folder: Path, command: tuple[str, ...]) -> float:
    """Return the processor time of a command of a checkout and of all its children, s."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["GRID_VALIDATOR_CACHE"] = str(folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [checkout / ".venv" / "bin" / command[0], *command[1:]], cwd=checkout, env=environment, check=True,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--pairs", type=int, default=9)
    args = parser.parse_args()
    print("| command | before, s | now, s |")
    print("| --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        folders = {args.before.resolve(): Path(name) / "before", HERE: Path(name) / "now"}
        for what, command in COMMANDS.items():
            times: dict[Path, list[float]] = {checkout: [] for checkout in folders}
            for _ in range(args.pairs + 1):
                for checkout, folder in folders.items():
                    times[checkout].append(used_s(checkout, folder, command))
            before_s, now_s = (statistics.median(times[checkout][1:]) for checkout in folders)
            print(f"| {what} | {before_s:.3f} | {now_s:.3f} |", flush=True)


if __name__ == "__main__":
    main()
