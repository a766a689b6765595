"""Read a batch script: what it requests, the steps that it starts, and what the script alone does not tell.

Nothing of the script is executed, and no file but the script is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apps.batch.headers import NAMES, Allocation, allocation, headers_of
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
