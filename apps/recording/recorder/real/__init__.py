"""The recorder under the MPI of a real machine: an add-on.

Its sources stand in the place of those of the recorder that know simulation alone, and more wrappers are made of the
table calls.txt.

Public faces: ``library.real_recorder_library``, ``library.real_recorder_hash``, ``calls.mpi_calls``.
"""
