"""Test docs/recipes: each recipe works in a copy of the repository; and the names on the way of a command exist."""

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
WAY = DOCS / "way-of-a-command.md"
ARCHITECTURE = DOCS / "architecture.md"
MOST_LINES = 80
PAGES = ("kernel", "predictor", "network", "engine", "evidence", "report-section", "command")
QUICK = ("kernel", "predictor", "command")  # the pages most used; the others take as long again
PACKAGES = ("platforms", "apps", "predictor", "validation")
FILE_LANGUAGES = {"c", "markdown", "python", "toml"}


@dataclass
class Recipe:
    """The parts of a recipe, each in the order of the page."""

    files: dict[str, str] = field(default_factory=dict)  # new files: their texts by path
    diffs: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)  # lines of the output; "..." is any text


def recipe_of(page):
    """Return the recipe of a page."""
    found, before = Recipe(), ""
    for token in tokens(FOLDER / f"{page}.md"):
        if token.type == "inline":
            before = token.content
        elif token.type == "fence":
            add_block(found, token.info.strip(), token.content, before)
            before = ""
    return found


def add_block(recipe, language, text, before):
    """Add a code block to the recipe; ``before`` is the paragraph directly before it, or empty."""
    if language in FILE_LANGUAGES:
        (path,) = re.fullmatch(r"`([\w./]+)`:", before).groups()
        recipe.files[path] = text
    else:
        parts = {"diff": recipe.diffs, "sh": recipe.commands, "text": recipe.printed}[language]
        parts += text.splitlines() if language == "text" else [text]


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


def apply(recipe, copy):
    """Write the recipe's new files and change others as its diffs say."""
    for path, text in recipe.files.items():
        assert not (copy / path).exists()
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text)
    for text in recipe.diffs:
        done = subprocess.run(["git", "apply", "-"], cwd=copy, input=text, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_every_function_and_file_on_the_way_of_a_command_exists():
    section = WAY.read_text().partition("## From the command")[2].partition("\n## ")[0]
    names = set(re.findall(r"`((?:platforms|apps|predictor|validation)[./][\w./]+)`", section))
    assert len(names) > 40
    for name in sorted(names):
        if "/" in name:
            assert (ROOT / name).is_file(), name
        else:
            resolve_name(name)


def test_the_architecture_is_told_on_a_page_whose_files_exist():
    text = ARCHITECTURE.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    named = re.findall(r"`((?:platforms|apps|predictor|validation|tests)/[\w./]+)`", text)
    assert len(named) > 25
    for name in named:
        assert (ROOT / name).exists(), name


def test_every_recipe_is_in_the_list():
    listed = re.findall(r"^\| \[[^]]+\]\(([\w-]+)\.md\)", (FOLDER / "index.md").read_text(), re.MULTILINE)
    assert tuple(listed) == PAGES
    assert {path.stem for path in FOLDER.glob("*.md")} == {*PAGES, "index"}


@pytest.mark.parametrize(
    "page", [page if page in QUICK else pytest.param(page, marks=pytest.mark.slow) for page in PAGES]
)
def test_a_recipe_works(page, copy):
    """Its commands succeed and print what it says, and its files are in the style of the project."""
    recipe = recipe_of(page)
    apply(recipe, copy)
    output = "".join(shell(copy, commands) for commands in recipe.commands)
    assert recipe.commands and recipe.printed
    for line in recipe.printed:
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        assert re.search(rf"^{pattern}", output, re.MULTILINE), f"{line!r} is not in\n{output}"
    python = [path for path in recipe.files if path.endswith(".py")]
    shell(copy, f"lint-imports --no-cache && ruff check {' '.join(python)} && ruff format --check {' '.join(python)}")
