"""The queue of a workbench: suites, the states of their runs, and their results, in one SQLite file.

It only keeps what users ask for over hours, and hands it out in small jobs.  The driver of series makes the runs of a
campaign, in ``validation/workbench/work/running.py``.

Public faces: ``states.Queue``, ``suites.Suite``, ``results.ResultsView``.
"""
