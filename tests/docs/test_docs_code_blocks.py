"""Test the code on the pages: commands and options exist, and files can be read by their readers."""

import argparse
import ast
import contextlib
import importlib
import io
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from lxml import etree
from markdown_pages import DOCS, ROOT, pages
from markdown_pages import blocks as all_blocks

from platforms.command.values import parsed
from platforms.errors import UserError
from validation.entrance.choosing import all_commands, choose

PACKAGES = ("platforms", "apps", "predictor", "validation")
RECIPES = DOCS / "recipes"  # test_recipes.py applies their blocks and runs their commands
MODULES = {"validation.run", "predictor.prepare", "validation.modes.fit"}  # started by python -m
OPERATORS = {"|", "||", "&", "&&", ";", "(", ")", "<", ">", ">>", "2>", "2>>"}


def blocks(*languages):
    """Return the code blocks of all pages but the recipes, whose commands need their recipe applied."""
    return [block for block in all_blocks(*languages) if block.page.parent != RECIPES]


def test_every_block_says_its_language():
    known = {"diff", "markdown", "sh", "toml", "python", "xml", "json", "text", "c", "cpp", "csv", "slurm"}
    assert [str(block) for block in all_blocks() if block.language not in known] == []


def test_commands_fit_the_width_of_a_page():
    long = [f"{block}: {line}" for block in all_blocks("sh") for line in block.text.splitlines() if len(line) > 100]
    assert long == [], "break it after an option, with a backslash"


def commands(text):
    """Return the words of every command in a shell text, without redirections."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.wordchars += "{}$+:,@%^!"
        words, skip = [], False
        for word in lexer:
            if word in OPERATORS:
                skip = word.endswith((">", "<"))
                if not skip and words:
                    found.append(words)
                    words = []
            elif skip:
                skip = False
            else:
                words.append(word)
        if words:
            found.append(words)
    return found


def check_command(words):
    """Check that the project has everything that a command line names; return the problem or None."""
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    if words and words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        unknown = [word for word in words[1:] if "=" not in word and word not in targets]
        return f"no target {', '.join(unknown)}" if unknown else None
    if words and re.fullmatch(r"(.*/)?gridval", words[0]):
        return check_verb(words[1:])
    if len(words) < 2 or not re.fullmatch(r"(.*/)?python3?", words[0]):
        return None
    if words[1] != "-m":
        return None if (ROOT / words[1]).exists() or words[1].startswith("-") else f"no file {words[1]}"
    if words[2] in MODULES:
        command = importlib.import_module(words[2]).COMMAND
        return check_arguments(command, command.parser(), words[3:])
    return f"{words[2]} is no command: write gridval VERB" if words[2].partition(".")[0] in PACKAGES else None


def check_verb(words):
    """Check the words after ``gridval``; return the problem or None."""
    try:
        chosen = choose(words)
    except UserError as err:
        return str(err)
    return None if isinstance(chosen, str) else check_arguments(chosen.command, chosen.parser(), chosen.words)


def check_arguments(command, parser, words):
    """Check that a command takes the arguments, and that files of the project that they name exist."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            parsed(command.request, parser, words)
        except SystemExit as err:
            if err.code != 0:
                return said.getvalue().strip().splitlines()[-1]
    named = [part.partition(":")[0] for word in words for part in word.split(",")]  # FILE.py:NAME,... names several
    missing = [part for part in named if re.match(r"(examples|docs|benchmarks|tests)/", part)]
    missing = [part for part in missing if not (ROOT / part).exists()]
    return f"no file {', '.join(missing)}" if missing else None


@pytest.mark.parametrize("block", blocks("sh"), ids=str)
def test_commands_exist_with_their_options(block):
    done = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    wrong = {" ".join(words): said for words in commands(block.text) if (said := check_command(words))}
    assert wrong == {}


def named_commands(text):
    """Return the commands that a text names in backquotes."""
    named = (" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text))
    return [code for code in named if re.match(r"(.*/)?gridval [a-z]|(.*/)?python -m |[a-z]+\.[a-z.]+ (run )?--", code)]


def check_named(line):
    """Check the verb and the options of a command whose other words may stand for any; return the problem or None."""
    words = line.split()
    if words[0].endswith("python"):
        return None if words[2] in MODULES | {"pip", "gridval.run"} else f"no command {words[2]}"
    if not words[0].endswith("gridval"):
        return f"{words[0]} is no command: write gridval VERB"
    try:
        chosen = choose(words[1:])
    except UserError as err:
        return str(err)
    known = set() if isinstance(chosen, str) else chosen.parser()._option_string_actions.keys()
    given = (word.partition("=")[0].rstrip(",") for word in words[: words.index("--") if "--" in words else None])
    return next((f"no option {word}" for word in given if word.startswith("--") and word not in known), None)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_the_text_names_exist(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    wrong = {line: said for line in named_commands(text) if (said := check_named(line))}
    assert wrong == {}


def test_a_named_command_with_a_wrong_verb_or_option_would_be_found():
    text = "`gridval plan\nclock`, `.venv/bin/gridval run --nothing 3`, `python -m apps.run`, `apps.run --json`"
    assert [check_named(line) for line in named_commands(text)] == [
        None,
        "no option --nothing",
        "no command apps.run",
        "apps.run is no command: write gridval VERB",
    ]


def test_a_command_with_a_wrong_option_or_file_would_be_found():
    (words,) = commands("A=1 gridval program run --app cg --scenario grid4x2 --nonsense 3 > out.txt  # why")
    assert words[:5] == ["A=1", "gridval", "program", "run", "--app"] and "out.txt" not in words
    assert "unrecognized arguments: --nonsense 3" in check_command(words)
    assert check_command(["gridval", "program", "run", "--program", "examples/none.c"]) == "no file examples/none.c"
    assert "unrecognized" in check_command(["python", "-m", "validation.run", "--nonsense"])
    assert check_command(["python", "-m", "apps.run", "--app", "cg"]) == "apps.run is no command: write gridval VERB"
    assert check_command(["gridval", "clock"]).startswith("gridval clock: is called gridval plan clock now")
    assert check_command(["gridval", "runs"]).startswith("gridval runs: no such verb")
    assert "--nonsense" in check_command(["gridval", "run", "--nonsense"])
    assert check_command(["make", "nothing"]) == "no target nothing"
    assert check_command(["python", "benchmarks/none.py"]) == "no file benchmarks/none.py"


def toml_readers():
    """Return the reader of a TOML file by a key that the file has; the first key found decides."""
    from apps.machines.machine_file import read_machine
    from platforms.background.statement import asked_background
    from platforms.grids.scenario import read_grid
    from platforms.prices.carbon import read_carbon
    from platforms.prices.price import read_prices
    from platforms.system.database import read_hardware
    from platforms.system.description import read_system
    from predictor.blocks.description import read_application
    from predictor.grid.request import read_request
    from predictor.hierarchical.multicore_cluster import read_cluster
    from predictor.workload.file import read_workload
    from validation.campaign import read_campaign
    from validation.nodes.campaign_file import read_allocation_campaign
    from validation.workbench.project.application_suites import read_suite

    return {
        "budget": read_request,
        "launcher": read_machine,
        "prices": read_prices,
        "sites": read_carbon,
        "g_per_kwh": read_carbon,
        "studies": read_allocation_campaign,
        "core_gflops": read_cluster,
        "nodes": asked_background,
        "clusters": read_grid,
        "labels": read_application,
        "cpus": lambda file: read_hardware([file]),
        "lan": read_system,
        "scenarios": read_campaign,
        "jobs": lambda file: read_workload(Path(file)),
        "platforms": read_campaign,
        "apps": read_campaign,
        "applications": lambda file: read_suite(Path(file).read_text("utf-8")),
    }


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_is_read_by_its_reader(block, tmp_path, monkeypatch):
    content = tomllib.loads(block.text)
    reader = next((reader for key, reader in toml_readers().items() if key in content), None)
    if reader is None:
        assert "build-system" in content or "project" in content, "nothing reads such a file"
        return
    monkeypatch.chdir(ROOT)  # readers search for other files here
    file = tmp_path / "block.toml"
    file.write_text(block.text)
    for folder in (folder for folder in (ROOT / "examples").iterdir() if folder.is_dir()):
        (tmp_path / folder.name).symlink_to(folder)  # names in the file are relative to it, as in examples
    reader(str(file))


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_compiles_and_what_it_imports_exists(block, tmp_path, monkeypatch):
    tree = ast.parse(block.text)
    ours = True
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            ours &= node.module.partition(".")[0] in PACKAGES
            module = pytest.importorskip(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names)
    if ours and not re.search(r"\.(json|csv|xml|toml)\b", block.text):  # the code reads no files
        monkeypatch.chdir(tmp_path)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, str(block), "exec"), {"__name__": "block"})


@pytest.mark.parametrize("block", blocks("xml"), ids=str)
def test_xml_is_well_formed(block):
    etree.fromstring(block.text.encode(), etree.XMLParser(resolve_entities=False, no_network=True))


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_parses(block):
    json.loads(block.text)


def test_every_command_is_found_by_the_words_that_are_typed():
    for words, chosen in all_commands().items():
        parser = choose([*words.split(), *(["NAME"] if words.endswith("--background") else [])]).parser()
        assert isinstance(parser, argparse.ArgumentParser)
        assert chosen.command.name in words or "--what-if" in words
        assert parser.prog == chosen.prog and parser.description
    for module in MODULES:
        assert importlib.import_module(module).COMMAND.parser().description
