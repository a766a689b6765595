"""Read a batch script, its requests, its steps and what it leaves open, and write it with other nodes, tasks and time.

Nothing of the script is executed, and no file but the script is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apps.batch.headers import (
    LSF,
    NAMES,
    PBS,
    SLURM,
    Allocation,
    Header,
    allocation,
    headers_of,
    limit_text,
    rounded_up_s,
)
from apps.batch.launchers import Launch
from apps.batch.lexer import Unclosed, words_of
from apps.batch.steps import Steps
from platforms.errors import UserError
from platforms.files.reading import input_bytes

MOST_BYTES = 1 << 20  # Slurm itself refuses scripts of more than 4 MB
MOST_LINE = 100_000  # characters


@dataclass(frozen=True)
class Script:
    """A batch script."""

    path: str
    content: bytes
    asked: Allocation
    launches: tuple[Launch, ...]
    unknown: tuple[str, ...]  # what the script alone does not tell, each with its line


def read_script(path: str) -> Script:
    """Read a batch script.

    Raises:
        UserError: It cannot be read, or is no batch script of Slurm, PBS or LSF.
    """
    try:
        content = input_bytes(path, most_bytes=MOST_BYTES)
    except OSError as err:
        raise UserError(f"job script {path}", f"cannot be read: {err.strerror}", "Give a batch script") from err
    return script_of(content, path)


def script_of(content: bytes, path: str) -> Script:
    """Return the script with this content; ``path`` names it in messages, and its folder is where it is submitted.

    Raises:
        UserError: It is no batch script of Slurm, PBS or LSF, or a header cannot be read.
    """
    if b"\0" in content:
        raise UserError(f"{path}:{content[: content.index(0)].count(10) + 1}", "a zero byte", "Give a text file")
    text = content.decode(errors="surrogateescape").replace("\r\n", "\n")
    lines = text.split("\n")
    long = next((number for number, line in enumerate(lines, 1) if len(line) > MOST_LINE), None)
    if long is not None:
        raise UserError(f"{path}:{long}", f"a line of more than {MOST_LINE} characters", "Give a batch script")
    if lines[0].startswith("#!") and not any(shell in lines[0] for shell in ("sh", "env")):
        raise UserError(f"{path}:1", f"{lines[0][:100]} is no shell", "Give a script of sh or bash")
    scheduler, headers, remarks = headers_of(lines, path)
    if scheduler is None:
        raise UserError(path, "no line begins with #SBATCH, #PBS or #BSUB", "Give a batch script of Slurm, PBS or LSF")
    asked = allocation(scheduler, headers, path)
    try:
        words = list(words_of(text))
    except Unclosed as err:
        problem = "a quotation, a substitution or a here-document that has no end"
        raise UserError(f"{path}:{err.args[0]}", problem, f"Check the script with bash -n {path}") from err
    steps = Steps(asked, folder=str(Path(path).absolute().parent))
    steps.follow(words)
    carriage = [f"the lines end in carriage returns: {NAMES[scheduler]} may refuse them"] if b"\r\n" in content else []
    return Script(path, content, asked, tuple(steps.launches), (*asked.unknown, *remarks, *carriage, *steps.unknown))


_MARK = {SLURM: b"#SBATCH", PBS: b"#PBS", LSF: b"#BSUB"}
_Change = tuple[Header, str]


def rewritten(
    script: Script, *, nodes: int | None = None, time_s: float | None = None, room: int | None = None
) -> bytes:
    """Return the content of the script with other values in its headers, added behind the last one where missing.

    Args:
        script: The script.
        nodes: Nodes; tasks for the whole job follow with as many on each node as before.
        time_s: Time limit, which is rounded up to whole minutes.
        room: Tasks on a node where the headers do not say how they are spread over nodes.

    Raises:
        UserError: The headers do not say how the tasks are spread over nodes.
    """
    if nodes is not None and nodes != script.asked.least_nodes:
        of_nodes = {SLURM: _slurm_nodes, PBS: _pbs_nodes, LSF: _lsf_nodes}[script.asked.scheduler]
        changes = of_nodes(script.asked, nodes, script.path, room)
        kept = [change for change in changes if isinstance(change, tuple)]
        content = _changed(script, kept, [change for change in changes if isinstance(change, str)])
        script = script_of(content, script.path)  # the values stand at other places now
    if time_s is None:
        return script.content
    asked = script.asked
    limit = limit_text(asked.scheduler, rounded_up_s(time_s))
    found = list(_time_changes(asked, limit))
    options = {SLURM: f"--time={limit}", PBS: f"-l walltime={limit}", LSF: f"-W {limit}"}
    return _changed(script, found, [] if found else [options[asked.scheduler]])


def _last(asked: Allocation, *names: str) -> list[Header]:
    """Return the headers with these names; the scheduler takes the last value, so that all of them change."""
    return [header for header in asked.headers if header.name in names]


def _slurm_nodes(asked: Allocation, nodes: int, where: str, room: int | None) -> list[_Change | str]:
    before = asked.least_nodes
    if before is None and room is None:
        raise UserError(where, "its headers do not say how many nodes it has", "Add a header --nodes first")
    of_nodes, of_tasks = _last(asked, "nodes"), _last(asked, "ntasks")
    per_node = asked.per_node or (room if before is None else -(-asked.total // before)) or 1
    made: list[_Change | str] = [(header, str(nodes)) for header in of_nodes]
    made += [(header, str(nodes * per_node)) for header in of_tasks]
    return made if of_nodes else [*made, f"--nodes={nodes}"]


def _pbs_nodes(asked: Allocation, nodes: int, where: str, room: int | None) -> list[_Change | str]:
    made: list[_Change | str] = []
    before = asked.least_nodes or 1
    tasks = nodes * (asked.per_node or -(-asked.total // before))
    for header in _last(asked, "l"):
        text = re.sub(r"\b(select|nodes)=[0-9]+", rf"\g<1>={nodes}", header.value)
        text = re.sub(r"\b(procs|mppwidth)=[0-9]+", rf"\g<1>={tasks}", text)
        made += [(header, text)] if text != header.value else []
    if not made:
        raise UserError(where, "no header has select= or nodes=", "Add #PBS -l select=N:mpiprocs=K first")
    return made


def _lsf_nodes(asked: Allocation, nodes: int, where: str, room: int | None) -> list[_Change | str]:
    made: list[_Change | str] = [(header, str(nodes)) for header in _last(asked, "nodes")]
    per_node = asked.per_node or room
    made += [(header, str(nodes * per_node)) for header in _last(asked, "n") if per_node is not None]
    if not made:
        raise UserError(where, "its headers do not say how many slots a node has", 'Add #BSUB -R "span[ptile=K]" first')
    return made


def _time_changes(asked: Allocation, limit: str) -> Iterator[_Change]:
    for header in asked.headers:
        if asked.scheduler == PBS and header.name == "l" and "walltime=" in header.value:
            yield header, re.sub(r"walltime=[^,]*", f"walltime={limit}", header.value)
        elif asked.scheduler != PBS and header.name == "time":
            host = header.value.partition("/")[2] if asked.scheduler == LSF else ""
            yield header, f"{limit}/{host}" if host else limit


def _changed(script: Script, changes: list[_Change], added: list[str]) -> bytes:
    *whole, rest = script.content.decode(errors="surrogateescape").split("\n")
    lines = [*(f"{line}\n" for line in whole), rest]
    for header, text in sorted(changes, key=lambda change: (change[0].line, change[0].begin), reverse=True):
        line = lines[header.line]
        lines[header.line] = line[: header.begin] + text + line[header.end :]
    if added:
        last = max(header.line for header in script.asked.headers) if script.asked.headers else 0
        end = "\r\n" if lines[last].endswith("\r\n") else "\n"
        if not lines[last].endswith("\n"):
            lines[last] += end
        mark = _MARK[script.asked.scheduler].decode()
        lines[last + 1 : last + 1] = [f"{mark} {option}{end}" for option in added]
    return "".join(lines).encode(errors="surrogateescape")
