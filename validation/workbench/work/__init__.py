"""Worker processes of a workbench: they read platforms and suites and make runs, so that the server stays quick.

Public faces: ``process.Worker``, ``child.main``.
"""
