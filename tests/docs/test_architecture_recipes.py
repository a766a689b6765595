"""Test docs/architecture.md: the names in it exist, and each recipe works in a copy of the repository."""

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

PAGE = DOCS / "architecture.md"
FILE_LANGUAGES = {"c", "python", "toml"}


@dataclass
class Recipe:
    """The parts of a recipe, each in the order of the page."""

    files: dict[str, str] = field(default_factory=dict)  # new files: their texts by path
    diffs: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)  # lines of the output; "..." is any text


def recipes():
    """Return the recipes of the page by heading."""
    found, heading, last, level, before = {}, "", None, "", ""
    for token in tokens(PAGE):
        if token.type == "heading_open":
            level = token.tag
        elif token.type == "inline":
            if level == "h2":
                heading = token.content
            elif level == "h3" and heading == "Recipes":
                last = found[token.content] = Recipe()
            before, level = token.content, ""
        elif token.type == "fence" and last is not None:
            add_block(last, token.info.strip(), token.content, before)
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
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
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
    section = PAGE.read_text().partition("## From the command")[2].partition("\n## ")[0]
    names = set(re.findall(r"`((?:platforms|apps|predictor|validation)[./][\w./]+)`", section))
    assert len(names) > 40
    for name in sorted(names):
        if "/" in name:
            assert (ROOT / name).is_file(), name
        else:
            resolve_name(name)


def test_there_is_a_recipe_for_each_thing_that_is_often_added():
    assert list(recipes()) == [
        "A kernel",
        "A predictor",
        "A network",
        "An engine",
        "An evidence kind",
        "A report section",
        "A command",
    ]


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_works(name, copy):
    """Its commands succeed and print what it says, and its files are in the style of the project."""
    recipe = recipes()[name]
    apply(recipe, copy)
    output = "".join(shell(copy, commands) for commands in recipe.commands)
    assert recipe.commands and recipe.printed
    for line in recipe.printed:
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        assert re.search(rf"^{pattern}", output, re.MULTILINE), f"{line!r} is not in\n{output}"
    python = [path for path in recipe.files if path.endswith(".py")]
    shell(copy, f"lint-imports --no-cache && ruff check {' '.join(python)} && ruff format --check {' '.join(python)}")
