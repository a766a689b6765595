"""Extra-P as a predictor: its input, the use of its answers, and the messages where it is not installed.

Most tests replay recorded answers and run anywhere; others need Extra-P itself (``make test-extrap``).
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from platforms.perflogs import experiment_text
from predictor.answers.answers import predict
from predictor.base import Cost, OutOfRange
from predictor.evidence.broker import Broker
from predictor.extrap import process
from predictor.predict import main
from predictor.registry import predictor

# Answers of worker.py, with Extra-P 4.2.5, to ASKED.
RECORDED = Path(__file__).parents[1] / "data" / "extrap-answers.jsonl"


def grid(nodes, clusters=4):
    made = (Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", 4e10, 1) for i in range(nodes))) for c in range(clusters))
    return Platform("grid", "/nowhere.xml", f"{nodes}x{clusters}", tuple(made))


def target_of(nodes, clusters=4):
    platform = grid(nodes, clusters)
    return Target(problem("cg", "S"), platform, block(platform, len(platform.hosts)))


def amdahl_s(ranks):
    return 1 + 40 / ranks


RANKS = (4, 6, 8, 10, 12)  # of a grid of 4 x 4
ASKED = [
    {"ranks": RANKS, "values": [amdahl_s(P) for P in RANKS], "negative_exponents": True, "at": 16},
    {"ranks": RANKS, "values": [P * amdahl_s(P) for P in RANKS], "negative_exponents": False, "at": 16},
    {"ranks": RANKS, "values": [amdahl_s(P) for P in RANKS], "negative_exponents": False, "at": 16},
]
NAMES = ("extrap", "extrap:effort", "extrap:default")  # in the same order


@pytest.fixture
def answer(record_of):
    """Return ``answer(name, target)``, which predicts from runs that take the time of Amdahl's law."""

    def ask(name, target):
        broker = Broker(
            Settings(),
            [target],
            record=lambda spec: record_of(spec.target, amdahl_s(spec.target.nranks), 1.0),
            identify=lambda spec: spec.identity(),
        )
        return predict(predictor(name), [target], broker)[0]

    return ask


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return ``stand_in(script)``, which replaces the Python that has Extra-P by a shell script."""

    def install(script):
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("EXTRAP_PYTHON", str(path))

    return install


def recorded(*lines):
    """Return a script that answers with the version and then with these lines of the recorded answers."""
    return "; ".join([f"sed -n 1p {RECORDED}", *(f"read -r series; sed -n {n}p {RECORDED}" for n in lines)])


def test_the_time_is_that_of_extra_ps_model(answer, stand_in):
    stand_in(recorded(2))
    said = answer("extrap", target_of(4)).prediction
    assert said.time_s == pytest.approx(1 + 40 / 16)
    assert said.parts == pytest.approx({"constant_s": 1.0, "P^(-1)_s": 40 / 16})
    assert said.flags == ("P = 16 is 1.33 times the largest measured one (4, 6, 8, 10, 12)",)
    assert said.remarks == ("Extra-P 4.2.5: T = 1 + 40 * P^(-1) s, SMAPE 0.0 %",)


def test_the_effort_of_all_ranks_is_shared_among_them(answer, stand_in):
    # By hand: P T = P + 40, so T(16) = 1 + 40 / 16.
    stand_in(recorded(3))
    said = answer("extrap:effort", target_of(4)).prediction
    assert said.time_s == pytest.approx(1 + 40 / 16)
    assert said.parts == pytest.approx({"constant / P_s": 40 / 16, "P^(1) / P_s": 1.0})
    assert said.remarks[0] == "Extra-P 4.2.5: P T = 40 + 1 * P^(1) s, SMAPE 0.0 %"


def test_a_time_below_zero_says_so(answer, stand_in):
    terms = '"terms": [["constant", 9.0], ["log2(P)^(1)", -16.0]]'
    falling = f'{{"function": "9.0 + -4.0 * log2(P)^(1)", {terms}, "smape_pct": 20.0, "warnings": ["few points"]}}'
    stand_in(f"echo '{{\"version\": \"4.2.5\"}}'; read -r series; echo '{falling}'")
    said = answer("extrap:default", target_of(4)).prediction
    assert said.time_s == -7
    assert "-7 s: the law is not valid this far" in said.flags[0]
    assert said.flags[-1] == "Extra-P: few points"


def test_another_version_is_told(answer, stand_in):
    stand_in(recorded(2).replace("sed -n 1p", 'echo \'{"version": "5.0"}\' #', 1).replace("; read", "\nread", 1))
    assert "Extra-P 5.0 is not 4.2.5" in answer("extrap", target_of(4)).prediction.flags[-1]


def test_five_runs_are_asked_for_and_charged(answer, stand_in):
    stand_in(recorded(2))
    said = answer("extrap", target_of(4))
    assert [one.request.target.nodes for one in said.evidence] == list(RANKS)
    assert said.prediction.cost == Cost(pytest.approx(sum(P * amdahl_s(P) for P in RANKS)), pytest.approx(5 * 0.25))


@pytest.mark.parametrize("nodes", [1, 2])
def test_fewer_than_five_smaller_sizes_are_out_of_range(nodes, answer, stand_in):
    stand_in(recorded())
    refused = answer("extrap", target_of(nodes))
    assert "runs on 5 numbers of nodes" in refused.refusal
    assert refused.evidence == ()


@pytest.mark.parametrize("name", NAMES)
def test_where_extra_p_is_absent_the_answer_says_how_to_install_it(name, answer, monkeypatch, tmp_path):
    monkeypatch.delenv("EXTRAP_PYTHON", raising=False)
    monkeypatch.setattr(process, "DEFAULT_PYTHON", tmp_path / ".venv-extrap" / "bin" / "python")
    refused = answer(name, target_of(8))
    assert refused.prediction is None
    assert refused.evidence == ()  # no run is wasted
    assert f"Extra-P is not installed in {tmp_path}/.venv-extrap. Run `make extrap`" in refused.refusal


def test_a_python_that_is_none_is_bad_input(refused, monkeypatch, tmp_path):
    monkeypatch.setenv("EXTRAP_PYTHON", str(tmp_path))
    arguments = "--scenario grid4x4 --app mg --class S --no-store --predictor extrap".split()
    refused(main, arguments, f"EXTRAP_PYTHON={tmp_path}: no such program", "make extrap")
    with pytest.raises(UserError):
        process.python()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo \"ModuleNotFoundError: No module named 'extrap'\" >&2; exit 1", "No module named 'extrap'"),
        ("exit 1", "ended without a message"),
        ("echo hello", "ended without a message"),
        ("echo 7", "no JSON object: 7"),
        ('echo \'{"version": "4.2.5"}\'; read -r series; echo killed >&2', "killed"),
        (
            'echo \'{"version": "4.2.5"}\'; read -r s; echo \'{"error": "ValueError: odd"}\'; read -r s',
            "ValueError: odd",
        ),
    ],
)
def test_an_extra_p_that_fails_is_out_of_range_with_its_own_words(script, words, answer, stand_in):
    stand_in(script)
    assert words in answer("extrap", target_of(4)).refusal


def test_a_silent_extra_p_is_not_waited_for_forever(answer, stand_in, monkeypatch):
    monkeypatch.setattr(process, "TIME_LIMIT_S", 0.2)
    stand_in("sleep 60")
    assert "no answer in" in answer("extrap", target_of(4)).refusal


def test_no_extra_p_is_left_when_the_program_ends(stand_in, tmp_path):
    stand_in(f"echo $$ > {tmp_path}/pid; {recorded(2)}; sleep 60")
    script = f"from predictor.extrap import process; print(process.model(**{ASKED[0]}).value)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert float(said) == pytest.approx(3.5)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_extra_p_that_is_not_there_or_goes_is_out_of_range(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "python", lambda: None)
    with pytest.raises(OutOfRange, match="Extra-P is not installed"):
        process.model([1], [1.0], 2, negative_exponents=False)
    odd = tmp_path / "python"
    odd.write_text("no program\n")
    odd.chmod(0o755)
    monkeypatch.setattr(process, "python", lambda: odd)
    with pytest.raises(OutOfRange, match="cannot be started: Exec format error"):
        process.model([1], [1.0], 2, negative_exponents=False)
    odd.write_text('#!/bin/sh\necho \'{"version": "1"}\'\necho gone >&2\nexec <&-\n')
    many = 100_000  # more than the pipe holds, so the question cannot be written to the end
    with pytest.raises(OutOfRange, match="gone"):
        process.model([1] * many, [0.0] * many, 2, negative_exponents=False)


# With Extra-P itself.

needs_extra_p = pytest.mark.skipif(process.python() is None, reason="Extra-P is not installed: make extrap")


@needs_extra_p
def test_the_recording_is_what_extra_p_says():
    version, *answers = map(json.loads, RECORDED.read_text().splitlines())
    for series, answer in zip(ASKED, answers, strict=True):
        said = process.model(**series)
        assert said.version == version["version"] == process.VERSION
        assert [text for text, _ in said.terms] == [text for text, _ in answer["terms"]]
        assert [value for _, value in said.terms] == pytest.approx([value for _, value in answer["terms"]])


@needs_extra_p
@pytest.mark.parametrize(
    ("law", "negative_exponents", "expected"),
    [
        (lambda P: 1 + 40 / P, True, 1 + 40 / 64),
        (lambda P: 100 / P**2, True, 100 / 64**2),
        (lambda P: 5.0, False, 5.0),
        (lambda P: 3 + 2 * P**0.5, False, 19.0),
        # Extra-P's defaults have no negative exponents, which strong scaling would need.
        (lambda P: 1 + 40 / P, False, None),
    ],
)
def test_laws_of_the_normal_form_are_recovered(law, negative_exponents, expected):
    ranks = (4, 8, 12, 16, 20)
    said = process.model(ranks, [law(P) for P in ranks], 64, negative_exponents=negative_exponents)
    if expected is None:
        assert said.value < 0
    else:
        assert said.value == pytest.approx(expected, rel=1e-6)


@needs_extra_p
def test_extra_ps_own_command_says_the_same(tmp_path):
    ranks, times_s = (3, 6, 12, 18, 24), (9.0, 6.2, 4.1, 3.9, 3.2)
    rows = (json.dumps({"params": {"P": P}, "value": s}) for P, s in zip(ranks, times_s, strict=True))
    (tmp_path / "runs.jsonl").write_text("\n".join(rows))
    command = "--json runs.jsonl --modeler basic --options allow_negative_exponents=true --print functions"
    extrap = process.python().with_name("extrap")
    said = subprocess.run(
        [extrap, *command.split(), "--disable-progress"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert process.model(ranks, times_s, 48, negative_exponents=True).function == said.strip()


@needs_extra_p
def test_extra_p_opens_an_experiment_that_is_written_for_it(tmp_path):
    times_s = {(nodes, 4 * nodes): [3.0 / nodes, 3.1 / nodes] for nodes in (1, 2, 4, 8, 16)}
    path = tmp_path / "experiment.json"
    path.write_text(experiment_text([("heat", {"nodes": n, "ranks": p}, values) for (n, p), values in times_s.items()]))
    code = """
import sys
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
experiment = JsonFileReader().read_experiment(sys.argv[1])
(measured,) = experiment.measurements.values()
print(*experiment.parameters, len(experiment.coordinates), *[one.mean for one in measured])
"""
    done = subprocess.run([process.python(), "-c", code, str(path)], capture_output=True, text=True, check=True)
    words = done.stdout.split()
    assert words[:3] == ["nodes", "ranks", "5"]
    assert [float(word) for word in words[3:]] == pytest.approx([sum(values) / 2 for values in times_s.values()])
