"""Choices of configurations against the simulated optimum of the whole space."""
