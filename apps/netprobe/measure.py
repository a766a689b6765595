"""Experiments with messages between hosts, in simulation: what a user with a real machine would run on it."""

from __future__ import annotations

import hashlib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.process import run_bounded
from apps.spec import ENGINE_OPTIONS, check_host_names
from apps.verdict import final_record
from platforms.compiling import compile_once
from platforms.platform import Platform
from platforms.process import die_with_parent
from platforms.repairs import loaded_first, simgrid_identity
from platforms.scratch import scratch_folder
from platforms.simgrid import check_simgrid

_SOURCE = Path(__file__).with_name("netprobe.c")


@dataclass(frozen=True)
class Exchange:
    """A message and its answer, which is sent when the message has come.  Sizes in bytes, at most 2^31 - 1."""

    source: str  # host
    destination: str  # host; may be the source
    size_bytes: int
    answer_bytes: int


@dataclass(frozen=True)
class Late:
    """A message whose receive is posted ``late_us`` after its send.  Its times: of MPI_Send, and of MPI_Recv."""

    source: str
    destination: str  # another host
    size_bytes: int
    late_us: int  # > 0


@dataclass(frozen=True)
class Plan:
    """Experiments, one after the other: exchanges that begin at the same moment, or one message to a late receiver.

    A lone message needs no common moment, and occupies its two hosts only.
    """

    platform: Platform
    experiments: tuple[tuple[Exchange, ...] | Late, ...]
    options: tuple[tuple[str, str], ...] = ()  # SimGrid's --cfg

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that take part, in the order of their first experiment."""
        ends = (end for one in self.experiments for e in _messages(one) for end in (e.source, e.destination))
        return tuple(dict.fromkeys(ends))

    def identity(self) -> dict[str, Any]:
        """What decides the result."""
        content = "\n".join(self.lines())
        return {
            "platform_hash": self.platform.content_hash,
            "host": list(self.hosts),
            "experiments": hashlib.sha256(content.encode()).hexdigest(),
            "options": dict(self.options),
            "program_hash": hashlib.sha256(_SOURCE.read_bytes()).hexdigest(),
            "simgrid": simgrid_identity(),
        }

    def lines(self) -> list[str]:
        """The plan as netprobe reads it."""
        rank = {host: i for i, host in enumerate(self.hosts)}
        lines = []
        for one in self.experiments:
            numbers = [0 if isinstance(one, Late) else len(one)]
            for e in _messages(one):
                more = e.late_us if isinstance(e, Late) else e.answer_bytes
                numbers += [rank[e.source], rank[e.destination], e.size_bytes, more]
            lines.append(" ".join(map(str, numbers)))
        return lines


@dataclass(frozen=True)
class Measurement:
    """The result of a plan."""

    times_s: tuple[tuple[float, ...], ...]  # by experiment and exchange: from its beginning until the answer has come
    node_s: float  # nodes held, times the time they were held for: two for a lone message, else all of the plan
    wall_s: float  # of this computer
    energies_j: tuple[float | None, ...] = ()  # by experiment, of its first host; None: not counted; (): none is


def measure(plan: Plan, *, time_limit_s: float | None = None) -> Measurement:
    """Carries out a plan in simulation.  Raises SimulationError where it does not succeed."""
    check_simgrid()
    for host in plan.hosts:
        plan.platform.host(host)
    check_host_names(plan.hosts)
    program = compile_once("netprobe", [_SOURCE], compiler=["smpicc"], flags=["-O2", "-std=gnu11"])
    with scratch_folder("smpi") as folder:
        command = _prepare(plan, program, folder)
        done = run_bounded(
            command, folder=folder, time_limit_s=time_limit_s, environment={**os.environ, "TMPDIR": str(folder)}
        )
        output = final_record(done, f"measuring the network of {plan.platform.name}")
    node_s = sum(
        (2 if len(_messages(one)) == 1 else len(plan.hosts)) * took_s
        for one, took_s in zip(plan.experiments, output["took_s"], strict=True)
    )
    return Measurement(tuple(map(tuple, output["times_s"])), node_s, done.wall_s)


def _messages(experiment: tuple[Exchange, ...] | Late) -> tuple[Exchange | Late, ...]:
    return (experiment,) if isinstance(experiment, Late) else experiment


def _prepare(plan: Plan, program: Path, folder: Path) -> list[str]:
    (folder / "netprobe").symlink_to(program)
    (folder / "hosts").write_text("".join(f"{host}\n" for host in plan.hosts))
    (folder / "plan").write_text("".join(f"{line}\n" for line in plan.lines()))
    guard = [*die_with_parent(), *loaded_first(folder)]
    options = {**ENGINE_OPTIONS, **dict(plan.options)}
    return [
        "smpirun",
        *(["-wrapper", shlex.join(guard)] if guard else []),
        *("-np", str(len(plan.hosts)), "-hostfile", "hosts"),
        *("-platform", str(plan.platform.path), "-no-privatize"),
        *(f"--cfg={key}:{value}" for key, value in options.items()),
        *("./netprobe", "plan"),
    ]
