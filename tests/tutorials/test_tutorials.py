"""Test that the commands of the tutorials print the shown output, and that files on the pages are the examples."""

import re
import shlex
from pathlib import Path

import pytest

from validation.entrance.main import main

ROOT = Path(__file__).parents[2]
PAGES = {
    "first-validation": ROOT / "docs" / "tutorials" / "first-validation.md",
    "own-predictor": ROOT / "docs" / "tutorials" / "own-predictor.md",
    "campaigns": ROOT / "docs" / "validation" / "campaigns.md",
    "own-program": ROOT / "docs" / "programs" / "own-program.md",
}
SHOWN = re.compile(r"```sh\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", re.DOTALL)
# Commands that need no simulation or only small ones; tests of the others are marked slow.
QUICK = ("--dry-run", "HcfTraffic --", ":Hcf\n", "gridval predict --scenario grid4x2 --app lu")


def commands():
    for name, path in PAGES.items():
        for number, (command, output) in enumerate(SHOWN.findall(path.read_text())):
            slow = not any(word in command for word in QUICK)
            marks = [pytest.mark.slow] if slow else []
            yield pytest.param(command, output, id=f"{name}-{number}", marks=marks)


def steady(text):
    """Remove the time that simulating took, which differs between computers."""
    return re.sub(r"(simulated in|s simulated,) [\d.e+-]+ m?s", r"\1 ... s", text)


@pytest.mark.parametrize(("command", "output"), list(commands()))
def test_a_command_prints_what_the_page_shows(command, output, tmp_path, monkeypatch, capsys):
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    assert program == "gridval"
    arguments = [str(tmp_path / word) if word in ("results", "report.html") else word for word in arguments]
    if arguments[:2] != ["program", "run"]:
        arguments += ["--store", str(tmp_path / "store")]
    monkeypatch.chdir(ROOT)
    status = main(arguments)
    said = capsys.readouterr()
    if output.startswith("error: "):
        assert (status, said.out) == (2, "")
        assert said.err == output
    else:
        assert status == 0
        assert steady(said.out) == steady(output)


def test_the_campaign_on_the_page_is_the_example():
    shown, *_ = re.findall(r"```toml\n(.*?)```", PAGES["campaigns"].read_text(), re.DOTALL)
    assert shown == (ROOT / "examples" / "first-campaign.toml").read_text()


def test_the_predictor_on_the_page_is_that_of_the_example():
    (shown,) = re.findall(r"```python\n(.*?)```", PAGES["own-predictor"].read_text(), re.DOTALL)
    example = (ROOT / "examples" / "predictors" / "hcf_traffic.py").read_text().splitlines()
    rest = (line.strip() for line in example)
    left_out = [
        line for line in shown.splitlines() if line.strip() not in rest
    ]  # ``in`` goes on from the last line found
    assert left_out == []


def test_the_entry_point_on_the_page_is_the_group_that_is_read():
    from predictor.plugins import GROUP

    assert f'[project.entry-points."{GROUP}"]' in PAGES["own-predictor"].read_text()


@pytest.mark.slow
def test_a_dask_scheduler_and_workers_give_the_table_of_local_simulations(tmp_path, monkeypatch, capsys):
    from distributed import LocalCluster

    monkeypatch.chdir(ROOT)
    assert main(["series", "campaign", "examples/first-campaign.toml", "--store", str(tmp_path / "local")]) == 0
    output = capsys.readouterr().out
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        arguments = ["--scheduler", cluster.scheduler_address, "--store", str(tmp_path / "store")]
        assert main(["series", "campaign", "examples/first-campaign.toml", *arguments]) == 0
    assert capsys.readouterr().out == output
