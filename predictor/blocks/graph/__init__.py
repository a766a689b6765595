"""Evaluation of applications message by message: all messages share the links max-min fairly.

Public face: ``evaluate.run_graph``.
"""
