"""The command ``gridval plan job``: time and nodes to request for a batch script."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from apps.batch.script import Script, read_script, rewritten, script_of
from apps.options.exit_status import exit_status
from apps.options.machines import machine_from_request, machines_platform
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_whole
from platforms.options import platform_from_request
from platforms.prices.options import costs_from_request
from platforms.terminal.progress import doing
from predictor.job.plan import Plan
from predictor.job.request import JobRequest, check
from predictor.job.sizes import Size, chosen, grows, measured_size, read_runs
from predictor.job.steps import Forecaster, launches_of, spread_factor
from predictor.series.grid import counts

_NO_PART = "input and output, the start of programs and the wait in the queue: they have no part in the time"
_SCATTER = "how much runs scatter on the machine: --spread says it"
_SizeOf = Callable[[int, Script], Size]


def answer(request: JobRequest) -> Plan:
    """Plan what a request asks for, and write the script that --write names.

    Raises:
        UserError: An option or the script is wrong, or no number of nodes has an answer.
        SimulationError: A run of the evidence fails.
    """
    check(request)
    script = read_script(request.job)
    if request.write is not None:
        _check_target(request.job, request.write)
    made = _from_measured(request, script) if request.measured is not None else _predicted(request, script)
    if request.write is not None:
        if made.improved is None:
            raise UserError(f"--write {request.write}", "nothing to change is known", "See the plan without --write")
        try:
            write_whole(request.write, made.improved)
        except OSError as err:
            reason = err.strerror or str(err)
            raise UserError(f"--write {request.write}", f"cannot be written: {reason}", "Choose another file") from err
    return made


def _check_target(job: str, target: str) -> None:
    """Check that the improved script does not take the place of the original.

    Raises:
        UserError: It does, or the place is not writable.
    """
    check_writable("--write", target)
    if os.path.realpath(job) == os.path.realpath(target) or (Path(target).exists() and os.path.samefile(job, target)):
        raise UserError(f"--write {target}", "is the script itself, which stays as it is", "Name another file")


def _from_measured(request: JobRequest, script: Script) -> Plan:
    """Plan from measured times."""
    assert request.measured is not None
    for name in (
        "platform",
        "scenario",
        "machine",
        "app",
        "program",
        "predictor",
        "price",
        "carbon",
        "pue",
        "embodied",
        "start",
        "start_within",
    ):
        if getattr(request, name) not in (None, "", (), []):
            raise UserError(
                f"--{name.replace('_', '-')}", "does not go with --measured", "Measured times need none: drop one"
            )
    risk = request.risk / 100
    runs = read_runs(request.measured)
    factor = spread_factor(risk, request.spread)
    return _plan(request, script, lambda nodes, _: measured_size(runs, nodes, risk, factor), None, None)


def _predicted(request: JobRequest, script: Script) -> Plan:
    """Plan from predictions of the steps."""
    launches_of(script, request)  # raises its error before anything runs
    if request.predictor is not None and "," in request.predictor:
        raise UserError(f"--predictor {request.predictor}", "several predictors", "Name one")
    costs = costs_from_request(request)
    machine = machine_from_request(request)
    settings = settings_from_request(request, machine, request.repeats)
    said = Cautions()
    with doing("reading the platform"):
        platform = machines_platform(request, machine) if machine is not None else platform_from_request(request)
    if costs.asked:
        costs.check(platform)
    with runner_from_request(request, cautions=said, saying=False) as runner:
        forecaster = Forecaster(request, settings, platform, runner, machine is not None, costs)
        room = forecaster.room(script.asked.cpus_per_task or 1)
        plan = _plan(request, script, lambda nodes, sized: forecaster.size(sized, nodes), len(platform.hosts), room)
        made = replace(plan, unknown=(*plan.unknown, *forecaster.notes))
    return replace(made, cautions=tuple(said.lines()))


def _plan(request: JobRequest, script: Script, size_of: _SizeOf, most: int | None, room: int | None) -> Plan:
    """Return the plan over the numbers of nodes to compare; those without an answer are left out, with the reason."""
    sizes: list[Size] = []
    refused: list[tuple[int, str]] = []
    first: UserError | None = None
    own = script.asked.least_nodes
    if own is None and room is not None:
        own = -(-script.asked.total // room)
    for nodes in _numbers(request, script, own, most, room):
        try:
            sized = script if nodes == own else _with_nodes(script, nodes, room)
            with doing(f"predicting the job on {nodes} nodes"):
                sizes.append(size_of(nodes, sized))
        except UserError as err:
            first = first or err
            refused.append((nodes, str(err).rstrip(".")))
    if not sizes:
        assert first is not None
        raise first
    growing = grows(sizes)
    choice = chosen([size for size in sizes if size.nodes == own or not growing], request.objective, request.slack)
    improved = None
    if choice is not None:
        wanted = None if choice.nodes == own else choice.nodes
        improved = rewritten(script, nodes=wanted, time_s=choice.below_s, room=room)
    scatter = [_SCATTER] if request.spread is None and request.measured is None else []
    unknown = (*script.unknown, _NO_PART, *scatter)
    return Plan(request, script, own, tuple(sizes), choice, improved, unknown, tuple(refused), growing=growing)


def _with_nodes(script: Script, nodes: int, room: int | None) -> Script:
    """Return a script with another number of nodes, whose steps keep the numbers of their lines."""
    made = script_of(rewritten(script, nodes=nodes, room=room), script.path)
    added = made.content.count(b"\n") - script.content.count(b"\n")
    return replace(made, launches=tuple(replace(launch, line=launch.line - added) for launch in made.launches))


def _numbers(
    request: JobRequest, script: Script, own: int | None, most: int | None, room: int | None
) -> tuple[int, ...]:
    """Return the numbers of nodes to compare.

    Raises:
        UserError: --nodes is wrong, or the script has more nodes than the platform.
    """
    if request.nodes is not None:
        return counts("--nodes", request.nodes)
    if own is None:
        remedy = "Name numbers to compare with --nodes, or add a header that says so"
        raise UserError(script.path, "its headers do not say how many nodes it has", remedy)
    if most is not None and own > most:
        raise UserError(script.path, f"requests {own} nodes, where the platform has {most}", "Name fewer with --nodes")
    near = {max(own // 2, 1), own, own * 2}
    try:
        rewritten(script, nodes=own + 1, room=room)
    except UserError:  # headers that cannot be changed
        near = {own}
    return tuple(sorted(nodes for nodes in near if most is None or nodes <= most))


def _say(request: JobRequest, made: Plan) -> None:
    for caution in made.cautions:
        print(f"caution: {caution}", file=sys.stderr)


COMMAND = Command(
    "plan job",
    JobRequest,
    answer,
    "Read a batch script of Slurm, PBS or LSF, predict its steps, and say which time and how many nodes to request "
    "(docs/planning/jobs.md). Nothing of the script is run; a program that it starts and that is here is recorded.",
    first=("--platform", "--scenario", "--machine", "--nodes", "--risk", "--spread", "--measured", "--write",
           "--program", "--program-args"),
    after=_say,
    status=exit_status,
)  # fmt: skip
main = COMMAND.main
