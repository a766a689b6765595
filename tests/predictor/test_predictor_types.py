"""The predictors' interface, checked with mypy --strict on code from outside the project."""

import subprocess
import sys
from pathlib import Path

import pytest

from predictor.registry import PREDICTORS

ROOT = Path(__file__).parents[2]

# No base class, and answers that are read by their kind.
OWN = """
from collections.abc import Sequence

from apps.spec.run_spec import Target
from predictor.base import Evidence, EvidenceRequest, Model, OutOfRange, Prediction, Predictor


class AsBefore:
    def __init__(self, time_s: float) -> None:
        self.time_s = time_s

    def predict(self, target: Target) -> Prediction:
        return Prediction(self.time_s)

    def predict_many(self, targets: Sequence[Target]) -> list[Prediction | OutOfRange]:
        return [self.predict(target) for target in targets]


class Mine:
    name = "mine"

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        return [EvidenceRequest("run", target) for target in targets]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> Model:
        return AsBefore(evidence[0].record.time_s)


MINE: Predictor = Mine()
"""

WRONG = OWN.replace("evidence[0].record.time_s", "evidence[0].answer.time_s").replace('name = "mine"', "name = 1")


def checked(tmp_path, name, source):
    """Return the result of mypy for a file outside the project."""
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    cache = f"--cache-dir={tmp_path.parent / 'cache'}"  # for the tests of this file
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        cache,
        str(path),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow  # reads the project and its libraries: a minute
def test_every_predictor_and_ones_own_have_the_types_of_the_interface(tmp_path):
    pytest.importorskip("mypy")
    places = [place.split(":") for place in PREDICTORS.values()]
    imports = [f"from {module} import {name} as p{i}\n" for i, (module, name) in enumerate(places)]
    every = ", ".join(f"p{i}" for i in range(len(places)))
    source = f"from predictor.base import Predictor\n{''.join(imports)}ALL: list[Predictor] = [{every}]\n"
    for name, text in (("builtin", source), ("own", OWN)):
        done = checked(tmp_path, name, text)
        assert done.returncode == 0, done.stdout + done.stderr
    done = checked(tmp_path, "wrong", WRONG)  # the check can fail
    assert 'has no attribute "time_s"' in done.stdout and '"Predictor"' in done.stdout, done.stdout
