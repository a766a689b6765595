"""Compare the measured computation of ten small programs in SMPI with the same work under mpirun.

    python benchmarks/computation.py --ranks 1,2,16,64 --out computation.csv

Each program works on 2 KB to 8 MB a rank between two barriers (benchmarks/computation.c), compiled with -O0 to -O3.
The reference is the median of rank 0 under an ordinary MPI with one rank, and of that the median over runs: one before
each case, so that both see the same state of the computer.  It prints the errors, and how well the cautions separate.
"""

import argparse
import csv
import itertools
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.cautions import SPREAD_REL
from apps.runs.computation import with_work
from apps.runs.neutral import neutral_platform
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target

SOURCE = Path(__file__).with_name("computation.c")
KINDS = (
    *("memory", "memory", "memory", "memory", "mixed", "computation", "computation", "memory", "computation"),
    "mixed",
)
LEVELS = ("-O2", "-O3", "-O2", "-O1", "-O2", "-O3", "-O2", "-O1", "-O0", "-O0")
SIZES = (2048, 16384, 131072, 1 << 20, 8 << 20)
LOOP_S, LEAST, MOST = 20e-3, 16, 2000  # work of a rank in a run, and numbers of times that it works


def real_s(folder: Path, kernel: int, size: int, times: int) -> float:
    """Return the median time of rank 0's work under mpirun, s."""
    binary = folder / f"real-{kernel}"
    if not binary.exists():
        flags = [LEVELS[kernel], f"-DKERNEL={kernel}"]
        subprocess.run(["mpicc", *flags, "-o", binary, SOURCE, "-lm"], check=True)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "1", binary, size, times]
    done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def simulated(folder: Path, kernel: int, size: int, times: int, nranks: int) -> tuple[float, float]:
    """Return the replayed time of rank 0's work, s, and the share by which its computation may be wrong."""
    source = folder / f"kernel-{kernel}.c"
    source.write_text(f"#define KERNEL {kernel}\n" + SOURCE.read_text())
    program = read_program(source, f"{size} {times}", flags=f"{LEVELS[kernel]} -lm")
    platform = neutral_platform(nranks)
    target = Target(own_problem(program), platform, tuple(host.name for host in platform.hosts))
    work = with_work(RunSpec(target, compute="measured", host_speed_flops=1e9)).work
    return statistics.median(work.steps[0]["time_s"]), work.spread_rel


def cases(folder: Path, kernel: int, size: int, ranks: list[int]) -> Iterator[tuple[int, float, float, float, float]]:
    """Yield ranks, the reference and how much that varies, the replayed time, and by how much this may be wrong."""
    times = min(MOST, max(LEAST, round(LOOP_S / real_s(folder, kernel, size, LEAST))))
    real, made = [], []
    for nranks in ranks:
        real.append(real_s(folder, kernel, size, times))
        made.append((nranks, *simulated(folder, kernel, size, times, nranks)))
    reference = statistics.median(real)
    for nranks, made_s, spread_rel in made:
        yield nranks, reference, (max(real) - min(real)) / reference, made_s, spread_rel


def main() -> None:
    """Measure, write the table, and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="1,2,16,64")
    parser.add_argument("--kernels", default=",".join(map(str, range(len(KINDS)))))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", default="computation.csv")
    asked = parser.parse_args()
    kernels, sizes, ranks = ([*map(int, text.split(","))] for text in (asked.kernels, asked.sizes, asked.ranks))
    rows = []
    with tempfile.TemporaryDirectory() as name, Path(asked.out).open("w", newline="") as file:
        table = csv.writer(file)
        head = ("program", "kind", "flags", "bytes", "ranks", "real_s", "real_varies_pct", "simulated_s", "error_pct")
        table.writerow((*head, "may_be_wrong_pct", "caution"))
        for kernel, size in itertools.product(kernels, sizes):
            for nranks, real, varies, made_s, spread_rel in cases(Path(name), kernel, size, ranks):
                caution, error_pct = spread_rel > SPREAD_REL, 100 * (made_s - real) / real
                rows.append((real, abs(error_pct), caution))
                row = (kernel, KINDS[kernel], LEVELS[kernel], size, nranks, real, 100 * varies, made_s, error_pct)
                table.writerow((*row, 100 * spread_rel, caution))
                file.flush()
                print(
                    f"{kernel} {KINDS[kernel]:11} {LEVELS[kernel]} {size:8} B {nranks:3} ranks: {1e6 * real:10.3f} us "
                    f"+- {50 * varies:4.1f} %, {1e6 * made_s:10.3f} us, {error_pct:+6.1f} %, "
                    f"+- {100 * spread_rel:5.1f} %{' caution' if caution else ''}",
                    flush=True,
                )
    for what, least_s in (("all", 0.0), ("from 1 us", 1e-6)):
        say(what, [(error, caution) for real, error, caution in rows if real >= least_s])


def say(what: str, rows: list[tuple[float, bool]]) -> None:
    """Print the errors, and how well the cautions separate."""
    for name, chosen in (
        (what, rows),
        ("  without a caution", [row for row in rows if not row[1]]),
        ("  with a caution", [row for row in rows if row[1]]),
    ):
        errors = [error for error, _ in chosen] or [0.0]
        above = sum(error > 15 for error in errors)
        print(
            f"{name}: {len(chosen)} cases, median {statistics.median(errors):.1f} %, largest {max(errors):.1f} %, "
            f"above 15 %: {above}, above 10 %: {sum(error > 10 for error in errors)}"
        )


if __name__ == "__main__":
    main()
