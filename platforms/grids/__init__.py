"""Describe a grid in few words and write it as XML for SimGrid.

Public faces: ``grid.Grid``, ``scenario.named_grid``, ``scenario.SCENARIOS``, ``network.named_network``,
``random_grid.random_grid``, ``xml.platform_xml``.
"""
