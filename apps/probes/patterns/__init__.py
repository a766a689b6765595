"""Calls of several ranks at once, one rank per node, timed in simulation."""
