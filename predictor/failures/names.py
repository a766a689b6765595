"""Names that the command line accepts; this module does not import numpy, so that --help is fast."""

INTERVALS = ("young", "daly-first-order", "daly", "exact")  # checkpoint intervals: predictor.failures.expected
SEGMENTS = ("whole", "daly")  # ways to count the segments between checkpoints: predictor.failures.expected
