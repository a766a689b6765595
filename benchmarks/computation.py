"""Compare the measured computation of ten small programs in SMPI with the same work under mpirun.

    python benchmarks/computation.py --ranks 1,2,16,64 --out computation.csv

Each program works on 2 KB to 8 MB a rank between two barriers (benchmarks/computation.c), compiled with -O0 to -O3.
The reference is the median of rank 0 under an ordinary MPI, the least of four runs with one rank and with two.  It
prints the errors, and which of the cases carry a caution.
"""

import argparse
import csv
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.results.timed import Timed
from apps.runs.cautions import FOLDED_REL, SPREAD_REL
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
TIMES = {2048: 400, 16384: 300, 131072: 120, 1 << 20: 60, 8 << 20: 16}


def real_s(folder: Path, kernel: int, size: int, nranks: int) -> float:
    """Return the median time of rank 0's work under mpirun, s."""
    binary = folder / f"real-{kernel}"
    if not binary.exists():
        flags = [LEVELS[kernel], f"-DKERNEL={kernel}"]
        subprocess.run(["mpicc", *flags, "-o", binary, SOURCE, "-lm"], check=True)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(nranks), binary, size, TIMES[size]]
    done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def simulated(folder: Path, kernel: int, size: int, nranks: int) -> tuple[float, Timed]:
    """Return the replayed time of rank 0's work, s, and what is known of it."""
    source = folder / f"kernel-{kernel}.c"
    source.write_text(f"#define KERNEL {kernel}\n" + SOURCE.read_text())
    program = read_program(source, f"{size} {TIMES[size]}", flags=f"{LEVELS[kernel]} -lm")
    platform = neutral_platform(nranks)
    target = Target(own_problem(program), platform, tuple(host.name for host in platform.hosts))
    work = with_work(RunSpec(target, compute="measured", host_speed_flops=1e9)).work
    middle_s = statistics.median(work.steps[0]["time_s"])
    return middle_s, Timed(True, work.spread_rel, work.folded_rel)


def main() -> None:
    """Measure, write the table, and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="1,2,16,64")
    parser.add_argument("--kernels", default=",".join(map(str, range(len(KINDS)))))
    parser.add_argument("--sizes", default=",".join(map(str, TIMES)))
    parser.add_argument("--out", default="computation.csv")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name, Path(asked.out).open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(
            ("program", "kind", "flags", "bytes", "ranks", "real_s", "simulated_s", "error_pct", "caution", "wall_s")
        )
        for kernel in map(int, asked.kernels.split(",")):
            for size in map(int, asked.sizes.split(",")):
                real = min(real_s(Path(name), kernel, size, nranks) for nranks in (1, 2, 1, 2))
                for nranks in map(int, asked.ranks.split(",")):
                    began_s = time.perf_counter()
                    made_s, timed = simulated(Path(name), kernel, size, nranks)
                    wall_s = time.perf_counter() - began_s
                    caution = timed.spread_rel > SPREAD_REL or timed.folded_rel > FOLDED_REL
                    error_pct = 100 * (made_s - real) / real
                    rows.append((abs(error_pct), caution))
                    table.writerow(
                        (kernel, KINDS[kernel], LEVELS[kernel], size, nranks, real, made_s, error_pct, caution, wall_s)
                    )
                    file.flush()
                    print(
                        f"{kernel} {KINDS[kernel]:11} {LEVELS[kernel]} {size:8} B {nranks:3} ranks: "
                        f"{1e6 * real:10.3f} us, {1e6 * made_s:10.3f} us, {error_pct:+6.1f} %"
                        f"{' caution' if caution else ''}",
                        flush=True,
                    )
    errors = [error for error, _ in rows]
    sure = [error for error, caution in rows if not caution]
    print(f"{len(rows)} cases: median {statistics.median(errors):.1f} %, largest {max(errors):.1f} %")
    print(
        f"{len(sure)} without a caution: largest {max(sure, default=0):.1f} %, above 15 %: {sum(e > 15 for e in sure)}"
    )


if __name__ == "__main__":
    main()
