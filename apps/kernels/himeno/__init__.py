"""The Himeno benchmark: its C sources, its declarations, and the reference for runs with arithmetic."""
