"""Recipes of containers and of Spack name what the project needs, in its present version."""

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_spack_requires_what_the_project_requires():
    text = (ROOT / "packaging" / "spack" / "package.py").read_text()
    compile(text, "package.py", "exec")
    needed = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups() for line in PROJECT["dependencies"])
    assert dict(re.findall(r'depends_on\("py-([\w-]+)@([\d.]+):", type=\("build", "run"\)\)', text)) == needed
    assert f'version("{PROJECT["version"]}")' in text


def test_containers_install_the_wheels_of_this_project_with_an_extra_that_it_has():
    for name in ("Dockerfile", "gridval.def"):
        text = (ROOT / "packaging" / "containers" / name).read_text()
        (extra,) = re.findall(r"'gridval\[(\w+)\]'", text)
        assert extra in PROJECT["optional-dependencies"] and "dist/gridval*.whl" in text


def test_the_wheels_scripts_ask_for_what_make_builds():
    script = (ROOT / "packaging" / "release.sh").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "\nrelease: wheels\n\tsh packaging/release.sh\n" in makefile
    assert "upload" not in script.replace("nothing is uploaded", "")
