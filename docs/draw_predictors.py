"""Draw the picture of each predictor's page, docs/predictors/NAME.svg, from runs and evidence of the project.

Usage: python docs/draw_predictors.py [NAME ...]

Without names all are drawn; extrap needs Extra-P (make extrap).  Running the script again changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "docs")) if path not in sys.path]

from pictures import blocks, graph, hcf, hierarchical, laws, learned, li, npt, structural  # noqa: E402
from pictures.runs import open_runner  # noqa: E402
from pictures.style import style, svg  # noqa: E402

from apps.runs.runner import Runner  # noqa: E402 (found by the line above)
from platforms.plotting.charts import Figure  # noqa: E402

FOLDER = ROOT / "docs" / "predictors"
# By page: the function that draws its picture, and the text for readers who do not see it.
PICTURES: Mapping[str, tuple[Callable[[Runner], Figure], str]] = {
    "hcf": (hcf.draw, hcf.TITLE),
    "hcf-nnls": (laws.draw_nnls, "HCF with a fitted communication: communication over the number of ranks"),
    "structural": (structural.draw, structural.TITLE),
    "dpgraph": (graph.draw, graph.TITLE),
    "dpgraph-li": (li.draw, li.TITLE),
    "learned": (learned.draw, learned.TITLE),
    "npt": (npt.draw, npt.TITLE),
    "hierarchical": (hierarchical.draw, hierarchical.TITLE),
    "regression": (laws.draw_regression, "Three laws through the times of smaller runs, and the target's time"),
    "blocks": (blocks.draw, blocks.TITLE),
    "extrap": (laws.draw_extrap, "Extra-P's models of the times of smaller runs, and the target's time"),
}


def drawing(name: str, runner: Runner) -> str:
    """Return the picture of a page as SVG."""
    draw, title = PICTURES[name]
    with style():
        return svg(draw(runner), title)


def main(names: Sequence[str]) -> None:
    """Write these pictures, or all.

    Raises:
        SystemExit: A name is not that of a page with a picture.
    """
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        raise SystemExit(f"error: {unknown[0]}: no such picture. Known: {', '.join(PICTURES)}.")
    with open_runner() as runner:
        for name in names or PICTURES:
            (FOLDER / f"{name}.svg").write_text(drawing(name, runner), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
