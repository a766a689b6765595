"""Local weights: measurements count the more, the nearer they are to the size and the processes of the choice.

The equations of Table V are sums of a few powers, which no program follows over a wide range of sizes and processes.
Fits with local weights follow it where the choice is made.  The choice is made at one size N, among configurations of
the whole cluster, which have more processes than most of the measured ones.  So measurements lose weight with their
distance from N and from the largest measured P, both in logarithms, by a Gaussian whose width is a share of the
measured range: a narrow one follows the program more closely, a wide one is less moved by noise.  An N outside the
measured sizes counts as the nearest of them.  No weight falls below ``LEAST``, so that any measurements that
separate the terms of an equation still do.
"""

import numpy as np

WIDTHS = (0.5, 1.0)  # standard deviations of the Gaussian, as shares of the measured range, to choose from
LEAST = 1e-3


def nearness(values: np.ndarray, to: float, least: float, most: float, *, width: float) -> np.ndarray:
    """Return the weight of measurements, in (0, 1], by the distance of their ``values`` from ``to``.

    Args:
        values: N or P of the measurements, positive.
        to: The N or P of the choice.
        least: Smallest measured value.
        most: Largest measured value.
        width: Standard deviation of the Gaussian as a share of the measured range.

    >>> nearness(np.array([1.0, 4.0, 16.0]), 64, 1, 16, width=0.5).round(3).tolist()
    [0.135, 0.607, 1.0]
    """
    span = np.log(most / least)
    if span == 0:
        return np.ones(len(values))
    distance = np.log(values / np.clip(to, least, most)) / (width * span)
    weights: np.ndarray = np.maximum(np.exp(-(distance**2) / 2), LEAST)
    return weights
