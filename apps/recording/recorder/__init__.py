"""The recorder: a library that is loaded into MPI programs and records the events of every rank.

Public faces: ``library.recorder_library``, ``library.recorder_hash``.
"""
