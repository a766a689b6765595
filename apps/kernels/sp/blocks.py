"""SP in blocks (../flow/blocks.toml)."""

from functools import partial

from apps.kernels.flow import blocks
from apps.kernels.sp.traffic import METHOD

layout = partial(blocks.layout, METHOD)
