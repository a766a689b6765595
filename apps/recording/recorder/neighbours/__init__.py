"""Graphs of neighbours and their collectives in recordings: an add-on."""
