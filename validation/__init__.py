"""Comparison of predicted run times with simulated or measured ones."""
