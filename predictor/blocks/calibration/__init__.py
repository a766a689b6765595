"""Calibration of a platform: micro-benchmarks, regression, and the shapes of SimGrid's algorithms."""
