"""Which grid to buy: of all that a budget allows, the one that runs a mix of programs fastest."""
