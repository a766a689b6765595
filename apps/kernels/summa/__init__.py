"""SUMMA: its C sources, and the reference for runs with arithmetic."""
