"""The example of docs/platforms/own-platform.md: its commands give the output on the page."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from validation.entrance.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "platforms" / "own-platform.md").read_text()
SHOWN = re.findall(r"```sh\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def words_of(command):
    gridval, *words = shlex.split(command.replace("\\\n", " "))
    assert gridval == "gridval"
    return words


def runs():
    shown = [(words_of(command), output) for command, output in SHOWN]
    return [(words, output) for words, output in shown if words[0] == "run"]


def test_files_it_links_to_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / "platforms" / target).exists(), target


def test_the_platform_looks_as_the_page_shows(tmp_path, monkeypatch, capsys):
    (command, output) = SHOWN[0]
    words = words_of(command)
    assert words[:2] == ["platform", "show"]
    picture = tmp_path / words.pop()
    monkeypatch.chdir(ROOT)
    assert main([*words, str(picture)]) == 0
    assert capsys.readouterr().out == output
    assert picture.stat().st_size > 10_000


def test_predictors_that_assume_one_rank_per_node_give_no_answer(monkeypatch, capsys, tmp_path):
    # The last of the runs, with the fast predictor.
    words, output = runs()[-1]
    words = [*words[: words.index("--predictor")], "--predictor", "hcf:constant"]
    said = re.search(r"^hcf:constant: no answer: (?:.*\n)+?(?=\n)", output, re.MULTILINE)
    assert said is not None
    monkeypatch.chdir(ROOT)
    assert main([*words, "--store", str(tmp_path)]) == 0
    assert said[0] in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("words", "output"), runs())
def test_runs_give_what_the_page_shows(words, output, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(ROOT)
    assert main([*words, "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == output


@pytest.mark.slow
def test_the_compiled_platform_is_inspected(tmp_path, capsys):
    (command,) = re.findall(r"```sh\n(g\+\+ .*?)\n", PAGE)
    library = tmp_path / "line.so"
    words = [str(library) if word == "line.so" else word for word in shlex.split(command)]
    subprocess.run(words, check=True, capture_output=True, cwd=ROOT)
    assert main(["platform", "show", str(library)]) == 0
    # By hand: one to three cables of 2 us.
    assert "latency, us: 2..6 between any two hosts" in capsys.readouterr().out
