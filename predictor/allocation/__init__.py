"""Search the configurations of nodes and processes for the best one.

Public faces: ``configuration.Configuration``, ``space.Space``, ``search``, ``branch_and_bound``, ``objectives``,
``sizes``.
"""
