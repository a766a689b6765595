"""Processor time of what must come soon, as ratios within one run, medians of five.

The tests count what the code does instead (tests/counting.py), and which modules a command imports.  Shown are the help
of every verb against the help of all verbs, work for many processes or runs against that for few, and input that is
refused against a small sound file.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from platforms.errors import UserError
from platforms.files.checked_toml import MOST_BYTES, MOST_LINE, read_toml
from platforms.grids.grid import Wire
from platforms.grids.scenario import read_grid
from platforms.system.model import System
from platforms.system.parts import ComputeUnit, Level, Node
from platforms.system.scheduler import POLICIES, schedule
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.setting import Setting
from validation.entrance.verbs import VERBS

RUNS = 5
SCRIPT = Path(sys.executable).parent / "gridval"
MASTER_SLAVE = Path(__file__).parents[1] / "examples" / "blocks" / "master-slave.toml"
CLUSTER = "[[clusters]]\nnodes = {}\nspeed_gflops = 1\n"
REFUSED = {
    "too deep": "a = " + "[" * 10_000,
    "too long a line": 'a = "' + "x" * MOST_LINE + '"',
    "too long a number": "a = " + "9" * 5000,
    "too large": "a = 1\n" * (MOST_BYTES // 6 + 1),
    "501 clusters": CLUSTER.format(1) * 501,
    "a name twice": CLUSTER.format(300_000) + '[[clusters]]\nname = "c1-7"\nnodes = 1\nspeed_gflops = 1\n',
}


def median_s(work: Callable[[], object]) -> float:
    """Return the median processor time of this work, s, after it was done once."""
    times = []
    for _ in range(RUNS + 1):
        started_s = time.process_time()
        work()
        times.append(time.process_time() - started_s)
    return statistics.median(times[1:])


def command_s(*words: str) -> float:
    """Return the median processor time of a command as a whole process, s."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([SCRIPT, *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def show(name: str, took_s: float, reference_s: float) -> None:
    """Print a line of the table."""
    print(f"| {name} | {took_s:.4f} | {took_s / reference_s:.1f} |", flush=True)


def helps() -> None:
    """Show the help of every verb against that of the command."""
    reference_s = command_s("--help")
    for name, verb in VERBS.items():
        for words in [[name, one] for one in verb.verbs] or [[name]]:
            show(f"gridval {' '.join(words)} --help", command_s(*words, "--help"), reference_s)


def room(slots: int) -> System:
    """Return 12,800 nodes with slots for slaves and one for the master."""
    slaves = ComputeUnit("cpu", "cpu", "toy", 2e9, slots=(("slave1", slots),), price_usd=100.0)
    master = ComputeUnit("cpu", "cpu", "toy", 1e9, slots=(("master", 1),), price_usd=1.0)
    nodes = (Node("slave", 12_800, (slaves,), Wire(1e9, 1e-6)), Node("master", 1, (master,), Wire(1e9, 1e-6)))
    return System("toy", Level("lan", "lan", nodes=nodes))


def many() -> None:
    """Show ten million processes against ten thousand."""
    for policy in POLICIES:

        def placed(slaves: int, policy: str = policy) -> None:
            schedule(room(800), {"master": 1, "slave1": slaves}, policy).loads()

        few_s, many_s = (median_s(lambda count=count: placed(count)) for count in (10_000, 10_000_000))
        show(f"placing 10,000,000 processes, {policy}, against 10,000", many_s, few_s)

    def evaluated(slaves: int) -> None:
        application = read_application(MASTER_SLAVE).changed(counts={"slave1": slaves})
        evaluate(application, Setting(application, room(800)).machine("hardware"))

    show(
        "evaluating 10,000,000 slaves, against 10,000",
        median_s(lambda: evaluated(10_000_000)),
        median_s(lambda: evaluated(10_000)),
    )


def refusals() -> None:
    """Show input that is refused against a small sound file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grid.toml"

        def refused(text: str) -> None:
            path.write_text(text)
            try:
                read_grid(path) if "clusters" in text else read_toml(path, "file")
            except UserError:
                return
            sys.exit(f"{text[:30]!r} was taken")

        path.write_text(CLUSTER.format(2))
        reference_s = median_s(lambda: read_grid(path))
        for name, text in REFUSED.items():
            show(f"refusing a file: {name}", median_s(lambda text=text: refused(text)), reference_s)


def main() -> None:
    """Run the benchmark."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| what | processor time, s | ratio |")
    print("| --- | ---: | ---: |")
    many()
    refusals()
    helps()


if __name__ == "__main__":
    main()
