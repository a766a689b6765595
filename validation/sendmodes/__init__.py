"""The experiment of the Li paper in simulated time: one message in each of MPI's send modes."""
