"""Shared parts of LU, BT and SP: the C code of the Navier-Stokes equations, and declarations of BT and SP."""
