"""The Himeno benchmark: what its runs with arithmetic are compared with."""
