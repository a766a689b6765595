"""Editing of files in a workbench: drafts that are never lost, and changes of TOML that keep all else as it was.

Public faces: ``drafts.Draft``, ``systems.changed``, ``applications.changed``.
"""
