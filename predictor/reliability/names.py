"""What a command line can ask for, by name: without numpy, so that its --help is quick."""

INTERVALS = ("young", "daly-first-order", "daly", "exact")  # between checkpoints: predictor.reliability.intervals
SEGMENTS = ("whole", "daly")  # how those between checkpoints are counted: predictor.reliability.expected
