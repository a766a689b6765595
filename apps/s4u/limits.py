"""What can be run on S4U, and what cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apps.errors import KernelError

if TYPE_CHECKING:
    from apps.spec import RunSpec

KERNELS = ("cg", "ep")
DETACHED_OPTION, DETACHED_BELOW_BYTES = "smpi/send-is-detached-thresh", 65536  # SimGrid's default
# Of the options of SMPI those that its network model reads, and one that ranks honour.
_HONOURED = {
    "smpi/bw-factor",
    "smpi/lat-factor",
    "smpi/IB-penalty-factors",
    "smpi/simulate-computation",
    DETACHED_OPTION,
}


def check_limits(spec: RunSpec) -> None:
    """Raises KernelError for a spec with engine s4u that it cannot run as asked."""
    problem = spec.target.problem
    if problem.program is None and problem.app not in KERNELS:
        remedy = f"Known: {', '.join(KERNELS)}; leave --engine out for the others"
        raise KernelError("--engine s4u", f"{problem.app} is not among its programs", remedy)
    if problem.program is not None and not problem.program.is_python:
        raise KernelError("--engine s4u", f"{problem.app} is not a program in Python", "Leave it out")
    if spec.mode != "skeleton":
        raise KernelError("--engine s4u", "its programs are skeletons, without arithmetic", f"Drop --mode {spec.mode}")
    if spec.compute == "measured":
        remedy = "Say in it what it computes, by rank.compute(flops)"
        raise KernelError("--compute measured", "the computation of a program in Python is not timed", remedy)
    for where, options in ((f"platform {spec.target.platform.name}", spec.target.platform.options), ("", spec.options)):
        for key, value in options:
            if key.startswith("smpi/") and key not in _HONOURED:
                what = f"{where}, {key}" if where else f"--cfg {key}:{value}"
                raise KernelError(what, "it acts on calls of MPI, and programs on S4U make none", "Leave it out")
    detached_below_bytes(spec)


def detached_below_bytes(spec: RunSpec) -> int:
    """A send of fewer bytes does not wait."""
    value = dict([*spec.target.platform.options, *spec.options]).get(DETACHED_OPTION, str(DETACHED_BELOW_BYTES))
    if not value.strip().isdecimal():
        raise KernelError(f"--cfg {DETACHED_OPTION}:{value}", "not a number of bytes", "Write for example 65536")
    return int(value)
