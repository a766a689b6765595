"""SUMMA: its C sources, and what a run with arithmetic is compared with."""
