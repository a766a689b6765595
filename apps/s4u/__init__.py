"""Programs on SimGrid's S4U actors: kernels whose traffic is declared, and users' own (docs/programs/native.md).

Public faces: ``engine.run_iterations``, ``engine.note_events``, ``engine.program_hash``, ``ranks``.
"""
