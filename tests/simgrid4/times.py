"""Simulated times and energies of every kernel on every scenario, as CSV on standard output.

With SimGrid 3.32: ``python tests/simgrid4/times.py > tests/simgrid4/times-3.32.csv``.
"""

import csv
import sys
from collections.abc import Iterator
from itertools import product

from apps.errors import KernelError
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem, sized_problem
from apps.results.record import RunRecord
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import accepts, declared_names
from platforms.grids.scenario import SCENARIOS, named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

COLUMNS = ("app", "problem", "scenario", "network", "engine", "ranks", "simulated_s", "time_s", "energy_j")
NETWORKS = ("metro", "continental", "infiniband", "ideal", "fast-ethernet")  # and gigabit, on the smallest scenario
SIZES = {"dot": 10**6, "fft": 2**16, "himeno": 65, "hpl": 960, "summa": 960}  # sizes with short runs
SEND_MODES_RANKS = 2  # a sender and a receiver


def cases() -> Iterator[dict[str, str]]:
    """Yield the cases to run: the first columns of the table."""
    smallest = SCENARIOS[0]
    settings = [*product(SCENARIOS, ["gigabit"], ["smpi"]), *product([smallest], NETWORKS, ["smpi"])]
    settings += [(smallest, "gigabit", "s4u")]
    for scenario, network, engine in settings:
        for name, label in _problems(scenario):
            if engine == "smpi" or name in declared_names():
                yield dict(zip(COLUMNS, (name, label, scenario, network, engine), strict=False))


def _problems(scenario: str) -> Iterator[tuple[str, str]]:
    """Yield the kernels with a class or size: the smallest class that allows the scenario's number of ranks."""
    ranks = sum(cluster.nodes for cluster in named_grid(scenario).clusters)
    for name in ("bt", "cg", "dt", "ep", "ft", "is", "lu", "mg", "sp"):
        yield name, next(preset for preset in named_kernel(name).classes if _can(problem(name, preset), ranks))
    yield from (("sendmodes", mode) for mode in named_kernel("sendmodes").classes)
    for name, size in {**SIZES, "fem": 10 * ranks}.items():
        if _can(_problem(name, str(size)), ranks):
            yield name, str(size)


def _can(asked: Problem, ranks: int) -> bool:
    """Return whether a problem can run on this number of ranks.

    LU needs planes of more than two points on each rank, so that class S allows up to 16 ranks.
    """
    if asked.name in ("bt", "dt", "sp"):
        return accepts(asked, ranks)
    return asked.allows(ranks) and not (asked.name in ("lu", "mg") and asked.preset == "S" and ranks > 16)


def _problem(name: str, label: str) -> Problem:
    if named_kernel(name).size_parameter is None:
        return problem(name, label)
    return sized_problem(name, int(label), **({"niter": 20} if name == "fem" else {}))


def record_of(case: dict[str, str]) -> RunRecord:
    """Simulate one row and return its record."""
    platform = materialise(named_grid(case["scenario"], case["network"]))
    ranks = SEND_MODES_RANKS if case["app"] == "sendmodes" else len(platform.hosts)
    target = Target(_problem(case["app"], case["problem"]), platform, block(platform, ranks))
    return simulate(Settings(engine=case["engine"]).spec(target))


def main() -> None:
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for case in cases():
        try:
            record = record_of(case)
        except KernelError as err:
            print(f"left out: {err}", file=sys.stderr)
            continue
        numbers = (len(record.host), record.simulated_s, record.time_s, record.used_energy_j)
        writer.writerow({**case, **dict(zip(COLUMNS[5:], numbers, strict=True))})
        sys.stdout.flush()


if __name__ == "__main__":
    main()
