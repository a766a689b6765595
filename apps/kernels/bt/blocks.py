"""BT in blocks (../flow/blocks.toml)."""

from functools import partial

from apps.kernels.bt.traffic import METHOD
from apps.kernels.flow import blocks

layout = partial(blocks.layout, METHOD)
