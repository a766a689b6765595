"""The parts that the project needs, found or missing on this computer: ``python -m validation.doctor``.

Public faces: ``examine.examine``, ``cli.main``.
"""
