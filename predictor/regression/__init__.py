"""Baselines: laws in the number of ranks, fitted to a few runs on some of the target's nodes.

Public faces: ``fits.FIT_LOG``, ``hcf_terms.HCF_NNLS``, ``hcf_terms.HCF_GROWTH``, ``smaller_runs.smaller_runs``,
``smaller_runs.extrapolation_flags``.
"""
