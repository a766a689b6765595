"""Calibrate a SimGrid platform from measured times of MPI calls: ``python -m apps.calibration --p2p p2p.csv``.

Public faces: ``readers.reading.read_samples``, ``readers.reading.measured_of``, ``points.points_of``,
``model.model_of``, ``platform_file.platform_file``, ``replay.replayed``, ``cli.main``.
"""
