"""Watched builds of programs of the user: an add-on, without which changes of what they link are not seen.

Public faces: ``builds.WatchedBuild``, ``builds.opened_by_build``.
"""
