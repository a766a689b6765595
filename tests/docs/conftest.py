"""Make markdown_pages.py and the site's extensions importable for the tests of the documentation; build the site."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path[:0] = [str(Path(__file__).parent), str(DOCS / "_extensions")]


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """Return the files of this checkout that git does not ignore."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """Return the folder of the site."""
    if built := os.environ.get("DOCS_SITE"):  # make docs has just built it
        return ROOT / built
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason="make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", folder / "doctrees", DOCS, folder / "html"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"
