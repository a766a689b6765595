"""Calibrate how a network's links are shared, from measured times of calls that several nodes make at once.

Public faces: ``rows.read_rows``, ``sharing.sharing_of``, ``platform_file.sharing_platform``, ``replay.replayed``,
``calibrate.calibrated``.
"""
