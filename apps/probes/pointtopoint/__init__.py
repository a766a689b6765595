"""The calls by which point-to-point communication is calibrated, timed in simulation one by one."""
