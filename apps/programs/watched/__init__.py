"""Watched builds of the user's programs: an add-on, without which changes of linked files are not detected.

Public faces: ``builds.WatchedBuild``, ``builds.opened_by_build``.
"""
