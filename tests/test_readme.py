"""The README is correct, short, and shows what the commands print."""

import re
from pathlib import Path

from platforms.grids.scenario import read_grid
from validation.run import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_it_begins_with_the_two_commands():
    assert README.index("make run ") < README.index("make test ") < README.index("## ")


def test_it_shows_what_make_run_prints(capsys):
    assert main(["--scenario", "grid4x8"]) == 0
    assert re.search(r"```text\n(.*?)```", README, re.DOTALL)[1] == capsys.readouterr().out


def test_it_is_short():
    assert len(README.split()) <= 700


def test_the_scenario_on_the_page_of_platforms_is_the_example_file():
    page = (ROOT / "docs" / "platforms" / "own-platform.md").read_text()
    block = re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1]
    example = ROOT / "examples" / "two-sites.toml"
    assert block == example.read_text()
    assert [(c.name, c.nodes, c.cores) for c in read_grid(example).clusters] == [("old", 12, 1), ("new", 4, 8)]


def test_files_it_links_to_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
