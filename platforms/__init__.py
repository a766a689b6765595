"""Platforms that programs run on: grids as values, SimGrid platform files, placement of ranks."""
