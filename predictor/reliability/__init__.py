"""Failures of nodes: probability of success, expected times with restarts and checkpoints, the best node count."""
