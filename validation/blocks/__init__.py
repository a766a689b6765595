"""Compare evaluations of applications in blocks with simulations that have one rank per process.

Public faces: ``comparison.compare``, ``comparison.simulate``, ``program.block_program``, ``cli.main``,
``cli.compared_points``, ``series.rows_of``.
"""
