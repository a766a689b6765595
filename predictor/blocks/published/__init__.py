"""The models that the paper publishes: Table 1's formulas with Table 3's parameters of three clusters."""
