"""Applications of blocks: their evaluation against their simulation, one rank per process."""
