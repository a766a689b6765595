"""More of the evaluation of graphs (dpgraph): flows bundled on many ranks, and receives from any source.

Public faces: ``NATIVE``.
"""

from pathlib import Path

NATIVE = Path(__file__).with_name("native")  # C files, which predictor/dpgraph/native/bundled.h includes
