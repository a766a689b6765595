"""Flows that get the same rate count as one in the evaluation of graphs (dpgraph), which matters on many ranks.

Public faces: ``NATIVE``.
"""

from pathlib import Path

NATIVE = Path(__file__).with_name("native")  # C files, which predictor/dpgraph/native/bundled.h includes
