"""Test docs/recipes: each patch works in a copy of the repository; and the names on the page of architecture exist."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name

import pytest
from markdown_pages import DOCS, ROOT, tokens

FOLDER = DOCS / "recipes"
PAGE = FOLDER / "index.md"
ARCHITECTURE = DOCS / "architecture.md"
MOST_LINES = 80
RECIPES = ("kernel", "predictor", "network", "engine", "evidence", "report-section", "command")
QUICK = ("kernel", "predictor", "command")  # the recipes most used; the others take as long again
PACKAGES = ("platforms", "apps", "predictor", "validation")


@dataclass
class Recipe:
    """A patch, and what the section that links to it runs and shows."""

    patch: Path
    commands: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)  # lines of the output; "..." is any text

    @property
    def new_files(self) -> list[str]:
        return re.findall(r"^--- /dev/null\n\+\+\+ b/(.+)$", self.patch.read_text(), re.MULTILINE)


def recipe_of(name):
    """Return the recipe whose section of the page links to the patch."""
    found, inside = Recipe(FOLDER / f"{name}.patch"), False
    for token in tokens(PAGE):
        if token.type == "heading_open":
            inside = False
        elif token.type == "inline":
            inside = inside or f"]({name}.patch)" in token.content
        elif token.type == "fence" and inside:
            if token.info == "sh":
                found.commands.append(token.content)
            else:
                found.printed += token.content.splitlines()
    return found


@pytest.fixture
def copy(tracked, tmp_path):
    """Return a copy of the repository beside a folder of programs, in which python is the one of this test."""
    copy, programs = tmp_path / "copy", tmp_path / "programs"
    for package in PACKAGES:  # with what Python compiled, which need not be compiled again
        shutil.copytree(ROOT / package, copy / package)
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python").chmod(0o755)
    return copy


def shell(copy, script):
    """Run a script in the copy, with the packages there; return its output, having seen that it succeeds."""
    path = [copy.parent / "programs", Path(sys.executable).parent, os.environ["PATH"]]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=copy, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_every_function_and_file_that_a_command_passes_exists():
    section = ARCHITECTURE.read_text().partition("## From the command")[2].partition("\n### ")[0]
    names = set(re.findall(r"`((?:platforms|apps|predictor|validation)[./][\w./]+)`", section))
    assert len(names) > 35
    for name in sorted(names):
        if "/" in name:
            assert (ROOT / name).is_file(), name
        else:
            resolve_name(name)


def test_the_architecture_fits_on_a_page_whose_files_exist():
    text = ARCHITECTURE.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    named = re.findall(r"`((?:platforms|apps|predictor|validation|tests)/[\w./]+)`", text)
    assert len(named) > 25
    for name in named:
        assert (ROOT / name).exists(), name


def test_every_recipe_has_its_patch_and_section():
    assert {path.stem for path in FOLDER.iterdir()} == {*RECIPES, "index"}
    assert all(recipe_of(name).commands and recipe_of(name).printed for name in RECIPES)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RECIPES]
)
def test_a_recipe_works(name, copy):
    """Its commands succeed and print what it says, and its files are in the style of the project."""
    recipe = recipe_of(name)
    shell(copy, f"git apply {recipe.patch}")
    output = "".join(shell(copy, commands) for commands in recipe.commands)
    for line in recipe.printed:
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        assert re.search(rf"^{pattern}", output, re.MULTILINE), f"{line!r} is not in\n{output}"
    python = " ".join(file for file in recipe.new_files if file.endswith(".py"))
    shell(copy, f"lint-imports --no-cache && ruff check {python} && ruff format --check {python}")
