"""Predicted times against simulated ones."""
