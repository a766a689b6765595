"""Fixtures that tests of several packages share."""

import gc
import os
import random
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.results.record import RunRecord
from apps.runs.runner import Runner
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import chosen_prefix
from tests.machines import named_file

__all__ = ["named_file"]  # a fixture

# If the tests are started in the background, SIGINT may be ignored, and child processes would inherit that.  Commands
# that tests interrupt must receive the signal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests call smpirun and smpicc themselves: those of SimGrid's wheel where it is installed.
if chosen_prefix() is not None:
    os.environ["PATH"] = f"{chosen_prefix() / 'bin'}{os.pathsep}{os.environ['PATH']}"


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Collect tests, which make much and drop nothing, without looking for garbage, then or in them later."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_addoption(parser):
    """Add ``--shuffle``: no test may depend on those that ran before it."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and tests within them, in a random order")


def pytest_collection_modifyitems(config, items):
    """Shuffle files, and tests within them, if that is asked for; workers must agree, so they take the same seed."""
    seed = config.getoption("shuffle")
    if seed is None:
        return
    drawn, by_file = random.Random(seed), {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = list(by_file.values())
    drawn.shuffle(files)
    for tests in files:
        drawn.shuffle(tests)
    items[:] = [item for tests in files for item in tests]


@pytest.fixture(autouse=True, scope="session")
def computation_is_timed_once():
    """Time the computation of programs in one run: no test depends on how exact it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.runs.computation.RUNS_S", 0.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def simgrid_needs_no_repairs():
    """Leave out the caution of SimGrid 4's repairs: tests count cautions with any SimGrid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.runs.cautions._repairs", lambda simgrid: ())
        yield


@pytest.fixture(autouse="MUTANT_UNDER_TEST" in os.environ)
def without_processes(monkeypatch):
    """Skip tests that start a process under `make mutation`: equations must be tested without simulations."""

    def refuse(self, args, *_, **__):
        pytest.skip(f"starts {args}")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)


def _record(target, time_s, flops, compute_s=None):
    """A record in which only the time, its computation, the work and the hosts are meaningful."""
    zeros = (0,) * target.nranks
    compute_s = (time_s,) * target.nranks if compute_s is None else tuple(compute_s)
    return RunRecord(
        identity={},
        time_s=time_s,
        simulated_s=time_s,
        compute_s=compute_s,
        comm_s=tuple(time_s - s for s in compute_s),
        flops=flops,
        rank_flops=zeros,
        messages=zeros,
        bytes=zeros,
        self_messages=zeros,
        self_bytes=zeros,
        collectives={},
        iteration_messages=zeros,
        iteration_bytes=zeros,
        iteration_self_messages=zeros,
        iteration_self_bytes=zeros,
        iteration_collectives={},
        iteration_flops=zeros,
        host=target.placement,
        iteration_s=((time_s,),) * target.nranks,
        iteration_compute_s=tuple((s,) for s in compute_s),
        verified=None,
        checks={},
        wall_s=0.25,
        timed_wall_s=0.25,
        peak_memory_bytes=1,
        command=(),
    )


@pytest.fixture
def record_of():
    """``record_of(target, time_s, flops, compute_s=None)``: a record in which only these and the hosts are meaningful.

    ``compute_s`` is the computation of each rank; None means the whole time.
    """
    return _record


COMPUTING = """
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && ranks < atoi(argv[2])) MPI_Abort(MPI_COMM_WORLD, 1);
    smpi_execute_flops(atof(argv[1]) / ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture
def computing(tmp_path):
    """A program that divides the operations of its first argument among its ranks, and waits for all of them.

    It refuses fewer ranks than its second argument.
    """
    path = tmp_path / "computing.c"
    path.write_text(COMPUTING)
    return path


@pytest.fixture
def refused(capsys):
    """``refused(main, arguments, *messages)``: a command ends with status 2 and an error line with these messages."""

    def check(main, arguments, *messages):
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
        assert captured.err.startswith("error: ")
        for message in messages:
            assert message in captured.err

    return check


@pytest.fixture
def pretend(monkeypatch):
    """``pretend(time_s, module, ...)``: runs take the time that a function of their target returns, without SimGrid.

    The modules are command lines that import ``runner_from_request``.  The result lists the targets that were run.
    The runner uses no store unless ``store`` is given.
    """

    def install(time_s, *modules, store=None):
        done = SimpleNamespace(targets=[], limit=None)

        def simulate(spec, *, stop=None):
            if done.limit is not None and len(done.targets) >= done.limit:
                raise KeyboardInterrupt
            done.targets.append(spec.target)
            return _record(spec.target, time_s(spec.target), float(spec.target.problem.size or 1) ** 3)

        @contextmanager
        def runner(args, **_):
            with Runner(jobs=1, store=store, simulate=simulate, identify=lambda spec: spec.identity()) as one:
                yield one

        for module in modules:
            monkeypatch.setattr(module, "runner_from_request", runner)
        return done

    return install


@pytest.fixture(scope="session")
def racks(tmp_path_factory) -> Path:
    """Return the platform of data/racks.cpp: three hosts of 4 Gflop/s and two of 6, 1 ms apart."""
    source = Path(__file__).parent / "platforms" / "data" / "racks.cpp"
    flags = ["-std=gnu++17", "-shared", "-fPIC"]
    made = compile_once("racks", [source], compiler=["g++"], flags=flags, libraries=["-lsimgrid"])
    return Path(shutil.copy(made, tmp_path_factory.mktemp("racks") / "racks.so"))
