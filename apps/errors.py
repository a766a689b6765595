"""What can go wrong with a run."""

from platforms.errors import UserError


class KernelError(UserError):
    """A program, class, size or rank count that cannot be run."""


class NoIterations(KernelError):
    """A run of so many iterations of a user's program that does not show which they are."""


class SimulationError(Exception):
    """A simulation that was started and did not succeed: deadlock, abort, crash, time limit.

    The message is one line; ``log`` keeps the end of what SimGrid and the program said.  Exit status 1.
    """

    def __init__(self, what: str, log: str = ""):
        super().__init__(what)
        self.log = log


class Stopped(SimulationError):
    """A simulation that was ended, or not begun, because nobody wants its result any more."""
