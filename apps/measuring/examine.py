"""Examine a machine before it is used: each part works, or has a fault described in one line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.errors import SimulationError
from apps.machines.launch import Launched, alone_on, find_launcher, launch, launcher_environment, printed_json
from apps.machines.machine_file import Machine
from apps.measuring.compiling import layer_library, probe_program
from apps.measuring.engine import same_host
from apps.measuring.notes import FILE, VARIABLE, Notes, parse_notes
from platforms.errors import UserError
from platforms.files.scratch import scratch_folder
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.compiling import find_compiler
from platforms.wording import number_of

_MOST_AHEAD_S = 0.1  # larger clock offsets make dates of different hosts useless
_MOST_ALONE = 32  # hosts that are tried one by one if they cannot be reached together
_MOST_HUNG = 3  # hosts on which the launcher hangs before the others are skipped
_HANGS = "Try its command by hand: it may wait for a password, in a queue, or behind a firewall"
_UNSHARED = "Let folder in the machine's file name a folder that every host sees"
# Remedies by patterns in the launcher's output; the first match counts.
_REMEDIES = (
    (
        "resolve hostname|Name or service not known|Unknown host|Invalid node name",
        "Correct the host's name in the file",
    ),
    ("Permission denied|Host key verification", "Let ssh to the host work without a password: ssh-copy-id HOST"),
    ("No route to host|Connection (refused|timed out)", "See that the host is up and `ssh HOST true` works from here"),
    ("ssh: not found|orted|daemons|hydra_pmi_proxy", "Install ssh here, and the same MPI library on every host"),
    ("layer: cannot write|/(probe|layer)-\\w+.*(No such file|cannot open)", _UNSHARED),
    ("time limit", _HANGS),
)


@dataclass(frozen=True)
class Part:
    """A part of the machine."""

    name: str
    good: bool
    text: str  # the result, or the fault
    needed: bool = True  # runs are impossible without it
    remedy: str = ""


def examine(machine: Machine) -> Iterator[Part]:
    """Yield the parts of a machine in the order in which they are needed; the first fault may end the check."""
    launcher = _launcher(machine)
    yield launcher
    compilers = list(_compilers(machine))
    yield from compilers
    if not launcher.good or not compilers[0].good:
        return
    try:
        layer, probe = layer_library(machine), probe_program(machine)
    except UserError as err:
        if "mpi.h" in err.problem:  # otherwise only the compiler's own message would say what is missing
            problem = f"{machine.compilers.c} does not find mpi.h"
            yield Part("compiler for C", False, problem, remedy="Name the MPI library's compiler, such as mpicc")
        else:
            yield Part("layer", False, f"{err.where}: {err.problem}", remedy=err.remedy)
        return
    yield Part("layer", True, f"compiled for its MPI library: {layer}")
    with alone_on(machine):
        yield from _hosts(machine, layer, probe)


def faults(machine: Machine) -> list[str]:
    """Return one line for every fault of a machine that makes runs impossible; empty if it is ready."""
    return [f"{part.name}: {part.text}" for part in examine(machine) if part.needed and not part.good]


def _launcher(machine: Machine) -> Part:
    try:
        path = find_launcher(machine)
    except UserError as err:
        return Part("launcher", False, err.problem, remedy=err.remedy)
    version = _first_line(machine, machine.launcher.version)
    if version is None:
        words = " ".join(machine.launcher.version)
        remedy = "Give a command that prints the version of MPI as version in [launcher]"
        return Part("launcher", True, f"{path}; {words} prints no version", remedy=remedy)
    return Part("launcher", True, f"{path}: {version}")


def _first_line(machine: Machine, command: Sequence[str]) -> str | None:
    """Return the first line printed by a short command; None if it fails."""
    with scratch_folder("version") as folder:
        try:
            done = subprocess.run(
                [*die_with_parent(), *command], env=launcher_environment(folder), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", timeout=machine.limits.command_s, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[0] if lines and done.returncode == 0 else None


def _compilers(machine: Machine) -> Iterator[Part]:
    compilers = machine.compilers
    for language, name in (("C", compilers.c), ("C++", compilers.cxx), ("Fortran", compilers.fortran)):
        needed = language == "C"
        if name is None:
            continue
        try:
            yield Part(f"compiler for {language}", True, str(find_compiler(name)), needed)
        except UserError as err:
            yield Part(f"compiler for {language}", False, f"{name} is {err.problem}", needed, err.remedy)


def _hosts(machine: Machine, layer: Path, probe: Path) -> Iterator[Part]:
    """Run the probe on all hosts at once, in an order that no launcher would choose by itself."""
    asked = _order(machine)
    done = _probe(machine, layer, probe, asked)
    answer = None if isinstance(done, str) else printed_json(done)
    if answer is None and not isinstance(done, str) and done.stdout.count('{"ranks"') > 1:
        done = _probe(machine, layer, probe, asked[:1])  # each rank reported as if it were alone, and lines mix
        answer = None if isinstance(done, str) else printed_json(done)
    if isinstance(done, str) or not done.succeeded or answer is None:
        why = done if isinstance(done, str) else done.why
        yield from _alone(machine, layer, probe, asked, why)
        return
    ranks = answer["ranks"]
    if len(ranks) != len(asked):
        yield _other_library(machine, asked, ranks)
        return
    count = number_of(len(set(asked)), "host")
    left_out = len(machine.hosts) - len(set(asked))
    rest = f"; {left_out} more are beyond the limit of {machine.limits.ranks} ranks" if left_out else ""
    yield Part("hosts", True, f"{count} reached with {number_of(len(asked), 'rank')} in {done.wall_s:.1f} s{rest}")
    yield _placement(asked, [str(rank["host"]) for rank in ranks])
    yield _libraries(asked, [_library(rank) for rank in ranks])
    yield _clocks(asked, [float(rank["ahead_s"]) for rank in ranks])
    try:
        yield from _measured(parse_notes(done.files[FILE], len(asked)))
    except (KeyError, ValueError):
        problem = "it does not load, or writes nothing: LD_PRELOAD does not reach the ranks"
        yield Part("measuring", False, problem, remedy="Use a launcher that starts programs by /usr/bin/env unchanged")


def _order(machine: Machine) -> tuple[str, ...]:
    """Return hosts for ranks: in reverse order, the last one twice if its cores and the limit allow it."""
    hosts = list(reversed(machine.hosts))[: machine.limits.ranks]
    last = next(cluster for cluster in machine.clusters if hosts[0] in cluster.hosts)
    again = [hosts[0]] if last.cores > 1 and len(hosts) < machine.limits.ranks else []
    return (*hosts, *again)


def _probe(machine: Machine, layer: Path, probe: Path, hosts: Sequence[str]) -> Launched | str:
    try:
        return launch(
            machine, [str(probe)], hosts, environment={VARIABLE: f"{{folder}}/{FILE}"}, preload=[layer],
            collect=[FILE], time_limit_s=machine.limits.command_s,
        )  # fmt: skip
    except UserError as err:
        return f"{err.where}: {err.problem}"
    except SimulationError as err:
        return str(err)


def _alone(machine: Machine, layer: Path, probe: Path, hosts: Sequence[str], why: str) -> Iterator[Part]:
    """Report the hosts that cannot be reached; if each can, all together cannot."""
    bad = hung = 0
    tried = list(dict.fromkeys(hosts))[:_MOST_ALONE]
    for number, host in enumerate(tried):
        done = _probe(machine, layer, probe, [host])
        if isinstance(done, str) or not done.succeeded:
            bad += 1
            reason = done if isinstance(done, str) else done.why
            yield Part(f"host {host}", False, f"cannot be reached: {reason}", remedy=_remedy(reason))
            hung += not isinstance(done, str) and done.timed_out
        if hung == number + 1 == _MOST_HUNG < len(tried):
            problem = f"it did not end on any of the first {hung} hosts; the others were not tried"
            yield Part("launcher", False, problem, remedy=_HANGS)
            return
    if not bad:
        yield Part("hosts", False, f"each can be reached, but not together: {why}", remedy=_remedy(why))


def _remedy(reason: str) -> str:
    """Return the remedy for a launcher's error message."""
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, reason):
            return remedy
    return "Correct hosts, or the launcher"


def _other_library(machine: Machine, asked: Sequence[str], ranks: Sequence[Mapping[str, Any]]) -> Part:
    """Return the fault of ranks that do not find each other: their MPI library is not the launcher's."""
    compiled = f"{machine.compilers.c} compiles for {_library(ranks[0])}"
    other = f"{machine.launcher.command[0]} belongs to another MPI library"
    problem = f"{number_of(len(asked), 'rank')} requested, but each finds {len(ranks)}: {compiled}, and {other}"
    return Part("MPI library", False, problem, remedy="Name the launcher and the compilers of one MPI library")


def _library(rank: Mapping[str, Any]) -> str:
    """Return the version of a rank's MPI library: the first part of its version string."""
    return " ".join(str(rank["mpi"]).split()).partition(", ")[0][:60]


def _libraries(hosts: Sequence[str], versions: Sequence[str]) -> Part:
    for host, library in zip(hosts, versions, strict=True):
        if library != versions[0]:
            problem = f"{hosts[0]} has {versions[0]}, but {host} has {library}"
            return Part("MPI library", False, problem, remedy="Install the same MPI library on all hosts")
    return Part("MPI library", True, versions[0])


def _placement(asked: Sequence[str], hosts: Sequence[str]) -> Part:
    wrong = [(rank, a, b) for rank, (a, b) in enumerate(zip(asked, hosts, strict=True)) if not same_host(a, b)]
    if not wrong:
        return Part("placement", True, "every rank is on the requested host")
    rank, wanted, got = wrong[0]
    more = f", and {len(wrong) - 1} more elsewhere" if len(wrong) > 1 else ""
    remedy = "Let the launcher place ranks by {hostfile}, in order (docs/programs/machines.md)"
    return Part("placement", False, f"rank {rank} is on {got}, not on {wanted}{more}", remedy=remedy)


def _clocks(hosts: Sequence[str], ahead_s: Sequence[float]) -> Part:
    worst = max(range(len(hosts)), key=lambda rank: abs(ahead_s[rank]))
    text = f"at most {abs(ahead_s[worst]):.2g} s apart"
    if abs(ahead_s[worst]) <= _MOST_AHEAD_S:
        return Part("clocks", True, text, needed=False)
    problem = f"that of {hosts[worst]} is {ahead_s[worst]:+.3g} s from that of {hosts[0]}"
    return Part("clocks", False, problem, needed=False, remedy="Synchronise them; run times do not depend on it")


def _measured(notes: Notes) -> Iterator[Part]:
    yield Part("measuring", True, f"the layer sees the calls of MPI: {notes.mpi.partition(', ')[0][:60]}")
    if notes.throttled < 0:
        yield Part("throttling", True, "no host reports throttled processors", needed=False)
    else:
        yield Part("throttling", True, "the hosts report throttled processors", needed=False)
    load = max(rank.load_before for rank in notes.ranks)
    yield Part("load", True, f"the busiest host has a load of {load:.2g}", needed=False)
