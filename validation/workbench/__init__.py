"""The workbench: platforms, suites, their queue and their results in a browser (docs/workbench.md).

Public faces: ``cli.main``, ``application.application``.
"""
