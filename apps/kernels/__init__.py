"""The kernels: one folder each with its C files and its ``kernel.toml``, and their common code in ``harness``.

``realmpi`` has what they need of SimGrid for a real MPI library.

Public faces: ``harness``, ``arguments.kernel_arguments``.
"""
