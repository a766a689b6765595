"""Probes in simulation: a small MPI program that smpirun starts in a folder of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from apps.child.process import Finished, run_bounded
from apps.child.run_folder import environment, smpirun_command, write_host_file
from apps.spec.engine_options import ENGINE_OPTIONS, check_host_names
from platforms.files.scratch import scratch_folder
from platforms.model.platform import Platform
from platforms.read.content import loadable
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.installed import check_simgrid
from platforms.simgrid.repairs import loaded_first


def check_ready(platform: Platform, hosts: Iterable[str]) -> None:
    """Check that SimGrid is installed, and that the platform has the hosts under names that smpirun can pass.

    Raises:
        UserError: One of these is not so.
    """
    check_simgrid()
    hosts = tuple(hosts)
    for host in hosts:
        platform.host(host)
    check_host_names(hosts)


def run_simulated(
    program: Path,
    arguments: Sequence[str],
    hosts: Sequence[str],
    platform: Platform,
    *,
    files: Mapping[str, str] | None = None,
    options: Iterable[tuple[str, str]] = (),
    energy: Sequence[str] = (),
    time_limit_s: float | None = None,
) -> Finished:
    """Run a probe under SMPI and return how it ended.

    Args:
        program: The executable.
        arguments: Its arguments, plain names and numbers.
        hosts: The host of every rank.
        platform: The platform; its <config> holds the factors of SMPI.
        files: Files that the program finds in its folder, by name.
        options: SimGrid's --cfg, beside those of the engine.
        energy: As in ``smpirun_command``.
        time_limit_s: Wall time that the simulation may take, s; None: any.
    """
    with scratch_folder("smpi") as folder:
        (folder / "probe").symlink_to(program)
        write_host_file(folder / "hosts", hosts)
        for name, content in (files or {}).items():
            (folder / name).write_text(content)
        command = smpirun_command(
            "./probe",
            arguments,
            nranks=len(hosts),
            host_file="hosts",
            platform=loadable(platform),
            options={**ENGINE_OPTIONS, **dict(options)},
            energy=energy,
            wrapper=shlex.join([*die_with_parent(), *loaded_first(folder)]),
        )
        return run_bounded(command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder))
