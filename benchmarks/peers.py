"""Peers: messages per second and simulated time of other simulators on the same programs, beside SMPI and the graph.

CG, MG and LU of class B on 32 ranks, 20 iterations, and a halo along three axes with a sum that was learned from
recordings on 4 to 32 ranks, all on one of the named grids.  Every code gets the same computations and messages:
those of the recorded, or expected, program, with the messages inside its collectives.

* ``graph``: the evaluation of dpgraph:known in this process, without the steady state.
* ``LogGOPSim`` and ``ATLAHS``: the LogGOPSim of both projects, from GOAL text made here.  It shares no links, and all
  hosts have one latency and one rate: the means over the program's messages of what the platform says.
* ``replay``: SimGrid's own replay of a time-independent trace, smpireplaymain.
* ``SMPI``: the simulation of the program itself, whose time is the reference.

A rate is messages per second of processor time of the whole process (start and reading of the input included), of the
graph that of the evaluation; the median of several runs in turn, of ATLAHS a single one.

What to install: nothing of these codes is part of this repository.  ``smpireplaymain`` comes with SimGrid.  For the
others (Debian 12)::

    apt-get install gengetopt re2c libgraphviz-dev
    git clone https://github.com/spcl/LogGOPSim && cd LogGOPSim/src/LogGOPSim
    make CXXFLAGS="-std=c++11 -O3 -w" CCFLAGS="-O3 -w" LDFLAGS=-lcgraph
    git clone https://github.com/spcl/atlahs && cd atlahs/sim/LogGOPSim
    make CXXFLAGS="-std=c++11 -O3 -w" CCFLAGS="-O3 -w"

and name the two folders: ``--loggopsim FOLDER --atlahs FOLDER``.  The rows of a folder that is not named are left out.
ATLAHS' other backend, htsim, simulates packets in the switches of a data centre, which a grid does not have.
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from apps.child.run_folder import environment, smpirun_command, write_host_file
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.recording.events import Elapse, Mark
from apps.runs.record_events import record_events
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.engine_options import ENGINE_OPTIONS
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.grid import Grid
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.content import loadable
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import COMPUTE, MARK, RECV, SEND, SLEEP, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program, Sections
from predictor.evidence.broker import Broker
from predictor.registry import predictor

ITERATIONS = 20
HALO = Path(__file__).parents[1] / "tests/predictor/learned/data/halo3d.c"
UNIT_S = 1e-10  # of the whole numbers in GOAL text
BYTE = 6  # SimGrid's number of MPI_BYTE in traces


@dataclass(frozen=True)
class Case:
    """A program on a platform."""

    name: str
    target: Target
    program: Program  # of all iterations, without a loop
    network: NetworkModel
    s_per_flop: np.ndarray  # by rank

    @property
    def messages(self) -> int:
        """Number of messages of the timed section."""
        return sum(int((self.program.code[a:b] == SEND).sum()) for a, b in _timed(self.program))


def _timed(program: Program) -> Iterator[tuple[int, int]]:
    """Yield the first and the last instruction of the timed section of each rank."""
    for start, end in zip(program.first[:-1].tolist(), program.first[1:].tolist(), strict=True):
        marks = start + np.flatnonzero(program.code[start:end] == MARK)
        starts, stops = (marks[program.argument[marks] == mark].tolist() for mark in (Mark.START, Mark.STOP))
        yield starts[0] if starts else start, stops[-1] if stops else end


def kernel_case(app: str, nodes: int, network: str) -> Case:
    """Return a kernel of class B on a node for each rank of grid4xNODES."""
    grid = named_grid(f"grid4x{nodes}", network, [40e9, 50e9, 60e9, 70e9])
    platform = materialise(grid)
    target = Target(problem(app, "B"), platform, block(platform, len(platform.hosts)))
    with Store() as store:
        sections = Sections(record_events(Settings().spec(target), 3, store=store))
    return _case(f"{app.upper()} B", target, grid, sections)


def learned_case(nodes: int, network: str) -> Case:
    """Return the halo on twice as many ranks as its largest recording has."""
    grid = named_grid(f"grid4x{nodes}", network, [40e9, 50e9, 60e9, 70e9])
    platform = materialise(grid)
    asked = own_problem(read_program(str(HALO), "40 {iterations}", ITERATIONS))
    target, settings = Target(asked, platform, block(platform, len(platform.hosts))), Settings()
    with Store() as store, Runner(jobs=1, store=store) as runner:
        model, _ = fit(predictor("learned:known"), [target], Broker.of(settings, [target], runner))
    sections = model.sections(target)
    return _case("halo, learned", target, grid, sections)


def _case(name: str, target: Target, grid: Grid, sections: Sections) -> Case:
    placement = target.placement
    pairs = {(placement[a], placement[b]) for a, b in sections.partners}
    network = known_network(grid.routes(pairs | {pair[::-1] for pair in pairs}), dict(grid.options))
    s_per_flop = np.array([1 / target.platform.host(host).speed_flops for host in placement])
    return Case(name, target, sections.program(ITERATIONS), network, s_per_flop)


def seconds(case: Case, rank: int, at: int) -> float:
    """Return the seconds that a computation or a sleep takes."""
    value = float(case.program.value[at])
    computes = case.program.code[at] == COMPUTE
    return value * float(case.s_per_flop[rank]) if computes else value


def goal_lines(case: Case) -> Iterator[str]:
    """Yield the timed section as GOAL text: an operation requires all that its rank has waited for before it."""
    program = case.program
    yield f"num_ranks {program.nranks}"
    for rank, (start, end) in enumerate(_timed(program)):
        yield f"rank {rank} {{"
        made: dict[int, int] = {}  # label of the operation of a message
        before: list[int] = []  # labels that the next operation requires
        label = 0
        for at in range(start, end):
            code, message = int(program.code[at]), int(program.argument[at])
            if code in (COMPUTE, SLEEP) or (code in (SEND, RECV) and len(before) > 1):
                label += 1
                units = round(seconds(case, rank, at) / UNIT_S) if code in (COMPUTE, SLEEP) else 0
                yield f"l{label}: calc {units}"
                yield from (f"l{label} requires l{other}" for other in before)
                before = [label]
            if code in (SEND, RECV):
                label += 1
                size = max(1, int(program.size_bytes[message]))
                other = int((program.destination if code == SEND else program.source)[message])
                words = f"send {size}b to {other}" if code == SEND else f"recv {size}b from {other}"
                yield f"l{label}: {words} tag {message}"
                yield from (f"l{label} requires l{other}" for other in before)
                made[message] = label
            if code in (WAIT_SENT, WAIT_RECEIVED) and message in made:
                before.append(made[message])
        yield "}"


def trace_lines(case: Case) -> Iterator[str]:
    """Yield the timed section as a time-independent trace of SimGrid; every message has a tag of its own."""
    program = case.program
    for rank, (start, end) in enumerate(_timed(program)):
        yield f"{rank} init"
        for at in range(start, end):
            code, message = int(program.code[at]), int(program.argument[at])
            if code == COMPUTE:
                yield f"{rank} compute {program.value[at]:.17g}"
            elif code == SLEEP and message != Elapse.ON_CORE:
                yield f"{rank} sleep {program.value[at]:.17g}"
            elif code == SLEEP:
                yield f"{rank} compute {program.value[at] / case.s_per_flop[rank]:.17g}"
            elif code == SEND:
                yield f"{rank} isend {program.destination[message]} {message} {program.size_bytes[message]} {BYTE}"
            elif code == RECV:
                yield f"{rank} irecv {program.source[message]} {message} {program.size_bytes[message]} {BYTE}"
            elif code in (WAIT_SENT, WAIT_RECEIVED):
                yield f"{rank} wait {program.source[message]} {program.destination[message]} {message}"
        yield f"{rank} finalize"


def used_s(command: list[str], folder: Path) -> tuple[float, str]:
    """Run a command; return the processor time of it and its children, s, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False, errors="replace"
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"error: {command[0]}: {(done.stderr or done.stdout)[-600:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout + done.stderr


class Graph:
    """The evaluation of dpgraph:known."""

    name = "graph"

    def __init__(self, case: Case):
        self.case = case

    def run(self) -> tuple[float, float]:
        """Return processor time and simulated time, s."""
        started = time.thread_time()
        done = execute(self.case.program, self.case.network, self.case.target.placement, self.case.s_per_flop)
        return time.thread_time() - started, float((done.stop_s - done.start_s).max())


class LogGOPSim:
    """LogGOPSim, from GOAL text."""

    def __init__(self, name: str, tools: Path, case: Case, folder: Path):
        self.name, self.folder = name, folder
        text = folder / "program.goal"
        if not text.exists():
            text.write_text("".join(f"{line}\n" for line in goal_lines(case)))
        binary = folder / f"{name}.bin"
        used_s([str(tools / "txt2bin"), "-i", str(text), "-o", str(binary)], folder)
        messages, paths = case.network.carry(case.program, case.target.placement)
        kinds = messages.kinds[messages.kind]
        latency_s = float(kinds["latency_s"].mean())
        rate_s = kinds["amount_bytes"] / (kinds["factor"] * paths.bound_Bps[kinds["path"]])
        s_per_byte = float(rate_s.sum() / kinds["amount_bytes"].sum())
        words = {"L": latency_s, "G": s_per_byte, "o": 0.0, "g": 0.0, "O": 0.0}
        options = [f"-{name}{round(value / UNIT_S)}" for name, value in words.items()]
        self.command = [str(tools / "LogGOPSim"), "-f", str(binary), *options, "-S", "65535"]

    def run(self) -> tuple[float, float]:
        """Return processor time and simulated time, s."""
        took_s, said = used_s(self.command, self.folder)
        ends = re.findall(r"[Hh]ost \d+: (\d+)", said)
        if not ends:
            raise SystemExit(f"error: {self.name}: {said[-600:]}")
        return took_s, max(map(int, ends)) * UNIT_S


class Replay:
    """SimGrid's replay of a trace."""

    name = "replay"

    def __init__(self, case: Case, folder: Path):
        self.folder = folder
        names = []
        for rank, lines in groupby(trace_lines(case), lambda line: int(line.partition(" ")[0])):
            names.append(f"trace-{rank}")
            (folder / names[-1]).write_text("".join(f"{line}\n" for line in lines))
        (folder / "trace").write_text("".join(f"{name}\n" for name in names))
        write_host_file(folder / "hosts", case.target.placement)
        options = {name: value for name, value in ENGINE_OPTIONS.items() if name != "smpi/simulate-computation"}
        command = smpirun_command(
            "-replay", ["trace"], nranks=case.target.nranks, host_file="hosts",
            platform=loadable(case.target.platform), options=options,
        )  # fmt: skip
        self.command = [word for word in command if word != "-no-privatize"]

    def run(self) -> tuple[float, float]:
        """Return processor time and simulated time, s."""
        took_s, said = used_s(self.command, self.folder)
        times = re.findall(r"Simulation time ([0-9.e+-]+)", said)
        if not times:
            raise SystemExit(f"error: smpireplaymain: {said[-600:]}")
        return took_s, float(times[-1])


class Smpi:
    """The simulation of the program itself."""

    name = "SMPI"

    def __init__(self, case: Case):
        self.spec = Settings(iterations=ITERATIONS if case.target.problem.program is None else "full").spec(case.target)

    def run(self) -> tuple[float, float]:
        """Return processor time and simulated time, s."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = simulate(self.spec)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return took_s, record.simulated_s


def compare(case: Case, loggopsim: Path | None, atlahs: Path | None, runs: int) -> None:
    """Print a row of the table for each code."""
    with tempfile.TemporaryDirectory(prefix="peers-") as name:
        folder = Path(name)
        tools = [(who, at) for who, at in (("LogGOPSim", loggopsim), ("ATLAHS", atlahs)) if at is not None]
        codes = [Graph(case), *(LogGOPSim(who, at.resolve(), case, folder) for who, at in tools), Replay(case, folder)]
        codes.append(Smpi(case))
        measured: dict[str, list[tuple[float, float]]] = {code.name: [] for code in codes}
        for number in range(runs):
            for code in codes:
                if number == 0 or code.name != "ATLAHS":  # which takes a minute and more for CG and LU
                    measured[code.name].append(code.run())
    truth_s = measured["SMPI"][0][1]
    for who, rows in measured.items():
        took_s, time_s = statistics.median(row[0] for row in rows), rows[0][1]
        rate = case.messages / took_s / 1e6
        error = f"{100 * (time_s / truth_s - 1):+.2f} %"
        cells = (case.name, case.target.nranks, f"{case.messages:,}", who, f"{rate:.3f}", f"{time_s:.5g}", error)
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loggopsim", metavar="FOLDER", type=Path, help="with LogGOPSim and txt2bin")
    parser.add_argument("--atlahs", metavar="FOLDER", type=Path, help="with those of ATLAHS")
    parser.add_argument("--network", default="gigabit", help="of the grid (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of each code (default: %(default)s)")
    args = parser.parse_args()
    print("| program | ranks | messages | code | million messages/s | simulated, s | against SMPI |")
    print("|---|---:|---:|---|---:|---:|---:|")
    cases = [(kernel_case, (app, 8, args.network)) for app in ("cg", "mg", "lu")] + [(learned_case, (16, args.network))]
    for make, words in cases:
        compare(make(*words), args.loggopsim, args.atlahs, args.runs)


if __name__ == "__main__":
    main()
