"""Releases have one version number, and their distributions run in a clean environment."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("platforms", "apps", "predictor", "validation")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_stands_in_one_place_and_is_cited_and_described():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    elsewhere = [
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"^__version__|version = [\"']\d", path.read_text(), re.MULTILINE)
    ]
    assert elsewhere == []


def test_every_package_says_that_it_is_typed():
    """PEP 561: without this file, a type checker treats imports from these packages as Any."""
    assert [(ROOT / package / "py.typed").read_bytes() for package in PACKAGES] == [b""] * len(PACKAGES)


def test_the_license_is_simgrids():
    assert PROJECT["license"] == "LGPL-2.1-only"
    assert "GNU LESSER GENERAL PUBLIC LICENSE\n                       Version 2.1" in (ROOT / "LICENSE").read_text()
    assert "\nlicense: LGPL-2.1-only\n" in (ROOT / "CITATION.cff").read_text()


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The sdist of the files in git, and the wheel that is built from that sdist alone."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, source], check=True, capture_output=True)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


@pytest.mark.slow
def test_sdist_and_wheel_have_what_the_project_is_made_of(distributions):
    sdist, wheel = distributions
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "CITATION.cff",
        "CHANGELOG.md",
        "apps/kernels/cg/cg.c",
        "apps/kernels/harness/run.h",
    } <= inside
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    needed = {
        f"gridval/{path.relative_to(ROOT)}".replace("gridval/validation/gridval/", "gridval/")
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert needed - packed == {"gridval/checkout.py"}
    # People have modules of these names of their own.
    assert {name.partition("/")[0].partition("-")[0] for name in packed} == {"gridval"}
    assert {f"gridval/{package}/py.typed" for package in PACKAGES} <= packed


@pytest.fixture(scope="module")
def clean_python(distributions, tmp_path_factory):
    """A Python with the wheel, its dependencies and the distribution's SimGrid, but nothing of this checkout."""
    place = tmp_path_factory.mktemp("clean")
    venv.create(place, with_pip=True, system_site_packages=True)
    python = str(place / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", distributions[1]], check=True)
    return python


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(clean_python, tmp_path):
    python = clean_python
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"GRID_VALIDATOR_CACHE": str(tmp_path / "cache")}
    for package in PACKAGES:  # a user's own modules do not matter
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('this is another module')")
    done = subprocess.run(
        [python, "-m", "gridval.run", "--scenario", "grid4x2", "--app", "cg", "--class", "S"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "hcf:constant" in done.stdout
    version = "from importlib.metadata import version; print(version('gridval'))"
    said = subprocess.run([python, "-c", version], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == PROJECT["version"]


_OWN = """
from collections.abc import Sequence

from gridval.apps.spec.run_spec import Target
from gridval.predictor.base import Evidence, EvidenceRequest, Model, Prediction, Predictor


class OneSecond:
    def predict(self, target: Target) -> Prediction:
        return Prediction(time_s={time_s})


class Constant:
    name = "constant"

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        return []

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> Model:
        return OneSecond()


chosen: Predictor = Constant()
"""


@pytest.mark.slow
def test_who_writes_a_predictor_has_its_types_checked(clean_python, tmp_path):
    """Test that, with the wheel alone, mypy --strict accepts a correct predictor and finds a wrong result type."""
    pytest.importorskip("mypy")
    said = []
    for name, time_s in (("right", "1.0"), ("wrong", "'1 s'")):
        (tmp_path / f"{name}.py").write_text(_OWN.format(time_s=time_s))
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--python-executable", clean_python, f"{name}.py"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said.append(done.stdout)
    assert said[0].startswith("Success: no issues found in 1 source file")
    slip = 'Argument "time_s" to "Prediction" has incompatible type "str"; expected "float"'
    assert slip in said[1] and "Found 1 error" in said[1]
