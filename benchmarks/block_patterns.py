"""Compare evaluations of applications in blocks with their simulation, where messages meet on links.

Prints a Markdown table: the application, the system, the errors of time and energy, and the machine times of both.
Times of evaluations are processor times, those of simulations wall times.  ``--aside`` takes the applications of the
folder ``aside`` instead, which were written from the documentation alone after the evaluation had been built.
``--costs`` prints processor times of longer runs instead.  ``--evaluator`` is that of ``gridval blocks run``;
``--only TEXT`` keeps the rows whose name holds the text.  ``--store DIR`` keeps the simulations.  ``--full`` makes
SimGrid recompute all rates at every event (its option network/optim).
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from apps.runs.runner import Runner
from apps.store import Store
from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.programs import (
    AllReduce,
    AllToAll,
    Barrier,
    Broadcast,
    Compute,
    Gather,
    If,
    Label,
    Receive,
    ReceiveAny,
    Repeat,
    Reply,
    Scatter,
    Send,
    Wait,
)
from predictor.blocks.setting import Setting
from validation.blocks.comparison import compare

EXAMPLES = Path(__file__).parents[1] / "examples"
ASIDE = Path(__file__).with_name("aside")
LABEL = "slave1"  # the only label, beside `master`, that merpsys.toml has slots for
SYSTEMS = {
    "merpsys": str(EXAMPLES / "systems" / "merpsys.toml"),
    "cluster": str(EXAMPLES / "blocks" / "cluster.toml"),
    "galera+": str(EXAMPLES / "systems" / "galera-plus.toml"),
    "grid4x8": "grid4x8",
    "tree": str(ASIDE / "systems" / "tree.toml"),
    "mesh": str(ASIDE / "systems" / "mesh.toml"),
}


def application(name, processes, steps):
    """Return an application with one label."""
    return Application(name, (Label(LABEL, processes, steps),))


def stencil(extents, size_bytes, *, turns=100, operations=2e6, buffered=False):
    """Return a halo exchange in one, two or three dimensions, with sends that wait or that do not."""
    steps, stride, processes = [], 1, 1
    for extent in extents:
        place = f"(index // {stride} % {extent})"
        up, down = f"{place} < {extent - 1}", f"{place} > 0"
        send = [Send(LABEL, size_bytes, f"index {sign} {stride}", buffered) for sign in "+-"]
        receive = [Receive(LABEL, f"index {sign} {stride}") for sign in "+-"]
        if buffered:
            steps += [If(up, (send[0],)), If(down, (send[1],)), If(up, (receive[0],)), If(down, (receive[1],))]
        else:
            even = If(up, (send[0], receive[0])), If(down, (send[1], receive[1]))
            odd = If(down, (receive[1], send[1])), If(up, (receive[0], send[0]))
            steps.append(If(f"{place} % 2 == 0", even, odd))
        stride, processes = stride * extent, processes * extent
    shape = "x".join(map(str, extents))
    steps = (Repeat(turns, (*steps, Compute(operations))),)
    return application(f"stencil {shape}, {size_bytes} bytes{', buffered' * buffered}", processes, steps)


def conjugate_gradients(processes, size_bytes=20_000, turns=30):
    """Return exchanges at distances 1, 2, 4, ..., and dot products."""
    steps, distance = [Compute(4e6)], 1
    while distance < processes:
        sides = [(Send(LABEL, size_bytes, f"index {s} {distance}", True), Receive(LABEL, f"index {s} {distance}"))
                 for s in "+-"]  # fmt: skip
        steps.append(If(f"index // {distance} % 2 == 0", *sides))
        distance *= 2
    steps.append(AllReduce(bytes=8))
    return application(f"CG-like, {processes}", processes, (Repeat(turns, tuple(steps)),))


def wavefront(columns, rows, size_bytes=2000, turns=4, planes=20):
    """Return sweeps from the first corner of a grid, plane by plane."""
    x, y = f"index % {columns}", f"index // {columns}"
    steps = (
        If(f"{x} > 0", (Receive(LABEL, "index - 1"),)),
        If(f"{y} > 0", (Receive(LABEL, f"index - {columns}"),)),
        Compute(3e5),
        If(f"{x} < {columns - 1}", (Send(LABEL, size_bytes, "index + 1", True),)),
        If(f"{y} < {rows - 1}", (Send(LABEL, size_bytes, f"index + {columns}", True),)),
    )
    sweeps = (Repeat(turns, (Repeat(planes, steps), Barrier())),)
    return application(f"wavefront {columns}x{rows}", columns * rows, sweeps)


def transposes(processes, size_bytes, turns=10):
    """Return all-to-all exchanges."""
    steps = (Repeat(turns, (Compute(1e7), AllToAll(bytes=size_bytes))),)
    return application(f"transposes, {processes}, {size_bytes} bytes", processes, steps)


def rooted(processes, turns=20):
    """Return unequal computations between a scatter, a gather and a broadcast."""
    steps = (
        Compute("1e6 * (1 + index % 3)"), Scatter(bytes=3000 * processes), Gather(bytes=5000 * processes),
        Broadcast(bytes=100_000),
    )  # fmt: skip
    return application(f"scatter, gather, broadcast, {processes}", processes, (Repeat(turns, steps),))


def overlapped(extent, size_bytes, turns=100):
    """Return a ring that computes while its messages are on their way."""
    steps = (
        Receive(LABEL, "(index - 1) % slave1", request="in"),
        Send(LABEL, size_bytes, "(index + 1) % slave1", request="out"),
        Compute("1e6 * (1 + index % 4)"), Wait(("in", "out")),
    )  # fmt: skip
    return application(f"overlap in a ring of {extent}, {size_bytes} bytes", extent, (Repeat(turns, steps),))


def farm(workers, tasks, size_bytes=20_000, operations=1e6):
    """Return a master that serves whichever worker asks first."""
    work = Compute(f"{operations} * (1 + (7 * index + 3 * turn) % 5)")
    return Application(
        f"any source, {workers} workers, {tasks} tasks each",
        (
            Label("master", 1, (Repeat(workers * tasks, (ReceiveAny(LABEL), Compute(1e4), Reply(size_bytes))),)),
            Label(LABEL, workers, (Repeat(tasks, (Send("master", 100), Receive("master"), work), "turn"),)),
        ),
    )


def side_by_side(columns, rows, turns=40):
    """Return a stencil beside a ring that shares its nodes, with other numbers of turns."""
    grid, both = columns * rows, 2 * columns * rows
    first = stencil((columns, rows), 50_000, turns=turns + 10).labels[0].program
    ring = (
        Send(LABEL, 100_000, f"{grid} + (index + 1) % {grid}", True),
        Receive(LABEL, f"{grid} + (index - 1) % {grid}"),
        Compute(5e6),
    )
    # The stencil's steps ask for the place of the process in the grid, which the first processes alone form.
    return application(f"two side by side, {both}", both, (If(f"index < {grid}", first, (Repeat(turns, ring),)),))


def cases() -> Iterator[tuple[Application, str, str]]:
    """Yield applications, systems and policies."""
    small = [
        stencil((4,), 40_000),
        stencil((16,), 100_000, buffered=True),
        stencil((4, 4), 50_000),
        stencil((4, 4), 50_000, buffered=True),
        stencil((2, 2, 4), 20_000),
        conjugate_gradients(16),
        wavefront(4, 4),
        transposes(16, 20_000),
        rooted(12),
        side_by_side(2, 4),
        side_by_side(3, 3),
        overlapped(16, 100_000),
        farm(15, 10),
    ]
    for name in ("merpsys", "cluster", "galera+", "grid4x8"):
        for policy in ("fastest", "round-robin"):
            yield from ((one, name, policy) for one in small)
    large = [
        stencil((64,), 8000),
        stencil((8, 8), 8000),
        stencil((16, 16), 8000),
        stencil((4, 4, 4), 20_000),
        conjugate_gradients(64, turns=10),
        wavefront(8, 8),
        transposes(64, 2000, turns=5),
        rooted(64, turns=5),
        side_by_side(4, 8),
        farm(63, 10),
    ]
    for name, policy in (("merpsys", "fastest"), ("merpsys", "round-robin"), ("cluster", "round-robin")):
        yield from ((one, name, policy) for one in large)
    yield from ((one, "galera+", "fastest") for one in large)


LARGER = {  # variables of some applications of the folder, with other systems
    "several-masters": (("merpsys", "galera+"), {"w": 47, "tasks": 10}),
    "farm-two-requests": (("merpsys", "galera+", "cluster"), {"w": 143, "tasks": 12}),
    "checkpoints": (("merpsys", "cluster"), {"n": 144}),
    "transposes-rows-columns": (("merpsys", "galera+"), {"px": 16, "py": 8, "turns": 2}),
    "uneven-efficiencies": (("cluster", "galera+"), {"n": 96}),
    "stencil-3d-periodic": (("merpsys",), {"px": 6, "py": 5, "pz": 4}),
    "wavefronts-both-ways": (("cluster", "merpsys"), {"px": 12, "py": 12}),
    "many-small-messages": (("merpsys", "cluster"), {"n": 48, "turns": 2}),
    "all-collectives": (("merpsys",), {"n": 64, "big": 1_000_000}),
}


def aside() -> Iterator[tuple[Application, str, str]]:
    """Yield the applications of the folder, with systems and policies."""
    files = {path.stem: read_application(path) for path in sorted(ASIDE.glob("*.toml"))}
    for name in ("merpsys", "cluster", "galera+", "grid4x8", "tree", "mesh"):
        policy = "fastest" if name in ("merpsys", "cluster", "galera+") else "round-robin"
        # The nodes of grid4x8 have no disks.
        yield from ((one, name, policy) for key, one in files.items() if (key, name) != ("checkpoints", "grid4x8"))
    for key, (names, variables) in LARGER.items():
        larger = files[key].changed(variables=variables)
        yield from ((larger, name, "fastest") for name in names)
        yield larger, "merpsys", "round-robin"


def print_costs():
    """Print the processor time of evaluations whose simulations would take minutes."""
    print("| application | system | processes per node | processor time | turns evaluated |")
    print("|---|---|---:|---:|---|")
    for app, name, policy in (
        (stencil((16, 16), 8000, turns=1000), "merpsys", "fastest"),
        (stencil((16, 16), 8000, turns=1000), "merpsys", "round-robin"),
        (stencil((16, 16), 8000, turns=1000, buffered=True), "cluster", "round-robin"),
        (stencil((64, 64), 8000, turns=1000), "merpsys", "round-robin"),
        (conjugate_gradients(256, turns=1000), "merpsys", "fastest"),
        (wavefront(16, 16, turns=10), "merpsys", "fastest"),
        (transposes(256, 2000), "merpsys", "fastest"),
        (farm(255, 20), "merpsys", "fastest"),
        (farm(15, 200, 500, 1e8), "merpsys", "fastest"),
    ):
        setting = Setting(app, system_named(SYSTEMS[name]), policy)
        most = max(load.threads for load in setting.schedule.loads())
        begun_s = time.process_time()
        found = evaluate(app, setting.machine())
        took_s = time.process_time() - begun_s
        print(f"| {app.name} | {name} | {most} | {took_s:.2f} s | {found.evaluated} |", flush=True)


def percent(value):
    """Return an error as text; 0 below 0.0001 %."""
    return "0 %" if abs(value) < 1e-4 else f"{value:+.4f} %"


def main():
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluator")
    parser.add_argument("--only", default="")
    parser.add_argument("--aside", action="store_true", help="the applications that were kept aside")
    parser.add_argument("--full", action="store_true", help="simulate with network/optim:Full")
    parser.add_argument("--store", help="folder in which simulations are looked up and kept")
    parser.add_argument("--costs", action="store_true", help="only the processor times of long runs, not simulated")
    args = parser.parse_args()
    if args.costs:
        print_costs()
        return
    print("| application | processes | system | per node | evaluated | simulated | error | of energy | costs |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    errors, energies, slower = [], [], 0
    with Runner(jobs=1, store=Store(Path(args.store)) if args.store else None) as runner:
        for app, name, policy in aside() if args.aside else cases():
            system = system_named(SYSTEMS[name])
            if args.full:
                system = replace(system, options=(*system.options, ("network/optim", "Full")))
            setting = Setting(app, system, policy)
            if args.only not in f"{app.name}, {name}, {policy}":
                continue
            found = compare(setting, lambda one: one.machine(), runner, evaluator=args.evaluator)
            most = max(load.threads for load in setting.schedule.loads())
            errors.append(abs(found.error_pct))
            energies.append(abs(found.energy_error_pct or 0.0))
            begun_s = time.process_time()
            evaluate(app, Setting(app, setting.system, policy).machine(), evaluator=args.evaluator)
            took_s = time.process_time() - begun_s
            slower += took_s > found.simulation_wall_s
            print(
                f"| {app.name} | {found.processes} | {name} | {most} "
                f"| {found.evaluated_s:.6g} s | {found.simulated_s:.6g} s "
                f"| {percent(found.error_pct)} | {percent(found.energy_error_pct or 0)} "
                f"| {took_s:.3f} s, {found.simulation_wall_s:.2f} s |",
                flush=True,
            )
    for what, values in (("time", errors), ("energy", energies)):
        mean, exact = sum(values) / len(values), sum(value <= 0.001 for value in values)
        print(
            f"{what}: {len(values)} cases, mean |error| {mean:.4f} %, most {max(values):.4f} %, {exact} within 0.001 %"
        )
    print(f"evaluations that took longer than their simulation: {slower}")


if __name__ == "__main__":
    main()
