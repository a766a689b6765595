"""A small program that supervises a command and ends it with every process that it has started."""
