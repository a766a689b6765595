"""Timed or replayed computation of programs that charge none, and its share of a memory bus: an add-on."""
