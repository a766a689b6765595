"""The pages of a workbench: platforms, panel, queue and results.

Public faces: ``routes.ROUTES``.
"""
