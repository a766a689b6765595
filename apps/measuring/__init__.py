"""The engine machine: kernels and MPI programs on a real machine, whose ranks a layer over MPI measures.

Public faces: ``engine.run_iterations``, ``engine.note_events``, ``engine.program_hash``, ``examine.examine``,
``examine.faults``.
"""
