"""Time the evaluation of an application of blocks, by the number of processes.

Wall time of placing and evaluating in a process that has done so before, the shortest of five, of the two applications
of examples/blocks.  The limits are those that the tests keep.
"""

import argparse
import tempfile
import time
from pathlib import Path

from platforms.system.convert import system_named
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.setting import Setting

EXAMPLES = Path(__file__).parents[1] / "examples" / "blocks"
LIMITS_S = {12_800: 0.05, 10_000_000: 1.0}  # slaves: wall time allowed
SYSTEM = """
[lan]
network = "gigabit-ethernet"
[[lan.node]]
name = "master"
cpu = "xeon-e5-1620"
slots = {{ master = 1 }}
[[lan.node]]
name = "slave"
count = {nodes}
cpu = "core-i7-2600k"
slots = {{ slave1 = {slots}, worker = {slots} }}
"""


def system(processes: int):
    """Return a system with a slot for each process."""
    nodes = min(12_800 if processes % 12_800 == 0 else 8192, processes)  # with equal numbers of processes if possible
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "system.toml"
        path.write_text(SYSTEM.format(nodes=nodes, slots=-(-processes // nodes)))
        return system_named(str(path))


def wall_s(application, machine_room, *, model: str, times: int = 5) -> float:
    """Return the shortest wall time of several evaluations, scheduling included, s."""
    best = float("inf")
    for _ in range(times + 1):
        started = time.perf_counter()
        evaluate(application, Setting(application, machine_room).machine(model))
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Run the benchmark."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    master_slave = read_application(EXAMPLES / "master-slave.toml")
    print(f"{'application':20} {'model':9} {'processes':>10} {'wall s':>9} {'limit s':>8}")
    for model in ("hardware", "simgrid", "galera+"):
        for slaves in (100, 12_800, 1_000_000, 10_000_000):
            application = master_slave.changed(counts={"slave1": slaves})
            took_s = wall_s(application, system(slaves), model=model)
            limit = LIMITS_S.get(slaves, "")
            print(f"{'master-slave':20} {model:9} {slaves:>10} {took_s:>9.4f} {limit:>8}")
    divide = read_application(EXAMPLES / "divide-and-conquer.toml")
    for levels in (4, 8, 14, 20):
        application = divide.changed(variables={"levels": levels})
        took_s = wall_s(application, system(2**levels), model="hardware")
        print(f"{'divide-and-conquer':20} {'hardware':9} {2**levels:>10} {took_s:>9.4f}")


if __name__ == "__main__":
    main()
