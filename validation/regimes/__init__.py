"""Where predictors hold: their error against the share of computation in the run."""
