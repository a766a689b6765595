"""The queue of a workbench: suites, the states of their runs, and their results, in one SQLite file.

Public faces: ``states.Queue``, ``suites.Suite``, ``results.ResultsView``.
"""
