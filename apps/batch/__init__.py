"""Batch scripts of Slurm, PBS and LSF: read without running anything, and written with other nodes and time.

Public faces: ``script.read_script``, ``script.script_of``, ``script.rewritten``, ``headers.time_limit_s``.
"""
