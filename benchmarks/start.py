"""Time of short commands, as medians of interleaved rounds: another checkout, this one, and its resident process.

Each checkout needs its own environment (`make setup`).  Every command runs three times before it is measured, so that
programs are compiled, simulations are in the store, and the resident process has imported what the command needs.  The
processor time of the resident process and of its copies is counted.  Time is in parentheses.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1]
GRID = ("predict", "--scenario")
COMMANDS = {
    "import gridval": ("python", "-c", "import gridval"),
    "gridval predict --help": ("gridval", "predict", "--help"),
    "gridval scale --help": ("gridval", "scale", "--help"),
    "predict, CG S on grid4x2": ("gridval", *GRID, "grid4x2", "--app", "cg", "--class", "S"),
    "predict by dpgraph, MG A on grid4x8": (
        *("gridval", *GRID, "grid4x8", "--app", "mg", "--class", "A", "--predictor", "dpgraph"),
    ),
    "the same by structural": (
        *("gridval", *GRID, "grid4x8", "--app", "mg", "--class", "A", "--predictor", "structural"),
    ),
    "run --scenario all": ("gridval", "run", "--scenario", "all"),
}


WARM = 3  # rounds that are not measured
SLEEP_S = 0.1  # after a command, for the resident process to note its end


def used_s(checkout: Path, folder: Path, command: tuple[str, ...], switch: str) -> tuple[float, float]:
    """Return processor time and time of a command of a checkout, s, with all its children and the resident process."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "CI")}
    environment |= {"GRID_VALIDATOR_CACHE": str(folder), "GRIDVAL_WORKER": switch}
    residents, before, began_s = resident_s(folder), resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [checkout / ".venv" / "bin" / command[0], *command[1:]], cwd=checkout, env=environment, check=True,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    wall_s = time.monotonic() - began_s
    time.sleep(SLEEP_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used + resident_s(folder) - residents, wall_s


def resident_s(folder: Path) -> float:
    """Return the processor time of resident processes with a socket below a folder, and of their copies, s."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"serve('{folder}/resident')".encode() in path.read_bytes():
                fields = (path.parent / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))  # its own and its children's, proc(5)
        except OSError:  # it has ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--pairs", type=int, default=9)
    args = parser.parse_args()
    print("| processor time (time), s | before | now | by the resident process |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # a socket's path is short
        here = Path(name) / "now"
        ways = [(args.before.resolve(), Path(name) / "before", "0"), (HERE, here, "0"), (HERE, here, "")]
        for what, command in COMMANDS.items():
            times: list[list[tuple[float, float]]] = [[] for _ in ways]
            for _ in range(args.pairs + WARM):
                for measured, (checkout, folder, switch) in zip(times, ways, strict=True):
                    measured.append(used_s(checkout, folder, command, switch))
            columns = [[statistics.median(part) for part in zip(*each[WARM:], strict=True)] for each in times]
            shown = " | ".join(f"{used:.3f} ({wall:.3f})" for used, wall in columns)
            print(f"| {what} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
