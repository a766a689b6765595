"""SUMMA's rule for the number of ranks, and its memory traffic: those of HPL."""

from apps.kernels.hpl.rules import RANKS, allows, bytes_per_flop

__all__ = ["RANKS", "allows", "bytes_per_flop"]
