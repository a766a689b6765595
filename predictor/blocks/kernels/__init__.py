"""The NAS kernels as blocks.

One description each, TOML where a file can carry it; ``describe`` sets it to a problem and a number of ranks.
"""

from predictor.blocks.kernels.describe import Description, describe

__all__ = ["Description", "describe"]
