"""Noise on times, which real machines have and simulations do not.

Ichikawa, Takahashi, Kawai, sections 5.6 and 5.8, describe its effect on the models.
"""

import numpy as np

from platforms.errors import UserError
from predictor.nodes.names import GLITCH_FACTOR, GLITCH_SHARE
from predictor.npt.measurements import Measurements


def perturb(
    measurements: Measurements,
    *,
    sigma: float,
    seed: int,
    glitch_share: float = GLITCH_SHARE,
    glitch_factor: float = GLITCH_FACTOR,
) -> Measurements:
    """Return the same runs with times as a noisy machine would give them.

    Every time is multiplied by exp(sigma z), with z standard normal (median 1, so 0.02 is about 2 %).  With probability
    ``glitch_share`` it is also multiplied by ``glitch_factor``.  The same seed and runs in the same order give the same
    times; changing the glitches leaves the rest of the noise as it is.

    Raises:
        UserError: A value is out of its range.
    """
    check_noise(sigma, seed, glitch_share, glitch_factor)
    random = np.random.default_rng(seed)
    factor = np.exp(sigma * random.standard_normal(len(measurements)))
    factor[random.random(len(measurements)) < glitch_share] *= glitch_factor
    return measurements.with_times(measurements.time_s * factor)


def check_noise(sigma: float, seed: int, glitch_share: float, glitch_factor: float) -> None:
    """Check the settings of noise.

    Raises:
        UserError: A value is out of its range.
    """
    if not 0 <= sigma <= 1:
        raise UserError(f"noise {sigma}", "not a standard deviation of relative times", "Give one from 0 to 1")
    if not 0 <= glitch_share <= 1:
        raise UserError(f"glitch share {glitch_share}", "not a share", "Give a number from 0 to 1")
    if not 1 <= glitch_factor < np.inf:
        raise UserError(f"glitch factor {glitch_factor}", "a glitch is slower, not faster", "Give 1 or more")
    if seed < 0:
        raise UserError(f"seed {seed}", "below zero", "Give a whole number from 0")
