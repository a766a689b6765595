"""The engine smpi: runs under SimGrid's SMPI.

Public faces: ``engine.run_iterations``, ``engine.note_events``, ``engine.program_hash``, ``launch.launch``.
"""
