"""Measurements of the network between hosts by exchanged messages (netprobe.c)."""
