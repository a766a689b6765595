"""The kernels: one folder each with its C files and its ``kernel.toml``, and their common code in ``harness``.

Public faces: ``harness``.
"""
