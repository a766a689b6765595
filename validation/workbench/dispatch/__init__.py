"""Work on the queue of a workbench: suites join it, and worker processes make their runs.

Public faces: ``dispatcher.Dispatcher``, ``desk.Desk``.
"""
