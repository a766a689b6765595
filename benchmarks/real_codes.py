"""Public codes at four times the ranks that they were recorded on: what `learned:known` answers, beside the truth.

None of the codes is part of the project.  `--how` prints the commands that fetch and build them, each in a folder of
its own below `--sources`.  Every code is recorded on a few numbers of ranks, learned, continued, compared event by
event with a recording there, and its time with that of a full simulation.  Computation takes no time, as none of them
injects any.  With --measured it is timed on this computer, at twice the ranks and more, and takes as long on the hosts
of the target.  The output are the tables of docs/validation/extrapolation.md.
"""

import argparse
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange
from predictor.evidence.broker import Broker
from predictor.learned.errors import CannotContinue
from predictor.learned.generate import generate
from predictor.learned.grids import most_cubic
from predictor.learned.learn import learn
from predictor.learned.matching import difference
from predictor.learned.models import Notes
from predictor.learned.numbers import numbers_of
from predictor.learned.predictor import LEARNED_KNOWN
from predictor.learned.skeleton import with_calls_merged

ANY = (4, 8, 12, 18, 27)
CUBES = (8, 27, 64, 125)
GITHUB = "https://github.com/"
FORTRAN = "make COMPILER=GNU MPI_COMPILER=mpif90 C_MPI_COMPILER=mpicc"
PRK = ("04248b66a03d7f5edba8d54c9ae7834dd718027a", "ParRes/Kernels")
COMD = ("3d48396b77ca8caa3124bc2391f9139c3ffb556c", "ECP-copa/CoMD")
COMD_BUILD = "cd src-mpi && cp Makefile.vanilla Makefile && gridval program build -- make"


class Code(NamedTuple):
    """A code, and how it is run; {1}, {2} and {3} stand for the sides of the most cubic grid, {8x1} for 8 times one."""

    name: str
    commit: str
    repository: str
    build: str
    program: str
    arguments: str
    recorded: tuple[int, ...] = ANY
    target: int = 108
    known: tuple[int, ...] = ()
    # Its input file, with the changes that make it small: patterns and what stands for them.
    deck: tuple[str, tuple[tuple[str, str], ...]] | None = None


def prk(name, arguments, folder):
    """Return one of the Parallel Research Kernels."""
    build = (
        f"cp common/make.defs.gcc common/make.defs && cd MPI1/{folder} && gridval program build -- make {name.lower()}"
    )
    return Code(f"PRK {folder}", *PRK, f"{build} MPICC=mpicc", f"MPI1/{folder}/{name}", arguments)


CODES = (
    Code("LULESH 2.0", "3e01c40b3281aadb7f996525cdd4a3354f6d3801", "LLNL/LULESH", "gridval program build -- make",
         "lulesh2.0", "-s 6 -i 3", CUBES, 512),
    Code("CoMD, the same size on every rank", *COMD, COMD_BUILD, "bin/CoMD-mpi",
         "-i {1} -j {2} -k {3} -x {8x1} -y {8x2} -z {8x3} -N 4 -n 2"),
    Code("CoMD, 24^3 cells", *COMD, COMD_BUILD, "bin/CoMD-mpi",
         "-i {1} -j {2} -k {3} -x 24 -y 24 -z 24 -N 4 -n 2", known=(24,)),
    Code("HPCCG", "80dd2f12a4e8aa70c330a5686cdda3fd187c2545", "Mantevo/HPCCG",
         "gridval program build -- make USE_MPI=-DUSING_MPI CXX=mpicxx LINKER=mpicxx", "test_HPCCG", "8 8 8"),
    Code("miniFE", "c79e0f7f7afdd6c8191936efce7a668316159cc3", "Mantevo/miniFE",
         "cd ref/src && gridval program build -- make", "ref/src/miniFE.x", "nx=24 ny=24 nz=24"),
    Code("CloverLeaf, 250 x 250 cells", "a675f0d63ea72ef386c7c497b08d1e6ca4f89479", "UK-MAC/CloverLeaf_MPI",
         f"gridval program build -- {FORTRAN}", "clover_leaf", "", known=(250,),
         deck=("clover.in", ((r"([xy])_cells=\d+", r"\1_cells=250"), (r"end_step=\d+", "end_step=4")))),
    Code("TeaLeaf, 125 x 125 cells", "019aa2f7da9df9559e6a0890d14f961738711ca7", "UK-MAC/TeaLeaf_ref",
         f"gridval program build -- {FORTRAN}", "tea_leaf", "", known=(125,),
         deck=("tea.in", ((r"([xy])_cells=\d+", r"\1_cells=125"), (r"end_step=\d+", "end_step=1"),
                          (r"test_problem \d+", ""),
                          ("tl_use_ppcg", "tl_use_cg"), (r"tl_eps=\S+", "tl_eps=1.0e-6"), (r"halo_depth=\d+", "")))),
    prk("stencil", "4 500", "Stencil"),
    prk("transpose", "3 1728 32", "Transpose"),
    prk("p2p", "3 500 100", "Synch_p2p"),
    Code("HPCG", "114602d458d1034faa52b71e4c15aba9b3a17698", "hpcg-benchmark/hpcg",
         "gridval program build -- make arch=Linux_MPI", "bin/xhpcg", "16 16 16 --rt=0", (8, 12, 18, 27)),
)  # fmt: skip

JACOBI = tuple(
    Code(f"Jacobi's method, {n} x {n} points", "", "", "", "examples/jacobi/jacobi.c", f"{n} 20", known=(n,))
    for n in (600, 1500)
)
MEASURED_TARGET = 64
HOST_FLOPS = 5e9  # speed of this computer, which is that of the hosts then


def problem_of(code, sources, nranks):
    """Return the problem on a number of ranks."""
    arguments = code.arguments
    for at, side in enumerate(most_cubic(nranks, 3), 1):
        arguments = arguments.replace(f"{{{at}}}", str(side)).replace(f"{{8x{at}}}", str(8 * side))
    folder = sources / code.repository.partition("/")[2] if code.repository else Path(__file__).parents[1]
    files = []
    if code.deck is not None:
        name, changes = code.deck
        text = (folder / name).read_text()
        for pattern, made in changes:
            text = re.sub(pattern, made, text)
        path = folder / f"small-{name}"
        path.write_text(text)
        files.append(f"{name}={path}")
    return own_problem(read_program(folder / code.program, arguments, files=files))


def settings_of(measured):
    """Return the settings of all runs."""
    return {"compute": "measured", "host_speed_flops": HOST_FLOPS} if measured else {"compute": "none"}


def recorded(problem, nranks, *, measured=False):
    """Return the recording on a neutral platform."""
    platform = neutral_platform(nranks)
    hosts = tuple(host.name for host in platform.hosts)
    return record_events(RunSpec(Target(problem, platform, hosts), **settings_of(measured)), 3)


def begun(recording, collectives):
    """Return the recording up to a number of collectives of each rank."""
    ends = [np.flatnonzero(events["kind"] == Kind.COLLECTIVE)[:collectives][-1:] for events in recording.events]
    cut = tuple(events[: int(end[0]) + 1] for events, end in zip(recording.events, ends, strict=True))
    return replace(recording, events=cut)


def first_of(code, sources, counts, target, collectives):
    """Return the cells of a code of which only the first collectives are learned, and no time is compared."""
    recordings = [begun(recorded(problem_of(code, sources, n), n), collectives) for n in counts]
    problem = problem_of(code, sources, target)
    merged, text = with_calls_merged(recordings, problem)
    started = time.perf_counter()
    try:
        structure = learn(merged, numbers_of(problem, {str(number): number for number in code.known}), text)
        notes = Notes()
        made = generate(structure, target, notes=notes)
    except CannotContinue as reason:
        return "refused", str(reason), "", "", f"{time.perf_counter() - started:.0f}"
    took = f"{time.perf_counter() - started:.0f}"
    sure = not (structure.unconfirmed or structure.fitted or notes.differs or notes.assumed)
    apart = difference(made, begun(recorded(problem, target), collectives))
    return "exact" if sure else "doubtful", apart or "identical", "", "", took


def row(code, sources, counts, target, *, measured=False):
    """Return the cells of a code."""
    problem = problem_of(code, sources, target)
    pieces = []
    for count in counts:
        made = recorded(problem_of(code, sources, count), count, measured=measured)
        platform = neutral_platform(count)
        small = Target(problem, platform, tuple(host.name for host in platform.hosts))
        request = EvidenceRequest("recording", small, iterations=3)
        pieces.append(Evidence(request, made, f"{code.name} {count}", Cost()))
    grid = materialise(
        named_grid(f"grid1x{target}", network="infiniband", speeds_flops=[HOST_FLOPS if measured else 40e9])
    )
    aim = Target(problem, grid, tuple(host.name for host in grid.hosts))
    networks = [request for request in LEARNED_KNOWN.requests([aim]) if request.kind != "recording"]
    pieces += Broker(Settings(**settings_of(measured)), [aim], record=simulate).gather(networks)
    known = tuple((str(number), number) for number in code.known)
    model = replace(LEARNED_KNOWN, recorded=tuple(counts), known=known).fit(pieces)
    begun = time.perf_counter()
    try:
        prediction = model.predict(aim)
    except OutOfRange as reason:
        return "refused", str(reason), "", "", f"{time.perf_counter() - begun:.0f}"
    took = f"{time.perf_counter() - begun:.0f}"
    states = {}
    for call in prediction.calls:
        states.setdefault(call.state, set()).add(call.settled_by)
    apart = "not compared" if measured else difference(model.recording_of(aim), recorded(problem, target))
    true_s = simulate(RunSpec(aim, **settings_of(measured))).time_s
    error_pct = 100 * (prediction.time_s / true_s - 1)
    inside = prediction.low_s is None or prediction.low_s <= true_s <= prediction.high_s
    said = ", ".join(f"{state} ({sorted(map(str, settles))})" for state, settles in states.items())
    ends = "" if prediction.low_s is None else f"{prediction.low_s:.4g} to {prediction.high_s:.4g} s"
    return (
        said,
        apart or "identical",
        f"{true_s:.4g} s",
        f"{error_pct:+.2g} % {'' if inside else 'OUTSIDE '}{ends}",
        took,
    )


def main():
    """Print the table, or how to build the codes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, default=Path("codes"), help="folder of the codes (default: codes)")
    parser.add_argument("--how", action="store_true", help="print how to fetch and build the codes")
    parser.add_argument("--only", help="codes whose names contain this text")
    parser.add_argument("--recorded", help="other numbers of ranks to record, separated by commas")
    parser.add_argument("--ranks", type=int, help="another number of ranks to continue to")
    parser.add_argument("--first", type=int, metavar="N", help="learn the first N collectives of each rank alone")
    parser.add_argument("--measured", action="store_true", help="time the computation instead of leaving it out")
    options = parser.parse_args()
    codes = [
        code
        for code in (*(JACOBI if options.measured else ()), *CODES)
        if (options.only or "").lower() in code.name.lower()
    ]
    if options.how:
        for code in codes:
            folder = code.repository.partition("/")[2]
            built = f"(cd {folder} && git checkout {code.commit} && {code.build})"
            print(f"git clone {GITHUB}{code.repository} {folder} && {built}")
        return
    print("| code | arguments | recorded on | continued to | said | messages | simulated | error | learned in, s |")
    for code in codes:
        counts = tuple(map(int, options.recorded.split(","))) if options.recorded else code.recorded
        target = options.ranks or (max(MEASURED_TARGET, 1 + max(counts)) if options.measured else code.target)
        if options.first:
            cells = first_of(code, options.sources, counts, target, options.first)
        else:
            cells = row(code, options.sources, counts, target, measured=options.measured)
        shown = ", ".join(map(str, counts))
        print(f"| {code.name} | `{code.arguments}` | {shown} | {target} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
