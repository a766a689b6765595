"""Comparison of chosen configurations with the simulated optimum of the whole space.

Public faces: ``campaign_file.read_allocation_campaign``, ``output.AllocationRow``, ``errors``, ``cli.main``.
"""
