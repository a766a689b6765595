"""Values: a platform, the placement of ranks on its hosts, and the frequencies of its processors.

Public faces: ``platform.Platform``, ``platform.Host``, ``platform.Link``, ``placement.block``, ``placement.cyclic``,
``frequency.Frequencies``.
"""
