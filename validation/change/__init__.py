"""How much a change of a program changes its predicted time, for continuous integration."""
