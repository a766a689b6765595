"""The graph of a program beside a simulation: times of its elements, critical path, and gains of changed platforms.

Public faces: ``cli.main``, ``compare.Elements``, ``compare.elements_of_analysis``.
"""
