"""Choices of frequencies, simulated: how well their times and energies were predicted."""
