"""Describe kernels and the user's own programs, and the problems that they solve.

Public faces: ``kernel.named_kernel``, ``kernel.kernel_names``, ``problem.Problem``, ``problem.problem``,
``problem.sized_problem``, ``own_program.read_program``, ``compile.kernel_program``.
"""
