"""Programs in Python on SimGrid's S4U actors: the kernels CG and EP, and the user's own (docs/programs/s4u.md).

Public faces: ``engine.run_iterations``, ``engine.note_events``, ``engine.program_hash``, ``ranks``.
"""
