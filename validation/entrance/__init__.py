"""The command ``gridval``: one verb for everything that the project does.

Public faces: ``main.main``, ``verbs.VERBS``.
"""
