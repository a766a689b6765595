"""Measures a network between hosts, by exchanging messages (netprobe.c)."""
