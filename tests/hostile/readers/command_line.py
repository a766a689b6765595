"""All command lines, up to the first process that a command would start.

The first byte chooses the command, by its words after ``gridval``; the rest is its arguments, one per line.  Slashes,
and points or tildes at the beginning of names, are removed so that files are written only in the current folder.  FILE
stands for an existing file.
"""

import importlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from readers.common import ROOT, fenced, seeds

from validation.entrance.main import main as gridval

COMMANDS = (
    "platform make", "platform show", "platform system", "program run", "store", "blocks", "plan grid", "graph",
    "plan clock", "plan cores", "plan nodes", "predict", "plan failures", "blocks run --simulate", "series campaign",
    "plan clock --simulate", "plan cores --simulate", "series league", "plan nodes --simulate", "series map",
    "plan failures --simulate", "run", "platform modes", "validation.modes.fit",
)  # fmt: skip
WITHOUT_VERB = ("predictor.prepare", "validation.modes.fit")  # commands for maintainers: modules
SEEDS = seeds("tests/hostile/corpus/command*.txt")
WORDS = (
    "--scenario\n", "grid4x8\n", "--network\n", "--speeds\n", "--platform\n", "FILE0\n", "FILE1\n", "--app\n", "cg\n",
    "--class\n", "S\n", "--size\n", "--param\n", "--ranks\n", "--mapping\n", "--hostfile\n", "--ranks-per-host\n",
    "--efficiency\n", "--iterations\n", "--jobs\n", "--store\n", "--no-store\n", "--energy\n", "--frequency\n",
    "--memory-bus\n", "--cfg\n", "--out\n", "--json\n", "--report\n", "--fail-above\n", "--predictor\n", "--truth\n",
    "--nodes\n", "--work\n", "nan\n", "inf\n", "-inf\n", "-1\n", "0\n", "1e999\n", "99999999999999999999\n", "٣\n",
    "1_0\n", "\n", "1:100000\n", "--help\n",
)  # fmt: skip
FILES = (
    *seeds("examples/*.toml"),
    *seeds("examples/systems/*.toml", "examples/blocks/*.toml", "examples/platforms/*.xml"),
)


def words_of(content: bytes) -> tuple[str, list[str]]:
    """Return the command's words and its arguments."""
    command = COMMANDS[content[0] % len(COMMANDS)] if content else COMMANDS[0]
    text = os.fsdecode(content[1:4000].replace(b"\0", b""))
    words = []
    for word in text.split("\n")[:30]:
        if word.startswith("FILE") and word[4:].isascii() and word[4:].isdecimal() and len(word) < 8:
            word = str(FILES[int(word[4:]) % len(FILES)])
        else:
            word = word.replace("/", "_").lstrip("~.")
        words.append(word)
    return command, words


@contextmanager
def elsewhere() -> Iterator[Path]:
    """Run the context in a new current folder."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="words-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def run(command: str, words: list[str]) -> tuple[int, str]:
    """Return the exit status and the text on standard error of a command, by its words after ``gridval``."""
    if command in WITHOUT_VERB:
        main, words = importlib.import_module(command).main, list(words)
    else:
        main, words = gridval, [*command.split(), *words]
    said = io.StringIO()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with elsewhere() as folder, fenced(folder), redirect_stdout(out), redirect_stderr(said):
        try:
            status = main(words)
        except SystemExit as end:  # argparse
            status = end.code or 0
    return status, said.getvalue()


def read(content: bytes) -> None:
    command, words = words_of(content)
    status, said = run(command, words)
    assert status in (0, 1, 2, 3), status
    assert "Traceback" not in said
    if status == 2:
        assert "error: " in said


assert ROOT.is_dir()
