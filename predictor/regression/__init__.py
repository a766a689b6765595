"""Baselines: laws in the number of ranks, fitted to a few runs on a part of the target's nodes."""
