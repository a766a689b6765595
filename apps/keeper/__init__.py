"""A small program that keeps a command and everything it starts together, and ends all of it."""
