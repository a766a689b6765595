"""Choose nodes and processes: measure a program, estimate each configuration, and search for the best one.

Public faces: ``study.Study``, ``drivers.Driver``, ``sizes``, ``cli.main``.
"""
