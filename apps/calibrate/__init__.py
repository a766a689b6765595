"""Calibrate a SimGrid platform from a machine or from measured times of MPI calls: ``gridval platform calibrate``.

Public faces: ``readers.read_samples``, ``readers.measured_of``, ``points.points_of``,
``model.model_of``, ``platform_file.platform_file``, ``report.replayed``, ``machine.rows.read_rows``,
``machine.calibrate.calibrated``, ``cli.main``.
"""
