"""Limits of the engine ``s4u``."""

from __future__ import annotations

from collections.abc import Sequence

from apps.errors import OptionError
from apps.spec.target import Target
from apps.traffic import declared_names, declares

DETACHED_OPTION, DETACHED_BELOW_BYTES = "smpi/send-is-detached-thresh", 65536  # SimGrid's default
# SMPI's options that its network model reads, and one that the ranks read.
_HONOURED = {
    "smpi/bw-factor",
    "smpi/lat-factor",
    "smpi/IB-penalty-factors",
    "smpi/simulate-computation",
    DETACHED_OPTION,
}


def check_limits(target: Target, *, mode: str, compute: str, options: Sequence[tuple[str, str]]) -> None:
    """Refuse a run that the engine cannot make as asked.

    Raises:
        OptionError: The kernel or program, the mode, the computation or an option is not for this engine.
    """
    problem = target.problem
    if problem.program is None and not declares(problem):
        remedy = f"Known: {', '.join(declared_names())}; leave --engine out for the others"
        raise OptionError("--engine s4u", f"{problem.name} is not among its kernels", remedy)
    if problem.program is not None and not problem.program.is_python:
        raise OptionError("--engine s4u", f"{problem.name} is not a program in Python", "Leave it out")
    if mode != "skeleton":
        raise OptionError("--engine s4u", "it runs kernels as skeletons, without arithmetic", f"Drop --mode {mode}")
    if compute == "measured":
        remedy = "Call rank.compute(flops) in the program"
        raise OptionError("--compute measured", "the computation of a program in Python is not timed", remedy)
    for where, given in ((f"platform {target.platform.name}", target.platform.options), ("", options)):
        for key, value in given:
            if key.startswith("smpi/") and key not in _HONOURED:
                what = f"{where}, {key}" if where else f"--cfg {key}:{value}"
                raise OptionError(what, "it acts on calls of MPI, which programs on S4U do not make", "Leave it out")
    detached_below_bytes([*target.platform.options, *options])


def detached_below_bytes(options: Sequence[tuple[str, str]]) -> int:
    """Return the size below which a send does not wait, bytes; the last setting among the ``options`` counts.

    Raises:
        OptionError: The value is not a number of bytes.
    """
    value = dict(options).get(DETACHED_OPTION, str(DETACHED_BELOW_BYTES))
    if not value.strip().isdecimal():
        raise OptionError(f"--cfg {DETACHED_OPTION}:{value}", "not a number of bytes", "Write for example 65536")
    return int(value)
