"""Calibrate a platform of several clusters from the rows that apps/probes/machine prints.

Public faces: ``rows.read_rows``, ``calibrate.calibrated``, ``calibrate.CalibrationInput``.
"""
