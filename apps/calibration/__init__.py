"""Calibrate a SimGrid platform from measured point-to-point times: ``python -m apps.calibration --p2p p2p.csv``.

Public faces: ``points.points_of``, ``readers.reading.read_measured``, ``model.model_of``,
``platform_file.platform_file``, ``replay.replayed``, ``cli.main``.
"""
