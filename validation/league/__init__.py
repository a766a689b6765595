"""The command ``gridval series league``: rank predictors on the same cases, and show the costs of their choices.

Public faces: ``cli.main``, ``candidates.candidates``.
"""
