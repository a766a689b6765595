"""Fixtures of the predictors' tests, which can also import the modules in this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def system(tmp_path):
    """Return ``system(nodes, slots)``, which makes equal nodes (equal_nodes.py)."""
    from equal_nodes import equal_nodes

    return lambda nodes, slots=1: equal_nodes(tmp_path, nodes, slots)


@pytest.fixture
def design(tmp_path):
    """Return ``design(*tables)``, which writes a design file (docs/planning/grid-design.md) and returns its path."""

    def written(*tables, budget=2600, clusters="most = 1\nmost_nodes = 8", top="", name="design"):
        path = tmp_path / f"{name}.toml"
        path.write_text(f"budget = {budget}\n{top}\n" + "\n".join(tables) + f"\n[clusters]\n{clusters}\n")
        return path

    return written
