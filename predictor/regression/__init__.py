"""Baselines: laws in the number of ranks, fitted to a few runs on some of the target's nodes.

Public faces: ``fits.FIT_LOG``, ``hcf_nnls.HCF_NNLS``, ``hcf_growth.HCF_GROWTH``, ``smaller_runs.smaller_runs``,
``flags.extrapolation_flags``.
"""
