"""Choices that a run's description offers, the limits of its numbers, and what it may know of a real machine."""

from __future__ import annotations

from typing import Protocol

MODES = ("skeleton", "verify")
ENGINES = ("smpi", "s4u")
MACHINE = "machine"  # the engine of runs on a real machine, which goes with its file
REPLAY = "replay"  # the engine of programs that SimGrid cannot run: it replays their recordings
RECORDED = "recorded"  # the computation of a replay is the one in its recording
REPEATS = 5  # of a run on a real machine
MOST_REPEATS = 1000
AUTO = "auto"  # of a command's choices of computation: what fits the program (apps/spec/settings.py)
COMPUTE = ("injected", "measured", "none")  # "measured" is for the user's own programs alone
ITERATION_POLICIES = ("steady", "full")
PLATFORM_EFFICIENCY = "platform"  # the share that the platform gives of each host and kernel
PLATFORM_MEMORY = "platform"  # each host's memory bus has the bandwidth that the platform gives
# The most iterations of a method that iterates until it converges; a run that needs more has failed.
MOST_ITERATIONS = 20_000
LEAST_EFFICIENCY = 1e-9  # share of the peak speed; a smaller one fits no computer, and times overflow


class RealMachine(Protocol):
    """A real machine, as far as the core knows it; the add-on ``apps.machines`` reads its file and uses it.

    Two with the same ``content_hash`` measure the same.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all hosts, cluster by cluster."""

    @property
    def content_hash(self) -> str:
        """Hash of everything that can change a measured time."""

    @property
    def described(self) -> str:
        """Its name and the command that starts programs on it, for readers."""
