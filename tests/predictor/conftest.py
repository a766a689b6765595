"""What tests of the predictors share; the modules beside this one too."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def system(tmp_path):
    """``system(nodes, slots)``: equal nodes (equal_nodes.py)."""
    from equal_nodes import equal_nodes

    return lambda nodes, slots=1: equal_nodes(tmp_path, nodes, slots)


@pytest.fixture
def design(tmp_path):
    """``design(*tables)``: the path of a design of these nodes, networks, programs (docs/planning/grid-design.md)."""

    def written(*tables, budget=2600, clusters="most = 1\nmost_nodes = 8", top="", name="design"):
        path = tmp_path / f"{name}.toml"
        path.write_text(f"budget = {budget}\n{top}\n" + "\n".join(tables) + f"\n[clusters]\n{clusters}\n")
        return path

    return written
