"""Volunteers that join and leave, simulated with SimGrid's profiles of hosts."""
