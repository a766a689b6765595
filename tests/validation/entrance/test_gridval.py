"""The command ``gridval``: its verbs, the options that choose between commands, help and errors."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from platforms.command.request import fields_of
from validation import doctor
from validation.doctor import Finding
from validation.entrance.choosing import Chosen, all_commands, choose
from validation.entrance.main import main
from validation.entrance.verbs import GROUPS, RENAMED, VERBS

SCRIPT = Path(sys.executable).parent / "gridval"
# What takes long to import; help and completion need none of it.
SLOW = {
    "dask", "distributed", "extrap", "hypothesis", "lxml", "matplotlib", "networkx", "numpy", "otf2", "pandas", "PIL",
    "pyarrow", "scipy", "simgrid", "starlette", "uvicorn",
}  # fmt: skip
MOST_MODULES = 250  # of this project; the import of as many takes a tenth of a second


# The verbs before there were groups plan and series; they moved, or are still there.
BEFORE = (
    "run predict shared campaign league measured map intervals choose design clock cores shares failures checkpoints "
    "blocks graph modes conform platform program workbench store same doctor completion emulate calibrate"
).split()


@pytest.mark.parametrize("words", all_commands())
def test_every_verb_has_a_command_that_shows_the_verb_in_its_usage(words):
    chosen = choose(words.split())
    assert chosen.place == all_commands()[words].place
    verb = " ".join(word for word in words.split() if word not in ("--simulate", "APP.toml"))
    assert chosen.parser().format_usage().startswith(f"usage: gridval {verb} ")
    assert chosen.command.name == {"predict --what-if": "graph"}.get(verb, verb)  # another name of the same command


@pytest.mark.checkout
def test_every_command_has_a_verb_except_those_for_maintainers():
    root = Path(__file__).parents[3]
    made = {
        (".".join(path.relative_to(root).with_suffix("").parts), name)
        for package in ("platforms", "apps", "predictor", "validation")
        for path in (root / package).rglob("*.py")
        for name in re.findall(r"^(COMMAND\w*) = (?:Command|replace)\(", path.read_text(), re.MULTILINE)
    }
    started = {
        (one.place.partition(":")[0], one.place.partition(":")[2] or "COMMAND") for one in all_commands().values()
    }
    assert started <= made
    # One makes a table of the project, one is called by the set-up, and two are started where the costs are missing.
    others = ("validation.modes.fit", "predictor.prepare", "predictor.predict", "validation.run")
    assert made - started == {(place, "COMMAND") for place in others}


def test_a_verb_with_simulate_is_another_command():
    assert choose(["plan", "clock", "--app", "cg"]).place == "predictor.clock.cli"
    simulated = choose(["plan", "clock", "--simulate", "--app", "cg"])
    assert simulated.place == "validation.clock.cli"
    assert simulated.parser().parse_args(simulated.words).app == "cg"
    assert "--simulate" in choose(["plan", "clock"]).parser().format_help()
    assert choose(["blocks", "run", "--simulate", "x"]).words == ("--simulate", "x")
    for words, place in (
        ("predict --background busy --app cg", "predictor.background.cli"),
        ("predict --simulate --background=busy", "validation.background.cli"),
        ("predict --what-if", "predictor.graph.cli"),
        ("plan failures --work 1", "predictor.failures.cli"),
        ("plan failures app.toml --system s.toml", "predictor.checkpoints.cli"),
        ("plan failures app.toml --simulate", "validation.checkpoints.cli"),
    ):
        assert choose(words.split()).place == place


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_verb_ends_in_a_line_with_the_new_one(old, refused):
    refused(main, [old, "--help"], f"gridval {old}: is called gridval {RENAMED[old]} now. Write that.")
    assert choose(RENAMED[old].split()).command


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("predict --app cg", "predictor.costs.command"),
        ("predict --app cg --background load.toml", "predictor.background.cli"),
        ("predict --background=load.toml --simulate", "validation.background.cli"),
        ("predict --simulate --background load.toml", "validation.background.cli"),
        ("predict --what-if 2", "predictor.graph.cli"),
        ("predict --what-if 2 --simulate", "validation.graph.cli"),
        ("plan failures --rate 1e-6", "predictor.failures.cli"),
        ("plan failures app.toml --system two.toml", "predictor.checkpoints.cli"),
        ("plan failures --simulate --rate 1e-6", "validation.failures.cli"),
        ("plan failures app.toml --simulate", "validation.checkpoints.cli"),
        ("plan failures --simulate app.toml", "validation.checkpoints.cli"),
    ],
)
def test_options_and_a_file_choose_between_the_commands_of_a_verb(words, place):
    assert choose(words.split()).place == place


@pytest.mark.parametrize(
    "options", [["--simulate"], ["--background", "load.toml", "--what-if", "2"], ["--what-if=2", "--background=x"]]
)
def test_options_that_choose_no_command_together_are_refused(options, refused):
    refused(main, ["predict", *options], ": no such command. Known: gridval predict --background, ")


@pytest.mark.parametrize("old", RENAMED)
@pytest.mark.parametrize("rest", [[], ["--help"], ["--scenario", "grid4x2", "--app", "cg"]], ids=len)
def test_an_old_verb_ends_in_one_line_that_names_the_new_one(old, rest, refused):
    new = RENAMED[old]
    refused(main, [old, *rest], f"gridval {old}: is called gridval {new} now. Write that.")
    refused(main, [old.upper(), *rest], f"gridval {old.upper()}: is called gridval {new} now. Write that.")
    assert isinstance(choose(new.split()), Chosen)


def test_no_text_of_the_program_names_an_old_verb():
    root = Path(__file__).parents[3]
    named = re.compile(rf"""gridval(?: |["'], ["'])({"|".join(RENAMED)})\b""")
    found = {
        f"{path.relative_to(root)}: {one[0]}"
        for package in ("platforms", "apps", "predictor", "validation", "examples")
        for path in (root / package).rglob("*.*")
        if path.suffix in (".py", ".html", ".js", ".toml", ".c", ".h", ".cpp", ".ipynb")
        for one in named.finditer(path.read_text("utf-8"))
    }
    assert not found


def test_no_verb_of_before_is_unknown_today():
    assert {*BEFORE} <= {*RENAMED, *VERBS}
    assert not {*RENAMED} & {*VERBS}


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
    assert choose(["RUN"]).place == choose(["run"]).place
    assert choose(["Plan", "CLOCK"]).place == "predictor.clock.cli"


def test_errors_of_options_name_the_verb(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", "clock", "--nonsense"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("See gridval plan clock --help.\n")


@pytest.mark.parametrize("words", all_commands())
def test_every_verb_shows_its_help_and_all_of_its_options(words, capsys):
    said = {}
    for option in ("-h", "--help", "--help-all"):
        with pytest.raises(SystemExit) as ended:
            main([*words.split(), option])
        assert ended.value.code == 0
        said[option] = capsys.readouterr().out
        assert max(map(len, said[option].splitlines())) <= 80
    assert said["-h"] == said["--help"]
    chosen = all_commands()[words]
    options = [field.option for field in fields_of(chosen.command.request) if not field.declared.behind]
    for option in {*options, *chosen.choosers}:
        assert option in said["--help-all"]


@pytest.mark.parametrize("group", [name for name, verb in VERBS.items() if verb.verbs and not verb.place])
def test_a_group_shows_its_verbs(group, capsys):
    assert main([group, "--help"]) == 0
    said = capsys.readouterr().out
    for name, verb in VERBS[group].verbs.items():
        assert re.search(rf"^  {name} +{re.escape(verb.purpose)}$", said, re.MULTILINE)
    assert main([group]) == 0
    assert capsys.readouterr().out == said


# Runs each line of its input as words of the command in a process that has imported only what most commands do, and
# prints the words, the status and the modules by then.
MODULES = """
import os, sys
import apps.options.exit_status, apps.programs.own_program, platforms.command.command
from validation.entrance.main import main
for line in sys.stdin.read().splitlines():
    if not (child := os.fork()):
        sys.stdout = open(os.devnull, "w")
        try:
            status = main(line.split())
        except SystemExit as ended:
            status = ended.code
        os.write(1, f"{line}|{status or 0}|{' '.join(sys.modules)}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.checkout
def test_help_comes_quickly():
    asked = ["--help", *(f"{words} --help" for words in all_commands())]
    done = subprocess.run(
        [sys.executable, "-c", MODULES], input="\n".join(asked), capture_output=True, text=True, check=True
    )
    shown = [line.split("|") for line in done.stdout.splitlines()]
    assert [(words, status) for words, status, _ in shown] == [(words, "0") for words in asked]
    for words, _, names in shown:
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


@pytest.mark.checkout
@pytest.mark.parametrize(
    ("command", "hidden"),
    [("validation.run", "apps"), ("validation.run", "platforms"), ("predictor.prepare", "platforms")],
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
    assert re.fullmatch(r"gridval \d+\.\d+\.\d+ \(SimGrid \d+\.\d+\)\n", done.stdout)


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

    monkeypatch.setattr("platforms.simgrid.installed.wheel_prefix", lambda: None)
    simgrid_version.cache_clear()
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "MISSING  SimGrid: SimGrid: smpirun is not on the PATH\n         Run: apt-get install libsimgrid" in said
    assert "absent   gfortran: not on the PATH" in said
    assert said.splitlines()[-1] == "Missing: SimGrid, smpicc, cc, c++."


@pytest.mark.parametrize(
    ("version", "remedy"),
    [
        ("{0} {1}", "{python} has it. To let this environment see it, run: {python} -m venv --system-site-packages"),
        ("3 1", "{python}, a Python 3.1, has it. Make an environment of it: {python} -m venv --system-site-packages"),
    ],
)
def test_the_doctor_of_an_environment_says_which_python_has_what_it_does_not_see(
    tmp_path, monkeypatch, version, remedy
):
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\necho True {version.format(*sys.version_info)}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "prefix", "/somewhere/env")
    assert doctor._outside("simgrid", str(python)).startswith(remedy.format(python=python))
    python.write_text("#!/bin/sh\necho False 3 11\n")
    assert doctor._outside("simgrid", str(python)) == ""


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


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("plan grid design.toml", "a trace has one number of ranks"),
        ("series league", "a trace cannot be simulated"),
        ("plan clock --simulate", "a trace cannot be simulated"),
    ],
)
def test_a_command_says_why_it_takes_no_trace(words, reason, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), "--recording", "trace.otf2"])
    assert ended.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"--recording: {reason}" in said and "Give --program" in said


@pytest.mark.parametrize("module", ["validation.resident.client", "platforms.prices.carbon"])
def test_an_interrupt_during_imports_is_one_word(module):
    code = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv[:] = ["gridval", "predict", "--help"]
from gridval.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")
