"""Recordings: the events of a run, their files, and the iterations found in them.

Public faces: ``events.Recording``, ``files.read_events``, ``iterations.split_iterations``,
``fingerprints.Fingerprints``, ``recorder.library.recorder_library``.
"""
