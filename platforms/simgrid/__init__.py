"""Find the installed SimGrid, repair it where it needs that, and compile against it.

Public faces: ``installed.check_simgrid``, ``repairs.simgrid_identity``, ``repairs.loaded_first``,
``compiling.compile_once``, ``child.die_with_parent``.
"""
