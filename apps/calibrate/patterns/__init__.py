"""Calibrate how a network's links are shared, from measured times of calls that several nodes make at once.

Public faces: ``rows.read_rows``, ``platform_file.sharing_of``, ``platform_file.sharing_platform``, ``rows.replayed``,
``calibrate.calibrated``.
"""
