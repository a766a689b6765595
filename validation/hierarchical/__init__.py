"""The hierarchical model against simulations: of its own world, and of real communication with a memory bus."""
