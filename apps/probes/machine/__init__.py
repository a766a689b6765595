"""The program that measures a machine: messages, thresholds, simultaneous flows and computing, as one MPI program."""
