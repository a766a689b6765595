"""The command ``gridval``: its verbs, twins, help and errors."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from validation.doctor import cli as doctor
from validation.doctor.examine import Finding
from validation.entrance.choosing import choose
from validation.entrance.main import main
from validation.entrance.verbs import GROUPS, VERBS

SCRIPT = Path(sys.executable).parent / "gridval"
# What takes long to import; help and completion need none of it.
SLOW = {
    "dask", "distributed", "extrap", "hypothesis", "lxml", "matplotlib", "networkx", "numpy", "otf2", "pandas", "PIL",
    "pyarrow", "scipy", "simgrid", "starlette", "uvicorn",
}  # fmt: skip
MOST_MODULES = 250  # of this project; the import of as many takes a tenth of a second


def every():
    """Yield the words of every verb, and of the twins."""
    for name, verb in VERBS.items():
        yield from [[name, one] for one in verb.verbs] or [[name]]
        if verb.twin:
            yield [name, "--simulate"]


@pytest.mark.parametrize("words", list(every()), ids=" ".join)
def test_every_verb_has_a_command_that_shows_the_verb_in_its_usage(words):
    usage = choose(words).parser().format_usage()
    assert usage.startswith(f"usage: gridval {' '.join(words).removesuffix(' --simulate')} ")


def test_every_package_command_has_a_verb_except_those_for_maintainers():
    root = Path(__file__).parents[2]
    parsers = {
        ".".join(path.relative_to(root).with_suffix("").parts)
        for package in ("platforms", "apps", "predictor", "validation")
        for path in (root / package).rglob("*.py")
        if re.search(r"^def build_parser\(\)", path.read_text(), re.MULTILINE)
    }
    started = {choose(words).module for words in every()}
    # One makes a table of the project, the other is called by the set-up.
    assert parsers - started == {"validation.sendmodes.fit", "predictor.prepare"}


def test_a_twin_is_one_verb_with_simulate():
    assert choose(["clock", "--app", "cg"]).module == "predictor.frequency.cli"
    twin = choose(["clock", "--simulate", "--app", "cg"])
    assert twin.module == "validation.frequency.cli"
    assert twin.parser().parse_args(twin.words).app == "cg"
    assert "--simulate" in choose(["clock"]).parser().format_help()
    assert choose(["blocks", "run", "--simulate", "x"]).words == ("--simulate", "x")


def test_the_help_names_every_verb_within_80_columns(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for group in GROUPS.values():
        for name, verb in group.items():
            assert any(re.fullmatch(rf"  {name} +{re.escape(verb.purpose)}", line) for line in lines)
    assert main(["platform", "--help"]) == 0
    assert "check" in capsys.readouterr().out


def test_nothing_and_a_wrong_verb_end_with_status_2(capsys, refused):
    assert main([]) == 2
    assert "gridval VERB" in capsys.readouterr().out
    refused(main, ["rnu"], "gridval rnu: no such verb. Did you mean run?")
    refused(main, ["platform", "draw"], "gridval platform draw: no such verb. Known: show, make, system, ")


def test_verbs_may_be_written_in_capitals():
    assert choose(["RUN"]).module == "validation.run"


def test_errors_of_options_name_the_verb(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["clock", "--nonsense"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("See gridval clock --help.\n")


# Runs each line of its input as words of the command in a process that has imported nothing else, and prints the words,
# the status and the modules by then.
MODULES = """
import os, sys
for line in sys.stdin.read().splitlines():
    if not (child := os.fork()):
        from validation.entrance.main import main
        sys.stdout = open(os.devnull, "w")
        try:
            status = main(line.split())
        except SystemExit as ended:
            status = ended.code
        os.write(1, f"{line}|{status or 0}|{' '.join(sys.modules)}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_help_comes_quickly():
    asked = ["--help", *(" ".join([*words, "--help"]) for words in every())]
    done = subprocess.run(
        [sys.executable, "-c", MODULES], input="\n".join(asked), capture_output=True, text=True, check=True
    )
    told = [line.split("|") for line in done.stdout.splitlines()]
    assert [(words, status) for words, status, _ in told] == [(words, "0") for words in asked]
    for words, _, names in told:
        packages = Counter(name.partition(".")[0] for name in names.split())
        assert not SLOW & set(packages), words
        own = sum(packages[name] for name in ("platforms", "apps", "predictor", "validation"))
        assert 0 < own <= MOST_MODULES, words


def test_folders_of_the_user_hide_nothing_from_the_script(tmp_path):
    for name in ("platforms", "apps", "predictor", "validation"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    done = subprocess.run([SCRIPT, "run", "--help"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: gridval run ")


@pytest.mark.parametrize(
    ("command", "hidden"), [("validation.run", "apps"), ("validation.run", "platforms"), ("apps.run", "platforms")]
)
def test_a_package_of_the_user_that_hides_ours_is_named_in_one_line(tmp_path, command, hidden):
    (tmp_path / hidden).mkdir()
    (tmp_path / hidden / "__init__.py").touch()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", command, "--help"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path / hidden}: hides this project's package") and "gridval" in line


def test_python_runs_the_module_of_the_same_name(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gridval", "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert re.fullmatch(r"gridval \d+\.\d+\.\d+\n", done.stdout)


def test_the_doctor_finds_what_the_tests_need(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for name in ("Python", "SimGrid", "smpicc", "c++", "gfortran", "pyarrow", "Extra-P", "cache folder", "store"):
        assert re.search(rf"^(ok|absent) +{re.escape(name)}:", said, re.MULTILINE)
    assert said.endswith("Everything that is needed is there.\n")


def test_the_doctor_says_how_to_get_what_is_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    from platforms.simgrid.installed import simgrid_version

    simgrid_version.cache_clear()
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "MISSING  SimGrid: SimGrid: smpirun is not on the PATH\n         Run: apt-get install libsimgrid" in said
    assert "absent   gfortran: not on the PATH" in said
    assert said.splitlines()[-1] == "Missing: SimGrid, smpicc, cc, c++."


def test_the_doctor_gives_findings_as_json(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda: [Finding("cc", False, "absent", remedy="Install it")])
    assert main(["doctor", "--json"]) == 1
    assert '"remedy": "Install it"' in capsys.readouterr().out


def test_names_may_be_written_in_any_case(capsys):
    words = "--app cg --class s --network gigabit --mapping block --predictor hcf --no-store --json"
    assert main(["predict", "--scenario", "grid4x2", *words.split()]) == 0
    small = capsys.readouterr().out
    capitals = [word if word.startswith("--") else word.upper() for word in words.split()]
    assert main(["predict", "--scenario", "GRID4X2", *capitals]) == 0
    again = capsys.readouterr().out
    without_times = re.compile(r'"\w*wall_s": [\d.e-]+')
    assert without_times.sub("", again) == without_times.sub("", small)


def test_cores_stands_for_a_rank_on_every_core(capsys, refused):
    words = ["predict", "--scenario", "examples/two-sites.toml", "--app", "ep", "--class", "S", "--predictor", "hcf"]
    assert main([*words, "--no-store", "--ranks-per-host", "Cores"]) == 0
    assert "ep S on 44 ranks of two-sites" in capsys.readouterr().out  # 12 nodes of 1 core and 4 of 8
    refused(main, [*words, "--ranks-per-host", "cores", "--ranks", "45"], "the hosts have 44 cores")
