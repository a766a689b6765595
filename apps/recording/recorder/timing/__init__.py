"""Computation of programs that charge none, timed or replayed, and its share of a memory bus: an add-on."""
