"""The neutral platform for recordings, and the identity of recordings."""

from __future__ import annotations

from typing import Any

from apps.programs.compile import kernel_hash
from apps.programs.kernel import named_kernel
from apps.recording.recorder.library import recorder_hash
from apps.results.steady import REPETITION_RULE
from apps.runs.engines import engine_named
from apps.spec.choices import REPLAY
from apps.spec.machine_speed import processor_model
from apps.spec.run_spec import RunSpec
from apps.spec.settings import default_engine
from platforms.addons import provided
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.grids.network import named_network
from platforms.model.platform import Platform
from platforms.simgrid.repairs import simgrid_identity

NEUTRAL_SPEED_FLOPS = 1e9
_REAL_HASH = "apps.recording.recorder.real.library:real_recorder_hash"  # of an add-on
_SLOW_SPEED_FLOPS = 0.57e9


def recording_identity(spec: RunSpec, iterations: int) -> dict[str, Any]:
    """Return the inputs that determine a recording: the program, its problem, the recorder and the simulator.

    On a machine they are those of a run, with the recorder and the speeds that convert times to flops.  For a replay
    they are the program with its MPI library, the processor and its speed.
    """
    problem = spec.target.problem
    if spec.machine is not None:
        target = spec.target
        return {
            **spec.identity(),
            "kernel_hash": engine_named(spec.engine).program_hash(spec),
            "iterations": iterations,
            "recorder_hash": provided(_REAL_HASH)(),
            "speed_flops": [target.platform.host(host).speed_flops for host in target.placement],
        }
    if spec.engine == REPLAY and problem.program is not None:
        return {
            "kernel_hash": problem.program.content_hash,
            "arguments": list(problem.program.arguments),
            "full_iterations": problem.program.iterations,
            **({"shares": list(problem.shares)} if problem.shares else {}),
            "host_speed_flops": spec.host_speed_flops,
            "processor": processor_model(),
            "app": problem.name,
            "ranks": spec.target.nranks,
            "recorder_hash": provided(_REAL_HASH)(),
        }
    if problem.program is None:
        program: dict[str, Any] = {
            "kernel_hash": kernel_hash(named_kernel(problem.name)),
            "params": dict(problem.params),
        }
    else:
        program = {"repetition_rule": REPETITION_RULE, **spec.measured_identity()}
    return {**program, **program_identity(spec, iterations)}


def program_identity(spec: RunSpec, iterations: int) -> dict[str, Any]:
    """Return the inputs that determine a program's actions in a run of a number of iterations, on any platform."""
    problem, options = spec.target.problem, kept_options(spec)
    program: dict[str, Any] = {}
    if problem.program is not None:
        program = {
            "kernel_hash": problem.program.content_hash,
            "arguments": list(problem.program.arguments),
            "full_iterations": problem.program.iterations,
            **({"assumed": sorted(problem.program.assumed)} if problem.program.assumed else {}),
        }
    if problem.shares:
        program["shares"] = list(problem.shares)
    return {
        **program,
        **({"options": dict(options)} if options else {}),
        "app": problem.name,
        "class": problem.preset,
        "iterations": iterations,
        "ranks": spec.target.nranks,
        "recorder_hash": provided("apps.s4u.engine:layer_hash")()
        if default_engine(problem) == "s4u"
        else recorder_hash(),
        "simgrid": simgrid_identity(),
    }


def _layer_hash() -> str:
    """Return the identity of the recorder of programs in Python."""
    digest: str = provided("apps.s4u.engine:layer_hash")()
    return digest


def kept_options(spec: RunSpec) -> tuple[tuple[str, str], ...]:
    """Return the options of a run that also apply to its recording: all except those that write traces."""
    return tuple((key, value) for key, value in spec.options if not key.startswith("tracing"))


def neutral_platform(nranks: int, *, slow: bool = False, slow_hosts: bool = False) -> Platform:
    """Return a platform with one host of NEUTRAL_SPEED_FLOPS per rank and a network that takes little time.

    ``slow``: the network is a thousand times slower; ``slow_hosts``: the hosts are slower.

    The network is not ``ideal``, on which SimGrid 3.32 crashes when 32 ranks send to each other at once.
    """
    # Imported here because it is slow to import.
    from platforms.read.read import materialise

    slower = 1e3 if slow else 1.0
    node, backbone = Wire(1e11 / slower, 1e-6 * slower), Wire(1e14, 1e-6)
    speed_flops = _SLOW_SPEED_FLOPS if slow_hosts else NEUTRAL_SPEED_FLOPS
    cluster = GridCluster("c1", nranks, speed_flops, node, backbone)
    return materialise(
        Grid(
            f"neutral{nranks}{'slow' if slow else ''}{'hosts' if slow_hosts else ''}",
            "neutral",
            (cluster,),
            "mesh",
            (),
            named_network("ideal").options,
        )
    )
