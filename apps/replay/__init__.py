"""The engine replay: recordings of programs that SimGrid cannot run, run in SMPI in place of the programs.

Public faces: ``engine``, which has the functions of apps.runs.engines.Engine.
"""
