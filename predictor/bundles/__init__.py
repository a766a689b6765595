"""Bundles flows with equal rates in the evaluation of graphs (dpgraph), which saves time on many ranks.

Public faces: ``NATIVE``.
"""

from pathlib import Path

NATIVE = Path(__file__).with_name("native")  # C files, which predictor/dpgraph/native/bundled.h includes
