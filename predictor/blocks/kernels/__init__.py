"""The NAS kernels as applications of blocks.

Each kernel has one description, a TOML file where the format suffices; ``describe`` adapts it to a problem and a number
of ranks.
"""

from predictor.blocks.kernels.describe import Description, describe

__all__ = ["Description", "describe"]
