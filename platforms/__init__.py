"""What a program runs on: grids as values, SimGrid platform files, placement."""
