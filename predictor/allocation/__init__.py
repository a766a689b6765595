"""Search the configurations of nodes and processes for the best one.

Public faces: ``configuration.Configuration``, ``space.Space``, ``search``, ``objectives``,
``sizes``.
"""
