"""The machines of the Li paper."""

CLUSTERS = {"li-1": 1, "li-2": 2}  # scenario: number of the paper's cluster
