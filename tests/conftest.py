"""What tests of several packages share."""

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.record import RunRecord
from apps.runner import Runner
from platforms.compiling import compile_once

# Whoever starts the tests in the background may have SIGINT ignored, which all processes below would inherit; commands
# that are to be interrupted must see it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse="MUTANT_UNDER_TEST" in os.environ)
def without_processes(monkeypatch):
    """Under `make mutation` a test that starts a process is skipped: equations are to be known without simulations."""

    def refuse(self, args, *_, **__):
        pytest.skip(f"starts {args}")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)


def _record(target, time_s, flops, compute_s=None):
    """A record of which only the time, what of it is computation, the work and the hosts mean anything."""
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
    """``record_of(target, time_s, flops, compute_s=None)``: a record of which only these and the hosts mean anything.

    ``compute_s``: of each rank; None: all of the time.
    """
    return _record


@pytest.fixture
def refused(capsys):
    """``refused(main, arguments, *messages)``: a command ends with status 2 and says these, in one line of error."""

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
    """``pretend(time_s, module, ...)``: runs take the time that a function of their target says, without SimGrid.

    The modules are command lines that import ``runner_from_arguments``.  Returns what has been run.  The runner keeps
    to no store, unless ``store`` is one.
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
            monkeypatch.setattr(module, "runner_from_arguments", runner)
        return done

    return install


@pytest.fixture(scope="session")
def racks(tmp_path_factory) -> Path:
    """A platform compiled from C++: three hosts of 4 Gflop/s and two of 6, 1 ms apart (platforms/data/racks.cpp)."""
    source = Path(__file__).parent / "platforms" / "data" / "racks.cpp"
    flags = ["-std=gnu++17", "-shared", "-fPIC"]
    made = compile_once("racks", [source], compiler=["g++"], flags=flags, libraries=["-lsimgrid"])
    return Path(shutil.copy(made, tmp_path_factory.mktemp("racks") / "racks.so"))
