"""Traces of runs on real machines as recordings: OTF2 archives (Score-P) and DUMPI's text (docs/programs/traces.md).

Public faces: ``read.read_trace``, ``read.recording_of``.
"""
