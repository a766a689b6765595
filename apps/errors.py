"""Errors of runs."""

from platforms.errors import UserError


class KernelError(UserError):
    """A kernel or program, class, size or number of ranks that cannot be run."""


class Unrecorded(KernelError):
    """A program that makes a call for which a recording has no event."""


class OptionError(UserError):
    """An option or setting of a run that is wrong or contradicts others."""


class TraceError(UserError):
    """A trace of a run that cannot be used as a recording."""


class NoIterations(KernelError):
    """A shortened run of a user's program in which the iterations cannot be identified."""


class SimulationError(Exception):
    """A simulation that was started and did not succeed: deadlock, abort, crash, time limit.

    The message is one line; ``log`` holds the log of SimGrid and the program, and ``output`` what the program printed,
    both shortened where they were too long.  The command's exit status is 1.
    """

    def __init__(self, what: str, log: str = "", output: str = ""):
        super().__init__(what)
        self.log = log
        self.output = output


class Departed(SimulationError):
    """A program that behaves differently from the run in which its computation was timed."""


class Stopped(SimulationError):
    """A simulation that was ended or not begun because its result is no longer wanted."""


def check_still(what: str, known: str, now: str) -> None:
    """Check that files hashed at the start of the command have not changed.

    Raises:
        KernelError: They were changed.
    """
    if now != known:
        raise KernelError(what, "its files were changed while the command ran", "Start the command again")
