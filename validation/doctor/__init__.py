"""The parts that the project needs, found or missing on this computer: ``gridval doctor``.

Public faces: ``examine.examine``, ``cli.main``.
"""
