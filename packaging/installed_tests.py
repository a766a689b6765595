"""Run the tests against the installed wheels, in a folder that has none of the packages (make test-installed).

    python packaging/installed_tests.py PYTHON FOLDER [ARGUMENT ...]

PYTHON has the wheels and what tests need.  FOLDER is filled with the repository's files except the modules of the four
packages; the tests in it import gridval.X.  The arguments are pytest's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from layout import PACKAGES, TOP, module_names, rewritten

ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = "|".join(PACKAGES)
_DOTTED_IMPORT = re.compile(rf"^(\s*)import (({_PACKAGE})\.[\w.]+)$", re.MULTILINE)
_IMPORT_IN_TEXT = re.compile(rf"((?:\b|(?<=\\n))from |(?:^|[;\"'])\s*import )(?=(?:{_PACKAGE})[.\s])", re.MULTILINE)
_STARTED = re.compile(rf"(?<=-m )(?=(?:{_PACKAGE})\.)")
_ATTRIBUTE = re.compile(rf"""(?<=["'])(?=(?:{_PACKAGE})(?:\.\w+){{2,}}["'])""")  # as for monkeypatch.setattr
_TESTS = "not (checkout or slow or browser or machine)"


def rewritten_test(source: str, modules: frozenset[str]) -> str:
    """Return a test with its imports, and those in texts that it runs as programs, under ``gridval``."""
    source = _DOTTED_IMPORT.sub(rf"\1import {TOP}.\2; from {TOP} import (\3)", source)
    source = rewritten(source, modules)
    source = _IMPORT_IN_TEXT.sub(rf"\1{TOP}.", source)
    source = _STARTED.sub(f"{TOP}.", source)
    return _ATTRIBUTE.sub(f"{TOP}.", source).replace(f"{TOP}.validation.{TOP}", TOP)


def fill(folder: Path) -> None:
    """Copy the files that git knows, and rewrite the tests."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    modules = module_names(ROOT)
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if name.endswith(".py") and name.startswith(tuple(f"{package}/" for package in PACKAGES)):
            continue  # what is no module is read by tests: C files, tables
        if not path.is_file():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, folder / name)
        if name.startswith("tests/") and name.endswith(".py"):
            (folder / name).write_text(rewritten_test(path.read_text("utf-8"), modules), "utf-8")


def main(words: list[str]) -> int:
    """Fill the folder and run pytest in it."""
    python, folder = Path(words[0]).absolute(), Path(words[1]).absolute()
    fill(folder)
    # A Python outside this environment must not find the checkout.
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", _TESTS, *words[2:]]
    return subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
