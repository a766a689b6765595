"""Programs in Python on SimGrid's S4U actors: the kernels CG and EP, and the user's own (docs/programs/native.md).

Public faces: ``engine.run_iterations``, ``engine.note_events``, ``engine.program_hash``, ``ranks``.
"""
