"""Models that predict a run time from evidence that is cheaper than the run."""
