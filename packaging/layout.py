"""The wheel's layout: the repository's four packages live under ``gridval``, so that no user's module hides them.

In the repository they are top-level packages.  ``pip wheel``, and ``pip install`` without ``-e``, run BuildLayout: it
moves them and rewrites what names them, which are import statements, and texts that are the name of one of their
modules (``"apps.smpi.engine"``, ``"predictor.hcf:HCF"``).  An installed package therefore needs no import hook.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("platforms", "apps", "predictor", "validation")
TOP = "gridval"
_TOP_IN_CHECKOUT = "validation.gridval"  # the package `gridval` of a checkout lies in this folder
_CHECKOUT_ONLY = "checkout.py"  # finds the four packages beside the repository's `gridval`
_NAME = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+(?P<object>:\w+)?")
_STARTED = "python -m "  # before a module's name, in what commands say of themselves
_BEGINNING = re.compile(rf"(?:{'|'.join(PACKAGES)})\.(?:\w+\.)*")
_DOCTEST = re.compile(rf"^(\s*>>> (?:from|import) )(?=(?:{'|'.join(PACKAGES)})\b)", re.MULTILINE)


class Edit(NamedTuple):
    """Replace what begins at a byte of the source."""

    start: int
    old: bytes
    new: bytes


def rewritten(source: str, modules: frozenset[str]) -> str:
    r"""Return a module's source with the packages under ``gridval``.

    Args:
        source: The source.
        modules: The names of all modules and packages in the four packages.

    Raises:
        ValueError: An import statement cannot be rewritten, because its name would change what the module calls it.

    >>> rewritten("from apps.smpi import engine\nimport platforms\nNAME = 'apps.smpi'\n", frozenset({"apps.smpi"}))
    "from gridval.apps.smpi import engine\\nimport gridval.platforms as platforms\nNAME = 'gridval.apps.smpi'\n"
    """
    content = source.encode()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    made = content
    for edit in sorted(_edits(ast.parse(source), content, starts, modules), reverse=True):
        if made[edit.start : edit.start + len(edit.old)] != edit.old:
            raise ValueError(f"byte {edit.start}: {edit.old!r} is not where it is expected")
        made = made[: edit.start] + edit.new + made[edit.start + len(edit.old) :]
    return _DOCTEST.sub(rf"\1{TOP}.", made.decode())


def _edits(tree: ast.AST, content: bytes, starts: list[int], modules: frozenset[str]) -> Iterator[Edit]:
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if node in parts:
            continue
        if isinstance(node, ast.ImportFrom) and not node.level and node.module and _ours(node.module):
            start = content.index(node.module.encode(), starts[node.lineno - 1] + node.col_offset + len("from "))
            yield Edit(start, node.module.encode(), _under(node.module).encode())
        elif isinstance(node, ast.Import):
            yield from (_import(alias, starts) for alias in node.names if _ours(alias.name))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_module(node.value, modules):
            yield _text(node, node.value, content, starts)
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            first = str(node.values[0].value)
            if _BEGINNING.fullmatch(first) and first.rstrip(".") in modules:
                yield _text(node, first, content, starts)


def _ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _under(module: str) -> str:
    if module.startswith(_STARTED):
        return _STARTED + _under(module.removeprefix(_STARTED))
    return module.replace(_TOP_IN_CHECKOUT, TOP) if module.startswith(_TOP_IN_CHECKOUT) else f"{TOP}.{module}"


def _import(alias: ast.alias, starts: list[int]) -> Edit:
    if "." in alias.name and alias.asname is None:
        raise ValueError(f"line {alias.lineno}: import {alias.name}: write `from ... import ...`")
    named = "" if alias.asname else f" as {alias.name}"
    start = starts[alias.lineno - 1] + alias.col_offset
    return Edit(start, alias.name.encode(), f"{_under(alias.name)}{named}".encode())


def _names_module(text: str, modules: frozenset[str]) -> bool:
    text = text.removeprefix(_STARTED)
    match = _NAME.fullmatch(text)
    return match is not None and text.partition(":")[0] in modules


def _text(node: ast.expr, text: str, content: bytes, starts: list[int]) -> Edit:
    start = content.index(text.encode(), starts[node.lineno - 1] + node.col_offset)
    return Edit(start, text.encode(), _under(text).encode())


def module_names(folder: Path) -> frozenset[str]:
    """Return the names of all modules and packages of the four packages in a folder."""
    files = [path.relative_to(folder) for package in PACKAGES for path in (folder / package).rglob("*.py")]
    names = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files}
    return frozenset(names | {".".join(path.parent.parts) for path in files})


def move(folder: Path) -> None:
    """Move the four packages of a folder into its package ``gridval``, and rewrite the modules."""
    modules = module_names(folder)
    shutil.rmtree(folder / _TOP_IN_CHECKOUT.replace(".", "/"), ignore_errors=True)  # it is at the top already
    for package in PACKAGES:
        (folder / package).rename(folder / TOP / package)
    (folder / TOP / _CHECKOUT_ONLY).unlink()
    for path in (folder / TOP).rglob("*.py"):
        try:
            path.write_text(rewritten(path.read_text("utf-8"), modules), "utf-8")
        except ValueError as err:
            raise SystemExit(f"error: {path.relative_to(folder)}: {err}") from err


if "setuptools" in sys.modules:  # run by setuptools (tool.setuptools.cmdclass), else read by tests
    from setuptools.command.build_py import build_py

    class BuildLayout(build_py):
        """Builds the wheel's layout; an editable installation keeps the repository's."""

        def run(self) -> None:
            """Build all modules and data, then move them."""
            if self.editable_mode:
                super().run()
                return
            shutil.rmtree(self.build_lib, ignore_errors=True)  # of an earlier build
            super().run()
            move(Path(self.build_lib))
