"""The guard of a workbench: which requests are answered at all, and what browsers may do with the answers.

Public faces: ``guard.Guard``, ``tokens.Tokens``, ``accounts.Accounts``, ``limits.Limits``, ``hosts.allowed_host``.
"""
