"""The published models: the formulas of Table 1 with the parameters of three clusters from Table 3."""
