"""The recorder under the MPI of a real machine: an add-on.

Its sources replace the recorder's simulation-only sources, and further wrappers are generated from the table calls.txt.

Public faces: ``library.real_recorder_library``, ``library.real_recorder_hash``, ``calls.mpi_calls``.
"""
